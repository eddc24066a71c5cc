"""What is known of a refusal: one that rests on a placeholder is none, because another step replaces that."""

from __future__ import annotations

from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in, is_filled_key, placeholders
from krm_fn.kubevirt.holders import counterparts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.admission.causes import Cause


def settled(causes: Iterable[Cause], obj: Object) -> tuple[Cause, ...]:
    """The causes for which an object is refused, without those that rest on a placeholder."""
    return tuple(cause for cause in causes if not rests_on_placeholder(obj, cause.path, cause.current))


def rests_on_placeholder(obj: Object, path: Path, current: Any) -> bool:
    """True where what is said of a place depends on a placeholder: of its value, of a key there, or of a name that it needs."""
    if placeholders(current) or any(map(is_filled_key, path)):
        return True
    others = counterparts(path)
    names = (as_map(each).get("name") for at in (path[:-2], *others) for each in as_list(get(obj, at))) if others else ()
    return (
        any(_is_open(obj, at) for at in (path, *others))
        or any(map(is_filled_key, as_map(get(obj, path))))
        or any(map(is_filled_in, names))
    )


def _is_open(obj: Any, path: Path) -> bool:
    """True where a placeholder is on the way to a place, or there."""
    for number, step in enumerate(path, 1):
        obj = get(obj, (step,))
        if isinstance(obj, str):
            return bool(placeholders(obj, path[:number]))
    return False
