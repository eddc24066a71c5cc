"""Small bundles, and what `krm_fn.diff` says of them."""

from __future__ import annotations

from typing import Any

import krm_fn

Object = dict[str, Any]


def vm(name: str = "web", **spec: Any) -> Object:
    """A VM that can be live-migrated."""
    interface = {"name": "default", "masquerade": {}}
    domain = {"cpu": {"sockets": 2}, "memory": {"guest": "2Gi"}, "devices": {"interfaces": [interface]}}
    template = {"spec": {"domain": domain, "networks": [{"name": "default", "pod": {}}]}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": template, **spec},
    }


def with_sockets(number: int, name: str = "web") -> Object:
    changed = vm(name)
    changed["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] = number
    return changed


def instancetype(cpus: int) -> Object:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small"},
        "spec": {"cpu": {"guest": cpus}, "memory": {"guest": "2Gi"}},
    }


def typed() -> Object:
    template = {"spec": {"domain": {"devices": {}}}}
    return vm(instancetype={"name": "small", "kind": "VirtualMachineInstancetype"}, template=template)


def diff(base: list[Object], head: list[Object], **more: Any) -> list[Object]:
    found: list[Object] = krm_fn.diff({"items": base}, {"items": head}, **more)["vms"]
    return found
