"""Facts about presets: what applying them to one instance led to. Rules word them.

`path` is a place in the instance (or the preset) from its root, `("spec", "domain", "cpu")`; `upstream` the place as KubeVirt's
messages name it, `spec.cpu`. Values are plain, UNSET where there is none.
"""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.presets.selector import Problem
    from krm_fn.kubevirt.releases import Release


class Clash(Value):
    """A part of the domain that two sides set and set differently: `value` on the preset's side, `current` on the other.

    `same_amount` marks two spellings of one quantity, which KubeVirt takes for different.
    """

    path: Path
    upstream: str
    value: Any = UNSET
    current: Any = UNSET
    same_amount: bool = False


class PresetConflict(Value):
    """A preset that clashes with the instance, which keeps its values. `partial`: something else of the preset was applied."""

    preset: Entry
    clashes: tuple[Clash, ...]
    partial: bool


class Disagreement(Value):
    """Two presets that match the same instance and clash; `preset` comes after `other` in the order of application."""

    preset: Entry
    other: Entry
    clashes: tuple[Clash, ...]


class InvalidSelector(Value):
    """A preset in the instance's namespace whose selector is invalid, matching or not; the last of several counts `more`."""

    preset: Entry
    problems: tuple[Problem, ...]
    more: int = 0


class OrderMatters(Value):
    """A part of the domain that several presets would fill differently: the first of `presets` did, KubeVirt may take any."""

    path: Path
    presets: tuple[Entry, ...]


class Applied(Value):
    """What applying presets to one instance led to.

    `instance` is a new object, or the given one where nothing changed. `applied` are the names of the presets that count as
    applied, in order. `refused` is "" or the reason why no instance comes to be: "disagreement" (up to 0.8 it fails at once) or
    "selector"; then the instance is as it came, save for the controller's marker. `invalid` stands beside an empty `refused`
    where an older release passes over the preset. `idle` matched, but had nothing to give and no conflict. `too_long` were
    applied, but have names that no annotation key can hold.
    """

    instance: Object
    applied: tuple[str, ...] = ()
    conflicts: tuple[PresetConflict, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    invalid: tuple[InvalidSelector, ...] = ()
    order: tuple[OrderMatters, ...] = ()
    idle: tuple[Entry, ...] = ()
    too_long: tuple[Entry, ...] = ()
    refused: str = ""
    excluded: bool = False

    @property
    def troubled(self) -> bool:
        """True where some rule may have something to say."""
        return bool(self.conflicts or self.disagreements or self.invalid or self.order or self.idle or self.too_long)


class PresetFacts(Value):
    """All that is known of the presets of one instance.

    `entry` is the object they were applied to: the instance itself, or the owner whose template it starts from; `prefix` leads
    from its root to the template, `()` for an instance.
    """

    entry: Entry
    applied: Applied
    release: Release
    prefix: Path = ()

    @property
    def troubled(self) -> bool:
        """True where some rule may have something to say."""
        return self.applied.troubled
