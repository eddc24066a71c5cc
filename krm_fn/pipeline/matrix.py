"""Every pair of an instancetype and a preference, on a VM that has nothing else: which are refused, and what the others need.

The pairs are those of the cluster-wide objects of a bundle and of the release's catalogue.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, name_of
from krm_fn.base.value import Value
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE, view
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.analysis import cluster_of
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.sizing.demands import Demand

# What of a bundle a pair depends on, beside the two objects.
KEPT = ("KubeVirt", "HyperConverged", INSTANCETYPE, PREFERENCE)
SEPARATOR = "+"
MOST = 5_500  # pairs; the catalogue of a release makes up to 3,510, and each takes as long as a VM


class MatrixPair(Value):
    """A pair, and what a VM of it needs."""

    instancetype: str
    preference: str
    demand: Demand


def pairs(items: Sequence[Any], settings: Config) -> list[MatrixPair]:
    """All pairs, instancetype by instancetype. Raises: InputError where they are too many."""
    bundle = Bundle(items)
    kept = [entry.obj for kind in KEPT for entry in bundle.of_kind(kind)]
    names = [_names(bundle, settings, kind) for kind in (INSTANCETYPE, PREFERENCE)]
    if len(names[0]) * len(names[1]) > MOST:
        raise InputError(
            f"{len(names[0]):,} instancetypes and {len(names[1]):,} preferences make more than {MOST:,} pairs; "
            "give fewer files, or leave the catalogue out with --catalogue none"
        )
    wanted = [(instancetype, preference) for instancetype in names[0] for preference in names[1]]
    found = demands_of(facts_of(Bundle([*kept, *(_vm(*pair) for pair in wanted)]), settings))
    return [
        MatrixPair(instancetype=instancetype, preference=preference, demand=demand)
        for (instancetype, preference), demand in zip(wanted, found, strict=True)
    ]


def _names(bundle: Bundle, settings: Config, kind: str) -> list[str]:
    """The names of a kind: those of the catalogue, smallest first, then those that only the bundle has."""
    return list(dict.fromkeys((*_of_catalogue(bundle, settings, kind), *sorted(name_of(e.obj) for e in bundle.of_kind(kind)))))


def _of_catalogue(bundle: Bundle, settings: Config, kind: str) -> Iterator[str]:
    release = release_of(bundle, settings)
    if settings.catalogue != "none" and cluster_of(bundle, settings, release).deploys_catalogue(release):
        yield from (row.name for row in view.rows(release, kind))


def _vm(instancetype: str, preference: str) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": f"{instancetype}{SEPARATOR}{preference}"},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": instancetype},
            "preference": {"name": preference},
            "template": {"metadata": {}, "spec": {"domain": {"devices": {}}}},
        },
    }
