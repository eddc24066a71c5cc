"""What the tests of the family `lint` share: small objects, and what the rules say of them in mode `validate`."""

from functions import run, vm

GROUP = "instancetype.kubevirt.io"


def thing(api_version, kind, name, spec=None, *, namespace="", labels=None, annotations=None):
    metadata = {"name": name}
    metadata |= {"namespace": namespace} if namespace else {}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({} if spec is None else {"spec": spec})}


def claim(name, modes=("ReadWriteOnce",), **metadata):
    return thing("v1", "PersistentVolumeClaim", name, {"accessModes": list(modes)}, **metadata)


def machine(name="web", *, volumes=(), disks=(), interfaces=(), networks=(), firmware=None, strategy="Always", **metadata):
    """A VM; `volumes` are {name: source}, `disks` {name: disk}."""
    made = vm(name, **metadata)
    devices = {"disks": [{"name": key, **disk} for key, disk in dict(disks).items()], "interfaces": list(interfaces)}
    made["spec"]["runStrategy"] = strategy
    spec = made["spec"]["template"]["spec"]
    spec["domain"] = {"devices": devices, **({"firmware": firmware} if firmware else {})}
    spec["volumes"] = [{"name": key, **source} for key, source in dict(volumes).items()]
    spec["networks"] = list(networks)
    return made


def on_claim(name):
    return {"persistentVolumeClaim": {"claimName": name}}


def pool(template, *, replicas=3, generation=None):
    """A pool that makes VMs like `template`."""
    spec = {"replicas": replicas, "selector": {}, "virtualMachineTemplate": {"spec": template["spec"]}}
    spec |= {"nameGeneration": generation} if generation else {}
    return thing("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "pool", spec)


def said(rule, *items, **spec):
    """(severity, object, path, message) of each finding of a rule."""
    _, results = run(*items, mode="validate", **spec)
    return [
        (
            result["severity"],
            result.get("resourceRef", {}).get("name", ""),
            result.get("field", {}).get("path", ""),
            result["message"],
        )
        for result in results
        if result["tags"]["rule"] == rule
    ]


def about(rule, *items, **spec):
    """(severity, object) of each finding of a rule."""
    return [(severity, name) for severity, name, _, _ in said(rule, *items, **spec)]
