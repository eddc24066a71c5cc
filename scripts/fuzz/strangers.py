"""Trees as a stranger pushes them: of each way by which files decide about a run, what is hostile in it.

A *way* gives files, by their paths in the tree, from a source of chance and a world. Most are templates: `<place>` stands for
a path or an address that nothing may follow, written as JSON; the other holes are in `_holes`. `tree` joins a few ways and
changes a text as `mutants` does. The same seed and number give the same tree, but for the names of folders on this machine.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import mutants
from watching import Command, World

HOLE = re.compile("<([a-z]+)>")


class Link(NamedTuple):
    """A symbolic link, in place of a text."""

    target: str


class Commit(NamedTuple):
    """A repository with a commit of the files beside it, in place of a text; `bare`: as files that a commit can hold.

    Its config has `lines`; `missing`: it lacks a blob, which git would fetch. `more` are further files of its folder.
    """

    lines: str = ""
    bare: bool = False
    missing: bool = False
    more: tuple[tuple[str, str], ...] = ()


Files = dict[str, str | Link | Commit]
Way = Callable[[Random, World], Files]
PLAIN = Commit()
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
LIVE = "live.yaml"
DUMPED = VM.replace("annotations: {}", "uid: u, resourceVersion: '1'") % ("web", "u1.small")
PLANTED: Files = {"planted/vm.yaml": VM % ("planted", "u1.smalll")}
LOOSE: Files = {
    "vm.yaml": VM % ("web", "u1.small"),
    "app/vm.yaml": VM % ("db", "u1.medium"),
    "app/a.env": "A=1\nCANARY\nGITHUB_TOKEN\n",
}

# ---- what files name: `<out>` is the folder outside, `<port>` that of the listening server, `<evil>` a program outside
PLACES = (
    """\
<out>/secret.yaml|<out>/secret.env|<out>/schema.json|<out>/evil.sh|<out>/base|file://<out>/secret.yaml|/proc/self/environ|/etc/os-release
../../outside/secret.yaml|../outside/secret.yaml|../../outside/base|../../outside/secret.env|link.yaml|linked/secret.yaml|linked/base
~/x|$HOME|.|..|/|-|-f|--|--enable-exec|--post-renderer=./evil.sh|--post-renderer=<evil>|--upload-pack=<evil>|x=<out>/secret.env|CANARY
http://127.0.0.1:<port>/a.yaml|http://localhost:<port>/a?ref=main|git::http://127.0.0.1:<port>/a|https://127.0.0.1:<port>//a?ref=main
ssh://git@127.0.0.1:<port>/a.git|git@localhost:a/b.git|git://127.0.0.1:<port>/a|oci://127.0.0.1:<port>/c|127.0.0.1:<port>/a//b
file://<out>/x?ref=--upload-pack=<evil>|ext::<evil> %S|vm.yaml|evil.sh|a.env|plugin.yaml|function.yaml||\0|a\nb\
""".replace("\n", "|")
    .replace("a|b", "a\nb")
    .split("|")
)


def place(rng: Random, world: World) -> str:
    """A path, an address or a flag."""
    return filled(rng, world, rng.choice(PLACES))


def filled(rng: Random, world: World, text: str) -> str:
    """A template without its holes."""
    return HOLE.sub(lambda found: _holes(rng, world, found[1]), text)


def _holes(rng: Random, world: World, name: str) -> str:
    known = {"out": world.outside, "port": world.port, "evil": world.evil, "canary": world.canary, "marks": world.marks}
    if name in known:
        return str(known[name])
    if name == "place":
        return json.dumps(place(rng, world))
    if name == "inline":
        return json.dumps(filled(rng, world, rng.choice(PLUGINS)) if rng.random() < 0.6 else place(rng, world))
    return filled(rng, world, MADE[name](rng) if name in MADE else rng.choice(WORDS[name]))


def few(rng: Random, lines: list[str], most: int = 3) -> str:
    """A few lines of a template."""
    return "".join(f"{line}\n" for line in rng.sample(lines, rng.randint(1, most)))


# ---- kustomizations
FUNCTION = (
    '{apiVersion: %s, kind: %s, metadata: {name: p, annotations: {config.kubernetes.io/function: "%s"}}, spec: {a: <place>}}'
)
PLUGINS = [
    *(
        f"{{apiVersion: builtin, kind: {kind}, metadata: {{name: outside, namespace: shop}}, {keys}}}"
        for kind, keys in (
            ("ConfigMapGenerator", "files: [<assigned>]"),
            ("ConfigMapGenerator", "envs: [<place>], literals: [<assigned>]"),
            ("SecretGenerator", "files: [<assigned>], env: <place>"),
            ("HelmChartInflationGenerator", "name: c, releaseName: <release>, chartHome: charts"),
            ("HelmChartInflationGenerator", "name: c, repo: <place>, valuesFile: <place>, configHome: <place>"),
            ("HelmChartInflationGenerator", "name: <place>, chartHome: <place>, additionalValuesFiles: [<place>]"),
            ("PatchTransformer", "path: <place>, target: {kind: VirtualMachine}"),
            ("PatchTransformer", "patch: <place>"),
            ("PatchJson6902Transformer", "path: <place>, target: {kind: VirtualMachine, name: db}"),
            ("PatchStrategicMergeTransformer", "paths: [<place>]"),
            ("ReplacementTransformer", "replacements: [{path: <place>}]"),
            ("ReplacementTransformer", "replacements: [<replacement>]"),
            ("ValueAddTransformer", "targetFilePath: <place>, value: <place>"),
            ("ResourceGenerator", "resources: [<place>]"),
        )
    ),
    *(FUNCTION % ("v1", "ConfigMap", f"exec: {{path: {path}}}") for path in ("./evil.sh", "<evil>", "evil.sh", "../evil.sh")),
    FUNCTION % ("v1", "ConfigMap", "container: {image: evil, network: true, mounts: [{type: bind, src: /, dst: /x}]}"),
    FUNCTION % ("v1", "ConfigMap", "starlark: {path: evil.star, url: 'http://127.0.0.1:<port>/a.star', name: x}"),
    FUNCTION % ("someteam.example.com/v1", "Evil", ""),
    "{apiVersion: kubevirt-render.dev/v1alpha1, kind: RenderVirtualMachines, metadata: {name: x}, spec: {<settings>}}",
]
WORDS = {
    "assigned": ["a=<out>/secret.yaml", "<place>", "a=../../outside/secret.yaml", "a=/proc/self/environ", "a=link.yaml"],
    "release": ["r", "--post-renderer=./evil.sh", "--post-renderer=<evil>", "<place>"],
    "replacement": [
        "{source: {kind: ConfigMap, name: outside, fieldPath: data.a}, targets: [<shown>]}",
        "{source: {kind: Secret, name: outside, fieldPath: data.a}, targets: [<shown>]}",
    ],
    "shown": ["{select: {kind: VirtualMachine}, fieldPaths: [spec.instancetype.name]}"],
    "flag": ["--enable-helm", "--load-restrictor=LoadRestrictionsNone", "--enable-exec", "--enable-alpha-plugins", "<place>"],
    "reference": [
        "http://127.0.0.1:<port>/s",
        "file://<out>/schema.json",
        "#/x",
        "../../outside/schema.json",
        "#",
        "file:///proc/self/environ",
    ],
    "call": [
        *(
            '.Files.Get "../../outside/secret.yaml"',
            '.Files.Get "<out>/secret.yaml"',
            '.Files.Glob "../**"',
            '(.Files.Get "link.yaml")',
        ),
        *(
            'lookup "v1" "Secret" "" ""',
            'getHostByName "localhost"',
            'env "CANARY"',
            'expandenv "$CANARY"',
            'tpl "{{ env `CANARY` }}" .',
        ),
        *('include "x" .', ".Values.a", ".Capabilities.APIVersions", '(.Files.Get "templates/vm.yaml")'),
    ],
    "cel": [
        *("object.spec.x.matches('(a+)+$')", "variables.v20 == []", "params.data.a == 'x'", "object.metadata.name == 'web'"),
        *("authorizer.group('').resource('pods').check('get').allowed()", "string(object) == ''", "1/0 == 1"),
        "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3].all(d, true))))",
        "(" * 200 + "1" + ")" * 200 + " == 1",
    ],
    "path": ["$..[?match(@.name, '(a+)+b')]", "$..*", "spec.instancetype.name", "$" + "..*" * 12, "$[?@.a" + "[?@.a" * 30],
    "rule": ["unresolved-instancetype", "kustomization-not-built", "unreadable-document", "outside-link", "no-such-rule"],
}
KEYS = [
    *(f"{key}: [<place>]" for key in ("bases", "components", "crds", "configurations", "patchesStrategicMerge")),
    *(f"{key}: [<inline>, <inline>]" for key in ("generators", "transformers", "validators")),
    *("patches: [{path: <place>}, {patch: <place>, target: {kind: VirtualMachine}}]", "patchesJson6902: [{path: <place>}]"),
    *(
        f"{key}: [{{name: outside, namespace: shop, {keys}}}]"
        for key in ("configMapGenerator", "secretGenerator")
        for keys in ("files: [<assigned>]", "envs: [<place>]", "env: <place>", "literals: [<assigned>]")
    ),
    *(
        "helmCharts: [{name: c, releaseName: <release>}]",
        "helmCharts: [{name: c, repo: <place>, version: <place>, valuesFile: <place>}]",
    ),
    "helmCharts: [{name: <place>, namespace: <place>, nameTemplate: <place>, apiVersions: [<place>], kubeVersion: <place>}]",
    "helmCharts: [{name: c, releaseName: r, additionalValuesFiles: [<place>], configHome: <place>}]",
    "helmChartInflationGenerator: [{chartName: c, releaseName: <release>, values: <place>, helmBin: <evil>}]",
    *(
        "helmGlobals: {chartHome: <place>}",
        "helmGlobals: {configHome: <place>}",
        "replacements: [{path: <place>}, <replacement>]",
    ),
    *("openapi: {path: <place>}", "openapi: {version: <place>}", "buildMetadata: [transformerAnnotations, <place>]"),
    *("namePrefix: <place>", "namespace: <place>", "sortOptions: {order: <place>}", "generatorOptions: {labels: {a: <place>}}"),
]


def kustomization(rng: Random, world: World) -> Files:
    """A kustomization with a few keys that name what it must not reach, and what it names in the tree."""
    head = "kind: Component\n" if rng.random() < 0.1 else ""
    resources = rng.choice(("resources: [vm.yaml]\n", "resources: [<place>, vm.yaml]\n", "resources: [<place>]\n"))
    name = rng.choice(("kustomization.yaml",) * 4 + ("kustomization.yml", "Kustomization"))
    texts = {
        name: head + resources + few(rng, KEYS),
        "function.yaml": rng.choice(PLUGINS),
        "plugin.yaml": rng.choice(PLUGINS),
        "evil.sh": "<canary>",
        "kustomize/plugin/someteam.example.com/v1/evil/Evil": "<canary>",
    }
    links: Files = {
        "app/link.yaml": Link(str(world.secret)),
        "app/linked": Link(str(world.outside)),
        "linked": Link("../outside"),
    }
    kept = {name: link for name, link in links.items() if rng.random() < 0.3}
    charts = _chart(rng, world, "app/charts/c") if rng.random() < 0.5 else {}
    return {**{f"app/{name}": filled(rng, world, text) for name, text in texts.items()}, **kept, **charts}


# ---- charts
CHART = {
    "Chart.yaml": ["apiVersion: v2\nname: c\nversion: 1.0.0\n", "apiVersion: v2\nname: <place>\nversion: 1.0.0\n"],
    "values.yaml": ["a: <place>\n"],
    "templates/vm.yaml": [(VM % ("chart", "u1.small")).replace("shop", "{{ <call> | quote }}")],
    "templates/_x.tpl": ['{{ define "x" }}{{ <call> }}{{ end }}'],
    "plugin.yaml": ["name: x\ncommand: <evil>\nhooks: {install: <evil>}\n"],
    "evil.sh": ["<canary>"],
    ".helmignore": ["x\n", "templates/**\n"],
}
SCHEMAS = ['{"$ref": "<reference>"}', '{"properties": {"a": {"$ref": "<reference>"}}}', '{"$id": "<reference>", "$ref": "x"}']


def _chart(rng: Random, world: World, folder: str) -> Files:
    texts = {name: rng.choice(choices) for name, choices in CHART.items()}
    if rng.random() < 0.4:
        texts["values.schema.json"] = rng.choice(SCHEMAS)
    if rng.random() < 0.2:
        texts["Chart.yaml"] += "dependencies: [{name: d, version: 1.0.0, repository: <place>}]\n"
    found: Files = {f"{folder}/{name}": filled(rng, world, text) for name, text in texts.items()}
    if rng.random() < 0.2:
        name = rng.choice(("templates/link.yaml", "link.yaml", "charts/d", "crds/x.yaml", "values.yaml"))
        found[f"{folder}/{name}"] = Link(rng.choice((str(world.secret), "../../../outside/secret.yaml", str(world.outside))))
    return found


def chart(rng: Random, world: World) -> Files:
    """A chart in a folder."""
    return _chart(rng, world, "chart")


# ---- the config of the repository, policies, schemas
SETTINGS = [
    *("kustomizeBuildFlags: [<flag>]", "kustomizeBuildFlags: ['--enable-helm', <flag>]", "helm: true", "helm: <place>"),
    *("policies: [<place>]", "policies: [policies, policies/p.yaml]", "policies: [<policy>]"),
    *("schemaPolicies: [{name: s, on: written, schema: <schema>}]", "schemaPolicies: [{name: s, schema: <schema>}]"),
    *(
        "rulePackages: [evil]",
        "rulePackages: [os, app]",
        "rulePackages: [sitecustomize]",
        "configuration: {machineType: <place>}",
    ),
    "patches: [{target: {name: '(a+)+$'}, patch: [{op: add, path: <place>, value: <place>}]}]",
    "patches: [{target: {name: web}, patch: [{op: copy, path: <place>, from: <place>}]}]",
    *("configuration: <place>", "severity: {<rule>: 'off'}", "severity: {<rule>: <place>}", "failOn: never", "failOn: <place>"),
    *("exclude: ['**']", "exclude: [planted]", "exclude: [<place>]", "external: [{kind: VirtualMachineClusterInstancetype}]"),
    *(
        "external: [{kind: <place>, name: '*'}]",
        "clusters: [{name: a, targets: ['**'], kustomizeBuildFlags: ['--enable-helm'], helm: true}]",
    ),
    *(
        "clusters: [{name: <place>, targets: [<place>]}]",
        "kubevirtVersion: '1.8'",
        "kubevirtVersion: <place>",
        "mode: snapshot",
    ),
    *("mode: <place>", "cache: <place>", "include: <place>", "catalogue: none", "presets: fold"),
]
BINDING = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny], paramRef: {name: outside, namespace: shop, parameterNotFoundAction: Allow}}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.a.example.com}
spec:
  group: a.example.com
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: <schema>}}
"""
OWN = "kind: RenderVirtualMachines\nspec:\n"


def _settings(rng: Random) -> str:
    return ", ".join(few(rng, SETTINGS, 4).splitlines())


def _schema(rng: Random) -> str:
    inner = rng.choice(
        (*SCHEMAS, '{"$dynamicRef": "<reference>"}', '{"pattern": "(a+)+$"}', '{"type": <place>}', '{"$schema": <place>}')
    )
    for depth in range(rng.choice((0, 1, 3, 60))):
        twice = f'{{"allOf": [{inner}, {inner}]}}' if depth < 3 else f'{{"allOf": [{inner}]}}'
        inner = rng.choice((f'{{"properties": {{"spec": {inner}}}}}', twice, f'{{"not": {inner}}}'))
    return inner


def _policy(rng: Random) -> str:
    def doubled(number: int) -> str:
        return f"[variables.v{number - 1}, variables.v{number - 1}]" if number else "[object]"

    variables = [{"name": f"v{number}", "expression": doubled(number)} for number in range(21)]
    spec = {
        "matchConstraints": {
            "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
        },
        "paramKind": {"apiVersion": "v1", "kind": rng.choice(("ConfigMap", "Secret"))},
        "variables": variables if rng.random() < 0.3 else [],
        "validations": [
            {
                "expression": rng.choice(WORDS["cel"]),
                "messageExpression": rng.choice(("string(params)", "'x'", "string(object)")),
            }
        ],
    }
    about = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}}
    return json.dumps({**about, "spec": spec})


MADE: dict[str, Callable[[Random], str]] = {"settings": _settings, "schema": _schema, "policy": _policy}
POLICY = _policy(Random(1)) + "\n"  # noqa: S311


def config(rng: Random, world: World) -> Files:
    """Configs of the repository, in half of all cases with a kustomization that makes their flags dangerous."""
    name = rng.choice((".kubevirt-render.yaml",) * 3 + ("app/.kubevirt-render.yaml",))
    text: str | Link = filled(rng, world, OWN + few(rng, [f"  {line}" for line in SETTINGS], 4))
    if rng.random() < 0.1:
        text = Link(rng.choice((str(world.secret), "../outside/secret.yaml", "/proc/self/environ")))
    return {**(kustomization(rng, world) if rng.random() < 0.5 else {}), name: text}


def policies(rng: Random, world: World) -> Files:
    """Policies among the files, or named by a config."""
    text: str | Link = f"{_policy(rng)}\n{BINDING}"
    if rng.random() < 0.2:
        text = Link(rng.choice((str(world.secret), "../../outside/secret.yaml", "/proc/self/environ")))
    named = rng.choice(("policies", "policies/p.yaml", "<place>", "<place>"))
    return {"policies/p.yaml": text, ".kubevirt-render.yaml": filled(rng, world, f"{OWN}  policies: [{named}]\n")}


def schemas(rng: Random, world: World) -> Files:
    """Definitions among the files, some of which replace KubeVirt's own, and a config with JSON Schemas."""
    text = DEFINITION
    if rng.random() < 0.5:
        text = text.replace("as.a.example.com", "virtualmachines.kubevirt.io").replace("a.example.com", "kubevirt.io")
        text = text.replace("{kind: A, plural: as}", "{kind: VirtualMachine, plural: virtualmachines}")
    own = f"{OWN}  schemaPolicies: [{{name: s, on: {rng.choice(('written', 'rendered'))}, schema: <schema>}}]\n"
    return {"schemas/crd.yaml": filled(rng, world, text), ".kubevirt-render.yaml": filled(rng, world, own)}


# ---- git, tests, files of other programs
GIT = [
    *(
        "[core]\n\tfsmonitor = <evil>",
        "[core]\n\tsshCommand = <evil>",
        "[core]\n\thooksPath = <out>",
        "[core]\n\tpager = <evil>",
    ),
    *("[core]\n\taskPass = <evil>", "[core]\n\talternateRefsCommand = <evil>", "[include]\n\tpath = <out>/secret.yaml"),
    *(
        '[filter "x"]\n\tclean = <evil>\n\tsmudge = <evil>\n\tprocess = <evil>',
        '[diff "x"]\n\ttextconv = <evil>\n\tcommand = <evil>',
    ),
    *("[credential]\n\thelper = !<evil>", "[gpg]\n\tprogram = <evil>", "[alias]\n\tcat-file = !<evil>\n\trev-parse = !<evil>"),
    *("[core]\n\tworktree = <out>", "[core]\n\tbare = true", "[core]\n\teditor = <evil>\n\tgitProxy = <evil>"),
    *(
        "[uploadpack]\n\tpackObjectsHook = <evil>",
        "[core]\n\texcludesFile = <out>/secret.yaml",
        "[core]\n\tattributesFile = <out>/secret.yaml",
    ),
]
URLS = [
    "ext::<evil> %S",
    "ssh://git@127.0.0.1:<port>/a",
    "http://127.0.0.1:<port>/a",
    "git://127.0.0.1:<port>/a",
    "file://<out>",
]
PROMISOR = """\
[extensions]
	partialClone = origin
[remote "origin"]
	url = %s
	promisor = true
	uploadpack = <evil>
[protocol]
	allow = always
"""
IN_GIT = {
    "objects/info/alternates": "<out>\n",
    "commondir": "<out>\n",
    "info/attributes": "* filter=x\n",
    "packed-refs": "x",
    "hooks/post-index-change": "<canary>",
    "hooks/reference-transaction": "<canary>",
    "shallow": "x\n",
    "HEAD": "ref: <out>\n",
    "refs/heads/HEAD": "--upload-pack=x\n",
    "config.worktree": "[core]\n\tfsmonitor = <evil>\n",
}


def git(rng: Random, world: World) -> Files:
    """A repository whose config starts programs, or the same as files that a commit can hold, and hostile files of git."""
    url = filled(rng, world, rng.choice(URLS))
    lines = filled(rng, world, few(rng, GIT) + (PROMISOR % url if rng.random() < 0.6 else ""))
    more = tuple((name, filled(rng, world, IN_GIT[name])) for name in rng.sample([*IN_GIT], rng.choice((0, 0, 1, 2))))
    commit: str | Commit = Commit(lines, bare=rng.random() < 0.4, missing=rng.random() < 0.7, more=more)
    name = rng.choice((".git", ".git", "app/.git", "lab"))
    if rng.random() < 0.1:
        name, commit = ".git", rng.choice((f"gitdir: {world.outside}\n", "gitdir: ../../outside\n", "gitdir: lab\n", "x"))
    gone = rng.choice(("gone.yaml", "../gone", "sub/a.yaml", "vm.yaml"))
    return {
        name: commit,
        ".gitattributes": "* filter=x diff=x\n",
        ".gitmodules": f'[submodule "a"]\n\tpath = sub\n\turl = {url}\n\tupdate = !{world.evil}\n',
        "app/kustomization.yaml": f"resources: [vm.yaml, {gone}]\n",
    }


def tests(rng: Random, world: World) -> Files:
    """Cases of `test` that name inputs and configs outside, with expressions that never end, and some with a kustomization."""
    lines = [
        "inputs: [<place>, input.yaml]",
        "rules: [<place>]",
        "fields: [{object: VirtualMachine shop/web, path: %s, values: []}]",
    ]
    selected, cel = json.dumps(rng.choice(WORDS["path"])), json.dumps(rng.choice(WORDS["cel"]))
    expected = few(
        rng,
        [*(line.replace("%s", selected) for line in lines), f"fields: [{{object: VirtualMachine shop/web, cel: {cel}}}]"],
        2,
    )
    found: Files = {"cases/one/input.yaml": VM % ("web", "u1.small"), "cases/one/expected.yaml": filled(rng, world, expected)}
    if rng.random() < 0.5:
        found["cases/one/config.yaml"] = filled(rng, world, OWN + few(rng, [f"  {line}" for line in SETTINGS]))
    if rng.random() < 0.3:
        name = rng.choice(("rendered.yaml", "config.yaml", "expected.yaml", "input.yaml"))
        found[f"cases/one/{name}"] = Link(rng.choice((str(world.secret), "../../../outside/secret.yaml")))
    if rng.random() < 0.3:
        built = {**LOOSE, **kustomization(rng, world), "app/expected.yaml": "findings: []\n"}
        found |= {name.replace("app/", "cases/two/", 1): text for name, text in built.items() if name.startswith("app/")}
    return found


MODULES = (
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
OF_EDITORS = {
    ".vscode/settings.json": '{"kubevirtRender.path": "./evil.sh", "kubevirtRender.build": true, "a": <place>}',
    ".zed/settings.json": '{"lsp": {"yaml-language-server": {"binary": {"path": "./evil.sh"}}}}',
    ".nvim.lua": 'vim.fn.system("<evil>")\n',
    ".envrc": "<evil>\n",
    "evil.sh": "<canary>",
    "pyproject.toml": '[build-system]\nrequires = ["evil"]\n',
    "pyvenv.cfg": "home = <out>\n",
}


def settings(rng: Random, world: World) -> Files:
    """Settings of editors in the folder, and modules that Python or a shell would load by themselves."""
    evil = "import pathlib\npathlib.Path('<marks>/started').write_text(__file__)\n"
    texts = {**OF_EDITORS, **{f"{name}.py": evil for name in rng.sample(MODULES, 4)}}
    return {name: filled(rng, world, text) for name, text in texts.items()}


OBJECTS = [
    "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: {source: {path: <place>}}}",
    "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: f}, spec: {path: <place>}}",
    "{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: k}, pipeline: {mutators: [{exec: ./evil.sh}, {image: <place>}]}}",
]
LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: web
    annotations:
      internal.config.kubernetes.io/path: <place>
      config.kubernetes.io/path: <place>
      config.kubernetes.io/origin: <place>
  spec: {instancetype: {name: u1.smalll}, template: {spec: {domain: {devices: {}}}}}
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata: {name: x, annotations: {config.kubernetes.io/path: <place>}}
  spec: {<settings>}
"""


def objects(rng: Random, world: World) -> Files:
    """Objects that other tools take for orders, and comments and annotations that silence."""
    ignored = rng.choice(("'*: all'", "'unresolved-instancetype: because'", "<place>"))
    silenced = (VM % ("web", "u1.smalll")).replace("{}}", f"{{kubevirt-render.dev/ignore: {ignored}}}}}", 1)
    texts = {
        "vm.yaml": f"# kubevirt-render:ignore *\n{silenced}",
        "objects.yaml": "\n---\n".join(rng.sample(OBJECTS, 2)),
        "Kptfile": OBJECTS[2],
        "list.yaml": LIST,
    }
    return {name: filled(rng, world, text) for name, text in texts.items()}


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
    "drift": Command(("drift", "-j", "1", LIVE, ".")),
    "plan": Command(("plan", "-j", "1", LIVE, ".")),
    "adopt": Command(("adopt", LIVE, "--output-dir", "{out}/adopted")),
    "capacity": Command(("capacity", ".")),
    "suggest": Command(("suggest", ".")),
    "convert": Command(("convert", "--diff", ".")),
    "explain": Command(("explain", ".")),
    "report": Command(("report", "-j", "1", ".", "-o", "{out}/page.html")),
    "deliveries": Command(("deliveries", ".")),
    "migrate": Command(("migrate", "--diff", ".")),
    "test": Command(("test", ".")),
    "lsp": Command(("lsp",)),
    "init": Command(("init", "-j", "1", "--stdout")),
    "argocd generate": Command(("argocd", "generate"), folders=("chart", "app")),
    "argocd discover": Command(("argocd", "discover")),
    "argocd ignore-differences": Command(("argocd", "ignore-differences", ".")),
    "check -": Command(("check", "-"), stdin="list.yaml"),
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
    """What a command needs to do anything: a commit to compare with, a case, or a dump of a cluster."""
    case = {"cases/one/expected.yaml": "findings: []\n", "cases/one/input.yaml": VM % ("web", "u1.small")}
    built = {"cases/two/expected.yaml": "findings: []\n", "cases/two/kustomization.yaml": "resources: [../one/input.yaml]\n"}
    return {
        **({".git": PLAIN} if "--base" in command.words else {}),
        **({**case, **built} if command.words[:1] == ("test",) else {}),
        **({LIVE: DUMPED} if LIVE in command.words else {}),
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
    git("commit", "-q", "--no-verify", "--allow-empty", "-m", "a")
    if of.missing and (blobs := git("ls-tree", "-r", "HEAD")):
        digest = blobs.split()[2]
        (store / "objects" / digest[:2] / digest[2:]).unlink()
    head = f"[core]\n\trepositoryformatversion = 0\n\tbare = {str(of.bare).lower()}\n"
    (store / "config").write_text(head + of.lines)
    for name, text in of.more:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_text(text)
        (store / name).chmod(0o755)
