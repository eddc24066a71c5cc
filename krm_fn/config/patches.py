"""The check of `patches`: JSON patches (RFC 6902) with targets, in the form of kustomize."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted, number_of_values
from krm_fn.base.targets import KEYS, Index, PatchTarget, target_of
from krm_fn.base.value import Value
from krm_fn.config.keys import child, hint, unlike, with_known_keys

# Each operation with the keys that it needs beside `op` and `path`.
OPERATIONS = {"add": "value", "remove": "", "replace": "value", "move": "from", "copy": "from", "test": "value"}


OF_OPERATION = 40  # units of work, see `base.work`


class Patch(Value):
    """The operations of a patch, and the objects that it is for. `number` counts the patches of the config from 0.

    `cost` is the work of its operations.
    """

    number: int
    target: PatchTarget
    operations: tuple[dict[str, Any], ...]
    cost: int


def patches(value: object, path: str) -> tuple[dict[str, Any], ...]:
    """The patches as plain data, each with `target` and a list of operations in `patch`. Raises: ConfigError."""
    return tuple(_patch(item, at) for item, at in _items(value, "a list of patches, each with target and patch", path))


class Patches:
    """Patches that were checked. Each is made ready when an object comes that it may be for."""

    def __init__(self, given: tuple[dict[str, Any], ...]) -> None:
        self._given, self._index = given, Index(each["target"] for each in given)
        self._ready: dict[int, Patch] = {}

    def near(self, obj: Object) -> list[Patch]:
        """The patches that may be for an object, in order."""
        return [self._ready.get(number) or self._prepared(number) for number in self._index.near(obj)]

    def _prepared(self, number: int) -> Patch:
        given = self._given[number]
        operations = tuple(given["patch"])
        cost = sum(map(_cost, operations))
        ready = Patch(number=number, target=target_of(given["target"]), operations=operations, cost=cost)
        self._ready[number] = ready
        return ready


def _cost(operation: dict[str, Any]) -> int:
    """The work of an operation, wherever it is applied."""
    pointers = len(operation["path"]) + len(operation.get("from", ""))
    return OF_OPERATION + pointers + number_of_values([operation.get("value")])


def _items(value: object, expected: str, path: str) -> Iterator[tuple[object, str]]:
    if not isinstance(value, list | tuple):
        raise unlike(value, expected, path)
    return ((item, path + dotted((number,))) for number, item in enumerate(value))


def _patch(value: object, path: str) -> dict[str, Any]:
    given = with_known_keys(value, ("target", "patch"), path)
    return {
        "target": _target(given.get("target"), child(path, "target")),
        "patch": _read(given.get("patch"), child(path, "patch")),
    }


def _target(value: object, path: str) -> dict[str, str]:
    given = {key: each for key, each in with_known_keys(value, KEYS, path).items() if each is not None}
    for key, each in given.items():
        if not isinstance(each, str):
            raise unlike(each, "text", child(path, key))
    try:
        target_of(given)
    except ValueError as error:
        key, why = error.args
        raise ConfigError(why, path=child(path, key)) from None
    return given


def _read(value: object, path: str) -> list[dict[str, Any]]:
    """The operations of a patch, which may be given as text, as kustomize takes it."""
    if isinstance(value, str):
        from krm_fn.yamlio import read_value

        try:
            value = read_value(value)
        except InputError as error:
            raise ConfigError(f"the text is not valid YAML: {error.message}", path=path) from None
    expected = "a list of operations (RFC 6902), such as [{op: add, path: /metadata/labels/tier, value: db}]"
    return [_operation(item, at) for item, at in _items(value, expected, path)]


def _operation(value: object, path: str) -> dict[str, Any]:
    given = with_known_keys(value, ("op", "path", "from", "value"), path)
    if given.get("op") not in OPERATIONS:
        known = tuple(OPERATIONS)
        raise unlike(given.get("op"), f"one of {', '.join(known)}{hint(given.get('op'), known)}", child(path, "op"))
    needed = OPERATIONS[given["op"]]
    if needed and needed not in given:
        raise ConfigError(f"the operation {given['op']} needs this key; add it", path=child(path, needed))
    for key in ("path", *(["from"] if needed == "from" else [])):
        _pointer(given.get(key), child(path, key))
    return {key: given[key] for key in ("op", "path", needed) if key}


def _pointer(value: object, path: str) -> None:
    if not isinstance(value, str) or (value and not value.startswith("/")):
        raise unlike(value, "a JSON pointer such as /spec/template/spec/domain/cpu/cores", path)
    if "~" in value.replace("~0", "").replace("~1", ""):
        raise ConfigError("found ~ in a JSON pointer; write ~0 for ~ and ~1 for /", path=path)
