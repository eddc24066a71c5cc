"""Admission of an instance's spec and metadata, in all kinds of objects."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.kubevirt.admission.check_tree import CheckTree
from krm_fn.kubevirt.admission.fields import (
    claims,
    cpu,
    credentials,
    devices,
    disks,
    earlier_releases,
    firmware,
    first_releases,
    interfaces,
    live_update,
    memory,
    metadata,
    networks,
    probes,
    scheduling,
    volumes,
)
from krm_fn.kubevirt.admission.scope import Cause, Scope
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.releases import Release, Version

GROUPS = (
    *cpu.GROUPS,
    *memory.GROUPS,
    *firmware.GROUPS,
    *probes.GROUPS,
    *disks.GROUPS,
    *volumes.GROUPS,
    *interfaces.GROUPS,
    *devices.GROUPS,
    *claims.GROUPS,
    *credentials.GROUPS,
    *networks.DNS_GROUPS,
    *earlier_releases.GROUPS,
    *first_releases.GROUPS,
)
EXAMINATIONS = (
    *memory.EXAMINATIONS,
    *firmware.EXAMINATIONS,
    *cpu.EXAMINATIONS,
    *scheduling.EXAMINATIONS,
    *networks.EXAMINATIONS,
    *interfaces.EXAMINATIONS,
    *devices.EXAMINATIONS,
    *claims.EXAMINATIONS,
    *disks.EXAMINATIONS,
    *volumes.EXAMINATIONS,
    *networks.DNS_EXAMINATIONS,
    *probes.EXAMINATIONS,
    *devices.GRACE_EXAMINATIONS,
    *earlier_releases.EXAMINATIONS,
    *first_releases.EXAMINATIONS,
)
# Those of VMs alone, also of the VMs that a pool creates; and of VMs that are created.
VM_EXAMINATIONS = (*memory.VM_EXAMINATIONS, *first_releases.VM_EXAMINATIONS, *live_update.VM_EXAMINATIONS)
CREATION_EXAMINATIONS = interfaces.VM_EXAMINATIONS

_trees: dict[tuple[str, Version], CheckTree] = {}


def check_tree(name: str, release: Release) -> CheckTree:
    """The compiled tables of a kind of object for a release; compiled once."""
    key = name, release.version
    if key not in _trees:
        groups, examinations = {
            "instance": (GROUPS, (*EXAMINATIONS, *earlier_releases.TEMPLATE_EXAMINATIONS)),
            "vm": (GROUPS, (*EXAMINATIONS, *VM_EXAMINATIONS, *CREATION_EXAMINATIONS)),
        }[name]
        _trees[key] = CheckTree(groups, examinations, release)
    return _trees[key]


def admit_instance_spec(
    spec: Object, path: Path, *, cluster: Cluster, release: Release, as_written: bool = False
) -> list[Cause]:
    """All causes for which admission refuses a VirtualMachineInstance's spec with its defaults set; `path` is that of the spec.

    `as_written`: no mutating webhook has removed empty values.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceSpec
    """
    scope = Scope(spec, path=path, cluster=cluster, release=release, as_written=as_written)
    return check_tree("instance", release).run(scope)


def metadata_causes(found: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """The causes in an instance's metadata. `at` is the metadata's place."""
    yield from metadata.foreign_metadata(found, at, scope)
    yield from earlier_releases.migration_threads(found, at, scope)
    yield from devices.grace_annotations(found, at, scope)
