"""The Applications that an ApplicationSet makes, worked out by hand from the rules of Argo CD's generators and templates."""

from pathlib import Path

import pytest
from trees import tree

from krm_fn import yamlio
from krm_fn.argocd.sets import Sets, clusters

OWN = "https://example.com/me/cluster.git"
# Folders and files of the repository that git generators read.
FILES = {
    "apps/web/kustomization.yaml": "",
    "apps/db/kustomization.yaml": "",
    "apps/db/overlays/prod/kustomization.yaml": "",
    "apps/.hidden/a.yaml": "",
    "apps/My_App/a.yaml": "",
    "clusters/north/config.json": '{"name": "north", "size": {"cores": 4, "big": true}, "zones": ["a", "b"]}',
    "clusters/south/config.yaml": "name: south\nsize: {cores: 1000000}\nrelease: '1.0'\n",
    "clusters/many/list.yaml": "- {name: one}\n- {name: two}\n",
}


def secret(name: str, server: str, labels: str = "") -> str:
    return (
        "apiVersion: v1\nkind: Secret\nmetadata:\n"
        f"  name: {name}\n  labels: {{argocd.argoproj.io/secret-type: cluster, {labels}}}\n  annotations: {{note: of-{name}}}\n"
        f"stringData: {{name: {name}, server: '{server}'}}\n"
    )


SECRETS = [secret("north", "https://north:6443", "env: prod"), secret("south", "https://south:6443", "env: test")]


def made(here: Path, spec: str, secrets: list[str] = SECRETS, named: tuple[str, ...] = ()) -> list[str]:
    """Name, path and server of each Application, and what is not known."""
    text = f"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: set, namespace: argocd}}\nspec:\n{spec}"
    known = clusters((yamlio.read_stream(each.encode()).items[0] for each in secrets), named)
    found = Sets(str(tree(here, FILES)), OWN.__eq__, known).of(yamlio.read_stream(text.encode()).items[0])
    shown = [
        " ".join((each["metadata"]["name"], each["spec"]["source"]["path"], each["spec"]["destination"]["server"]))
        for each in found.applications
    ]
    return [*shown, *(f"! {each}" for each in (*found.wrong, *found.unknown))]


def spec(generators: str, name: str, path: str, server: str = "s", *, more: str = "") -> str:
    return (
        f"  generators:\n{generators}{more}  template:\n    metadata: {{name: '{name}'}}\n    spec:\n"
        f"      source: {{path: '{path}'}}\n      destination: {{server: '{server}'}}\n"
    )


GO = "  goTemplate: true\n"
STRICT = GO + "  goTemplateOptions: ['missingkey=error']\n"
LIST = "  - list: {elements: [{cluster: a, url: u1}, {cluster: b, url: u2}]}\n"
DIRECTORIES = f"  - git: {{repoURL: {OWN}, directories: [%s]}}\n"
GIT_FILES = f"  - git: {{repoURL: {OWN}, files: [%s]}}\n"
MATRIX = f"""\
  - matrix:
      generators:
      - git: {{repoURL: {OWN}, directories: [{{path: apps/*}}]}}
      - clusters: {{selector: {{matchLabels: {{env: prod}}}}}}
"""
MERGE = """\
  - merge:
      mergeKeys: [server]
      generators:
      - clusters: {values: {size: s, mode: m}}
      - clusters: {selector: {matchLabels: {env: prod}}, values: {size: l}}
      - list: {elements: [{server: 'https://south:6443', values: {mode: k}}]}
"""
CASES = {
    # list
    "list": (spec(LIST, "{{cluster}}-x", "apps/{{ cluster }}", "{{url}}"), ["a-x apps/a u1", "b-x apps/b u2"]),
    "list, values": (
        spec("  - list: {elements: [{cluster: a, values: {size: l}}]}\n", "{{cluster}}-{{values.size}}", "p"),
        ["a-l p s"],
    ),
    "list, numbers": (
        spec("  - list: {elements: [{cluster: 1}]}\n", "{{cluster}}", "p"),
        ["! the value of cluster in its generator list is no text; quote it, or use goTemplate"],
    ),
    "list, Go": (spec(LIST, "{{.cluster}}-x", "apps/{{ .cluster }}", "{{.url}}", more=GO), ["a-x apps/a u1", "b-x apps/b u2"]),
    "list, Go, numbers": (
        spec("  - list: {elements: [{id: 3, big: 1000000, flag: true}]}\n", "{{.id}}-{{.big}}-{{.flag}}", "p", more=GO),
        ["3-1e+06-true p s"],
    ),
    "list, Go, nested": (spec("  - list: {elements: [{a: {b: c}}]}\n", "{{.a.b}}", "p", more=GO), ["c p s"]),
    "list, elementsYaml": (
        spec('  - list: {elements: [], elementsYaml: "[{id: x}, {id: w}]"}\n', "{{.id}}", "p", more=GO),
        ["x p s", "w p s"],
    ),
    "unknown tags stay": (spec(LIST, "{{cluster}}-{{other}}", "p"), ["a-{{other}} p s", "b-{{other}} p s"]),
    "a missing key": (
        spec("  - list: {elements: [{a: b}]}\n", "{{.c}}", "p", more=STRICT),
        ["! a template takes .c, which the parameters lack"],
    ),
    "a missing key, lenient": (spec("  - list: {elements: [{a: b}]}\n", "x{{.c}}", "p", more=GO), ["x<no value> p s"]),
    "several generators": (
        spec(LIST + "  - list: {elements: [{cluster: c, url: u3}]}\n", "{{cluster}}", "p"),
        ["a p s", "b p s", "c p s"],
    ),
    "no parameters": (spec("  - list: {elements: []}\n", "a", "p"), []),
    "a selector": (
        spec(LIST.removesuffix("\n") + "\n    selector: {matchLabels: {cluster: b}}\n", "{{cluster}}", "p"),
        ["b p s"],
    ),
    "a selector with expressions": (
        spec(LIST + "    selector: {matchExpressions: [{key: cluster, operator: NotIn, values: [b]}]}\n", "{{cluster}}", "p"),
        ["a p s"],
    ),
    "a template of a generator": (
        spec(
            "  - list: {elements: [{cluster: a}], template: {spec: {destination: {server: own}}}}\n",
            "{{cluster}}",
            "p",
        ),
        ["a p own"],
    ),
    # git directories
    "directories": (
        spec(DIRECTORIES % "{path: apps/*}", "{{path.basename}}", "{{path}}"),
        ["My_App apps/My_App s", "db apps/db s", "web apps/web s"],
    ),
    "directories, excluded": (
        spec(DIRECTORIES % "{path: apps/*}, {path: apps/db, exclude: true}", "{{path.basenameNormalized}}", "{{path}}"),
        ["my-app apps/My_App s", "web apps/web s"],
    ),
    "directories, a star stays in a step": (
        spec(DIRECTORIES % "{path: apps/*/*/*}", "{{path[1]}}-{{path[3]}}", "{{path}}"),
        ["db-prod apps/db/overlays/prod s"],
    ),
    "directories, two stars are one": (
        spec(DIRECTORIES % "{path: 'clusters/**'}", "{{path.basename}}", "p"),
        ["many p s", "north p s", "south p s"],
    ),
    "directories, hidden": (spec(DIRECTORIES % "{path: apps/.*}", "{{path.basename}}", "p"), []),
    "directories, letters": (spec(DIRECTORIES % "{path: 'apps/[vw]e?'}", "{{path.basename}}", "p"), ["web p s"]),
    "directories, Go": (
        spec(
            DIRECTORIES % "{path: 'apps/[dw]*'}", "{{.path.basename}}", "{{.path.path}}", "{{index .path.segments 0}}", more=GO
        ),
        ["db apps/db apps", "web apps/web apps"],
    ),
    "directories, a prefix": (
        spec(
            f"  - git: {{repoURL: {OWN}, pathParamPrefix: x, directories: [{{path: apps/web}}]}}\n",
            "{{x.path.basename}}",
            "{{x.path}}",
        ),
        ["web apps/web s"],
    ),
    "directories, values": (
        spec(
            f"  - git: {{repoURL: {OWN}, values: {{id: '{{{{path.basename}}}}-v'}}, directories: [{{path: apps/web}}]}}\n",
            "{{values.id}}",
            "p",
        ),
        ["web-v p s"],
    ),
    "another repository": (
        spec((DIRECTORIES % "{path: '*'}").replace("/me/", "/you/"), "{{path.basename}}", "p"),
        ["! its generator reads https://example.com/you/cluster.git, which is not this repository"],
    ),
    # git files
    "files": (
        spec(GIT_FILES % "{path: 'clusters/**/config.json'}", "{{name}}-{{size.cores}}-{{size.big}}-{{zones.1}}", "{{path}}"),
        ["north-4-true-b clusters/north s"],
    ),
    "files, a star crosses steps": (
        spec(GIT_FILES % "{path: 'clusters/*config.*'}", "{{path.basename}}-{{path.filename}}", "p"),
        ["north-config.json p s", "south-config.yaml p s"],
    ),
    "files, excluded": (
        spec(GIT_FILES % "{path: 'clusters/*config.*'}, {path: '*.json', exclude: true}", "{{name}}", "p"),
        ["south p s"],
    ),
    "files, numbers": (spec(GIT_FILES % "{path: clusters/south}", "{{size.cores}}-{{release}}", "p"), ["1e+06-1.0 p s"]),
    "files, a list": (spec(GIT_FILES % "{path: clusters/many/list.yaml}", "{{name}}", "p"), ["one p s", "two p s"]),
    "files, Go": (
        spec(
            GIT_FILES % "{path: clusters/north/config.json}",
            "{{.name}}{{range .zones}}-{{.}}{{end}}",
            "{{.path.filenameNormalized}}",
            more=GO,
        ),
        ["north-a-b config.json s"],
    ),
    # clusters
    "clusters": (
        spec("  - clusters: {}\n", "{{nameNormalized}}", "p", "{{server}}"),
        ["north p https://north:6443", "south p https://south:6443", "in-cluster p https://kubernetes.default.svc"],
    ),
    "clusters, a selector": (
        spec(
            "  - clusters: {selector: {matchLabels: {env: test}}}\n",
            "{{name}}",
            "{{metadata.labels.env}}/{{metadata.annotations.note}}",
        ),
        ["south test/of-south s"],
    ),
    "clusters, Go": (
        spec(
            "  - clusters: {selector: {matchExpressions: [{key: env, operator: Exists}]}, values: {v: '{{.name}}!'}}\n",
            "{{.name}}",
            "{{.metadata.labels.env}}/{{.values.v}}",
            more=GO,
        ),
        ["north prod/north! s", "south test/south! s"],
    ),
    "clusters, one list": (
        spec("  - clusters: {flatList: true}\n", "{{range .clusters}}{{.name}} {{end}}", "p", more=GO),
        ["north south in-cluster  p s"],
    ),
    # matrix
    "matrix": (
        spec(MATRIX, "{{path.basenameNormalized}}-{{name}}", "{{path}}", "{{server}}"),
        [
            "my-app-north apps/My_App https://north:6443",
            "db-north apps/db https://north:6443",
            "web-north apps/web https://north:6443",
        ],
    ),
    "matrix, the second from the first": (
        spec(
            "  - matrix:\n      generators:\n      - list: {elements: [{env: test}]}\n"
            "      - clusters: {selector: {matchLabels: {env: '{{env}}'}}}\n",
            "{{env}}-{{name}}",
            "p",
        ),
        ["test-south p s"],
    ),
    "matrix, equal keys": (
        spec(
            "  - matrix:\n      generators:\n      - list: {elements: [{a: x}]}\n      - list: {elements: [{a: w}]}\n",
            "{{a}}",
            "p",
        ),
        ["! both generators of its matrix give a, with other values"],
    ),
    "matrix, Go, equal keys": (
        spec(
            "  - matrix:\n      generators:\n      - list: {elements: [{a: x}]}\n      - list: {elements: [{a: w, b: z}]}\n",
            "{{.a}}{{.b}}",
            "p",
            more=GO,
        ),
        ["xz p s"],
    ),
    "matrix of one": (
        spec("  - matrix: {generators: [{list: {elements: []}}]}\n", "a", "p"),
        ["! its generator matrix has 1 generators; expected two"],
    ),
    "matrix in a matrix": (
        spec(
            "  - matrix:\n      generators:\n      - list: {elements: [{a: x}, {a: w}]}\n      - matrix:\n"
            "          generators:\n          - list: {elements: [{b: '1'}]}\n"
            "          - list: {elements: [{c: '2'}, {c: '3'}]}\n",
            "{{a}}{{b}}{{c}}",
            "p",
        ),
        ["x12 p s", "x13 p s", "w12 p s", "w13 p s"],
    ),
    # merge
    "merge": (
        spec(MERGE, "{{name}}-{{values.size}}-{{values.mode}}", "p"),
        ["north-l-m p s", "south-s-k p s", "in-cluster-s-m p s"],
    ),
    "merge, Go": (
        spec(MERGE, "{{.name}}-{{.values.size}}-{{.values.mode}}", "p", more=GO),
        ["north-l-m p s", "south-s-k p s", "in-cluster-s-m p s"],
    ),
    "merge, twice": (
        spec(
            "  - merge:\n      mergeKeys: [a]\n      generators:\n      - list: {elements: [{a: x}, {a: x}]}\n"
            "      - list: {elements: []}\n",
            "{{a}}",
            "p",
        ),
        ["! its generator merge has the same a twice"],
    ),
    "merge without keys": (
        spec("  - merge: {generators: [{list: {elements: []}}, {list: {elements: []}}]}\n", "a", "p"),
        ["! its generator merge has no mergeKeys"],
    ),
    # what is not in git
    **{
        kind: (
            spec(f"  - {kind}: {{}}\n" + LIST, "{{cluster}}", "p"),
            ["a p s", "b p s", f"! what its generator {kind} finds is not in git"],
        )
        for kind in ("scmProvider", "pullRequest", "plugin", "clusterDecisionResource")
    },
    # templatePatch
    "a patch": (
        spec(
            LIST,
            "{{.cluster}}",
            "p",
            more=GO + "  templatePatch: |\n    spec: {source: {path: '{{ if eq .cluster \"a\" }}q{{ else }}r{{ end }}'}}\n",
        ),
        ["a q s", "b r s"],
    ),
    "a patch without Go templates": (
        spec(LIST, "{{cluster}}", "p", more="  templatePatch: |\n    spec: {source: {path: 'of-{{cluster}}'}}\n"),
        ["a of-a s", "b of-b s"],
    ),
}


@pytest.mark.parametrize(("of", "expected"), CASES.values(), ids=[*CASES])
def test_an_application_set_makes_what_argo_cd_makes(tmp_path: Path, of: str, expected: list[str]) -> None:
    assert made(tmp_path, of) == expected


def test_clusters_of_the_config_count_where_git_has_no_secrets(tmp_path: Path) -> None:
    of = spec("  - clusters: {}\n", "{{name}}", "p", "{{server}}")
    assert made(tmp_path, of, [], ("east", "west")) == ["east p east", "west p west"]


@pytest.mark.parametrize(("named", "selector"), [((), "{}"), (("east",), "{selector: {matchLabels: {env: prod}}}")])
def test_clusters_that_nobody_knows_are_named(tmp_path: Path, named: tuple[str, ...], selector: str) -> None:
    said = "! its generator clusters takes Secrets that are not in git; name the clusters in the config"
    here = [] if "match" in selector else ["in-cluster p s"]
    assert made(tmp_path, spec(f"  - clusters: {selector}\n", "{{name}}", "p"), [], named) == [*here, said]


def test_a_patch_keeps_the_project(tmp_path: Path) -> None:
    text = spec(LIST, "{{cluster}}", "p", more="  templatePatch: 'spec: {project: other}'\n").replace(
        "spec:\n      source", "spec:\n      project: own\n      source"
    )
    of = yamlio.read_stream(f"kind: ApplicationSet\nmetadata: {{name: s, namespace: argocd}}\nspec:\n{text}".encode()).items[0]
    found = Sets(str(tmp_path), OWN.__eq__, []).of(of).applications
    assert [(each["spec"]["project"], each["metadata"]["namespace"]) for each in found] == [("own", "argocd")] * 2


HUGE = "  - matrix:\n      generators:\n      - list: {elements: [%s]}\n      - list: {elements: [%s]}\n"
EXPLODING = {
    "a matrix": spec(
        HUGE % (", ".join(f"{{a: '{n}'}}" for n in range(3000)), ", ".join(f"{{b: '{n}'}}" for n in range(3000))), "x", "p"
    ),
    "a loop": spec(LIST, "{{range until 99999}}{{range until 99999}}x{{end}}{{end}}", "p", more=GO),
    "a text": spec(LIST, '{{range until 9999}}{{repeat 9999 "x"}}{{end}}', "p", more=GO),
}


@pytest.mark.parametrize("of", EXPLODING.values(), ids=[*EXPLODING])
def test_what_would_never_end_is_told_once(tmp_path: Path, of: str) -> None:
    found = made(tmp_path, of)
    assert len(found) == 1
    assert found[0] in (
        "! its generators make too much; let them make fewer Applications",
        "! a template makes more than 1,000,000 characters",
    )


def test_no_file_outside_of_the_repository_is_read(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("name: secret\n")
    tree(tmp_path / "in", FILES)
    (tmp_path / "in/clusters/link.yaml").symlink_to(tmp_path / "outside.yaml")
    found = made(tmp_path / "in", spec(GIT_FILES % "{path: clusters/link.yaml}", "x{{name}}", "p"))
    assert found == ["x{{name}} p s"]
