"""Configs of repositories and what they are about; nodes and VMs. `#` stands for a number."""

from __future__ import annotations

from shapes.pieces import BUILTIN, Documents, Files, Make, config_map, each, numbered, refers, thing, vm
from shapes.references import quotas_apart

CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"


def config(n: int, key: str, entry: str) -> Files:
    return {".kubevirt-render.yaml": f"{CONFIG}  {key}:\n" + "".join(each(n, lambda i: f"  - {entry}\n".replace("#", str(i))))}


def folders(n: int, key: str, entry: str) -> Files:
    """A VM in each folder, and a config with an entry for each."""
    return {**{f"d{i}/vm.yaml": vm("v") for i in range(n)}, **config(n, key, entry)}


def bundle(vms: Documents) -> Files:
    return {"bundle.yaml": "---\n".join(vms)}


def patch(target: str) -> str:
    return f"{{target: {{{target}}}, patch: [{{op: add, path: /metadata/labels, value: {{a: b}}}}]}}"


def patched(n: int, target: str) -> Files:
    """VMs, and a config with a patch for each."""
    return {**bundle(each(n, lambda i: vm(f"v{i}", BUILTIN))), **config(n, "patches", patch(target))}


def nodes(n: int, node: str, instance: str) -> Files:
    vms = each(n, lambda i: vm(f"v{i}", BUILTIN, instance=instance.replace("#", str(i))))
    entry = f"- {{name: n#, allocatable: {{cpu: 64, memory: 256Gi}}{node}}}\n"
    return {**bundle(vms), "nodes.yaml": "".join(each(n, lambda i: entry.replace("#", str(i))))}


def edited(documents: Documents) -> Files:
    """Documents, before and after the same edit of each VM."""
    after = [text.replace("devices: {}", "devices: {rng: {}}") for text in documents]
    return {"base/bundle.yaml": "---\n".join(documents), "head/bundle.yaml": "---\n".join(after)}


def apart(n: int) -> Documents:
    """VMs of which none has the values of another one."""
    limits = "resources: {{limits: {{cpu: {0}m, memory: {0}Mi}}}}\ndevices: {{}}\n"
    return each(n, lambda i: vm(f"v{i}", domain=limits.format(i + 1000)))


POLICY = """\
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [kubevirt.io], apiVersions: [v1], operations: [CREATE], resources: ['*']}]
  validations: [{expression: object.metadata.name != params.data.a + '#'}]
"""
BINDING = """\
spec:
  policyName: p#
  paramRef: {selector: {}, parameterNotFoundAction: Deny}
  validationActions: [Deny]
"""


def policies(n: int) -> Files:
    """Policies, parameters of which each policy takes all, and VMs."""
    kind = "ValidatingAdmissionPolicy"
    of_number = {kind: POLICY, f"{kind}Binding": BINDING}
    made = [thing("admissionregistration.k8s.io/v1", *row) for row in _rows(n, of_number)]
    return bundle([*made, *each(n, lambda i: config_map(f"c{i}")), *each(n, lambda i: vm(f"v{i}"))])


def _rows(n: int, of_number: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(kind, f"p{i}", text.replace("#", str(i))) for kind, text in of_number.items() for i in range(n)]


def schemas(n: int) -> Files:
    """Schema policies, and VMs."""
    entry = "{name: p#, schema: {properties: {metadata: {properties: {name: {enum: [a#, b#]}}}}}}"
    return {**bundle(each(n, lambda i: vm(f"v{i}"))), **config(n, "schemaPolicies", entry)}


def schema_enums(n: int) -> Files:
    """An enum with many words, and a VM with as many labels, none of which is one of them."""
    words = ", ".join(f"w{i}" for i in range(n))
    values = f"additionalProperties: {{enum: [{words}]}}"
    entry = f"{{name: p, schema: {{properties: {{metadata: {{properties: {{labels: {{{values}}}}}}}}}}}}}"
    return {**bundle([vm("v", about="labels:\n" + numbered("  k{0}: x{0}\n", n))]), **config(1, "schemaPolicies", entry)}


def external(n: int, name: str) -> Files:
    """VMs, each of which refers to what is not there, and a config that names other things."""
    entry = f"{{kind: VirtualMachineInstancetype, name: '{name}'}}"
    return {**bundle(each(n, lambda i: vm(f"v{i}", refers(f"t{i}")))), **config(n, "external", entry)}


def in_a_row(n: int) -> Files:
    """Kustomizations that each include the next one."""
    row = {f"k{i}/kustomization.yaml": f"resources: [../k{i + 1}]\n" for i in range(n)}
    return {**row, f"k{n}/kustomization.yaml": "resources: [vm.yaml]\n", f"k{n}/vm.yaml": vm("v")}


def expectations(n: int) -> Files:
    """A case that expects many findings, and has many others."""
    vms = "---\n".join(each(n // 10 + 1, lambda i: vm(f"v{i}", "bogus: 1\n")))
    return {"input.yaml": vms, "expected.yaml": "findings:\n" + "- {rule: unknown-field, severity: info}\n" * n}


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec: {path: ./app, prune: true, sourceRef: {kind: GitRepository, name: flux-system}, %s}
"""


def delivered(spec: str) -> Files:
    """A folder with a VM, and a Kustomization of Flux that applies it."""
    return {"app/vm.yaml": vm("v"), "clusters/a/web.yaml": FLUX % spec}


def values(n: int) -> Files:
    """A Kustomization of Flux with the values of many ConfigMaps, half of which are there."""
    named = ", ".join(each(n, lambda i: f"{{kind: ConfigMap, name: c{i}}}"))
    maps = each(n // 2, lambda i: config_map(f"c{i}", "namespace: flux-system\n"))
    return {**delivered(f"postBuild: {{substituteFrom: [{named}]}}"), "clusters/a/values.yaml": "---\n".join(maps)}


def images(n: int) -> Files:
    return delivered(f"images: [{', '.join(each(n, lambda i: f'{{name: i{i}, newTag: v{i}}}'))}]")


SHAPES: dict[str, tuple[Make, str]] = {
    "globs": (lambda n: folders(n, "exclude", "'**/x#/**/*/**/a*b'"), "folder"),
    "globs-with-wildcards": (lambda n: folders(n, "exclude", "'**/x#*y'"), "folder"),
    "globs-of-any-beginning": (lambda n: folders(n, "exclude", "'**/*x#*y'"), "folder"),
    "targets": (lambda n: folders(n, "clusters", "{name: c#, targets: [d#]}"), "folder"),
    "patches-of-names": (lambda n: patched(n, "kind: VirtualMachine, name: v#"), "folder explain"),
    "patches-for-all": (lambda n: patched(n, "kind: VirtualMachine"), "folder"),
    "patches-with-expressions": (lambda n: patched(n, "name: w#.*"), "folder"),
    "patches-of-folders": (lambda n: folders(n, "patches", patch("kind: VirtualMachine, name: v#")), "folder"),
    "edited": (lambda n: edited(each(n, lambda i: vm(f"v{i}", BUILTIN))), "diff"),
    "edited-apart": (lambda n: edited(apart(n)), "diff"),
    "edited-in-quotas": (lambda n: edited(quotas_apart(n)), "diff"),
    "policies": (policies, "folder"),
    "schemas": (schemas, "folder"),
    "schema-enums": (schema_enums, "folder"),
    "external": (lambda n: external(n, "u#*"), "folder"),
    "external-of-any-beginning": (lambda n: external(n, "*u#"), "folder"),
    "nodes": (lambda n: nodes(n, ", labels: {a: b#}", "nodeSelector: {a: b#}\n"), "nodes"),
    "nodes-alike": (lambda n: nodes(n, "", ""), "nodes"),
    "in-a-row": (in_a_row, "folder"),
    "expectations": (expectations, "test"),
    "flux-images": (images, "deliveries"),
    "flux-values": (values, "deliveries"),
}
