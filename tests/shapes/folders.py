"""Configs of repositories and what they are about; nodes and VMs. `#` stands for a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapes.pieces import BUILTIN, each, vm

if TYPE_CHECKING:
    from shapes.pieces import Documents, Files, Make

CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"


def config(n: int, key: str, entry: str) -> Files:
    return {".kubevirt-render.yaml": f"{CONFIG}  {key}:\n" + "".join(each(n, lambda i: f"  - {entry}\n".replace("#", str(i))))}


def folders(n: int, key: str, entry: str) -> Files:
    """A VM in each folder, and a config with an entry for each."""
    return {**{f"d{i}/vm.yaml": vm("v") for i in range(n)}, **config(n, key, entry)}


def bundle(vms: Documents) -> Files:
    return {"bundle.yaml": "---\n".join(vms)}


def patched(n: int, target: str) -> Files:
    """VMs, and a config with a patch for each."""
    entry = f"{{target: {{{target}}}, patch: [{{op: add, path: /metadata/labels, value: {{a: b}}}}]}}"
    return {**bundle(each(n, lambda i: vm(f"v{i}", BUILTIN))), **config(n, "patches", entry)}


def nodes(n: int, node: str, instance: str) -> Files:
    vms = each(n, lambda i: vm(f"v{i}", BUILTIN, instance=instance.replace("#", str(i))))
    entry = f"- {{name: n#, allocatable: {{cpu: 64, memory: 256Gi}}{node}}}\n"
    return {**bundle(vms), "nodes.yaml": "".join(each(n, lambda i: entry.replace("#", str(i))))}


def edited(n: int) -> Files:
    """VMs before and after the same edit of each."""
    vms = each(n, lambda i: vm(f"v{i}", BUILTIN))
    after = [text.replace("devices: {}", "devices: {rng: {}}") for text in vms]
    return {"base/bundle.yaml": "---\n".join(vms), "head/bundle.yaml": "---\n".join(after)}


SHAPES: dict[str, tuple[Make, str]] = {
    "globs": (lambda n: folders(n, "exclude", "'**/x#/**/*/**/a*b'"), "folder"),
    "globs-with-wildcards": (lambda n: folders(n, "exclude", "'**/x#*y'"), "folder"),
    "targets": (lambda n: folders(n, "clusters", "{name: c#, targets: [d#]}"), "folder"),
    "patches-of-names": (lambda n: patched(n, "kind: VirtualMachine, name: v#"), "folder explain"),
    "patches-for-all": (lambda n: patched(n, "kind: VirtualMachine"), "folder"),
    "patches-with-expressions": (lambda n: patched(n, "name: w#.*"), "folder"),
    "edited": (edited, "diff"),
    "nodes": (lambda n: nodes(n, ", labels: {a: b#}", "nodeSelector: {a: b#}\n"), "nodes"),
    "nodes-alike": (lambda n: nodes(n, "", ""), "nodes"),
}
