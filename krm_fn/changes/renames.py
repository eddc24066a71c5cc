"""Objects that a change gives another name or namespace. They are found by what kustomize notes, and by what stays equal.

An object that is gone and one that is new belong together by the first of these signs that both show: a common former name in
kustomize's annotations; the same name in front of the hash that kustomize adds; the same content, except for the own name. If
several objects show a sign of equal content, the one whose name is in the other's name counts. The templates of a VM for
DataVolumes may have other names, or keep those with its former name. If still two fit, none is taken: then the objects count as
removed and as new.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import combinations

from krm_fn.base.annotations import Any, Callable, Hashable, Iterable, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace, is_cluster_kind
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, name_of, namespace_of, previous_names, text
from krm_fn.base.paths import as_list, get
from krm_fn.base.value import Value
from krm_fn.changes.owners import KINDS, POOL, VM
from krm_fn.kubevirt.catalogue import KINDS as CLUSTER_SIZES
from krm_fn.kubevirt.holders import DATA_VOLUMES, SERVED
from krm_fn.sizing.schema import TEXT, closed

Signs = Callable[[Entry], Iterable[Hashable]]
Marks = list[tuple[re.Pattern[str], str]]


SIZES = ("VirtualMachineInstancetype", "VirtualMachinePreference", *CLUSTER_SIZES)
HASHED = ("ConfigMap", "Secret")
OTHERS = (*SIZES, *HASHED, "ControllerRevision")
PREVIOUS_NAMESPACES = "internal.config.kubernetes.io/previousNamespaces"
# The letters that kustomize writes hashes with, and the length of one. upstream: api/hasher/hasher.go:encode
HASH_LETTERS, HASH_LENGTH = frozenset("2456789bcdfghkmt"), 10
# By what a rename shows.
ANNOTATION, HASH, CONTENT = "annotation", "hash", "content"
SIGNS = (ANNOTATION, HASH, CONTENT)
# Keys of an object that say nothing about its content.
ABOUT = ("apiVersion", "kind", "metadata", "status")
NAME, NAMESPACE, TEMPLATE = "\0", "\1", "\2"


class Rename(Value):
    """An object before and after it got another name; `by` is the sign that shows it."""

    old: Entry
    new: Entry
    by: str


def renames(base: Bundle, head: Bundle) -> list[Rename]:
    """The objects that have another name or namespace in the head, by kind and new name."""
    return [found for kind in (*KINDS, *OTHERS) for found in _of_kind(kind, base, head)]


def _of_kind(kind: str, base: Bundle, head: Bundle) -> list[Rename]:
    before, after = ({place(each): each for each in side.of_kind(kind)} for side in (base, head))
    gone = {key: entry for key, entry in before.items() if key not in after and name_of(entry.obj)}
    new = {key: entry for key, entry in after.items() if key not in before and name_of(entry.obj)}
    found: list[Rename] = []
    for by, of_old, of_new in _signs(kind):
        if gone and new:
            pairs = list(_pairs(gone, new, of_old, of_new))
            found += [Rename(old=gone.pop(old), new=new.pop(fresh), by=by) for old, fresh in pairs]
    return sorted(found, key=lambda each: place(each.new))


Place = tuple[str, str]


def place(entry: Entry) -> Place:
    """Namespace and name of an object; a cluster-wide one is in ""."""
    kind = str(entry.obj.get("kind"))
    return "" if is_cluster_kind(kind) else effective_namespace(entry.obj), name_of(entry.obj)


def _signs(kind: str) -> Iterator[tuple[str, Signs, Signs]]:
    """What shows that two objects are one: the signs of the old object and those of the new one, of which one must be equal."""
    yield ANNOTATION, _former, _former
    if kind in HASHED:
        yield HASH, _stem, _stem
    yield CONTENT, _content, _content
    yield CONTENT, partial(_content_and_name, own="old", other="new"), partial(_content_and_name, own="new", other="old")
    if kind in (VM, POOL):
        yield CONTENT, _content_of_templates, _content_of_templates


def _pairs(gone: dict[Place, Entry], new: dict[Place, Entry], of_old: Signs, of_new: Signs) -> Iterator[tuple[Place, Place]]:
    """The places that belong together: of which each is the only one for the other."""
    old_signs = {key: set(of_old(entry)) for key, entry in gone.items()}
    new_signs = {key: set(of_new(entry)) for key, entry in new.items()}
    old_holders, new_holders = _holders(old_signs), _holders(new_signs)
    for key, signs in new_signs.items():
        old = _only(signs, old_holders)
        if old and _only(old_signs[old], new_holders):
            yield old, key


def _holders(signs: dict[Place, set[Hashable]]) -> dict[Hashable, list[Place]]:
    """The places that show a sign."""
    found: dict[Hashable, list[Place]] = {}
    for key, several in signs.items():
        for sign in several:
            found.setdefault(sign, []).append(key)
    return found


def _only(signs: Iterable[Hashable], holders: dict[Hashable, list[Place]]) -> Place | None:
    """The place that shows one of the signs, None for none and for several. Of thousands, two are looked at."""
    found: set[Place] = set()
    for sign in signs:
        found.update(holders.get(sign, ())[:2])
        if len(found) > 1:
            return None
    return found.pop() if found else None


def _former(entry: Entry) -> Iterator[Hashable]:
    """The present and all former names, if kustomize has noted some, in the present namespace and in the first one."""
    space, name = place(entry)
    former = str(annotations_of(entry.obj).get(PREVIOUS_NAMESPACES) or "").partition(",")[0]
    spaces = {space, former} if space and former else {space}
    return iter({(each, known) for each in spaces for known in (name, *previous_names(entry.obj))})


def _stem(entry: Entry) -> Iterator[Hashable]:
    """The name in front of kustomize's hash."""
    space, name = place(entry)
    stem, _, end = name.rpartition("-")
    if stem and len(end) == HASH_LENGTH and HASH_LETTERS.issuperset(end):
        yield space, stem


def _content(entry: Entry) -> Iterator[Hashable]:
    """What the object says, without its own name, and without its own namespace, too; nothing of an empty one."""
    said = {key: value for key, value in entry.obj.items() if key not in ABOUT}
    if any(said.values()):
        name = {name_of(entry.obj): NAME}
        for marks in (name, {**name, namespace_of(entry.obj): NAMESPACE}):
            yield _frozen(said, [(_alone(word), mark) for word, mark in marks.items() if word])


def _content_of_templates(entry: Entry) -> Iterator[Hashable]:
    """The content of an object whose templates for DataVolumes may have any names, such as some with its former name."""
    row = SERVED.get((group_of(entry.obj), kind_of(entry.obj)))  # an object without apiVersion has none
    found = as_list(get(entry.obj, row.in_vm(DATA_VOLUMES))) if row else []
    names = [text(get(each, ("metadata", "name"))) for each in found]
    own = {name_of(entry.obj): NAME}
    said = {key: value for key, value in entry.obj.items() if key not in ABOUT}
    for marks in (own, {}) if any(names) else ():
        words = {**{name: f"{TEMPLATE}{number}" for number, name in enumerate(names)}, **marks}
        yield _frozen(said, [(_alone(word), mark) for word, mark in words.items() if word])


def _content_and_name(entry: Entry, *, own: str, other: str) -> Iterator[Hashable]:
    """The content with the name, and with each part of the name, which may be the whole name of the `other` object.

    So objects of equal content belong together if one name is in the other as whole words, as with a prefix or a suffix.
    """
    name = name_of(entry.obj)
    words = name.split("-")
    parts = {"-".join(words[start:end]) for start, end in combinations(range(len(words) + 1), 2)}
    for content in _content(entry):
        yield content, own, name
        yield from ((content, other, part) for part in parts)


def _alone(word: str) -> re.Pattern[str]:
    """The word where no letter or digit is beside it."""
    return re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")


def _frozen(value: Any, marks: Marks) -> Hashable:
    """The value with marks for words."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(each, marks)) for key, each in value.items())
    if isinstance(value, list):
        return tuple(_frozen(each, marks) for each in value)
    if isinstance(value, str):
        for word, mark in marks:
            value = word.sub(mark, value)
        return str(value)
    return type(value).__name__, value


def names_schema() -> Object:
    """The definitions."""
    place = dict.fromkeys(("namespace", "name"), TEXT)
    machine = closed({"kind": {"enum": list(KINDS)}, **place}, required=("kind", "namespace", "name"))
    rename = {
        "target": TEXT,
        "kind": TEXT,
        **place,
        "from": {"$ref": "#/$defs/name"},
        "shownBy": {"enum": list(SIGNS), "description": "what shows that it is a rename"},
        "users": {"type": "array", "items": machine, "description": "what refers to it by the new name"},
        "left": {"type": "array", "items": machine, "description": "what still refers to it by the old name"},
    }
    about = "the namespace and the name before the change"
    return {
        "name": {**closed(place, required=("name",)), "description": about},
        "rename": closed(rename, required=("kind", "name", "from", "shownBy", "users")),
    }
