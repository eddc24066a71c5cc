"""The first config of a repository: its clusters by the layout of its folders, and the settings of a cluster by its objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError
from krm_fn.base.globs import steps_of
from krm_fn.base.paths import as_map, copy, get, put
from krm_fn.base.value import Value
from krm_fn.config import settings
from krm_fn.config.keys import API_VERSION, KIND
from krm_fn.kubevirt.configuration import merged, named_release
from krm_fn.kubevirt.hyperconverged import configuration_of
from krm_fn.kubevirt.releases import NEWEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path

# Folders whose subfolders are one a cluster: those that stand once, and those that stand in each application.
FOLDERS = ("clusters", "environments", "envs", "overlays")
# Folders beside those of clusters that all of them use.
SHARED = frozenset(("base", "bases", "common", "components", "shared"))
# The settings of a KubeVirtConfiguration that decide what is rendered and what is refused or reported.
SETTINGS: tuple[Path, ...] = (
    ("additionalGuestMemoryOverheadRatio",),
    ("architectureConfiguration",),
    ("autoCPULimitNamespaceLabelSelector",),
    ("commonInstancetypesDeployment",),
    ("confidentialCompute",),
    ("cpuModel",),
    ("cpuRequest",),
    ("defaultRuntimeClass",),
    ("developerConfiguration", "cpuAllocationRatio"),
    ("developerConfiguration", "disabledFeatureGates"),
    ("developerConfiguration", "featureGates"),
    ("developerConfiguration", "memoryOvercommit"),
    ("developerConfiguration", "nodeSelectors"),
    ("developerConfiguration", "useEmulation"),
    ("emulatedMachines",),
    ("evictionStrategy",),
    ("hypervisors",),
    ("instancetype",),
    ("liveUpdateConfiguration",),
    ("machineType",),
    ("network",),
    ("permittedHostDevices",),
    ("persistentReservationConfiguration",),
    ("supportContainerResources",),
    ("virtualMachineOptions",),
    ("vmStateStorageClass",),
    ("vmRolloutStrategy",),
)
HEAD = f"""\
# The config of kubevirt-render for this repository.
# `kubevirt-render schema repository-config` prints its schema, with all keys.
apiVersion: {API_VERSION}
kind: {KIND}
spec:
"""
EXCLUDE = """\
  # Files and folders that are not read:
  # exclude: ["**/testdata/**"]
"""
TESTDATA = """\
  # Files and folders that are not read. Nobody applies test data:
  exclude: ["**/testdata/**"]
"""
EXTERNAL = """\
  # Objects that are in the cluster and not in this repository; namespace and name may be globs or absent:
  # external:
  # - {kind: DataSource, namespace: golden-images}
"""
RELEASE = "  # The KubeVirt release of the cluster.\n"
CONFIGURATION = "  # The settings of the cluster that decide what is rendered and what is refused.\n"
CLUSTERS = """\
  # The clusters, each with the folders that are applied to it. The targets of one cluster use one another's instancetypes,
  # preferences and images. Each cluster may have all keys of this file again, such as kubevirtVersion.
"""
NO_CLUSTERS = """\
  # If the repository is for several clusters, list them with the folders that are applied to each:
  # clusters:
  # - name: north
  #   targets: ["clusters/north"]
  #   kubevirtVersion: "1.9"
"""


class ClusterSettings(Value):
    """What objects say of their cluster. `release` is "" where none is named, or one that is not known here.

    `configuration` is None where no object has one.
    """

    release: str = ""
    configuration: Object | None = None


def settings_of(items: Sequence[Any]) -> ClusterSettings:
    """The settings of the cluster that KubeVirt or HyperConverged objects describe. Raises: InputError where there is none."""
    bundle = Bundle(items)
    found = bundle.ordered(bundle.of_kind("KubeVirt", "kubevirt.io"))
    operators = bundle.ordered(bundle.of_kind("HyperConverged", "hco.kubevirt.io"))
    if not found and not operators:
        fix = "save what `kubectl get kubevirt,hyperconverged -A -o yaml` prints"
        raise InputError(f"no KubeVirt and no HyperConverged object found; {fix}")
    if len(found) > 1 or len(operators) > 1:
        raise InputError("several KubeVirt or HyperConverged objects found; expected those of one cluster")
    named = named_release(bundle)
    release = named.release if named else None
    if found:
        configuration = as_map(get(found[0].obj, ("spec", "configuration")))
    else:
        configuration = configuration_of(operators[0].obj, release or NEWEST)
    return ClusterSettings(release=str(release or ""), configuration=deciding(configuration))


def deciding(configuration: Object) -> Object:
    """The part of a KubeVirtConfiguration that decides something here and that a known release has."""
    kept: Object = {}
    for path in SETTINGS:
        value = get(configuration, path)
        if value is not None:
            own: Object = {}
            put(own, path, copy(value))
            kept = merged(kept, own)
    for path, _ in list(settings.unknown(kept)):
        del get(kept, path[:-1])[path[-1]]
    return kept


def clusters_in(files: Iterable[str]) -> dict[str, list[str]]:
    """The clusters that a layout of folders shows, each with the globs of its targets; none where it shows fewer than two.

    `files` are relative to the repository. The first of FOLDERS that has two subfolders counts: `clusters/north` at the top
    stands for itself, `apps/web/overlays/north` for all folders of that kind.
    """
    folders = [steps_of(file)[:-1] for file in files]
    for name in FOLDERS:
        found = {steps[: place + 2] for steps in folders for place, step in enumerate(steps[:-1]) if step == name}
        at = {steps for steps in found if steps[-1] not in SHARED}
        if len({steps[-1] for steps in at}) > 1:
            return {cluster: _globs(cluster, name, at) for cluster in sorted({steps[-1] for steps in at})}
    return {}


def _globs(cluster: str, name: str, at: set[tuple[str, ...]]) -> list[str]:
    parents = {steps[:-1] for steps in at}
    return ["/".join((*next(iter(parents)), cluster))] if len(parents) == 1 else [f"**/{name}/{cluster}"]


def has_testdata(files: Iterable[str]) -> bool:
    """True where a folder is called `testdata`, as Go's tools know it."""
    return any("testdata" in steps_of(file)[:-1] for file in files)


def text(found: ClusterSettings, clusters: dict[str, list[str]], *, at_root: bool = True, testdata: bool = False) -> str:
    """The text of the config. Only at the root of a repository may it name clusters. `testdata`: leave that out."""
    parts = [HEAD]
    if found.release:
        parts += [RELEASE, _yaml({"kubevirtVersion": found.release})]
    if found.configuration is not None:
        parts += [CONFIGURATION, _yaml({"configuration": found.configuration})]
    parts += [TESTDATA if testdata else EXCLUDE, EXTERNAL]
    if clusters:
        listed = [{"name": name, "targets": targets} for name, targets in clusters.items()]
        parts += [CLUSTERS, _yaml({"clusters": listed})]
    elif at_root:
        parts.append(NO_CLUSTERS)
    return "".join(parts)


def _yaml(value: Object) -> str:
    return "".join(f"  {line}\n" for line in yamlio.dump(value).splitlines())
