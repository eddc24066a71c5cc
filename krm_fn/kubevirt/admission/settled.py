"""What is known of a refusal: one that rests on a placeholder is none, because another step replaces that."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in, is_filled_key, placeholders
from krm_fn.kubevirt.admission.causes import Cause
from krm_fn.kubevirt.holders import counterparts


def settled(causes: Iterable[Cause], obj: Object) -> tuple[Cause, ...]:
    """The causes for which an object is refused, without those that rest on a placeholder."""
    found = Open(obj)
    return tuple(cause for cause in causes if not found.decides(cause.path, cause.current))


class Open:
    """What the placeholders of an object leave open. Each list is searched once, for however many causes."""

    __slots__ = ("_keyed", "_named", "_obj")

    def __init__(self, obj: Object) -> None:
        self._obj = obj
        self._named: dict[Path, bool] = {}
        self._keyed: dict[Path, bool] = {}

    def decides(self, path: Path, current: Any) -> bool:
        """True where what is said of a place depends on a placeholder: of its value, of a key there, or of a name it needs."""
        if placeholders(current) or any(map(is_filled_key, path)):
            return True
        others = counterparts(path)
        return (
            any(_is_open(self._obj, at) for at in (path, *others))
            or self._has_keys(path)
            or any(self._has_names(at) for at in ((path[:-2], *others) if others else ()))
        )

    def _has_keys(self, at: Path) -> bool:
        if at not in self._keyed:
            self._keyed[at] = any(map(is_filled_key, as_map(get(self._obj, at))))
        return self._keyed[at]

    def _has_names(self, at: Path) -> bool:
        if at not in self._named:
            self._named[at] = any(is_filled_in(as_map(each).get("name")) for each in as_list(get(self._obj, at)))
        return self._named[at]


def _is_open(obj: Any, path: Path) -> bool:
    """True where a placeholder is on the way to a place, or there."""
    for number, step in enumerate(path, 1):
        obj = get(obj, (step,))
        if isinstance(obj, str):
            return bool(placeholders(obj, path[:number]))
    return False
