"""The checks of a complete list: its number of entries, and entries that may occur only once.

upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go:ValidateListSetsAndMaps
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator, Sequence
from krm_fn.base.paths import Path
from krm_fn.kubevirt.schema.constraints import between, counted
from krm_fn.kubevirt.schema.flaws import COUNT, DUPLICATE, Flaw

Check = Callable[[Any, Path], Iterator[Flaw]]


def numbered(low: int, high: int | None, one: str = "entry", many: str = "entries") -> Check:
    """Refuses lists and maps with fewer or more entries; None is no limit."""

    def check(value: Any, path: Path) -> Iterator[Flaw]:
        if low <= len(value) and (high is None or len(value) <= high):
            return
        expected = between(len(value), low, high, one, many)
        yield Flaw(kind=COUNT, path=path, current=len(value), found=counted(len(value), one, many), expected=expected)

    return check


def unique(value: Any, path: Path) -> Iterator[Flaw]:
    """Refuses each entry that equals an earlier one, once."""
    yield from _repeated(value, path, [_frozen(each) for each in value])


def keyed(keys: Sequence[str], defaults: dict[str, Any] | None = None) -> Check:
    """Refuses each entry whose keys have the same values as those of an earlier one; an absent key has its default."""

    def check(value: Any, path: Path) -> Iterator[Flaw]:
        entries = [{**(defaults or {}), **each} if isinstance(each, dict) else {} for each in value]
        shown = [{key: each[key] for key in keys if key in each} for each in entries]
        yield from _repeated(shown, path, [_frozen(each) for each in shown])

    return check


def _repeated(shown: Sequence[Any], path: Path, frozen: Sequence[Any]) -> Iterator[Flaw]:
    seen: dict[Any, int] = {}
    for index, each in enumerate(frozen):
        seen[each] = seen.get(each, 0) + 1
        if seen[each] == 2:
            yield Flaw(kind=DUPLICATE, path=(*path, index), current=shown[index])


def _frozen(value: Any) -> Any:
    """A hashable form of a value; two forms are equal if Kubernetes considers the values equal."""
    if isinstance(value, dict):
        return "map", frozenset((key, _frozen(below)) for key, below in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_frozen, value))
    return type(value) is bool, isinstance(value, str), value
