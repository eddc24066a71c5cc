"""Facts about presets: the results of applying them to one instance. Rules have the messages.

`path` is a place in the instance (or the preset) from its root, `("spec", "domain", "cpu")`; `upstream` the place as KubeVirt's
messages name it, `spec.cpu`. Values are plain, or UNSET.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.selector import Problem


class Clash(Value):
    """A part of the domain that two sides set differently: `value` is that of the preset, `current` that of the other side.

    `same_amount` marks two spellings of one quantity, which KubeVirt treats as different.
    """

    path: Path
    upstream: str
    value: Any = UNSET
    current: Any = UNSET
    same_amount: bool = False


class PresetConflict(Value):
    """A preset that clashes with the instance, which keeps its values. `partial`: another part of the preset was applied."""

    preset: Entry
    clashes: tuple[Clash, ...]
    partial: bool


class Disagreement(Value):
    """Two presets that match the same instance and clash; `preset` is applied after `other`."""

    preset: Entry
    other: Entry
    clashes: tuple[Clash, ...]


class InvalidSelector(Value):
    """A preset in the instance's namespace with an invalid selector, matching or not; the last of several counts `more`."""

    preset: Entry
    problems: tuple[Problem, ...]
    more: int = 0


class OrderMatters(Value):
    """A part of the domain that several presets set differently: the first of `presets` set it here, KubeVirt may use any."""

    path: Path
    presets: tuple[Entry, ...]


class Applied(Value):
    """The result of applying presets to one instance.

    `instance` is a new object, or the given one if nothing changed. `applied` are the names of the presets that count as
    applied, in order. `refused` is "" or the reason why there is no instance: "disagreement" (up to 0.8 it fails at once) or
    "selector"; then the instance does not change, except for the controller's marker. `invalid` is set with an empty `refused`
    if an older release skips the preset. `idle` presets matched, but set nothing and have no conflict. `too_long` presets were
    applied, but have names that are too long for an annotation key.
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
        """True if some rule may have a finding."""
        return bool(self.conflicts or self.disagreements or self.invalid or self.order or self.idle or self.too_long)


class PresetFacts(Value):
    """All facts about the presets of one instance.

    `entry` is the object they were applied to: the instance itself, or the owner of its template; `prefix` is the path from its
    root to the template, `()` for an instance.
    """

    entry: Entry
    applied: Applied
    release: Release
    prefix: Path = ()

    @property
    def troubled(self) -> bool:
        """True if some rule may have a finding."""
        return self.applied.troubled
