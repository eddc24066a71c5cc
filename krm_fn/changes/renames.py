"""Objects that a change gives another name or namespace. They are found by what kustomize notes, and by what stays equal.

An object that is gone and one that is new belong together by the first of these signs that both show: a common former name in
kustomize's annotations; the same name in front of the hash that kustomize adds; the same content, except for the own name. If
several objects show a sign of equal content, the one whose name is in the other's name counts. If still two fit, none is taken:
then the objects count as removed and as new.
"""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace, is_cluster_kind
from krm_fn.base.objects import annotations_of, name_of, previous_names
from krm_fn.base.value import Value
from krm_fn.changes.owners import KINDS
from krm_fn.kubevirt.catalogue import KINDS as CLUSTER_SIZES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Bundle, Entry

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
NAME = "\0"


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
    gone = {key: entry for key, entry in before.items() if key not in after}
    new = {key: entry for key, entry in after.items() if key not in before}
    found: list[Rename] = []
    for by, signs in _signs(kind):
        if gone and new:
            pairs = list(_pairs(gone, new, signs))
            found += [Rename(old=gone.pop(old), new=new.pop(fresh), by=by) for old, fresh in pairs]
    return sorted(found, key=lambda each: place(each.new))


Place = tuple[str, str]


def place(entry: Entry) -> Place:
    """Namespace and name of an object; a cluster-wide one is in ""."""
    kind = str(entry.obj.get("kind"))
    return "" if is_cluster_kind(kind) else effective_namespace(entry.obj), name_of(entry.obj)


def _signs(kind: str) -> Iterator[tuple[str, Callable[[Entry], Iterable[Hashable]]]]:
    """What shows that two objects are one: functions that give the signs of an object."""
    yield ANNOTATION, _former
    if kind in HASHED:
        yield HASH, _stem
    yield CONTENT, _content


def _pairs(
    gone: dict[Place, Entry], new: dict[Place, Entry], signs: Callable[[Entry], Iterable[Hashable]]
) -> Iterator[tuple[Place, Place]]:
    """The places that belong together: of which each is the only one for the other."""
    holders: dict[Hashable, list[Place]] = {}
    for key, entry in gone.items():
        for sign in signs(entry):
            holders.setdefault(sign, []).append(key)
    fits = {key: {old for sign in signs(entry) for old in holders.get(sign, ())} for key, entry in new.items()}
    fits = {key: olds for key, olds in fits.items() if olds}
    yield from _mutual(fits)
    taken = set(_mutual(fits))
    rest = {key: olds for key, olds in fits.items() if key not in {each for _, each in taken}}
    if signs is _content:
        yield from _mutual({key: {old for old in olds if _has(old, key)} for key, olds in rest.items()})


def _mutual(fits: dict[Place, set[Place]]) -> Iterator[tuple[Place, Place]]:
    """The old and the new place wherever neither has another choice."""
    claims: dict[Place, int] = {}
    for olds in fits.values():
        for old in olds:
            claims[old] = claims.get(old, 0) + 1
    for key, olds in fits.items():
        if len(olds) == 1 and claims[old := next(iter(olds))] == 1:
            yield old, key


def _has(old: Place, new: Place) -> bool:
    """True where one name is in the other as whole words, as with a prefix or a suffix."""
    shorter, longer = sorted((old[1], new[1]), key=len)
    return f"-{shorter}-" in f"-{longer}-"


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
    """What the object says, without its own name; nothing of an empty one."""
    said = {key: value for key, value in entry.obj.items() if key not in ABOUT}
    if any(said.values()):
        yield _frozen(said, name_of(entry.obj))


def _frozen(value: Any, name: str) -> Hashable:
    if isinstance(value, dict):
        return frozenset((key, _frozen(each, name)) for key, each in value.items())
    if isinstance(value, list):
        return tuple(_frozen(each, name) for each in value)
    if isinstance(value, str):
        return _without(value, name)
    return type(value).__name__, value


def _without(text: str, name: str) -> str:
    """The text with a mark for the name, where that stands as a word of its own."""
    before, found, after = text.partition(name) if name else (text, "", "")
    if not found:
        return text
    apart = not (before[-1:].isalnum() or after[:1].isalnum())
    return before + (NAME if apart else found) + _without(after, name)
