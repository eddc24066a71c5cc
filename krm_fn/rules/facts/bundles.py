"""The facts of one bundle, and what is known beside it: objects of other targets, and objects in the cluster and not in git."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Mapping, Sequence
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.value import Value, put
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.rules.facts.vms import InstanceFacts, VmFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.external import Externals
    from krm_fn.rules.facts.admission import AdmissionFacts, SourceFault
    from krm_fn.rules.facts.completed import ConversionFacts, DriftFacts, EvictionFacts, QuotaFacts
    from krm_fn.rules.facts.patches import Patched, Unpatched
    from krm_fn.rules.facts.policies import Unevaluated
    from krm_fn.rules.facts.snapshots import Storing, Unstored


# Reasons of a ResolutionError beside those of `resolve`: the bundle lacks the object, and yet the reference is no mistake.
EXTERNAL, AMBIGUOUS = "external", "ambiguous"
RENAMED = "renamed"  # the object has another name since the build; the reference is a mistake


class Ambiguous(Value):
    """A name that the bundle lacks and several objects of other targets have, which differ. `where` names their files."""

    kind: str
    namespace: str
    name: str
    where: tuple[str, ...]


NOTHING_ELSE: Mapping[int, Any] = {}


class Surroundings(Value):
    """What is known beside the bundle.

    `context` are objects of other targets, to which references may lead, `places` the file and index of each where they are
    known. `external` are objects that are in the cluster and not in git. `ambiguous` are names that lead to several objects.
    `runs` is the number of bundles that share the work of a run, rounded up to a power of two. `affixes` are the pairs of a
    prefix and a suffix that kustomizations have given to names, where the bundle is what was built. `written` are items as they
    are written, by number, where placeholders have defaults, which count in their place. `ignored` is `ignoreDifferences` of
    the Application of Argo CD that applies the bundle, None where there is none or where it compares on the server.
    """

    context: tuple[Any, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    external: tuple[Externals, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()
    runs: int = 1
    affixes: tuple[tuple[str, str], ...] = ()
    written: Mapping[int, Any] = NOTHING_ELSE
    ignored: tuple[Any, ...] | None = None

    def is_external(self, kind: str, namespace: str, name: str) -> bool:
        """True for an object that is in the cluster and not in git. Raises: ConfigError where that takes too much work."""
        if not self.external:
            return False
        from krm_fn.base.external import covering  # few runs have external objects

        return bool(covering(self.external, kind, namespace, name))

    def ambiguous_of(self, kind: str, namespace: str, name: str) -> Ambiguous | None:
        """The ambiguity of a name, None where there is none."""
        found: dict[tuple[str, str, str], Ambiguous] | None = vars(self).get("_found")
        if found is None:
            found = {(each.kind, each.namespace, each.name): each for each in reversed(self.ambiguous)}
            put(self, "_found", found)
        return found.get((kind, namespace, name))


NO_SURROUNDINGS = Surroundings()


class BundleFacts(Value):
    """The facts of the bundle.

    `surroundings` is what is known beside it.
    Known in mode `validate` only are `faults`, `gated` (the objects that need feature gates of a cluster whose configuration is
    not known), `stopped` (the objects that KubeVirt lets in and whose instances never start), `quotas`, `refused_pods` (the
    objects whose pods the API server refuses, with the reasons), `evictions` (the machines that a drain can't migrate),
    `drifts` (the VMs that Argo CD reports as out of sync), and `conversions` (the VMs that could refer to an instancetype,
    where the config asks for these); in mode `snapshot` only `storing` and `unstored`. `patched` and `unpatched` are what the
    patches of the config do to VMs, `unevaluated` the policies that can't be evaluated.
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
    evictions: tuple[EvictionFacts, ...] = ()
    drifts: tuple[DriftFacts, ...] = ()
    conversions: tuple[ConversionFacts, ...] = ()
    stopped: tuple[AdmissionFacts, ...] = ()
    patched: tuple[Patched, ...] = ()
    unpatched: tuple[Unpatched, ...] = ()
    unevaluated: tuple[Unevaluated, ...] = ()
    surroundings: Surroundings = NO_SURROUNDINGS

    @property
    def remaining(self) -> Sequence[Entry]:
        """The entries of the bundle without those that are done, of which nothing is to be reported."""
        return [entry for entry in self.bundle.entries if not entry.is_done]
