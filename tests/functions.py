"""Helpers for tests of complete runs: a ResourceList around items, and the findings of a run."""

import krm_fn


def resource_list(*items, **spec):
    """A ResourceList with a function config; the builtin catalogue is off by default."""
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "render"}}
    return {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": list(items),
        "functionConfig": {**config, "spec": {"catalogue": "none", **spec}},
    }


def run(*items, **spec):
    """The items and the results of a run."""
    out = krm_fn.process(resource_list(*items, **spec))
    return out["items"], out["results"]


def told(results):
    """(rule, severity, object, path) of each result."""
    return [
        (
            result["tags"]["rule"],
            result["severity"],
            result.get("resourceRef", {}).get("name", ""),
            result.get("field", {}).get("path", ""),
        )
        for result in results
    ]


def instancetype(name="small", *, cpu=2, memory="2Gi", kind="VirtualMachineInstancetype", **metadata):
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": {"cpu": {"guest": cpu}, "memory": {"guest": memory}},
    }


def vm(name="web", *, instancetype=None, preference=None, **metadata):
    spec = {"runStrategy": "Always"}
    if instancetype:
        spec["instancetype"] = {"kind": "VirtualMachineInstancetype", "name": instancetype}
    if preference:
        spec["preference"] = {"kind": "VirtualMachinePreference", "name": preference}
    template = {"metadata": {}, "spec": {"domain": {"devices": {}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, **metadata},
        "spec": {**spec, "template": template},
    }
