"""Trees as a stranger pushes them: of each way by which files decide about a run, what is hostile in it.

A *way* gives files, by their paths in the tree, from a source of chance and a world. `tree` joins some and changes some of
their texts as `mutants` does. The same seed and number give the same tree.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import mutants
from watching import Command, World

from krm_fn import yamlio

Way = Callable[[Random, World], "Files"]


class Link(NamedTuple):
    """A symbolic link, in place of a text."""

    target: str


class Commit(NamedTuple):
    """A repository with a commit of the files, in place of a text; `bare`: as files that a commit can hold.

    Its config has `lines`; `missing`: it lacks a blob, which git would fetch. `more` are further files of its folder.
    """

    lines: str = ""
    bare: bool = False
    missing: bool = False
    more: tuple[tuple[str, str], ...] = ()


PLAIN = Commit()
Files = dict[str, "str | Link | Commit"]

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: %s, namespace: shop, annotations: {}}
spec:
  runStrategy: Always
  instancetype: {name: %s}
  preference: {name: fedora}
  template:
    spec:
      domain: {devices: {}}
      volumes:
      - {name: root, containerDisk: {image: quay.io/x}}
"""
PLANTED = {"planted/vm.yaml": VM % ("planted", "u1.smalll")}
LOOSE = {
    "vm.yaml": VM % ("web", "u1.small"),
    "app/vm.yaml": VM % ("db", "u1.medium"),
    "app/a.env": "A=1\nCANARY\nGITHUB_TOKEN\n",
}


def place(rng: Random, world: World) -> str:
    """A path or an address that a file of the tree must not lead to, or a flag in its place; seldom something harmless."""
    port, outside = world.port, world.outside
    file, base = rng.choice(("secret.yaml", "secret.env", "evil.sh", "schema.json")), f"{outside}/base"
    return rng.choice(
        (
            *(
                f"{outside}/{file}",
                f"../../outside/{file}",
                f"../outside/{file}",
                f"file://{outside}/{file}",
                base,
                "../../outside/base",
            ),
            *(
                "/proc/self/environ",
                "link.yaml",
                "linked/secret.yaml",
                "linked/base",
                "~/x",
                "$HOME",
                "/etc/os-release",
                ".",
                "..",
                "/",
            ),
            *(f"http://127.0.0.1:{port}/a.yaml", f"http://localhost:{port}/a?ref=main", f"git::http://127.0.0.1:{port}/a"),
            *(
                f"ssh://git@127.0.0.1:{port}/a.git",
                "git@localhost:a/b.git",
                f"git://127.0.0.1:{port}/a",
                f"oci://127.0.0.1:{port}/c",
            ),
            *(
                f"https://127.0.0.1:{port}//a?ref=main",
                f"127.0.0.1:{port}/a//b",
                f"file://{outside}/x?ref=--upload-pack={world.evil}",
            ),
            *(
                f"ext::{world.evil} %S",
                "--post-renderer=./evil.sh",
                f"--upload-pack={world.evil}",
                "--enable-exec",
                "-",
                "-f",
                "--",
            ),
            *(
                "vm.yaml",
                "evil.sh",
                "a.env",
                "",
                "\0",
                "a\nb",
                f"x={outside}/secret.env",
                "CANARY",
                "plugin.yaml",
                "function.yaml",
            ),
        )
    )


# ---- kustomizations

BUILTIN: dict[str, tuple[str, ...]] = {  # builtin plugins with the keys that name files, addresses or texts
    "ConfigMapGenerator": ("files", "envs", "env", "literals"),
    "SecretGenerator": ("files", "envs", "env", "literals"),
    "HelmChartInflationGenerator": (
        "name",
        "repo",
        "releaseName",
        "chartHome",
        "configHome",
        "valuesFile",
        "additionalValuesFiles",
    ),
    "ResourceGenerator": ("resource", "resources"),
    "PatchTransformer": ("path", "patch"),
    "PatchJson6902Transformer": ("path", "jsonOp"),
    "PatchStrategicMergeTransformer": ("paths", "patches"),
    "ReplacementTransformer": ("replacements", "path"),
    "ImageTagTransformer": ("imageTag",),
    "PrefixTransformer": ("prefix",),
    "AnnotationsTransformer": ("annotations",),
    "ValueAddTransformer": ("targetFilePath", "value"),
    "LegacyOrderTransformer": (),
}
LISTED = ("files", "envs", "literals", "resources", "paths", "patches", "additionalValuesFiles")


def plugin(rng: Random, world: World) -> dict[str, Any]:
    """The config of a plugin or a function: a builtin one, a program, an image, a Starlark script, one of Go, or this program."""
    kind, keys = rng.choice([*BUILTIN.items()])
    form = rng.choice(("builtin", "builtin", "builtin", "exec", "container", "starlark", "go", "own"))
    told: dict[str, Any] = {"name": "p", "namespace": "shop"}
    if form == "builtin":
        values = {key: [place(rng, world)] if key in LISTED else place(rng, world) for key in keys if rng.random() < 0.6}
        return {"apiVersion": "builtin", "kind": kind, "metadata": told, **values}
    evil = rng.choice(("./evil.sh", str(world.evil), "evil.sh", "../evil.sh"))
    function: dict[str, Any] = {
        "exec": {"exec": {"path": evil}},
        "container": {
            "container": {"image": place(rng, world), "network": True, "mounts": [{"type": "bind", "src": "/", "dst": "/x"}]}
        },
        "starlark": {"starlark": {"path": place(rng, world), "url": place(rng, world), "name": "x"}},
    }.get(form, {})
    annotation = rng.choice(("config.kubernetes.io/function", "config.k8s.io/function"))
    kinds = {"go": ("someteam.example.com/v1", "Evil"), "own": ("kubevirt-render.dev/v1alpha1", "RenderVirtualMachines")}
    version, kind = kinds.get(form, ("v1", "ConfigMap"))
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {**told, "annotations": {annotation: json.dumps(function)}},
        **({"spec": spec(rng, world)} if form == "own" else {"argsOneLiner": place(rng, world)}),
    }


def _inline(rng: Random, world: World) -> str:
    return yamlio.dump(plugin(rng, world)) if rng.random() < 0.6 else place(rng, world)


def _chart_of(rng: Random, world: World) -> dict[str, Any]:
    keys = (
        "repo",
        "version",
        "releaseName",
        "namespace",
        "valuesFile",
        "nameTemplate",
        "kubeVersion",
        "chartHome",
        "configHome",
    )
    more = {key: place(rng, world) for key in keys if rng.random() < 0.15}
    lists = {key: [place(rng, world)] for key in ("additionalValuesFiles", "apiVersions") if rng.random() < 0.15}
    name = rng.choice(("c", "c", "c", place(rng, world)))
    return {
        "name": name,
        "releaseName": rng.choice(("r", "--post-renderer=./evil.sh", f"--post-renderer={world.evil}")),
        **lists,
        **more,
    }


def _replacement(rng: Random, world: World) -> dict[str, Any]:
    source = {"kind": "ConfigMap", "fieldPath": "data.a"}
    target = {"select": {"kind": "VirtualMachine"}, "fieldPaths": ["spec.instancetype.name"]}
    return rng.choice(({"path": place(rng, world)}, {"source": source, "targets": [target]}))


def _target(rng: Random, world: World) -> dict[str, Any]:
    """A way to put what is generated into a VM, where a finding shows it."""
    return (
        {"path": place(rng, world)}
        if rng.random() < 0.5
        else {"patch": place(rng, world), "target": {"kind": "VirtualMachine"}}
    )


def _generator(rng: Random, world: World) -> dict[str, Any]:
    keys = {
        "files": [f"a={place(rng, world)}"],
        "envs": [place(rng, world)],
        "env": place(rng, world),
        "literals": [f"a={place(rng, world)}"],
    }
    return {"name": "outside", "namespace": "shop", **{key: value for key, value in keys.items() if rng.random() < 0.5}}


ENTRIES: dict[str, Callable[[Random, World], Any]] = {
    **dict.fromkeys(("resources", "bases", "components", "crds", "configurations", "patchesStrategicMerge"), place),
    **dict.fromkeys(("generators", "transformers", "validators"), _inline),
    **dict.fromkeys(("patches", "patchesJson6902"), _target),
    **dict.fromkeys(("configMapGenerator", "secretGenerator"), _generator),
    "helmCharts": _chart_of,
    "helmChartInflationGenerator": lambda rng, world: {
        "chartName": "c",
        "releaseName": place(rng, world),
        "values": place(rng, world),
    },
    "replacements": _replacement,
    "buildMetadata": lambda rng, _: rng.choice(("originAnnotations", "transformerAnnotations", "managedByLabel", "x")),
}
SINGLE: dict[str, Callable[[Random, World], Any]] = {
    "openapi": lambda rng, world: rng.choice(({"path": place(rng, world)}, {"version": place(rng, world)})),
    "helmGlobals": lambda rng, world: {key: place(rng, world) for key in ("chartHome", "configHome") if rng.random() < 0.6},
    "namePrefix": place,
    "namespace": place,
    "sortOptions": lambda rng, world: {"order": rng.choice(("legacy", "fifo", place(rng, world)))},
    "generatorOptions": lambda rng, world: {"labels": {"a": place(rng, world)}},
}


def kustomization(rng: Random, world: World) -> Files:
    """A kustomization with a few keys that name what it must not reach, and what it names in the tree."""
    lists = {
        key: [ENTRIES[key](rng, world) for _ in range(rng.randint(1, 2))] for key in rng.sample([*ENTRIES], rng.randint(1, 3))
    }
    single = {key: SINGLE[key](rng, world) for key in rng.sample([*SINGLE], rng.choice((0, 0, 1)))}
    resources = [*lists.get("resources", ()), "vm.yaml"]
    obj = {"kind": rng.choice(("Kustomization",) * 9 + ("Component",)), **lists, **single, "resources": resources}
    name = rng.choice(("kustomization.yaml",) * 4 + ("kustomization.yml", "Kustomization"))
    return {
        f"app/{name}": yamlio.dump(obj),
        "app/function.yaml": yamlio.dump(plugin(rng, world)),
        "app/plugin.yaml": yamlio.dump(plugin(rng, world)),
        "app/evil.sh": world.canary,
        **_links(rng, world),
        **({} if rng.random() < 0.5 else {f"app/charts/c/{name}": text for name, text in _chart(rng, world).items()}),
        **({"app/kustomize/plugin/someteam.example.com/v1/evil/Evil": world.canary} if rng.random() < 0.3 else {}),
    }


def _links(rng: Random, world: World) -> Files:
    found: Files = {
        "app/link.yaml": Link(str(world.secret)),
        "app/linked": Link(str(world.outside)),
        "linked": Link("../outside"),
    }
    return {name: link for name, link in found.items() if rng.random() < 0.3}


# ---- charts


def _chart(rng: Random, world: World) -> Files:
    """The files of a chart."""
    port, outside = world.port, world.outside
    calls = (
        '.Files.Get "../../outside/secret.yaml"',
        f'.Files.Get "{outside}/secret.yaml"',
        '.Files.Glob "../**"',
        '(.Files.Get "link.yaml")',
        'lookup "v1" "Secret" "" ""',
        'getHostByName "localhost"',
        'env "CANARY"',
        'expandenv "$CANARY"',
        'tpl "{{ env `CANARY` }}" .',
        'include "x" .',
        ".Values.a",
        ".Capabilities.APIVersions",
        '(.Files.Get "templates/vm.yaml")',
    )
    schema = rng.choice(
        (f"http://127.0.0.1:{port}/s.json", f"file://{outside}/schema.json", "#/x", "../../outside/schema.json")
    )
    dependencies = [{"name": "d", "version": "1", "repository": place(rng, world)}] if rng.random() < 0.3 else []
    chart = {
        "apiVersion": "v2",
        "name": rng.choice(("c", "c", place(rng, world))),
        "version": "1.0.0",
        "dependencies": dependencies,
    }
    found: Files = {
        "Chart.yaml": yamlio.dump(chart),
        "values.yaml": yamlio.dump({"a": place(rng, world)}),
        "templates/vm.yaml": (VM % ("chart", "u1.small")).replace("shop", f"{{{{ {rng.choice(calls)} | quote }}}}"),
        "templates/_x.tpl": f'{{{{ define "x" }}}}{{{{ {rng.choice(calls)} }}}}{{{{ end }}}}',
        "plugin.yaml": f"name: x\ncommand: {world.evil}\nhooks: {{install: {world.evil}}}\n",
        "evil.sh": world.canary,
    }
    if rng.random() < 0.4:
        found["values.schema.json"] = json.dumps(
            {"$ref": schema} if rng.random() < 0.7 else {"properties": {"a": {"$ref": schema}}}
        )
    if rng.random() < 0.2:
        found[rng.choice(("templates/link.yaml", "link.yaml", "charts/d", "crds/x.yaml", "values.yaml"))] = Link(
            rng.choice((str(world.secret), "../../../outside/secret.yaml", str(world.outside)))
        )
    return found


def chart(rng: Random, world: World) -> Files:
    """A chart in a folder."""
    return {f"chart/{name}": text for name, text in _chart(rng, world).items()}


# ---- the config of the repository, policies, schemas


def spec(rng: Random, world: World) -> dict[str, Any]:
    """The spec of a config with a few keys."""
    return {key: SETTINGS[key](rng, world) for key in rng.sample([*SETTINGS], rng.randint(1, 4))}


def _schema(rng: Random, world: World) -> Any:
    reference = rng.choice(
        (f"http://127.0.0.1:{world.port}/s", f"file://{world.outside}/schema.json", "#/x", "../outside/schema.json", "#")
    )
    inner: Any = rng.choice(
        (
            {"$ref": reference},
            {"$dynamicRef": reference},
            {"pattern": "(a+)+$"},
            {"type": place(rng, world)},
            {"$id": reference, "$ref": "x"},
        )
    )
    for depth in range(rng.choice((0, 1, 3, 60))):
        inner = rng.choice(({"properties": {"spec": inner}}, {"allOf": [inner] * (1 + (depth < 3))}, {"not": inner}))
    return {"$schema": place(rng, world), **inner} if rng.random() < 0.2 else inner


SETTINGS: dict[str, Callable[[Random, World], Any]] = {
    "kustomizeBuildFlags": lambda rng, world: [
        rng.choice(("--enable-helm", "--load-restrictor=LoadRestrictionsNone", "--enable-exec", place(rng, world)))
    ],
    "helm": lambda rng, _: rng.choice((True, True, False, "true")),
    "policies": lambda rng, world: [rng.choice((place(rng, world), "policies", "policies/p.yaml", _policy(rng)))],
    "schemaPolicies": lambda rng, world: [
        {"name": "s", "on": rng.choice(("written", "rendered")), "schema": _schema(rng, world)}
    ],
    "rulePackages": lambda rng, _: [rng.choice(("evil", "os", "app", "sitecustomize", "..evil"))],
    "patches": lambda rng, world: [
        {
            "target": {"name": rng.choice(("(a+)+$", "web", "["))},
            "patch": [
                {
                    "op": rng.choice(("add", "copy", "test")),
                    "path": place(rng, world),
                    "value": place(rng, world),
                    "from": place(rng, world),
                }
            ],
        }
    ],
    "configuration": lambda rng, world: rng.choice(({"machineType": place(rng, world)}, place(rng, world), {"x": 1})),
    "severity": lambda rng, world: {
        rng.choice(
            ("unresolved-instancetype", "kustomization-not-built", "unreadable-document", "outside-link", place(rng, world))
        ): rng.choice(("off", "info", 1))
    },
    "failOn": lambda rng, world: rng.choice(("never", "warning", place(rng, world))),
    "exclude": lambda rng, world: [rng.choice(("**", "planted", "planted/**", "app", place(rng, world)))],
    "external": lambda rng, world: [
        {"kind": rng.choice(("DataSource", "VirtualMachineClusterInstancetype", place(rng, world))), "name": "*"}
    ],
    "clusters": lambda rng, world: [
        {
            "name": place(rng, world),
            "targets": [rng.choice(("app", "**", place(rng, world)))],
            **({"kustomizeBuildFlags": ["--enable-helm"], "helm": True} if rng.random() < 0.5 else {}),
        }
    ],
    "kubevirtVersion": lambda rng, world: rng.choice(("1.8", "0.1", place(rng, world))),
    "mode": lambda rng, world: rng.choice(("snapshot", "annotate", place(rng, world))),
    "cache": place,
    "include": place,
}


def config(rng: Random, world: World) -> Files:
    """Configs of the repository; sometimes with what makes their flags dangerous."""
    obj = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec(rng, world)}
    text = yamlio.dump(obj)
    found: Files = {rng.choice((".kubevirt-render.yaml",) * 3 + ("app/.kubevirt-render.yaml",)): text}
    if rng.random() < 0.1:
        found[".kubevirt-render.yaml"] = Link(rng.choice((str(world.secret), "../outside/secret.yaml", "/proc/self/environ")))
    return {**(kustomization(rng, world) if rng.random() < 0.5 else {}), **found}


EXPRESSIONS = (
    "object.spec.x.matches('(a+)+$')",
    "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3].all(d, true))))",
    "variables.v20 == []",
    "params.data.a == 'x'",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "object.metadata.name == 'web'",
    "string(object) == ''",
    "1/0 == 1",
    "(" * 200 + "1" + ")" * 200 + " == 1",
)


def _policy(rng: Random) -> dict[str, Any]:
    variables = [
        {"name": f"v{n}", "expression": f"[variables.v{n - 1}, variables.v{n - 1}]" if n else "[object]"} for n in range(21)
    ]
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": rules},
            "paramKind": {"apiVersion": "v1", "kind": rng.choice(("ConfigMap", "Secret"))},
            "variables": variables if rng.random() < 0.3 else [],
            "validations": [
                {
                    "expression": rng.choice(EXPRESSIONS),
                    "messageExpression": rng.choice(("string(params)", "'x'", "string(object)")),
                }
            ],
        },
    }


POLICY = yamlio.dump(_policy(Random(1)))  # noqa: S311
BINDING = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny], paramRef: {name: outside, namespace: shop, parameterNotFoundAction: Allow}}
"""


def policies(rng: Random, world: World) -> Files:
    """Policies among the files, or named by a config."""
    text: str | Link = yamlio.dump(_policy(rng)) + BINDING
    if rng.random() < 0.2:
        text = Link(rng.choice((str(world.secret), "../../outside/secret.yaml", "/proc/self/environ")))
    obj = {
        "kind": "RenderVirtualMachines",
        "spec": {"policies": [rng.choice(("policies", "policies/p.yaml", place(rng, world)))]},
    }
    return {"policies/p.yaml": text, **({".kubevirt-render.yaml": yamlio.dump(obj)} if rng.random() < 0.7 else {})}


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.a.example.com}
spec:
  group: a.example.com
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


def schemas(rng: Random, world: World) -> Files:
    """Definitions among the files that replace KubeVirt's own, and a config with JSON Schemas."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _schema(rng, world)}}
    names = rng.choice((("kubevirt.io", "VirtualMachine", "virtualmachines"), ("a.example.com", "A", "as")))
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names[2]}.{names[0]}"},
        "spec": {
            "group": names[0],
            "names": {"kind": names[1], "plural": names[2]},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    obj = {"kind": "RenderVirtualMachines", "spec": {"schemaPolicies": SETTINGS["schemaPolicies"](rng, world)}}
    return {
        "schemas/crd.yaml": yamlio.dump(definition),
        **({".kubevirt-render.yaml": yamlio.dump(obj)} if rng.random() < 0.6 else {}),
    }


# ---- git, tests, files of other programs


def git(rng: Random, world: World) -> Files:
    """A repository whose config starts programs, or the same as files that a commit can hold, and hostile files of git."""
    evil, port = world.evil, world.port
    lines = (
        *(f"[core]\n\tfsmonitor = {evil}", f"[core]\n\tsshCommand = {evil}", f"[core]\n\thooksPath = {world.outside}"),
        *(f"[core]\n\tpager = {evil}", f"[core]\n\taskPass = {evil}", f"[core]\n\talternateRefsCommand = {evil}"),
        *(
            f'[filter "x"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}',
            f'[diff "x"]\n\ttextconv = {evil}\n\tcommand = {evil}',
        ),
        *(f"[include]\n\tpath = {world.secret}", f"[credential]\n\thelper = !{evil}", f"[gpg]\n\tprogram = {evil}"),
        *(
            f"[alias]\n\tcat-file = !{evil}\n\trev-parse = !{evil}",
            f"[core]\n\tworktree = {world.outside}",
            "[core]\n\tbare = true",
        ),
        *(f"[core]\n\teditor = {evil}\n\tgitProxy = {evil}", f"[uploadpack]\n\tpackObjectsHook = {evil}"),
        *(f"[core]\n\texcludesFile = {world.secret}", f"[core]\n\tattributesFile = {world.secret}"),
    )
    url = rng.choice(
        (
            f"ext::{evil} %S",
            f"ssh://git@127.0.0.1:{port}/a",
            f"http://127.0.0.1:{port}/a",
            f"git://127.0.0.1:{port}/a",
            f"file://{world.outside}",
        )
    )
    promisor = (
        f'[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = {url}\n\tpromisor = true\n\tuploadpack = {evil}\n'
    )
    more = "[protocol]\n\tallow = always\n" if rng.random() < 0.5 else ""
    text = "\n".join((*rng.sample(lines, rng.randint(1, 3)), promisor if rng.random() < 0.6 else "", more))
    files = (
        *(
            ("objects/info/alternates", f"{world.outside}\n"),
            ("commondir", f"{world.outside}\n"),
            ("info/attributes", "* filter=x\n"),
        ),
        *(("hooks/post-index-change", world.canary), ("hooks/reference-transaction", world.canary), ("shallow", "x\n")),
        *(
            ("HEAD", f"ref: {world.secret}\n"),
            ("packed-refs", "x"),
            ("refs/heads/HEAD", "--upload-pack=x\n"),
            ("config.worktree", text),
        ),
    )
    commit = Commit(
        text, bare=rng.random() < 0.4, missing=rng.random() < 0.7, more=tuple(rng.sample(files, rng.choice((0, 0, 1, 2))))
    )
    found: Files = {rng.choice((".git", ".git", "app/.git", "lab")): commit}
    if rng.random() < 0.1:
        found = {".git": rng.choice((f"gitdir: {world.outside}\n", "gitdir: ../../outside\n", "gitdir: lab\n", "x"))}
    return {
        **found,
        ".gitattributes": "* filter=x diff=x\n",
        ".gitmodules": f'[submodule "a"]\n\tpath = sub\n\turl = {url}\n\tupdate = !{evil}\n',
        "app/kustomization.yaml": yamlio.dump(
            {"resources": ["vm.yaml", rng.choice(("gone.yaml", "../gone", "sub/a.yaml", "vm.yaml"))]}
        ),
    }


def tests(rng: Random, world: World) -> Files:
    """A case of `test` that names inputs and a config outside, with expressions that never end."""
    selected = rng.choice(
        ("$..[?match(@.name, '(a+)+b')]", "$..*", "spec.instancetype.name", "$" + "..*" * 12, "$[?@.a" + "[?@.a" * 30)
    )
    fields = [
        {"object": "VirtualMachine shop/web", "path": selected, "values": []},
        {"object": "x", "cel": rng.choice(EXPRESSIONS)},
    ]
    expected = {"inputs": [place(rng, world), "input.yaml"], "findings": [], "fields": fields, "rules": [place(rng, world)]}
    found: Files = {"cases/one/input.yaml": VM % ("web", "u1.small"), "cases/one/expected.yaml": yamlio.dump(expected)}
    if rng.random() < 0.5:
        found["cases/one/config.yaml"] = yamlio.dump({"kind": "RenderVirtualMachines", "spec": spec(rng, world)})
    if rng.random() < 0.3:
        found[f"cases/one/{rng.choice(('rendered.yaml', 'config.yaml', 'expected.yaml', 'input.yaml'))}"] = Link(
            rng.choice((str(world.secret), "../../../outside/secret.yaml"))
        )
    if rng.random() < 0.3:
        found["cases/two/expected.yaml"] = "findings: []\n"
        found |= {
            f"cases/two/{name.removeprefix('app/')}": text
            for name, text in kustomization(rng, world).items()
            if name.startswith("app/")
        }
    return found


def settings(rng: Random, world: World) -> Files:
    """Settings of editors in the folder, and modules that Python or a shell would load by themselves."""
    evil = f"import pathlib\npathlib.Path('{world.marks}/started').write_text(__file__)\n"
    modules = (
        "sitecustomize",
        "usercustomize",
        "yaml",
        "click",
        "logging",
        "krm_fn/__init__",
        "venv/__init__",
        "json",
        "rules",
        "evil",
    )
    found: Files = {f"{name}.py": evil for name in rng.sample(modules, 4)}
    values = json.dumps(
        {"kubevirtRender.path": "./evil.sh", "kubevirtRender.build": True, "kubevirtRender.config": str(world.secret)}
    )
    return {
        **found,
        ".vscode/settings.json": values,
        ".zed/settings.json": json.dumps({"lsp": {"yaml-language-server": {"binary": {"path": "./evil.sh"}}}}),
        ".nvim.lua": f'vim.fn.system("{world.evil}")\n',
        ".envrc": f"{world.evil}\n",
        ".pre-commit-config.yaml": "repos: []\n",
        "evil.sh": world.canary,
        "pyproject.toml": '[build-system]\nrequires = ["evil"]\n',
        "pyvenv.cfg": f"home = {world.outside}\n",
    }


def objects(rng: Random, world: World) -> Files:
    """Objects that other tools take for orders, and comments and annotations that silence."""
    ignore = rng.choice(
        ("'*: all'", "'unresolved-instancetype: because'", f"'{place(rng, world)}'".replace("\n", " ").replace("\0", ""))
    )
    app = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "a"},
        "spec": {
            "source": {
                "path": place(rng, world),
                "repoURL": place(rng, world),
                "plugin": {"env": [{"name": "CONFIG", "value": place(rng, world)}]},
            }
        },
    }
    flux = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "f"},
        "spec": {"path": place(rng, world), "patches": [{"patch": place(rng, world)}]},
    }
    kpt = {
        "apiVersion": "kpt.dev/v1",
        "kind": "Kptfile",
        "metadata": {"name": "k"},
        "pipeline": {"mutators": [{"exec": "./evil.sh"}, {"image": place(rng, world)}]},
    }
    listed = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [],
        "functionConfig": {
            "apiVersion": "kubevirt-render.dev/v1alpha1",
            "kind": "RenderVirtualMachines",
            "metadata": {"name": "x", "annotations": {"config.kubernetes.io/path": place(rng, world)}},
            "spec": spec(rng, world),
        },
    }
    return {
        "vm.yaml": "# kubevirt-render:ignore *\n"
        + (VM % ("web", "u1.smalll")).replace("{}}", f"{{kubevirt-render.dev/ignore: {ignore}}}}}", 1),
        "objects.yaml": "---\n".join(map(yamlio.dump, rng.sample([app, flux, kpt], 2))),
        "Kptfile": yamlio.dump(kpt),
        "list.yaml": yamlio.dump(listed),
    }


WAYS: dict[str, Way] = {
    "config": config,
    "kustomization": kustomization,
    "chart": chart,
    "git": git,
    "policies": policies,
    "schemas": schemas,
    "tests": tests,
    "editor settings": settings,
    "objects": objects,
}
COMMANDS: dict[str, Command] = {
    "check": Command(("check", "-j", "1", "--no-cache", "--verbose", ".")),
    "check --cache": Command(("check", "-j", "1", ".")),
    "check -k": Command(("check", "-k", "app")),
    "check --base": Command(("check", "-j", "1", "--no-cache", "--base", "HEAD", ".")),
    "check --fix": Command(("check", "-j", "1", "--no-cache", "--fix", "."), changes=True),
    "check --helm": Command(("check", "-j", "1", "--no-cache", "--helm", "-o", "json", ".")),
    "check --isolated": Command(
        ("check", "-j", "1", "--no-cache", "--isolated", "--no-ignores", "--config", "{config}", "."), isolated=True
    ),
    "check --kustomize-build-flag": Command(
        ("check", "-j", "1", "--no-cache", "--kustomize-build-flag=--enable-helm", "."), flags=("--enable-helm",)
    ),
    "render": Command(("render", "-j", "1", ".")),
    "render -k": Command(("render", "-k", "app")),
    "render --in-place": Command(("render", "--in-place", "."), changes=True),
    "render --output-dir": Command(("render", "-j", "1", "--output-dir", "{out}/rendered", ".")),
    "diff": Command(("diff", "-j", "1", "app", ".")),
    "diff --base": Command(("diff", "-j", "1", "--base", "HEAD", ".")),
    "capacity": Command(("capacity", ".")),
    "explain": Command(("explain", ".")),
    "report": Command(("report", "-j", "1", ".", "-o", "{out}/page.html")),
    "migrate": Command(("migrate", "--diff", ".")),
    "test": Command(("test", ".")),
    "lsp": Command(("lsp",)),
    "init": Command(("init", "--stdout")),
    "argocd generate": Command(("argocd", "generate"), fetches=True, folders=("chart", "app")),
    "argocd discover": Command(("argocd", "discover")),
    "argocd ignore-differences": Command(("argocd", "ignore-differences", ".")),
    "render -": Command(("render", "-"), stdin="list.yaml"),
    "the function": Command((), stdin="list.yaml"),
}


def tree(seed: str, number: int, world: World) -> tuple[Files, Command]:
    """The tree of that number, and the command that works on it."""
    rng = Random(f"{seed}/{number}")  # noqa: S311  nothing is secret
    found: Files = {**LOOSE, **(PLANTED if rng.random() < 0.5 else {})}
    for way in rng.sample([*WAYS.values()], rng.choice((1, 1, 2, 3))):
        found |= way(rng, world)
    command = rng.choice([*COMMANDS.values()])
    found = {**beside(command), **found}
    if rng.random() < 0.3:
        name = rng.choice([*found])
        text = found[name]
        found[name] = _changed(rng, text) if isinstance(text, str) else text
    return found, command


def beside(command: Command) -> Files:
    """What a command needs to do anything: a commit to compare with, or a case."""
    case = {"cases/one/expected.yaml": "findings: []\n", "cases/one/input.yaml": VM % ("web", "u1.small")}
    built = {"cases/two/expected.yaml": "findings: []\n", "cases/two/kustomization.yaml": "resources: [../one/input.yaml]\n"}
    return {
        **({".git": PLAIN} if "--base" in command.words else {}),
        **({**case, **built} if command.words[:1] == ("test",) else {}),
    }


def _changed(rng: Random, text: str) -> str:
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(mutants.CHOICES)(rng, lines)
    return "\n".join(lines)


# ---- trees in parts, and on the disk


def parts(files: Files) -> list[tuple[str, str | Link | Commit]]:
    """The lines of all texts, each with the name of its file, and what is no text."""
    return [(name, line) for name, text in files.items() for line in (text.split("\n") if isinstance(text, str) else [text])]


def joined(found: list[tuple[str, str | Link | Commit]]) -> Files:
    """The files that have these parts."""
    files: Files = {}
    for name, part in found:
        before = files.get(name)
        files[name] = f"{before}\n{part}" if isinstance(before, str) and isinstance(part, str) else part
    return files


def write(files: Files, folder: Path) -> None:
    """Write a tree: texts first, then links, then repositories, whose commits hold the others. Its root is one of git."""
    for name, text in sorted(files.items(), key=lambda each: (isinstance(each[1], Commit), isinstance(each[1], Link), each[0])):
        path = folder / name
        if any(each.is_symlink() or each.is_file() for each in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or path.exists():
            continue
        if isinstance(text, str):
            path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        elif isinstance(text, Link):
            path.symlink_to(text.target)
        else:
            _commit(text, path)
    if not (folder / ".git").exists():
        (folder / ".git").mkdir()


IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null")


def _commit(of: Commit, store: Path) -> None:
    """Make a repository with what stands beside it, then write its hostile config."""
    work = store.parent

    def git(*words: str) -> str:
        given = ["git", "--git-dir", str(store), "--work-tree", str(work), *IDENTITY, *words]
        return subprocess.run(given, check=True, capture_output=True, text=True).stdout.strip()

    subprocess.run(["git", "init", "-q", "--bare", "--template=", str(store)], check=True, capture_output=True)  # noqa: S607
    git("add", "-f", *[each.name for each in work.iterdir() if each not in (store, work / ".git")])
    git("commit", "-q", "--no-verify", "-m", "a")
    if of.missing:
        digest = git("rev-parse", "HEAD:vm.yaml")
        (store / "objects" / digest[:2] / digest[2:]).unlink()
    head = f"[core]\n\trepositoryformatversion = 0\n\tbare = {str(of.bare).lower()}\n"
    (store / "config").write_text(head + of.lines)
    for name, text in of.more:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_text(text)
        (store / name).chmod(0o755)
