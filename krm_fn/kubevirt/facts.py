"""Facts: the results of resolving and expanding. Rules turn them into findings; there are no messages here.

Paths are tuples from the VirtualMachine's root (`("spec", "instancetype", "name")`), so that a rule is the same for a VM and
for the VM template of a pool. The runner adds the pool's prefix.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, Ref
from krm_fn.base.paths import Path, number_of_values
from krm_fn.base.value import Value, put
from krm_fn.findings.finding import UNSET

# The reason for which a name that a later step fills in can't be resolved.
OPEN = "placeholder"


class Found(Value):
    """An instancetype or preference that a matcher resolved to.

    `spec` is its spec as the cluster reads it (v1beta1 form). `origin` is "bundle", "revision" or "catalogue". `ref` is the
    instancetype or preference itself; `revision` the ControllerRevision that holds it, if there is one. `entry` is the object
    (or the revision) in the bundle, None for the catalogue. `table` is the field table for the spec: "instancetype", or one of
    those for flavors, whose spec is at `root` in its object.
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
        """The number of values in its spec. Each VM that refers to it gets as many."""
        if not self._number:
            put(self, "_number", number_of_values(self.spec) + 1)
        return self._number


class ResolutionError(Value):
    """Why a matcher cannot be resolved; frozen data, for which a rule has the message.

    `matcher` is "instancetype" or "preference"; `reason` one of the words that `resolve` documents; `path` the wrong place in
    the VM, `current` its value; `wanted` the missing object; `candidates` the names that exist instead, nearest first;
    `upstream` is "admission" or "expand", which refuses it. `detail` has other values for the reason, by name. `may_exist`: the
    cluster may have the wanted object although the bundle lacks it.
    """

    matcher: str
    reason: str
    path: Path
    current: Any = UNSET
    wanted: Ref | None = None
    candidates: tuple[str, ...] = ()
    upstream: str = ""
    detail: tuple[tuple[str, Any], ...] = ()
    may_exist: bool = False


class Resolution(Value):
    """The objects of the matchers of one VM. `vm` is the VM after inference, or the same object if nothing is inferred."""

    vm: Object
    instancetype: Found | None = None
    preference: Found | None = None
    errors: tuple[ResolutionError, ...] = ()


class Conflict(Value):
    """A field that both the VM and its instancetype set.

    `path` is the real place in the VM, `current` the value there. `source_path` is the place in the instancetype (from its
    root: `("spec", "cpu", "model")`), `value` the value there, or UNSET if the instancetype forbids the field without a value.
    `upstream_path` is the dotted path that KubeVirt names, "" if it is the real one.
    """

    path: Path
    current: Any
    source_path: Path
    value: Any = UNSET
    upstream_path: str = ""


class Unmet(Value):
    """A requirement of the preference that the VM does not meet, or a topology that does not divide its vCPUs.

    `kind` is one of the words that `expand.requirements` documents. `path` is the place in the VM, `required` and `actual` the
    two values, `source_path` the place in the preference. `upstream_path` is the dotted path that KubeVirt names, "" if it is
    the real one.
    """

    kind: str
    path: Path
    required: Any
    actual: Any
    source_path: Path
    upstream_path: str = ""
    detail: tuple[tuple[str, Any], ...] = ()


class Expansion(Value):
    """The result of applying: `vm` is the rendered VM, or None if conflicts or `refusals` prevent it.

    A rendered VM may have `unmet`: KubeVirt's expander checks no requirements, its admission does. `refusals` are the words for
    cluster settings that forbid a value of the expansion, as `expand` documents, and for crashes (`expand.crashes`).
    `ignored_topology` is the preferred topology if the release does not know its name, so that the VM gets a single vCPU.
    """

    vm: Object | None
    conflicts: tuple[Conflict, ...] = ()
    unmet: tuple[Unmet, ...] = ()
    refusals: tuple[str, ...] = ()
    ignored_topology: str = ""
