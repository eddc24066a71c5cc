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
    from collections.abc import Mapping
    from typing import Any

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.objects import Object, Ref
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.admission.causes import Cause
    from krm_fn.kubevirt.configuration import Cluster
    from krm_fn.kubevirt.presets.facts import PresetFacts
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config

NOTHING: Mapping[Any, Any] = {}


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
    nearest first; `upstream` as in Finding: "admission" or "expand". `detail` carries what else the reason needs, by name.
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
    `actual` the two values, `source_path` the place in the preference. `upstream_path` as in Conflict.
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


class VmFacts(Value):
    """All that is known of one VM. `prefix` leads from the object's root to the VM in it: `()`, or into a pool's template.

    `vm` is the VM as it came, `admitted` as it comes to be expanded, `rendered` as it leaves: the same object where nothing
    changed, None where it can't be rendered. `presets` is what presets do to its instance, `instance` that instance, where
    the config asks for either.
    """

    entry: Entry
    vm: Object
    release: Release
    cluster: Cluster
    resolution: Resolution
    admitted: Object
    expansion: Expansion | None = None
    rendered: Object | None = None
    presets: PresetFacts | None = None
    instance: Object | None = None
    prefix: Path = ()

    @property
    def troubled(self) -> bool:
        """True where some rule may have something to say."""
        found = self.expansion
        return bool(self.resolution.errors or (found and (found.conflicts or found.unmet or found.refusals)))


class InstanceFacts(Value):
    """All that is known of an object that presets reach directly; `rendered` is the object as it leaves."""

    entry: Entry
    presets: PresetFacts
    rendered: Object


class Origin(Value):
    """Where a value of an expanded VM comes from: `field` leads to it in the spec of `source`, which `matcher` refers to."""

    source: Found
    field: Path
    matcher: str


class AdmissionFacts(Value):
    """Why KubeVirt's webhooks refuse an object; the causes' paths run from its root.

    `parts` has the same causes by the part of the object they are in, which names the rule that tells of them. `origins` has,
    by its path, the origin of each value that the object does not set itself. `gated` are the causes
    that some feature gate would remove, where the cluster's configuration is not known; `causes` lacks them.
    """

    entry: Entry
    causes: tuple[Cause, ...]
    parts: dict[str, list[Cause]]
    release: Release
    prefix: Path = ()
    origins: Mapping[Path, Origin] = NOTHING
    gated: tuple[Cause, ...] = ()

    @property
    def troubled(self) -> bool:
        """True where some rule may have something to say."""
        return bool(self.causes)


class SourceFault(Value):
    """Why no VM can use an instancetype of the bundle: `entry` it, `path` the place in it, `users` the VMs refused for it."""

    entry: Entry
    path: Path
    message: str
    users: tuple[Ref, ...]


class Storing(Value):
    """What mode `snapshot` makes of one VM that can be pinned.

    `pins` has, for each matcher that gets a new one, its field and the name of the ControllerRevision; `revisions` are the new
    ControllerRevisions; `owned` the ControllerRevisions of the bundle that the VM is pinned to and that an object owns.
    """

    vm: VmFacts
    pins: tuple[tuple[str, str], ...] = ()
    revisions: tuple[Object, ...] = ()
    owned: tuple[Entry, ...] = ()


class Unstored(Value):
    """Why mode `snapshot` can't store what a matcher of a VM refers to; the matcher then leaves as it came.

    `reason` is "name-taken" (`entry`, a ControllerRevision, holds something else), "no-label" (`entry` should be stored again,
    but bears the new name itself), "name-too-long" (that of the ControllerRevision), "label-too-long" (the name of `found`),
    "replaced" (the revision is stored again for the VM `other`), "status" (a reference in the VM's status counts, though it
    leads nowhere) or "unreadable" (so does one to `entry`, of a form that this release can't read).
    `matcher` is "instancetype" or "preference", `name` the one that the new ControllerRevision would have.
    """

    vm: VmFacts
    matcher: str
    reason: str
    found: Found
    name: str = ""
    entry: Entry | None = None
    other: VmFacts | None = None


class BundleFacts(Value):
    """All that is known of the whole bundle.

    `faults` and `gated`, the objects that need feature gates of a cluster whose configuration is not known, are known in mode
    `validate` only, `storing` and `unstored` in mode `snapshot`.
    """

    bundle: Bundle
    config: Config
    cluster: Cluster
    release: Release
    vms: tuple[VmFacts, ...] = ()
    instances: tuple[InstanceFacts, ...] = ()
    faults: tuple[SourceFault, ...] = ()
    gated: tuple[AdmissionFacts, ...] = ()
    storing: tuple[Storing, ...] = ()
    unstored: tuple[Unstored, ...] = ()
