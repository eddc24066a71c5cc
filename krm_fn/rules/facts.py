"""The facts that rules check: of the objects of a bundle, and of ignores, baselines, what could not be read, and migrations.

Nothing here words a message. Paths run from the root of the VirtualMachine, so that a rule is the same for a VM and for the VM
template of a pool; the registry puts the pool's prefix before them.
"""

from __future__ import annotations

from krm_fn.base.objects import IGNORE, annotations_of
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.errors import InputError
    from krm_fn.base.external import External
    from krm_fn.base.objects import Object, Ref
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.admission.causes import Cause
    from krm_fn.kubevirt.configuration import Cluster
    from krm_fn.kubevirt.facts import Expansion, Found, Resolution
    from krm_fn.kubevirt.presets.facts import PresetFacts
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config


NOTHING: Mapping[Any, Any] = {}
LONGEST = 1_000  # letters of an annotation that findings repeat


# Reasons of a ResolutionError beside those of `resolve`: the bundle lacks the object, and yet the reference is no mistake.
EXTERNAL, AMBIGUOUS = "external", "ambiguous"


class Ambiguous(Value):
    """A name that the bundle lacks and several objects of other targets have, which differ. `where` names their files."""

    kind: str
    namespace: str
    name: str
    where: tuple[str, ...]


class Surroundings(Value):
    """What is known beside the bundle.

    `context` are objects of other targets, to which references may lead, `places` the file and index of each where they are
    known. `external` are objects that are in the cluster and not in git. `ambiguous` are names that lead to several objects.
    """

    context: tuple[Any, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    external: tuple[External, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()

    def ambiguous_of(self, kind: str, namespace: str, name: str) -> Ambiguous | None:
        """The ambiguity of a name, None where there is none."""
        key = kind, namespace, name
        return next((each for each in self.ambiguous if (each.kind, each.namespace, each.name) == key), None)


NO_SURROUNDINGS = Surroundings()


class VmFacts(Value):
    """All that is known of one VM. `prefix` leads from the object's root to the VM in it: `()`, or into a pool's template.

    `vm` is the VM as it came, `admitted` as it comes to be expanded, `rendered` as it leaves: the same object where nothing
    changed, None where it can't be rendered. `presets` is what presets do to its instance, `instance` that instance, where
    the config asks for either. Of a `sound` VM, which only mode `validate` knows, schema, expansion and admission have nothing
    to say; where it repeats another, it is not expanded.
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
    sound: bool = False

    @property
    def troubled(self) -> bool:
        """True if some rule may find something."""
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

    `parts` has the same causes by the part of the object they are in, which names the rule that reports them. `origins` has,
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
        """True if some rule may find something."""
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


class QuotaFacts(Value):
    """A quota of the bundle, with the VMs of its namespaces that the cluster starts by itself.

    `exceeded` has name, need and allowance of each resource that they need more of together. `stopped` are objects that never
    start under the quota, with the reasons. `migrations` are those for which there is no room while they migrate. An `aware`
    quota holds pods back; others refuse them.
    """

    entry: Entry
    exceeded: tuple[tuple[str, str, str], ...] = ()
    stopped: tuple[tuple[Entry, tuple[str, ...]], ...] = ()
    migrations: tuple[Entry, ...] = ()
    aware: bool = False


class BundleFacts(Value):
    """The facts of the bundle.

    `surroundings` is what is known beside it.
    Known in mode `validate` only are `faults`, `gated` (the objects that need feature gates of a cluster whose configuration is
    not known), `quotas`, and `refused_pods` (the objects whose pods the API server refuses, with the reasons); in mode
    `snapshot` only `storing` and `unstored`.
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
    quotas: tuple[QuotaFacts, ...] = ()
    refused_pods: tuple[tuple[Entry, tuple[str, ...]], ...] = ()
    surroundings: Surroundings = NO_SURROUNDINGS


class Ignore(Value):
    """One line of an object's annotation: the rules it names, as they are written, and why; "" where it gives no reason."""

    entry: Entry
    rules: tuple[str, ...]
    reason: str

    @property
    def annotation(self) -> Any:
        """The annotation as findings repeat it; UNSET where it is long, since there may be hundreds about it."""
        value = annotations_of(self.entry.obj)[IGNORE]
        return value if len(value) <= LONGEST else UNSET


class IgnoreFacts(Value):
    """All that is known of the ignores of a bundle.

    `families` maps the ids of all rules to their families. `unused` pairs an ignore with a rule that found nothing in its
    object; it is empty if not all rules ran. `misshapen` are the objects whose annotation is no text, with its value.
    """

    release: Release
    families: dict[str, str]
    ignores: tuple[Ignore, ...]
    unused: tuple[tuple[Ignore, str], ...] = ()
    misshapen: tuple[tuple[Entry, Any], ...] = ()


class Known(Value):
    """One entry: which finding, why it may stay, and the last day (YYYY-MM-DD) on which it may; "" for neither."""

    fingerprint: str
    rule: str
    object: str = ""
    path: str = ""
    reason: str = ""
    expires: str = ""


class BaselineFacts(Value):
    """The facts of a baseline after a run: entries that are out of date, and those that no finding met, with their numbers."""

    release: Release
    today: str
    expired: tuple[tuple[int, Known], ...] = ()
    unused: tuple[tuple[int, Known], ...] = ()


class UnmatchedGlob(Value):
    """A glob among the targets of a cluster that matches no target of a run, with its place in the config."""

    glob: str
    cluster: str
    path: Path
    file: str
    line: int
    column: int


class RepositoryFacts(Value):
    """What is to say of the config of a repository."""

    release: Release
    unmatched: tuple[UnmatchedGlob, ...] = ()


class SkippedFile(Value):
    """A file or folder that was found in a folder and is not read.

    `why` it can't be read, in the words of the operating system; "" where it is a link that leads out of the paths.
    """

    file: str
    why: str = ""


class Unbuilt(Value):
    """A kustomization or a Helm chart that can't be built: the file that is at fault, "" for none, and the place in it as far
    as it is known.

    `reason` is "refused" (`detail` is what the program says that builds), "unreadable" (`detail` says why), "cycle" (`detail`
    names the folders), "remote" (`detail` is what the file refers to), "outside" (the same, beyond the repository),
    "restricted" (the same, not below the kustomization), "absent" (`detail` names a file that is not there, and says why),
    "helm", "plugin" (`detail` names it, or ""), "slow" (`detail` is the time that it had) or "program" (none is there that
    builds; `count` kustomizations need it).

    With `is_chart`, it is a Helm chart: the reason is "refused", "outside", "slow" or "dependencies" (`detail` names charts
    that it needs), "flag" (nobody wants it to be built) or "program".
    """

    file: str
    reason: str
    detail: str = ""
    line: int = 0
    column: int = 0
    count: int = 1
    is_chart: bool = False


class InputFacts(Value):
    """What couldn't be read: of documents an error each, of found templates too, the files that were passed over, and what
    couldn't be built: kustomizations and Helm charts.
    """

    release: Release
    errors: tuple[InputError, ...] = ()
    templates: tuple[InputError, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    unbuilt: tuple[Unbuilt, ...] = ()
    charts: tuple[Unbuilt, ...] = ()


class Leftover(Value):
    """One thing that a migration leaves to the user; `path` runs from the root of the object.

    `reason` is a word that the rules of the family `migration` know; `detail` carries what else it needs, by name.
    """

    entry: Entry
    reason: str
    path: Path = ()
    current: Any = UNSET
    detail: tuple[tuple[str, Any], ...] = ()


class MigrationFacts(Value):
    """All that a migration left to the user."""

    release: Release
    leftovers: tuple[Leftover, ...] = ()
