"""Views of a bundle that several rules use: made for the first rule that needs one, and kept with the bundle."""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.bundle import Bundle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    View = TypeVar("View")


KEPT = "views"


def shared(bundle: Bundle, make: Callable[[Bundle], View]) -> View:
    """What `make` returns for the bundle, called once; the result must not be changed."""
    views = vars(bundle).setdefault(KEPT, {})
    if make not in views:
        views[make] = make(bundle)
    found: View = views[make]
    return found
