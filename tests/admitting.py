"""A plain VM and what admission says of changes to it, for the tests of `krm_fn.kubevirt.admission`."""

from __future__ import annotations

from typing import Any

from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import copy, dotted, put
from krm_fn.kubevirt import admission, releases
from krm_fn.kubevirt.admission.expansion import expand_for_admission
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Resolution

NEWEST = releases.parse("1.9")

PLAIN: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web"},
    "spec": {
        "runStrategy": "Always",
        "template": {
            "metadata": {},
            "spec": {
                "domain": {
                    "cpu": {"cores": 2},
                    "memory": {"guest": "1Gi"},
                    "devices": {
                        "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                        "interfaces": [{"name": "default", "masquerade": {}}],
                    },
                },
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [{"name": "root", "containerDisk": {"image": "quay.io/containerdisks/fedora:40"}}],
            },
        },
    },
}

DOMAIN = ("spec", "template", "spec", "domain")
SPEC = ("spec", "template", "spec")


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The plain VM with some places changed; keys are paths below the VMI's spec, `/` before a path from the VM's root."""
    vm: dict[str, Any] = copy(PLAIN)
    for words, value in changes.items():
        steps = tuple(int(step) if step.isdigit() else step for step in words.strip("/").split("."))
        path = steps if words.startswith("/") else (*SPEC, *steps)
        put(vm, path, copy(value))
    return vm


def causes_of(
    changes: dict[str, Any], *, configuration: dict[str, Any] | None = None, release: releases.Release = NEWEST
) -> tuple[admission.Cause, ...]:
    """The causes about the plain VM with some changes."""
    vm, cluster = changed(changes), Cluster(configuration=configuration or {})
    expanded = expand_for_admission(
        Resolution(vm=vm), namespace="default", bundle=Bundle([vm]), cluster=cluster, release=release
    )
    return admission.admit_vm(vm, expanded=expanded.vm, cluster=cluster, release=release)


def errors_of(changes: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    """The real path and upstream's of each error, below spec.template.spec if they stand there; "" where upstream's is real."""
    found = {(dotted(c.path), c.upstream_path) for c in causes_of(changes, **more)}
    base = "spec.template.spec."
    return sorted((path.removeprefix(base), upstream.removeprefix(base)) for path, upstream in found)


def gates(*names: str) -> dict[str, Any]:
    return {"developerConfiguration": {"featureGates": list(names)}}
