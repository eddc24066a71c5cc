"""The page says what `check` says, of everything that it can be given, and the same each time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from canaries import shows, text
from checking import CONFLICT, IGNORED, SIZE, check, run, write
from committing import commit, git
from pages import data_in, machines_in, texts_of
from trees import tree

SOUND = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: shop}
spec:
  runStrategy: Always
  instancetype: {name: u1.medium}
  preference: {name: fedora}
  template:
    spec:
      domain: {devices: {}}
      volumes:
      - name: root
        persistentVolumeClaim: {claimName: web-root}
"""
OVERLAYS = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": SOUND.replace("name: u1.medium", "name: u1.mediun"),
    **{f"{name}/kustomization.yaml": f"namespace: {name}\nresources: [../base]\n" for name in ("prod", "test")},
}


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec:
  path: web
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  targetNamespace: shop
  suspend: %s
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  destination: {namespace: shop, name: %s}
  source: {repoURL: "https://git.example.com/team/vms.git", path: web}
"""


def report(*arguments: str, cwd: Path) -> str:
    """The page that the command writes to a file."""
    code, out, err = run("report", *arguments, "-o", "page.html", cwd=cwd)
    assert (code, out) == (0, ""), err
    return (cwd / "page.html").read_text(encoding="utf-8")


def findings_of_check(cwd: Path, *paths: str) -> list[tuple[str, str, str, int]]:
    _, out, _ = check(*paths, "-o", "json", "--no-cache", cwd=cwd)
    return sorted(
        (each["tags"]["rule"], each["message"], each.get("file", {}).get("path", ""), each.get("line", 0))
        for each in json.loads(out)["results"]
    )


def findings_of(page: str) -> list[tuple[str, str, str, int]]:
    data = data_in(page)
    return sorted(
        (data["words"][each["rule"]], each["message"], data["words"][each["file"]], each.get("line", 0))
        for each in data["findings"]
    )


def test_its_findings_are_those_of_check(tmp_path: Path) -> None:
    write(tmp_path, size=SIZE, vm=CONFLICT, ignored=IGNORED, sound=SOUND, broken="a: [\n", twice=CONFLICT)
    found = findings_of(report(".", cwd=tmp_path))
    assert [rule for rule, *_ in found].count("instancetype-conflict") == 2
    assert found == findings_of_check(tmp_path, ".")


def test_it_reads_the_targets_of_a_repository_as_check_does(tmp_path: Path) -> None:
    page = report(".", cwd=tree(tmp_path, OVERLAYS))
    assert findings_of(page) == findings_of_check(tmp_path, ".")
    (finding,) = (each for each in data_in(page)["findings"] if "instancetype" in each.get("path", ""))
    assert finding["vms"] == [0, 1]
    assert [(vm["target"], vm["namespace"]) for vm in machines_in(page)] == [("prod", "prod"), ("test", "test")]


def test_each_line_of_a_vm_has_its_source(tmp_path: Path) -> None:
    (vm,) = machines_in(report("sound.yaml", cwd=write(tmp_path, sound=SOUND)))
    assert ("      runStrategy: Always".strip(), "vm", 5) in [(line.strip(), kind, at) for line, kind, at in vm["shown"]]
    said = {line.strip(): kind for line, kind, _ in vm["shown"]}
    assert (said["guest: 4Gi"], said["bus: virtio"], said["pod: {}"]) == ("instancetype", "preference", "default")


def test_findings_stand_at_their_lines(tmp_path: Path) -> None:
    page = report("vm.yaml", "size.yaml", cwd=write(tmp_path, size=SIZE, vm=CONFLICT))
    (vm,) = machines_in(page)
    data = data_in(page)
    at = {data["words"][data["findings"][number]["rule"]]: vm["shown"][line][0].strip() for line, number in vm["findings"]}
    assert at["instancetype-conflict"] == "cores: 4"


def test_a_vm_that_cannot_be_rendered_is_there_as_it_is_written(tmp_path: Path) -> None:
    (vm,) = machines_in(report(".", cwd=write(tmp_path, vm=SOUND.replace("u1.medium", "u1.none"))))
    assert (vm["error"], vm["instancetype"]) == ("the VM can't be rendered; `check` says why", "u1.none")
    assert "    name: u1.none" in [line for line, _, _ in vm["shown"]]


def test_vms_in_lists_are_there(tmp_path: Path) -> None:
    assert [vm["name"] for vm in machines_in(report(".", cwd=write(tmp_path, ignored=IGNORED)))] == ["db", "old"]


TEMPLATE = """\
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: fedora, namespace: openshift}
parameters:
- {name: SIZE, value: u1.large}
objects:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata: {name: '${NAME}'}
  spec:
    runStrategy: Always
    instancetype: {name: '${SIZE}'}
    template:
      spec:
        domain: {memory: {guest: 3Gi}, devices: {}}
"""


def test_vms_in_templates_are_there_and_in_no_sum(tmp_path: Path) -> None:
    page = report(".", cwd=write(tmp_path, template=TEMPLATE, sound=SOUND))
    sound, vm = machines_in(page)
    assert (sound["name"], vm["name"], vm["namespace"], vm["template"]) == ("web", "${NAME}", "", "fedora")
    data = data_in(page)
    at = {data["words"][data["findings"][number]["rule"]]: vm["shown"][line][0].strip() for line, number in vm["findings"]}
    assert at["instancetype-conflict"] == "guest: 3Gi"
    assert ("vcpus" in sound, "vcpus" in vm) == (True, False)
    assert ('<dt>VM</dt><dd><a href="#vms">1</a>' in page, "<dt>in templates</dt>" in page) == (True, True)


def test_values_in_templates_have_sources(tmp_path: Path) -> None:
    (vm,) = machines_in(report(".", cwd=write(tmp_path, template=TEMPLATE.replace("memory: {guest: 3Gi}, ", ""))))
    shown = {line.strip(): (kind, at) for line, kind, at in vm["shown"]}
    assert (shown["guest: 8Gi"][0], shown["runStrategy: Always"]) == ("instancetype", ("vm", 11))


def test_an_operation_of_a_patch_of_the_config_has_its_line(tmp_path: Path) -> None:
    write(tmp_path, sound=SOUND)
    (tmp_path / ".kubevirt-render.yaml").write_text(
        """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  patches:
    - target: {kind: VirtualMachine}
      patch:
        - {op: add, path: /metadata/labels, value: {tier: db}}
"""
    )
    origins = [text for _, _, text, _ in data_in(report(".", cwd=tmp_path))["origins"]]
    assert "patch spec.patches[0].patch[0] .kubevirt-render.yaml:7:11" in origins


def test_the_current_folder_is_named_in_the_title(tmp_path: Path) -> None:
    folder = tmp_path / "estate"
    folder.mkdir()
    write(folder, sound=SOUND)
    for path, title in ((".", "estate"), ("../estate/..", tmp_path.name), ("sound.yaml", "sound.yaml")):
        assert f"<title>VMs of {title}</title>" in report(path, cwd=folder)


def test_input_without_vms_gives_a_page(tmp_path: Path) -> None:
    page = report(".", cwd=write(tmp_path, map="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
    assert machines_in(page) == []
    assert "<h1" in page


def test_a_target_that_cannot_be_built_is_a_finding(tmp_path: Path) -> None:
    broken = {"bad/kustomization.yaml": "resources: [gone.yaml]\n", "good/vm.yaml": SOUND}
    page = report(".", cwd=tree(tmp_path, broken))
    assert findings_of(page) == findings_of_check(tmp_path, ".") != []
    assert [vm["name"] for vm in machines_in(page)] == ["web"]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    tree(tmp_path, OVERLAYS)
    assert report(".", "-j", "1", cwd=tmp_path) == report(".", "-j", "2", cwd=tmp_path)


def test_stdin_and_stdout(tmp_path: Path) -> None:
    code, out, err = run("report", "-", "-o", "-", cwd=tmp_path, stdin=SOUND)
    assert (code, err) == (0, "")
    assert [vm["name"] for vm in machines_in(out)] == ["web"]


@pytest.mark.parametrize("seed", [*range(30), 1337, 1530])  # the last two have secrets in node selectors
def test_no_secret_is_in_the_page(seed: int, tmp_path: Path) -> None:
    code, out, _ = run("report", "-", "-o", "-", cwd=tmp_path, stdin=text(Random(seed)))
    assert not shows(out)
    assert code in (0, 1, 2)


def test_a_change_says_what_it_does_to_each_vm(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, {"vm.yaml": SOUND, "old.yaml": SOUND.replace("name: web,", "name: old,").replace("web-root", "old-root")})
    (tmp_path / "old.yaml").unlink()
    write(tmp_path, vm=SOUND.replace("u1.medium", "u1.large"), new=CONFLICT.replace("name: web", "name: new"), size=SIZE)
    page = report(".", "--base", "main", cwd=tmp_path)
    data = data_in(page)
    effects = {each["name"]: (each["effect"], each["vm"] >= 0) for each in data["changes"]}
    assert effects == {"shop/new": ("new", True), "shop/old": ("removed", False), "shop/web": ("restart", True)}
    counting = data["findings"][: data["counting"]]
    assert [data["words"][each["rule"]] for each in counting if each["severity"] == data["words"].index("error")] == [
        "instancetype-conflict"
    ]
    assert "Change since main" in page


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "krm_fn.reporting.page", raising=False)
    answer = run("report", ".", "-o", "page.html", cwd=write(tmp_path, vm=SOUND))
    assert answer == (
        2,
        "",
        "kubevirt-render: error: report: the package jinja2 is missing; run `pip install .` in a clone of this program\n",
    )


def test_nothing_is_written_where_the_input_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("before")
    code, _, err = run("report", "gone.yaml", "-o", "page.html", cwd=tmp_path)
    assert (code, (tmp_path / "page.html").read_text()) == (1, "before")
    assert "gone.yaml" in err


def test_findings_do_not_fail_the_command(tmp_path: Path) -> None:
    assert "instancetype-conflict" in report(".", cwd=write(tmp_path, size=SIZE, vm=CONFLICT))


def test_an_output_is_needed(tmp_path: Path) -> None:
    code, _, err = run("report", ".", cwd=write(tmp_path, vm=SOUND))
    assert (code, "'-o'" in err) == (2, True)


def test_no_text_of_users_ends_the_data_or_becomes_html(tmp_path: Path) -> None:
    hostile = SOUND.replace("name: web,", "name: '</script><script>alert(1)</script>',").replace("shop", "'<img src=x>'")
    page = report(".", cwd=write(tmp_path, vm=hostile))
    assert texts_of(page, "script") == 2
    assert texts_of(page, "img") == 0
    assert machines_in(page)[0]["name"] == "</script><script>alert(1)</script>"


def test_marks_that_turn_texts_are_shown_as_escapes(tmp_path: Path) -> None:
    turned = SOUND.replace("name: web,", 'name: "a\\u202eb",')
    vm: dict[str, Any] = machines_in(report(".", cwd=write(tmp_path, vm=turned)))[0]
    assert vm["name"] == "a\\u202eb"


def delivered_in(page: str) -> list[tuple[str, str, str]]:
    """The edges of the graph that are about deliveries: from, role and to."""
    data = data_in(page)
    words = data["words"]
    boxes = [(each["kind"], each["namespace"], each["name"]) for each in data["vms"]]
    boxes += [(kind, namespace, name) for kind, namespace, name, *_ in data["nodes"]]
    named = ["/".join(filter(None, (words[kind], words[namespace], name))) for kind, namespace, name in boxes]
    edges = ((named[at], words[role], named[to]) for at, to, role in data["edges"])
    return sorted(edge for edge in edges if edge[1].startswith(("delivered", "applies", "suspended")))


WEB = "VirtualMachine/shop/web"
DELIVERED = {
    "Flux": (
        {"clusters/a/web.yaml": FLUX % ("web", "false")},
        [(WEB, "delivered by build, namespace", "Kustomization/flux-system/web")],
    ),
    "two clusters": (
        {f"clusters/{name}/web.yaml": FLUX % (name, "false") for name in ("north", "south")},
        [
            *((f"Kustomization/flux-system/{name}", "applies to", f"Cluster/{name}") for name in ("north", "south")),
            *((WEB, "delivered by build, namespace", f"Kustomization/flux-system/{name}") for name in ("north", "south")),
        ],
    ),
    "suspended": (
        {"clusters/a/web.yaml": FLUX % ("web", "true")},
        [(WEB, "suspended: build, namespace", "Kustomization/flux-system/web")],
    ),
    "Argo CD": (
        {"argo.yaml": ARGO % "north"},
        [
            ("Application/argocd/web", "applies to", "Cluster/north"),
            (WEB, "delivered by build, namespace", "Application/argocd/web"),
        ],
    ),
    "a plugin of Argo CD": (
        {"argo.yaml": (ARGO % "north").replace("path: web}", "path: web, plugin: {name: kubevirt-render}}")},
        [
            ("Application/argocd/web", "applies to", "Cluster/north"),
            (WEB, "delivered by build, argocd, namespace", "Application/argocd/web"),
        ],
    ),
    "nothing": ({}, []),
}


@pytest.mark.parametrize(("files", "expected"), DELIVERED.values(), ids=[*DELIVERED])
def test_the_graph_has_what_delivers_vms_and_where_to(
    tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    web = {"web/kustomization.yaml": "resources: [vm.yaml]\n", "web/vm.yaml": SOUND.replace(", namespace: shop", "")}
    page = report(".", cwd=tree(tmp_path, {**web, **files}))
    assert delivered_in(page) == expected
    rows = json.loads(run("deliveries", "-o", "json", cwd=tmp_path)[1])["deliveries"]
    clusters = sorted(row["cluster"] for row in rows if row["cluster"])
    assert clusters == [to.rpartition("/")[2] for _, role, to in expected if role == "applies to"]
