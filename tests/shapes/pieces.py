"""Objects as text, for bundles of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Documents = list[str]
Files = dict[str, str]  # by name
Make = Callable[[int], Documents | Files]

GROUP = "instancetype.kubevirt.io"
TYPE, PREFERENCE = "VirtualMachineInstancetype", "VirtualMachinePreference"


def indented(text: str, columns: int) -> str:
    margin = " " * columns
    return "".join(f"{margin}{line}\n" for line in text.splitlines())


def thing(api_version: str, kind: str, name: str, body: str = "", metadata: str = "") -> str:
    """One object; `metadata` and `body` are lines."""
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n{indented(metadata, 2)}{body}"


def labelled(**labels: str) -> str:
    return "labels:\n" + "".join(f"  {key}: {value}\n" for key, value in labels.items())


def config_map(name: str, metadata: str = "", body: str = "data:\n  a: b\n") -> str:
    return thing("v1", "ConfigMap", name, body, metadata)


def vm(
    name: str, spec: str = "", *, domain: str = "devices: {}\n", instance: str = "", labels: str = "", about: str = ""
) -> str:
    """A VM: lines of its spec, of its domain, of the spec around that, labels of its template, metadata."""
    template = (indented("metadata:\n" + indented(labels, 2), 4) if labels else "") + "    spec:\n      domain:\n"
    body = (
        f"spec:\n  runStrategy: Always\n{indented(spec, 2)}  template:\n{template}{indented(domain, 8)}{indented(instance, 6)}"
    )
    return thing("kubevirt.io/v1", "VirtualMachine", name, body, about)


def instance_of(name: str, metadata: str = "", domain: str = "") -> str:
    body = f"spec:\n  domain:\n    devices: {{}}\n{indented(domain, 4)}"
    return thing("kubevirt.io/v1", "VirtualMachineInstance", name, body, metadata)


def preset(name: str, selector: str = "selector: {}\n", domain: str = "cpu:\n  cores: 2\n") -> str:
    body = f"spec:\n{indented(selector, 2)}  domain:\n{indented(domain, 4)}"
    return thing("kubevirt.io/v1", "VirtualMachineInstancePreset", name, body)


def matching(**labels: str) -> str:
    return "selector:\n  matchLabels:\n" + "".join(f"    {key}: {value}\n" for key, value in labels.items())


def expressions(lines: Iterable[str]) -> str:
    return "selector:\n  matchExpressions:\n" + "".join(f"  - {line}\n" for line in lines)


def size(name: str, more: str = "") -> str:
    return thing(f"{GROUP}/v1beta1", TYPE, name, f"spec:\n  cpu:\n    guest: 2\n  memory:\n    guest: 1Gi\n{indented(more, 2)}")


def preference(name: str, body: str = "cpu:\n  preferredCPUTopology: sockets\n") -> str:
    return thing(f"{GROUP}/v1beta1", PREFERENCE, name, f"spec:\n{indented(body, 2)}")


def revision(name: str, more: str = "") -> str:
    """A ControllerRevision of the instancetype `small`, with more in its spec."""
    stored = size("small", more).replace(f"kind: {TYPE}", f"kind: {TYPE}", 1)
    return thing("apps/v1", "ControllerRevision", name, f"data:\n{indented(stored, 2)}revision: 0\n")


def refers(name: str, kind: str = TYPE, more: str = "") -> str:
    field = "preference" if "Preference" in kind else "instancetype"
    return f"{field}:\n  kind: {kind}\n  name: {name}\n{indented(more, 2)}"


def pinned(name: str) -> str:
    return refers("small", more=f"revisionName: {name}\n")


BUILTIN = "instancetype:\n  name: u1.small\n"


def volume(name: str, source: str, body: str) -> str:
    return f"- name: {name}\n  {source}:\n{indented(body, 4)}"


def disks(names: Iterable[str], target: str = "disk:\n  bus: virtio\n") -> str:
    return "devices:\n  disks:\n" + "".join(f"  - name: {name}\n{indented(target, 4)}" for name in names)


def on_volume(name: str, source: str, body: str, spec: str = "") -> str:
    return vm(name, spec, domain=disks("d"), instance="volumes:\n" + volume("d", source, body))


def claim(name: str, metadata: str = "") -> str:
    return thing("v1", "PersistentVolumeClaim", name, "spec:\n  accessModes:\n  - ReadWriteOnce\n", metadata)


def data_volume(name: str, metadata: str = "") -> str:
    spec = "source:\n  blank: {}\nstorage:\n  resources:\n    requests:\n      storage: 1Gi\n"
    return thing("cdi.kubevirt.io/v1beta1", "DataVolume", name, f"spec:\n{indented(spec, 2)}", metadata)


def kubevirt(configuration: str) -> str:
    body = f"spec:\n  configuration:\n{indented(configuration, 4)}"
    return thing("kubevirt.io/v1", "KubeVirt", "kubevirt", body, "namespace: kubevirt\n")


def numbered(line: str, count: int) -> str:
    return "".join(line.format(number) for number in range(count))


def each(count: int, make: Callable[[int], str]) -> Documents:
    return [make(number) for number in range(count)]


def in_list(documents: Documents, kind: str = "List") -> str:
    inside = "".join("- " + indented(one, 2)[2:] for one in documents)
    return f"apiVersion: v1\nkind: {kind}\nitems:\n{inside}"


def crd(number: int, schema: str) -> str:
    """The definition of the kind `K<number>`; the lines of a schema below `spec`."""
    spec = f"group: example.com\nscope: Namespaced\nnames:\n  kind: K{number}\n  plural: k{number}\n"
    spec += "versions:\n- name: v1\n  served: true\n  storage: true\n  schema:\n    openAPIV3Schema:\n      type: object\n"
    spec += "      properties:\n        spec:\n          type: object\n" + indented(schema, 10)
    name = f"k{number}.example.com"
    return thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, f"spec:\n{indented(spec, 2)}")


def custom(number: int, name: str, spec: str) -> str:
    return thing("example.com/v1", f"K{number}", name, f"spec:\n{indented(spec, 2)}")
