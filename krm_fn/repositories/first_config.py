"""The config of a repository as `init` writes it: clusters by the layout of folders, the settings of a cluster by its objects.

Objects of the repository count in each run, so their settings are not copied, but for their release. What is in no cluster's
folders counts for none, so its settings are stated for all. A dump of a cluster is nowhere else: its settings are stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.base.globs import Globs, steps_of
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, copy, drop, get, put
from krm_fn.base.value import Value
from krm_fn.config import settings
from krm_fn.config.keys import API_VERSION, KIND
from krm_fn.kubevirt.configuration import merged, named_release
from krm_fn.kubevirt.hyperconverged import configuration_of
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.repositories import names, sharing
from krm_fn.repositories.sharing import Offer, Taken

if TYPE_CHECKING:
    from krm_fn.repositories.loading import Options, Parsed, Unit


# Folders whose subfolders are one a cluster: those that stand once, and those that stand in each application.
FOLDERS = ("clusters", "environments", "envs", "overlays")
# Folders beside those of clusters that all of them use.
SHARED = frozenset(("base", "bases", "common", "components", "shared"))
# The settings of a KubeVirtConfiguration that decide what is rendered and what is refused or reported.
SETTINGS: tuple[Path, ...] = (
    ("additionalGuestMemoryOverheadRatio",),
    ("architectureConfiguration",),
    ("autoCPULimitNamespaceLabelSelector",),
    ("changedBlockTrackingLabelSelectors",),
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
UNKNOWN = '    # kubevirtVersion: "1.9"\n'
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

    `configuration` is None where no object has one. `files` are those of the objects, if the repository has them.
    """

    release: str = ""
    configuration: Object | None = None
    files: tuple[str, ...] = ()


UNSAID = ClusterSettings()


def describing(unit: Unit, parsed: Parsed, _: Taken, __: Options) -> tuple[str, list[Offer]]:
    """The folder of a unit, and those of its objects that describe a cluster. The work of a run."""
    offers = sharing.offers(parsed.found.items, unit.called, parsed.found.places)
    return unit.called, [offer for offer in offers if offer.kind in names.PLATFORM]


def described(
    found: Iterable[tuple[str, Sequence[Offer]]], clusters: Mapping[str, Sequence[str]]
) -> dict[str, ClusterSettings]:
    """What the objects of a repository say of each cluster, and of "", which stands for the folders of none.

    `found` has the objects with the folder from which they are applied, relative to that of the config. Of clusters with
    several different objects, nothing is known.
    """
    of_clusters: dict[str, dict[tuple[str, str], Offer]] = {}
    owners = [name for name, globs in clusters.items() for _ in globs]
    of_targets = Globs(glob for globs in clusters.values() for glob in globs)
    for folder, offers in found:
        name = owners[min(covering)] if (covering := of_targets.covering(folder)) else ""
        of_clusters.setdefault(name, {}).update({(offer.kind, offer.digest): offer for offer in offers})
    settings = {}
    for name, each in of_clusters.items():
        if each and len({kind for kind, _ in each}) == len(each):
            files = tuple(sorted({offer.where for offer in each.values()}))
            settings[name] = settings_of([offer.obj for offer in each.values()]).but(files=files)
    return settings


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
    stands for itself, `apps/web/overlays/north` for all folders of that kind. Folders of these names elsewhere belong to them.
    """
    folders = [steps_of(file)[:-1] for file in files]
    for name in FOLDERS:
        found = {steps[: place + 2] for steps in folders for place, step in enumerate(steps[:-1]) if step == name}
        at = {steps for steps in found if steps[-1] not in SHARED}
        if len({steps[-1] for steps in at}) > 1:
            return _elsewhere({each: _globs(each, name, at) for each in sorted({steps[-1] for steps in at})}, folders)
    return {}


def _globs(cluster: str, name: str, at: set[tuple[str, ...]]) -> list[str]:
    parents = {steps[:-1] for steps in at}
    return ["/".join((*next(iter(parents)), cluster))] if len(parents) == 1 else [f"**/{name}/{cluster}"]


def _elsewhere(clusters: dict[str, list[str]], folders: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    """The clusters with the folders of their names in other places, where several of them stand side by side."""
    beside: dict[tuple[str, ...], set[str]] = {}
    known = Globs(glob for globs in clusters.values() for glob in globs)
    for steps in folders:
        place = next((place for place, step in enumerate(steps) if step in clusters), len(steps))
        if steps[place:] and not known.covering(steps):
            beside.setdefault(steps[:place], set()).add(steps[place])
    several = sorted(parent for parent, names in beside.items() if len(names) > 1)
    return {
        name: [*globs, *("/".join((*parent, name)) for parent in several if name in beside[parent])]
        for name, globs in clusters.items()
    }


def has_testdata(files: Iterable[str]) -> bool:
    """True where a folder is called `testdata`, as Go's tools know it."""
    return any("testdata" in steps_of(file)[:-1] for file in files)


def text(
    of_clusters: Mapping[str, ClusterSettings],
    clusters: Mapping[str, list[str]],
    *,
    at_root: bool = True,
    testdata: bool = False,
) -> str:
    """The text of a config. Only at the root of a repository may it name clusters. `testdata`: leave that out.

    `of_clusters` has what is known of each cluster; "" stands for all of them.
    """
    found = of_clusters.get("", UNSAID)
    stated = _stated(found, copied=bool(clusters))
    source = (
        f"  # From {', '.join(map(file_name, found.files))}{', which is in the folders of no cluster' if clusters else ''}:\n"
        if found.files
        else ""
    )
    parts = [HEAD]
    if "kubevirtVersion" in stated:
        parts += [RELEASE, source, _yaml({"kubevirtVersion": stated["kubevirtVersion"]})]
    if "configuration" in stated:
        parts += [CONFIGURATION, source, _yaml({"configuration": stated["configuration"]})]
    parts += [TESTDATA if testdata else EXCLUDE, EXTERNAL]
    if clusters:
        parts += [
            CLUSTERS,
            "  clusters:\n",
            *(_cluster(name, clusters[name], of_clusters.get(name, UNSAID)) for name in clusters),
        ]
    elif at_root:
        parts.append(NO_CLUSTERS)
    return "".join(parts)


def _stated(found: ClusterSettings, *, copied: bool) -> Object:
    """What a config states of a cluster. `copied`: also the settings of an object of the repository."""
    stated: Object = {"kubevirtVersion": found.release} if found.release else {}
    if found.configuration is not None and (copied or not found.files):
        stated["configuration"] = found.configuration
    return stated


def _cluster(name: str, targets: list[str], found: ClusterSettings) -> str:
    stated = _stated(found, copied=False)
    source = f"  # The settings are those of {', '.join(map(file_name, found.files))}:\n" if found.files else ""
    return source + _yaml([{"name": name, "targets": targets, **stated}]) + ("" if found.release else UNKNOWN)


def with_settings(spec: Object, found: ClusterSettings, cluster: str, targets: Sequence[str]) -> Object:
    """The `spec` of a config with what a dump says of a cluster, "" for all of them; what only users know stays.

    A cluster that the config lacks is added with these `targets`.
    """
    spec = copy(spec)
    section = spec
    if cluster:
        listed = as_list(spec.get("clusters"))
        section = next((each for each in listed if each.get("name") == cluster), {})
        if not section:
            section.update(name=cluster, targets=list(targets))
            spec["clusters"] = [*listed, section]
    if found.release:
        section["kubevirtVersion"] = found.release
    for path in SETTINGS if found.configuration is not None else ():
        value = get(found.configuration, path)
        if value is None:
            drop(section, ("configuration", *path))
        else:
            put(section, ("configuration", *path), copy(value))
    return spec


def _yaml(value: Any) -> str:
    return "".join(f"  {line}\n" for line in yamlio.dump(value).splitlines())
