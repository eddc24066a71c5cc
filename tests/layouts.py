"""Shapes of repositories: how users lay out virtual machines and what stands beside them."""

from __future__ import annotations

import json

import yaml

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template:
    spec:
      domain: {devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
"""
DB = VM.replace("name: web", "name: db")
K = "kustomization.yaml"
STEP = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
metadata:
  name: render
  annotations: {config.kubernetes.io/function: "exec: {path: kubevirt-render}"}
"""
INLINE = "\n".join(f"    {line}" for line in STEP.splitlines())
KV = (
    "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\n"
    "spec: {configuration: {developerConfiguration: {featureGates: [HostDevices]}}}\n"
)
SVC = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: vms}\nspec: {type: ClusterIP}\n"
SIZE = (
    "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\n"
    "metadata: {name: house, namespace: vms}\nspec: {cpu: {guest: 2}, memory: {guest: 2Gi}}\n"
)
HOUSE = VM.replace("u1.small", "house, kind: VirtualMachineInstancetype")
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "templates/vm.yaml": VM.replace("web", "{{ .Release.Name }}-web"),
    "values.yaml": "a: 1\n",
}
TEMPLATE = """\
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: t, namespace: vms}
parameters: [{name: NAME, value: web}]
objects:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata: {name: "${NAME}"}
  spec:
    runStrategy: Always
    instancetype: {name: u1.small}
    template: {spec: {domain: {devices: {}}}}
"""
POOL = """\
apiVersion: pool.kubevirt.io/v1alpha1
kind: VirtualMachinePool
metadata: {name: p, namespace: vms}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  virtualMachineTemplate:
    metadata: {labels: {a: b}}
    spec:
      runStrategy: Always
      instancetype: {name: u1.small}
      template: {metadata: {labels: {a: b}}, spec: {domain: {devices: {}}}}
"""


def under(folder: str, files: dict[str, str]) -> dict[str, str]:
    """The files, in a folder."""
    return {f"{folder}/{name}": text for name, text in files.items()}


ONE = {K: "resources: [vm.yaml]\n", "vm.yaml": VM}
SHAPES: dict[str, dict[str, str]] = {
    "a file": {"vm.yaml": VM},
    "two files": {"vm.yaml": VM, "db.yaml": DB},
    "documents": {"all.yaml": VM + "---\n" + DB},
    "a list": {
        "all.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        + "".join("- " + t.rstrip().replace("\n", "\n  ") + "\n" for t in (VM, DB))
    },
    "json": {"vm.json": json.dumps(yaml.safe_load(VM))},
    "nested folders": {"a/b/vm.yaml": VM, "c/db.yaml": DB},
    "kustomization": ONE,
    "kustomization below": under("app", ONE),
    "overlay": {**under("base", ONE), "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n"},
    "two overlays": {
        **under("base", ONE),
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
        "test/kustomization.yaml": "resources: [../base]\nnamespace: test\n",
    },
    "overlay of overlay": {
        **under("base", ONE),
        "mid/kustomization.yaml": "resources: [../base]\nnameSuffix: -m\n",
        "top/kustomization.yaml": "resources: [../mid]\nnamePrefix: t-\n",
    },
    "component": {
        **under("base", ONE),
        "more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [db.yaml]\n",
        "more/db.yaml": DB,
        "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../more]\n",
    },
    "component alone": {
        "more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [db.yaml]\n",
        "more/db.yaml": DB,
    },
    "file beside a kustomization": {**ONE, "db.yaml": DB},
    "loose file and kustomization": {**under("app", ONE), "db.yaml": DB},
    "patch": {
        **ONE,
        K: "resources: [vm.yaml]\npatches: [{path: p.yaml}]\n",
        "p.yaml": (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: vms}\n"
            "spec: {runStrategy: Halted}\n"
        ),
    },
    "patch that nothing uses": {
        **under("app", ONE),
        "parts/patches/p.yaml": (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: any}\nspec: {runStrategy: Halted}\n"
        ),
    },
    "patch beside a VM file": {
        "vm.yaml": VM,
        "p.yaml": (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: vms}\n"
            "spec: {template: {metadata: {labels: {a: b}}}}\n"
        ),
    },
    "patch that deletes": {
        K: "resources: [vm.yaml, db.yaml]\npatches: [{path: p.yaml}]\n",
        "vm.yaml": VM,
        "db.yaml": DB,
        "p.yaml": "$patch: delete\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: db, namespace: vms}\n",
    },
    "json patch inline": {
        **ONE,
        K: (
            "resources: [vm.yaml]\npatches:\n- target: {kind: VirtualMachine}\n  patch: |\n"
            "    - {op: replace, path: /metadata/name, value: new}\n"
        ),
    },
    "instancetype beside": {K: "resources: [vm.yaml, size.yaml]\n", "vm.yaml": HOUSE, "size.yaml": SIZE},
    "instancetype elsewhere": {
        **under("vms", {K: "resources: [vm.yaml]\n", "vm.yaml": HOUSE}),
        **under("sizes", {K: "resources: [size.yaml]\n", "size.yaml": SIZE}),
    },
    "missing instancetype": {**ONE, "vm.yaml": HOUSE},
    "step file": {**ONE, K: "resources: [vm.yaml]\ntransformers: [render.yaml]\n", "render.yaml": STEP},
    "step inline": {**ONE, K: f"resources: [vm.yaml]\ntransformers:\n  - |\n{INLINE}\n"},
    "step folder": {
        **ONE,
        K: "resources: [vm.yaml]\ntransformers: [steps]\n",
        "steps/kustomization.yaml": "resources: [render.yaml]\n",
        "steps/render.yaml": STEP,
    },
    "step component": {
        **ONE,
        K: "resources: [vm.yaml]\ncomponents: [rendered]\n",
        "rendered/kustomization.yaml": "kind: Component\ntransformers: [render.yaml]\n",
        "rendered/render.yaml": STEP,
    },
    "step in a base": {
        K: "resources: [base]\nnamePrefix: x-\n",
        **under("base", {**ONE, K: "resources: [vm.yaml]\ntransformers: [render.yaml]\n", "render.yaml": STEP}),
    },
    "rendered true": {
        **ONE,
        ".kubevirt-render.yaml": (
            "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec: {rendered: true}\n"
        ),
    },
    "step refuses": {
        K: "resources: [vm.yaml]\ntransformers: [render.yaml]\n",
        "vm.yaml": VM.replace("u1.small", "u1.smalll"),
        "render.yaml": STEP,
    },
    "kpt package": {
        "Kptfile": (
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline: {mutators: [{image: kubevirt-render}]}\n"
        ),
        "vm.yaml": VM,
    },
    "kpt subpackage": {
        "Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n",
        "vm.yaml": VM,
        "sub/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: s}\n",
        "sub/db.yaml": DB,
    },
    "chart": CHART,
    "chart below": {**under("chart", CHART), "vm.yaml": VM},
    "chart in a kustomization": {
        K: "helmCharts: [{name: c, releaseName: r}]\nhelmGlobals: {chartHome: charts}\n",
        **under("charts/c", CHART),
    },
    "flux chart beside": {
        **ONE,
        "hr.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x, namespace: vms}\nspec: {}\n",
    },
    "broken document": {"vm.yaml": VM, "bad.yaml": "a: [\n"},
    "broken document with a VM": {"vm.yaml": VM, "bad.yaml": VM + "  - x\n"},
    "broken half": {"both.yaml": VM + "---\n" + DB + "  - x\n"},
    "kustomization not built": {K: "resources: [vm.yaml, gone.yaml]\n", "vm.yaml": VM},
    "remote resource": {K: "resources: [vm.yaml, 'https://example.invalid/x.yaml']\n", "vm.yaml": VM},
    "not built without VMs": {"vm.yaml": VM, "k/kustomization.yaml": "resources: [gone.yaml]\n"},
    "duplicate names": {"a/vm.yaml": VM, "b/vm.yaml": VM},
    "go template": {"vm.yaml": VM, "t.yaml": VM.replace("web", "{{ .name }}")},
    "placeholder": {"vm.yaml": VM.replace("name: web", "name: ${NAME}")},
    "placeholder default": {"vm.yaml": VM.replace("name: web", "name: ${NAME:=web}")},
    "openshift template": {"t.yaml": TEMPLATE},
    "template in a kustomization": {K: "resources: [t.yaml]\n", "t.yaml": TEMPLATE},
    "pool": {"p.yaml": POOL},
    "pool in a kustomization": {K: "resources: [p.yaml]\n", "p.yaml": POOL},
    "config excludes": {
        "vm.yaml": VM,
        "old/db.yaml": DB,
        ".kubevirt-render.yaml": (
            "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec: {exclude: [old]}\n"
        ),
    },
    "hidden folder": {"vm.yaml": VM, ".old/db.yaml": DB},
    "node_modules": {"vm.yaml": VM, "node_modules/x/db.yaml": DB},
    "KubeVirt beside": {**ONE, K: "resources: [vm.yaml, kv.yaml]\n", "kv.yaml": KV},
    "KubeVirt elsewhere": {**under("vms", ONE), **under("platform", {K: "resources: [kv.yaml]\n", "kv.yaml": KV})},
    "two KubeVirts": {
        **under("vms", ONE),
        **under("a", {K: "resources: [kv.yaml]\n", "kv.yaml": KV}),
        **under("b", {K: "resources: [kv.yaml]\n", "kv.yaml": KV.replace("HostDevices", "GPU")}),
    },
    "clusters": {
        **under("clusters/north", ONE),
        **under("clusters/south", ONE),
        ".kubevirt-render.yaml": (
            "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"
            "  clusters: [{name: north, targets: [clusters/north]}, {name: south, targets: [clusters/south]}]\n"
        ),
    },
    "CRLF": {"vm.yaml": VM.replace("\n", "\r\n")},
    "comments": {"vm.yaml": "# one\n" + VM + "# two\n"},
    "yml": {"vm.yml": VM},
    "kustomization.yml": {"kustomization.yml": "resources: [vm.yaml]\n", "vm.yaml": VM},
    "Kustomization": {"Kustomization": "resources: [vm.yaml]\n", "vm.yaml": VM},
    "only services": {"s.yaml": SVC},
    "empty": {"README.md": "x\n"},
    "local-config": {
        "vm.yaml": VM,
        "db.yaml": DB.replace("namespace: vms}", "namespace: vms, annotations: {config.kubernetes.io/local-config: 'true'}}"),
    },
    "no namespace": {**ONE, "vm.yaml": VM.replace(", namespace: vms", "")},
    "generator": {**ONE, K: "resources: [vm.yaml]\nconfigMapGenerator: [{name: c, namespace: vms, literals: [a=b]}]\n"},
    "vm in a configmap": {**ONE, K: "resources: [vm.yaml]\nconfigMapGenerator: [{name: c, files: [db.yaml]}]\n", "db.yaml": DB},
    "resource twice": {**under("base", ONE), "prod/kustomization.yaml": "resources: [../base/vm.yaml]\n"},
    "resourcelist": {
        "list.yaml": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- "
        + VM.rstrip().replace("\n", "\n  ")
        + "\n"
    },
    "flow": {"vm.yaml": json.dumps(yaml.safe_load(VM)) + "\n"},
    "anchors": {"vm.yaml": VM.replace("name: web", "name: &n web").replace("networks", "hostname: *n\n      networks")},
    "argocd app": {
        "app.yaml": (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\n"
            "spec: {source: {path: vms}}\n"
        ),
        **under("vms", ONE),
    },
    "flux kustomization": {
        "clusters/n/k.yaml": (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: a, namespace: flux-system}\nspec: {path: ./vms}\n"
        ),
        **under("vms", ONE),
    },
    "replicaset": {
        "rs.yaml": (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceReplicaSet\n"
            "metadata: {name: r, namespace: vms}\n"
            "spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
            "{domain: {devices: {}}}}}\n"
        ),
        "vm.yaml": VM,
    },
    "instance": {
        "i.yaml": (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: i, namespace: vms}\n"
            "spec: {domain: {devices: {}}}\n"
        ),
        "vm.yaml": VM,
    },
    "link to a file": {"vms/vm.yaml": VM, "link.yaml": "-> vms/vm.yaml"},
    "link to a folder": {"vms/vm.yaml": VM, "linked": "-> vms"},
    "link that a kustomization lists": {K: "resources: [link.yaml]\n", "link.yaml": "-> files/vm.yaml", "files/vm.yaml": VM},
    "link to a base": {**under("base", ONE), "prod/base": "-> ../base", "prod/kustomization.yaml": "resources: [base]\n"},
    "link out of the repository": {"vm.yaml": VM, "out.yaml": "-> ../none/vm.yaml"},
    "link to nothing": {"vm.yaml": VM, "gone.yaml": "-> absent.yaml"},
    "links in a circle": {"vm.yaml": VM, "a": "-> b", "b": "-> a"},
    "nested repository": {"vm.yaml": VM, "inner/.git/HEAD": "ref: refs/heads/main\n", "inner/db.yaml": DB},
    "nested repository with a kustomization": {
        **ONE,
        "inner/.git/HEAD": "ref: refs/heads/main\n",
        **under("inner", {K: "resources: [db.yaml]\n", "db.yaml": DB}),
    },
    "submodule": {"vm.yaml": VM, "inner/.git": "gitdir: ../.git/modules/inner\n", "inner/db.yaml": DB},
    "size that is a placeholder": {"vm.yaml": VM.replace("u1.small", "${SIZE}")},
    "size with a default": {"vm.yaml": VM.replace("u1.small", "${SIZE:=u1.small}")},
    "memory that is a placeholder": {**ONE, "vm.yaml": VM.replace("{devices", '{memory: {guest: "${MEM}"}, devices')},
    "placeholder as a key": {**ONE, "vm.yaml": VM.replace("spec:\n  run", 'spec:\n  "${KEY}": x\n  run')},
    "vCPUs of an instancetype": {"vm.yaml": HOUSE, "size.yaml": SIZE.replace("guest: 2}", 'guest: "${CPUS}"}')},
    "instancetype of the cluster": {
        "vm.yaml": HOUSE,
        ".kubevirt-render.yaml": (
            "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
            "spec: {external: [{kind: VirtualMachineInstancetype}]}\n"
        ),
    },
    "renamed instancetype": {
        **under("base", {K: "resources: [vm.yaml, size.yaml]\n", "vm.yaml": HOUSE, "size.yaml": SIZE}),
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
    },
    "step in each cluster": {
        **under("north", {**ONE, K: "resources: [vm.yaml]\ntransformers: [render.yaml]\n", "render.yaml": STEP}),
        **under("south", ONE),
        ".kubevirt-render.yaml": (
            "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"
            "  clusters: [{name: north, targets: [north]}, {name: south, targets: [south]}]\n"
        ),
    },
    "made later": {K: "resources: [./app]\n", "app/kustomization.yaml.j2": "resources: []\n"},
    "old forms": {"vm.yaml": VM.replace("runStrategy: Always", "running: true").replace("/v1\n", "/v1alpha3\n")},
}
