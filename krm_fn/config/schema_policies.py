"""The checks of `policies` and `schemaPolicies`: objects of Kubernetes, files that have them, and users' JSON Schemas."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.errors import ConfigError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.config.keys import child, hint, map_at, unlike, with_known_keys
from krm_fn.findings.finding import SEVERITIES
from krm_fn.kubevirt.settings import PolicyObject

EXPECTED = "a list of policies, bindings and parameters"
JUDGED = ("kubevirt.io", "pool.kubevirt.io")
ITEM = "an object with apiVersion, kind and metadata.name"


class PolicyPath(Value):
    """A file or folder with policies, relative to the config that names it; `at` is its place in the config."""

    name: str
    at: str


def policies(value: object, path: str) -> tuple[PolicyObject | PolicyPath, ...]:
    """The objects and the paths of a list. Raises: ConfigError."""
    if not isinstance(value, list | tuple):
        raise unlike(value, EXPECTED, path)
    return tuple(_item(item, path + dotted((number,))) for number, item in enumerate(value))


def _item(value: object, path: str) -> PolicyObject | PolicyPath:
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return PolicyPath(name=value, at=path)
    if not isinstance(value, dict) or not (kind_of(value) and isinstance(value.get("apiVersion"), str) and name_of(value)):
        raise unlike(value, ITEM, path)
    if not is_given(value):
        raise ConfigError(f"a {kind_of(value)} is no policy, binding or parameter; add it to the input", path=path)
    return PolicyObject(obj=value)


def is_given(obj: dict[str, object]) -> bool:
    """True for an object that may be a policy, a binding or a parameter: what policies judge must be in the input."""
    return kind_of(obj) != "Namespace" and group_of(obj) not in JUDGED


def without_paths(given: Iterable[PolicyObject | PolicyPath]) -> tuple[PolicyObject, ...]:
    """The objects. Raises: ConfigError for a path, where no file is read."""
    found = []
    for each in given:
        if isinstance(each, PolicyPath):
            fix = "files are read for .kubevirt-render.yaml and --policy only; write the objects here"
            raise ConfigError(f"found {each.name!r}; expected {ITEM}; {fix}", path=each.at)
        found.append(each)
    return tuple(found)


KEYS = ("name", "select", "on", "schema", "message", "severity")
SELECT = ("kinds", "namespaces", "labels", "namespaceLabels")
# What a policy is evaluated on.
WRITTEN, RENDERED, INSTANCE, POD = STATES = ("written", "rendered", "instance", "pod")
NAME = expression(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
LONGEST_NAME = 253


def schema_policies(value: object, path: str) -> tuple[dict[str, Any], ...]:
    """The policies as plain data, with all keys but `message`. Raises: ConfigError."""
    if not isinstance(value, list | tuple):
        raise unlike(value, "a list of policies, each with name and schema", path)
    found = tuple(_policy(item, path + dotted((number,))) for number, item in enumerate(value))
    names = [each["name"] for each in found]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ConfigError(f"another policy is named {name}; give each its own name", path=f"{path}[{number}].name")
    return found


def _policy(value: object, path: str) -> dict[str, Any]:
    given = {key: each for key, each in with_known_keys(_with_on(value), KEYS, path).items() if each is not None}
    name = given.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise unlike(name, "a name of lower case letters, digits, - and .", child(path, "name"))
    if not isinstance(given.get("schema"), dict | bool):
        raise unlike(given.get("schema"), "a JSON Schema", child(path, "schema"))
    found = {
        "name": name,
        "schema": given["schema"],
        "select": _select(given.get("select"), child(path, "select")),
        "on": _word(given.get("on", RENDERED), STATES, child(path, "on")),
        "severity": _word(given.get("severity", SEVERITIES[0]), SEVERITIES, child(path, "severity")),
    }
    return {**found, "message": _text(given["message"], child(path, "message"))} if "message" in given else found


def _with_on(value: object) -> object:
    """The policy with the key `on`, of which readers of YAML 1.1 make true."""
    if not isinstance(value, dict):
        return value
    return {"on" if key is True or key == "true" else key: each for key, each in value.items()}


def _select(value: object, path: str) -> dict[str, Any]:
    given = {key: each for key, each in with_known_keys(value, SELECT, path).items() if each is not None}
    checks = {"kinds": _texts, "namespaces": _texts, "labels": _labels, "namespaceLabels": _labels}
    return {key: checks[key](each, child(path, key)) for key, each in given.items()}


def _word(value: object, words: tuple[str, ...], path: str) -> str:
    if value in words:
        return str(value)
    raise unlike(value, f"one of {', '.join(words)}{hint(value, words)}", path)


def _text(value: object, path: str) -> str:
    if isinstance(value, str):
        return value
    raise unlike(value, "text", path)


def _texts(value: object, path: str) -> list[str]:
    if not isinstance(value, list):
        raise unlike(value, "a list of texts", path)
    return [_text(each, path + dotted((number,))) for number, each in enumerate(value)]


def _labels(value: object, path: str) -> dict[str, str]:
    return {key: _text(each, child(path, key)) for key, each in map_at(value, path).items()}
