"""What rendering writes into one VM, for who asks where a value comes from. Rendering itself has no trace."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, copy
from krm_fn.kubevirt.holders import INSTANCE_SPEC


class Noted:
    """A value that `giver` has for the place `at`. `kept`: the VM had a value, so it stays.

    `giver` is "instancetype", "preference", "default", or the entry of a preset; `field` is the path of the field in it.
    `beside` are other fields that decide the value, each with its giver; `read` is the place of a value that does.
    """

    __slots__ = ("at", "beside", "field", "giver", "kept", "read", "value")

    def __init__(
        self, at: Path, field: Path, value: Any, *, giver: Any, kept: bool, beside: tuple[tuple[Any, Path], ...], read: Path
    ) -> None:
        self.at, self.giver, self.field, self.value = at, giver, field, value
        self.kept, self.beside, self.read = kept, beside, read


class Trace:
    """The notes of one rendering, in order. `giver` is the object that is applied now.

    Paths start at the root of the object: `start` leads to the VM. Without a VM, it leads to a template, and so many first
    steps of a path in a VM are `skipped`. `before` is the spec of the instance to which KubeVirt's defaults were added last,
    None if none were.
    """

    __slots__ = ("_skipped", "_start", "before", "giver", "notes")

    def __init__(self, start: Path = (), skipped: int = 0) -> None:
        self._start, self._skipped = start, skipped
        self.notes: list[Noted] = []
        self.giver: Any = ""
        self.before: Object | None = None

    def note(
        self,
        way: Path,
        field: Path,
        value: Any,
        *,
        root: Path = INSTANCE_SPEC,
        kept: bool = False,
        beside: tuple[tuple[Any, Path], ...] = (),
        read: Path = (),
    ) -> None:
        """Note a value at `way` below `root`, where `read` is, too. The value is copied."""
        start = (*self._start, *root[self._skipped :])
        read = (*start, *read) if read else ()
        self.notes.append(Noted((*start, *way), field, copy(value), giver=self.giver, kept=kept, beside=beside, read=read))
