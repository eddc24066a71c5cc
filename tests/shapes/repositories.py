"""Whole repositories: kustomizations, packages of kpt, applications of Argo CD, and what Flux applies."""

from __future__ import annotations

from shapes.folders import config
from shapes.pieces import BUILTIN, Files, Make, config_map, each, numbered, thing, vm

CALL = "  - image: example.com/kubevirt-render\n"
OTHER = "  - image: example.com/set-labels\n"


def kptfile(name: str, calls: str) -> str:
    return thing("kpt.dev/v1", "Kptfile", name, f"pipeline:\n  mutators:\n{calls}")


def packages(n: int) -> Files:
    """Packages, none of which is in another one."""
    kptfiles = {f"p{i}/Kptfile": kptfile("p", OTHER) for i in range(n)}
    return {**kptfiles, **{f"p{i}/vm.yaml": vm("v", BUILTIN) for i in range(n)}}


def nested_packages(n: int) -> Files:
    """Packages beside one another in one, each of which calls this program."""
    inside = {f"p{i}/Kptfile": kptfile("p", CALL) for i in range(n)}
    return {"Kptfile": kptfile("top", OTHER), **inside, **{f"p{i}/vm.yaml": vm(f"v{i}", BUILTIN) for i in range(n)}}


def pipeline(n: int) -> Files:
    """One package that calls this program often, and VMs."""
    return {"Kptfile": kptfile("p", CALL * n), "vm.yaml": "---\n".join(each(n, lambda i: vm(f"v{i}", BUILTIN)))}


def other_calls(n: int) -> Files:
    """One package that calls many other programs."""
    return {"Kptfile": kptfile("p", numbered("  - image: example.com/i{}\n", n)), "vm.yaml": vm("v", BUILTIN)}


def rendered(n: int) -> Files:
    """VMs of a pipeline that renders them with this program."""
    return {".kubevirt-render.yaml": RENDERED, "vms.yaml": "---\n".join(each(n, lambda i: vm(f"v{i}", BUILTIN)))}


RENDERED = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n  rendered: true\n"


def unused(n: int) -> Files:
    """Kustomizations that hold nothing of KubeVirt, and folders without one."""
    made = {f"k{i}/kustomization.yaml": "resources: [c.yaml]\n" for i in range(n)}
    return {
        **made,
        **{f"k{i}/c.yaml": config_map("c") for i in range(n)},
        **{f"d{i}/vm.yaml": vm("v", BUILTIN) for i in range(n)},
    }


def plugins(n: int) -> Files:
    """Plugins of Argo CD, and applications that have one of them render a folder each."""
    generate = "spec:\n  generate:\n    command: [kubevirt-render, argocd]\n"
    plugin = lambda i: thing("argoproj.io/v1alpha1", "ConfigManagementPlugin", f"x{i}", generate)  # noqa: E731
    source = "spec:\n  source:\n    path: d{0}\n    plugin:\n      name: y{0}\n"
    apps = each(n, lambda i: thing("argoproj.io/v1alpha1", "Application", f"a{i}", source.format(i)))
    return {"argo.yaml": "---\n".join([*each(n, plugin), *apps]), **{f"d{i}/vm.yaml": vm("v", BUILTIN) for i in range(n)}}


def cluster_globs(n: int) -> Files:
    """Clusters, each of which takes its targets by a pattern."""
    return {**{f"d{i}/vm.yaml": vm("v", BUILTIN) for i in range(n)}, **config(n, "clusters", "{name: c#, targets: ['**/d#']}")}


def flux(name: str, path: str, more: str = "") -> str:
    spec = f"spec:\n  path: ./{path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{more}"
    return thing("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec)


def flux_apart(n: int) -> Files:
    """Kustomizations of Flux, each of which applies a folder of its own that holds nothing of KubeVirt, and a VM."""
    every = {"flux.yaml": "---\n".join(each(n, lambda i: flux(f"k{i}", f"d{i}")))}
    return {**every, **{f"d{i}/c.yaml": config_map("c") for i in range(n)}, "vm/vm.yaml": vm("v", BUILTIN)}


def flux_in_a_row(n: int) -> Files:
    """Kustomizations of Flux that each apply the next one."""
    row = {f"d{i}/k.yaml": flux(f"k{i}", f"d{i + 1}") for i in range(n)}
    return {**row, f"d{n}/c.yaml": config_map("c"), "vm/vm.yaml": vm("v", BUILTIN)}


def flux_sources(n: int) -> Files:
    """Kustomizations of Flux, and a source for each."""
    source = lambda i: thing("source.toolkit.fluxcd.io/v1", "GitRepository", f"s{i}", "spec:\n  url: https://example.com/a\n")  # noqa: E731
    every = each(n, lambda i: flux(f"k{i}", f"d{i}").replace("flux-system", f"s{i}"))
    made = {"flux.yaml": "---\n".join([*every, *each(n, source)])}
    return {**made, **{f"d{i}/c.yaml": config_map("c") for i in range(n)}, "vm/vm.yaml": vm("v", BUILTIN)}


SHAPES: dict[str, tuple[Make, str]] = {
    "packages": (packages, "folder"),
    "nested-packages": (nested_packages, "folder"),
    "pipeline": (pipeline, "folder"),
    "other-calls": (other_calls, "folder"),
    "rendered": (rendered, "folder"),
    "unused": (unused, "folder"),
    "plugins": (plugins, "folder"),
    "cluster-globs": (cluster_globs, "folder"),
    "flux-apart": (flux_apart, "folder"),
    "flux-in-a-row": (flux_in_a_row, "folder"),
    "flux-sources": (flux_sources, "folder"),
}
