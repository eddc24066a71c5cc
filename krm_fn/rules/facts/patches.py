"""What the patches of the config do to rendered VMs, and where they can't be applied."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.base.value import Value


class Patched(Value):
    """An object as it leaves after all patches. `repeats`: the patches give the same result when they are applied to it again.

    `unstable` is the number of the first patch that does not, counted from 0, and -1 if the result has a reference again, which
    a second run would render.
    """

    entry: Entry
    obj: Object
    repeats: bool = True
    unstable: int = 0


class Unpatched(Value):
    """An object to which a patch can't be applied; it is not rendered.

    `patch` and `operation` count from 0. `reason` is "test" (the value differs), "absent" (there is no such place), "invalid"
    (the operation does not fit the value there), "object" (what is left is no such object), "large" (the result would be too
    large), "slow" (an expression of the target takes too long) or "work" (the work of all patches is spent; no patch is named).
    `path` is the place in the rendered object, `op` the word.
    """

    entry: Entry
    reason: str
    patch: int = -1
    operation: int = 0
    op: str = ""
    path: Path = ()
    pointer: str = ""
