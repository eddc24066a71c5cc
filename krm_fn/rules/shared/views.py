"""Views of a bundle that several rules look at: made when the first one asks, and kept with the bundle for the others."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from krm_fn.base.bundle import Bundle

    View = TypeVar("View")

KEPT = "views"


def shared(bundle: Bundle, make: Callable[[Bundle], View]) -> View:
    """What `make` makes of the bundle. Nobody changes it."""
    views = vars(bundle).setdefault(KEPT, {})
    if make not in views:
        views[make] = make(bundle)
    found: View = views[make]
    return found
