"""Facts: what resolving and expanding found out. Rules turn them into findings; nothing here words a message.

Paths are tuples from the VirtualMachine's root (`("spec", "instancetype", "name")`), so that a rule is the same for a VM and
for the VM template of a pool; the runner puts the pool's prefix before them.
"""

from __future__ import annotations

from krm_fn.base.paths import number_of_values
from krm_fn.base.value import Value, put
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object, Ref
    from krm_fn.base.paths import Path


class Found(Value):
    """An instancetype or preference that a matcher resolved to.

    `spec` is its spec as the cluster would read it (v1beta1 form). `origin` is "bundle", "revision" or "catalogue". `ref` is
    the instancetype or preference itself; `revision` the ControllerRevision that holds it, if one does. `entry` is where the
    object (or the revision) stands in the bundle, None for the catalogue. `table` names the field table that the spec is
    applied by: "instancetype", or one of those for flavors, whose spec comes from `root` in its object.
    """

    spec: Object
    ref: Ref
    origin: str
    entry: Entry | None = None
    revision: Ref | None = None
    table: str = "instancetype"
    root: Path = ("spec",)
    _number = 0

    @property
    def values(self) -> int:
        """How many values its spec has: as many go into each VM that refers to it."""
        if not self._number:
            put(self, "_number", number_of_values(self.spec) + 1)
        return self._number


class ResolutionError(Value):
    """Why a matcher leads nowhere; frozen data, which a rule words.

    `matcher` is "instancetype" or "preference"; `reason` one of the words that `resolve` documents; `path` the place in the VM
    that is wrong, `current` its value; `wanted` the object that was looked for; `candidates` the names that exist instead,
    nearest first; `upstream` is who refuses it, "admission" or "expand". `detail` carries what else the reason needs, by name.
    """

    matcher: str
    reason: str
    path: Path
    current: Any = UNSET
    wanted: Ref | None = None
    candidates: tuple[str, ...] = ()
    upstream: str = ""
    detail: tuple[tuple[str, Any], ...] = ()


class Resolution(Value):
    """What the matchers of one VM lead to. `vm` is the VM after inference: the same object where nothing was inferred."""

    vm: Object
    instancetype: Found | None = None
    preference: Found | None = None
    errors: tuple[ResolutionError, ...] = ()


class Conflict(Value):
    """A field that both the VM and its instancetype set.

    `path` is the real place in the VM, `current` the value there; `source_path` the place in the instancetype (from its root:
    `("spec", "cpu", "model")`), `value` the value there, UNSET where the instancetype claims the field without naming a value.
    `upstream_path` is the dotted path KubeVirt names, "" where it is the real one.
    """

    path: Path
    current: Any
    source_path: Path
    value: Any = UNSET
    upstream_path: str = ""


class Unmet(Value):
    """A requirement of the preference that the VM doesn't meet, or a topology that its vCPUs don't fit.

    `kind` is one of the words that `expand.requirements` documents. `path` is the place to blame in the VM, `required` and
    `actual` the two values, `source_path` the place in the preference. `upstream_path` is the dotted path KubeVirt
    names, "" where it is the real one.
    """

    kind: str
    path: Path
    required: Any
    actual: Any
    source_path: Path
    upstream_path: str = ""
    detail: tuple[tuple[str, Any], ...] = ()


class Expansion(Value):
    """What applying led to: `vm` is the rendered VM, None where it can't be rendered; then conflicts or `refusals` say why.

    `unmet` stands beside a rendered VM: KubeVirt's expander checks no requirements, its admission does. `refusals` are words
    for cluster settings that forbid what expansion would have to write, as `expand` documents.
    """

    vm: Object | None
    conflicts: tuple[Conflict, ...] = ()
    unmet: tuple[Unmet, ...] = ()
    refusals: tuple[str, ...] = ()
