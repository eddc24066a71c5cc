"""Which part of one kustomization wrote a value of an object: a patch, or a field that changes objects. Pure.

KubeVirt's kinds are unknown to kustomize, so a patch replaces their lists. Where a schema says otherwise, lists are merged by
the names of their entries; so entries are looked for by name first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.findings.finding import UNSET
from krm_fn.repositories.kustomization import is_inline, joined
from krm_fn.repositories.types import Kustomization

if TYPE_CHECKING:
    from krm_fn.yamlio import StreamText

    Texts = Callable[[str], StreamText | None]


# Keys by which entries of a list are told apart.
MERGE_KEYS = ("name", "key", "mountPath", "containerPort")
EXPRESSION = frozenset(".*+?()[]{}\\^$")  # what makes a text more than a plain word
FIELD_STEP = expression(r"(?<!\\)\.(?![^\[]*\])")  # a dot, but not one in brackets or behind a backslash
GENERATED = {"ConfigMap": "configMap", "Secret": "secret"}
LABELS = ("labels", "matchLabels", "selector", "nodeSelector")


class WritingPlace(NamedTuple):
    """Where a value is written: the file, the number of the document in it, -1 where it is not known, and the path there.

    `inside` is the document and the path in a text that is written there in place, such as that of a patch.
    """

    file: str
    item: int = -1
    path: Path = ()
    inside: tuple[int, Path] | None = None


class SoughtValue(NamedTuple):
    """A value whose origin is looked for, with its object as it was built and all names that the object had on its way."""

    obj: Object
    names: frozenset[str]
    path: Path
    value: Any


class WrittenPatch(NamedTuple):
    """A patch: its documents, the target that it names, and where it is written: in its own file, or in place."""

    items: list[Any]
    target: Object
    origin: WritingPlace


def _place(patch: WrittenPatch, number: int, path: Path) -> WritingPlace:
    """The origin of a place in one of the documents of a patch."""
    file, item, at, _ = patch.origin
    return WritingPlace(file, item, at, (number, path)) if at else WritingPlace(file, number, path)


def writer(of: Kustomization, item: int, patches: list[WrittenPatch], wanted: SoughtValue) -> WritingPlace | None:
    """The part of a kustomization, the document `item` of its file, that wrote a value; None where none did."""
    for at in _fields(of.obj, wanted):
        return WritingPlace(of.file, item, at)
    for patch in reversed(patches):
        for number, each in reversed([*enumerate(patch.items)]):
            if path := _in_patch(each, patch.target, wanted):
                return _place(patch, number, path)
    return None


def patches_of(of: Kustomization, item: int, texts: Texts) -> Iterator[WrittenPatch]:
    """The patches of a kustomization in the order in which they are applied."""
    for key in ("patchesStrategicMerge", "patches", "patchesJson6902"):
        for number, each in enumerate(as_list(of.obj.get(key))):
            at: Path = (key, number)
            written = text(each) or text(as_map(each).get("patch"))
            if written and (isinstance(each, dict) or is_inline(written)):
                yield from _in_place(of, item, written, (*at, "patch") if isinstance(each, dict) else at, each)
            elif file := text(each) or text(as_map(each).get("path")):
                yield from _in_file(joined(of.folder, file), each, texts)


def _in_place(of: Kustomization, item: int, written: str, at: Path, each: object) -> Iterator[WrittenPatch]:
    try:
        found = yamlio.read_stream(written.encode())
    except InputError:
        return
    yield WrittenPatch(found.items, as_map(as_map(each).get("target")), WritingPlace(of.file, item, at))


def _in_file(file: str, each: object, texts: Texts) -> Iterator[WrittenPatch]:
    if found := texts(file):
        yield WrittenPatch(found.items, as_map(as_map(each).get("target")), WritingPlace(file))


def _in_patch(patch: Any, target: Object, wanted: SoughtValue) -> Path | None:
    """Where a patch has the value, None where it has not."""
    if not _is_of(patch, target, wanted):
        return None
    if isinstance(patch, list):
        return _in_operations(patch, wanted)
    return same_place(patch, wanted.obj, wanted.path, wanted.value)


def _is_of(patch: Any, target: Object, wanted: SoughtValue) -> bool:
    """True where a patch may be one of the object."""
    if target and not is_meant(target.get("kind"), target.get("name"), wanted):
        return False
    named = isinstance(patch, dict) and kind_of(patch) == kind_of(wanted.obj) and name_of(patch) in wanted.names
    return isinstance(patch, list) or named or (isinstance(patch, dict) and bool(target))


def is_meant(kind: object, name: object, wanted: SoughtValue) -> bool:
    """False where kind and name of a target surely do not fit."""
    return may_match(kind, kind_of(wanted.obj)) and any(may_match(name, each) for each in wanted.names)


def same_place(patch: Any, built: Any, path: Path, value: Any) -> Path | None:
    """The path of the same value in another object; the entries of lists are found by name there, else by number."""
    found: list[str | int] = []
    for step in path:
        below = get(built, (step,))
        there = _same_entry(patch, below, step) if isinstance(step, int) else step
        patch, built = get(patch, (there,), UNSET), below
        if patch is UNSET:
            return None
        found.append(there)
    return tuple(found) if patch == value else None


def _same_entry(entries: Any, entry: Any, number: int) -> int:
    key = next((key for key in MERGE_KEYS if key in as_map(entry)), None)
    if key is None:
        return number
    same = [at for at, each in enumerate(as_list(entries)) if as_map(each).get(key) == entry[key]]
    return same[0] if same else number


def parts_of(patches: list[WrittenPatch], wanted: SoughtValue) -> Iterator[tuple[WritingPlace, Any]]:
    """The patches of an object, the last one first: where each is written, and its document."""
    for patch in reversed(patches):
        for number, each in reversed([*enumerate(patch.items)]):
            if _is_of(each, patch.target, wanted):
                yield _place(patch, number, ()), each


def changes_of(patches: list[WrittenPatch], wanted: SoughtValue) -> Iterator[tuple[WritingPlace, Any, bool]]:
    """What patches make of a list, the last change first: where that is written, the entries there, and if it may take some."""
    for patch in reversed(patches):
        for number, each in reversed([*enumerate(patch.items)]):
            if not _is_of(each, patch.target, wanted):
                continue
            if isinstance(each, list):
                found = reversed([*_operations_on(each, wanted.path)])
                yield from ((_place(patch, number, at), entries, takes) for at, entries, takes in found)
            elif (entries := get(each, wanted.path, UNSET)) is not UNSET:
                yield _place(patch, number, wanted.path), entries, True


def _operations_on(operations: list[Any], path: Path) -> Iterator[tuple[Path, Any, bool]]:
    """The JSON Patch operations on a list, on what is around it, and on its entries."""
    for number, each in enumerate(map(as_map, operations)):
        steps, value = _steps(each), each.get("value")
        if not all(map(_is_step, steps, path)):
            continue
        is_entry = len(steps) > len(path)
        entries = [value] if is_entry else get(value, path[len(steps) :])
        yield (number, "path"), entries, not (is_entry and each.get("op") == "add")


def _steps(operation: Object) -> list[str]:
    return [each.replace("~1", "/").replace("~0", "~") for each in text(operation.get("path")).split("/")[1:]]


def _in_operations(operations: list[Any], wanted: SoughtValue) -> Path | None:
    """Where a list of JSON Patch operations has the value; the last one that wrote it."""
    for number in reversed(range(len(operations))):
        operation = as_map(operations[number])
        if operation.get("op") in ("add", "replace"):
            steps = _steps(operation)
            rest = wanted.path[len(steps) :]
            around = wanted.path[: len(steps)]
            meant = len(around) == len(steps) and all(map(_is_step, steps, around))
            if meant and get(operation.get("value"), rest, UNSET) == wanted.value:
                return (number, "value", *rest)
    return None


def _is_step(written: str, step: str | int) -> bool:
    """True where a step of a JSON pointer leads as a step of a path does; `-` is an entry that was added."""
    return written == str(step) or (written == "-" and isinstance(step, int))


def _fields(obj: Object, wanted: SoughtValue) -> Iterator[Path]:
    """The fields of a kustomization that wrote the value; the last one first."""
    last, value = wanted.path[-1:], wanted.value
    if last == ("image",):
        yield from _images(obj, value)
    if wanted.path == ("spec", "replicas"):
        for number, each in enumerate(as_list(obj.get("replicas"))):
            if as_map(each).get("count") == value and as_map(each).get("name") in wanted.names:
                yield "replicas", number, "count"
    yield from _replacements(obj, wanted)
    yield from _labels(obj, wanted)
    if wanted.path == ("metadata", "name") and isinstance(value, str):
        if (suffix := text(obj.get("nameSuffix"))) and value.endswith(suffix):
            yield ("nameSuffix",)
        if (prefix := text(obj.get("namePrefix"))) and value.startswith(prefix):
            yield ("namePrefix",)
    if wanted.path == ("metadata", "namespace") and value and obj.get("namespace") == value:
        yield ("namespace",)


def _images(obj: Object, value: object) -> Iterator[Path]:
    for number, each in enumerate(as_list(obj.get("images"))):
        name = text(as_map(each).get("newName")) or text(as_map(each).get("name"))
        for key, mark in (("digest", "@"), ("newTag", ":")):
            if key in as_map(each) and value == f"{name}{mark}{each[key]}":
                yield "images", number, key
        if "newName" in as_map(each) and isinstance(value, str) and value.partition("@")[0].rpartition(":")[0] == name:
            yield "images", number, "newName"


def _replacements(obj: Object, wanted: SoughtValue) -> Iterator[Path]:
    """Where a replacement takes a value from: the literal of a generated ConfigMap, else the field that it names."""
    for number, each in reversed([*enumerate(map(as_map, as_list(obj.get("replacements"))))]):
        for target, among in enumerate(map(as_map, as_list(each.get("targets")))):
            select = as_map(among.get("select"))
            for field, written in enumerate(as_list(among.get("fieldPaths"))):
                if is_meant(select.get("kind"), select.get("name"), wanted) and _is_field(text(written), wanted):
                    yield from _literals(obj, as_map(each.get("source")), wanted.value)
                    yield "replacements", number, "targets", target, "fieldPaths", field


def _is_field(written: str, wanted: SoughtValue) -> bool:
    """True if a field path of a replacement leads to the value."""
    parts, at = [part.replace("\\.", ".") for part in FIELD_STEP.split(written)], wanted.obj
    if len(parts) != len(wanted.path):
        return False
    for part, step in zip(parts, wanted.path, strict=True):
        at = get(at, (step,))
        key, is_key, named = part.strip("[]").partition("=")
        chosen = bool(is_key) and part.startswith("[") and str(as_map(at).get(key)) == named
        if not (part == str(step) or chosen or (part == "*" and isinstance(step, int))):
            return False
    return True


def _literals(obj: Object, source: Object, value: Any) -> Iterator[Path]:
    """The literal of a generator from which a replacement takes a value."""
    key = text(source.get("fieldPath")).removeprefix("data.")
    for number, each in enumerate(map(as_map, as_list(obj.get(f"{GENERATED.get(text(source.get('kind')), '')}Generator")))):
        for literal, written in enumerate(as_list(each.get("literals")) if each.get("name") == source.get("name") else ()):
            if written == f"{key}={value}":
                yield f"{GENERATED[source['kind']]}Generator", number, "literals", literal


def _labels(obj: Object, wanted: SoughtValue) -> Iterator[Path]:
    around, key = wanted.path[-2:-1], wanted.path[-1:]
    if around == ("annotations",):
        yield from _pairs(as_map(obj.get("commonAnnotations")), ("commonAnnotations",), key, wanted.value)
    if around and around[0] in LABELS:
        yield from _pairs(as_map(obj.get("commonLabels")), ("commonLabels",), key, wanted.value)
        for number, each in enumerate(as_list(obj.get("labels"))):
            yield from _pairs(as_map(as_map(each).get("pairs")), ("labels", number, "pairs"), key, wanted.value)


def _pairs(pairs: Object, at: Path, key: Iterable[str | int], value: Any) -> Iterator[Path]:
    for each in key:
        if each in pairs and pairs[each] == value:
            yield (*at, each)


def may_match(pattern: object, value: str) -> bool:
    """False where a target's expression surely does not fit. Only plain words are compared: an expression may take for ever."""
    return not pattern or any(value == part or EXPRESSION.intersection(part) for part in text(pattern).split("|"))
