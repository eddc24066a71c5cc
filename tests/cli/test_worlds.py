"""The object that describes a cluster stands in a folder of its own: every command takes it, the nearest of several."""

import json
import os
import shutil
from pathlib import Path

import pytest
from checking import run
from committing import commit, git
from trees import tree

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

KUBEVIRT = """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {{name: kubevirt, namespace: kubevirt}}
spec:
  configuration: {{developerConfiguration: {{featureGates: [{gates}]}}, network: {{defaultNetworkInterface: masquerade}}}}
  workloadUpdateStrategy: {{workloadUpdateMethods: [LiveMigrate]}}
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {sockets: 2}
        memory: {guest: 1Gi}
        devices: {downwardMetrics: {}}
"""


def target(file: str, text: str) -> dict[str, str]:
    folder = file.rpartition("/")[0]
    return {file: text, f"{folder}/kustomization.yaml": f"resources: [{file.rpartition('/')[2]}]\n"}


ONE = {**target("platform/kubevirt.yaml", KUBEVIRT.format(gates="DownwardMetrics")), **target("vms/web.yaml", VM)}
CLOSED = {**target("platform/kubevirt.yaml", KUBEVIRT.format(gates="")), **target("vms/web.yaml", VM)}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    return tmp_path


def rules(folder: Path) -> list[tuple[str, str]]:
    found = json.loads(run("check", ".", "--no-cache", "-o", "json", cwd=folder)[1])
    return [(each["tags"]["rule"], each["message"]) for each in found["results"]]


def test_the_kubevirt_object_of_another_target_opens_gates(here: Path) -> None:
    assert rules(tree(here, ONE)) == []


def test_the_kubevirt_object_of_another_target_closes_gates(here: Path) -> None:
    ((rule, message),) = rules(tree(here, CLOSED))
    assert (rule, "DownwardMetrics" in message) == ("refused-device", True)


def test_render_writes_what_that_cluster_would(here: Path) -> None:
    sized = VM.replace("  runStrategy: Always", "  runStrategy: Always\n  instancetype: {name: u1.small}")
    sized = sized.replace("        cpu: {sockets: 2}\n        memory: {guest: 1Gi}\n", "")
    code, out, _ = run("render", ".", cwd=tree(here, {**ONE, "vms/web.yaml": sized}))
    assert (code, "masquerade: {}" in out, "bridge: {}" in out) == (0, True, False)


def test_capacity_counts_the_vm(here: Path) -> None:
    answer = json.loads(run("capacity", ".", "-o", "json", cwd=tree(here, ONE))[1])
    assert [(vm["name"], vm["vcpus"]) for vm in answer["vms"]] == [("web", 2)]


def test_diff_says_what_that_cluster_does(here: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    commit(here, ONE)
    (here / "vms/web.yaml").write_text(VM.replace("sockets: 2", "sockets: 3"))
    out = run("diff", "--base", "HEAD", "vms", cwd=here)[1]
    assert "KubeVirt live-migrates it to finish the change" in out


SEVERAL = {
    **target("clusters/a/platform/kubevirt.yaml", KUBEVIRT.format(gates="DownwardMetrics")),
    **target("clusters/a/vms/web.yaml", VM),
    **target("clusters/b/platform/kubevirt.yaml", KUBEVIRT.format(gates="")),
    **target("clusters/b/vms/web.yaml", VM),
}


def test_of_several_the_nearest_counts(here: Path) -> None:
    found = json.loads(run("check", ".", "--no-cache", "-o", "json", cwd=tree(here, SEVERAL))[1])["results"]
    assert [(each["tags"]["rule"], each["file"]["path"]) for each in found] == [("refused-device", "clusters/b/vms/web.yaml")]


def test_where_none_is_nearer_the_warning_names_them(here: Path) -> None:
    files = {file: text for file, text in SEVERAL.items() if "/vms/" not in file}
    ((rule, message),) = rules(tree(here, {**files, **target("vms/web.yaml", VM)}))
    assert rule == "unknown-configuration"
    assert "clusters/a/platform/kubevirt.yaml and clusters/b/platform/kubevirt.yaml differ" in message


def test_an_object_of_its_own_counts_before_all_others(here: Path) -> None:
    own = {"vms/kubevirt.yaml": KUBEVIRT.format(gates=""), "vms/kustomization.yaml": "resources: [web.yaml, kubevirt.yaml]\n"}
    assert [rule for rule, _ in rules(tree(here, {**ONE, **own}))] == ["refused-device"]


def test_a_part_of_a_repository_is_read_as_a_part_of_its_cluster(here: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    commit(here, CLOSED)
    found = json.loads(run("check", "vms", "--no-cache", "-o", "json", cwd=here)[1])["results"]
    assert [(each["tags"]["rule"], each["file"]["path"]) for each in found] == [("refused-device", "vms/web.yaml")]
    assert run("capacity", "vms", cwd=here)[1] == run("capacity", ".", cwd=here)[1]
    assert run("explain", "vms", cwd=here)[1] == run("explain", ".", cwd=here)[1]


def test_what_others_of_the_repository_use_is_not_unused(here: Path) -> None:
    size = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: own}\n"
    sizes = f"{size}spec: {{cpu: {{guest: 1}}, memory: {{guest: 1Gi}}}}\n---\n{VM.replace('web', 'beside')}"
    sized = VM.replace("  runStrategy: Always", "  runStrategy: Always\n  instancetype: {name: own}")
    git(here, "init", "-q", "-b", "main")
    commit(here, {**target("sizes/own.yaml", sizes), **target("vms/web.yaml", sized)})
    assert "unused-instancetype" not in run("check", "sizes", "--no-cache", cwd=here)[1]
    (here / "vms/web.yaml").write_text(VM)
    assert "unused-instancetype" in run("check", "sizes", "--no-cache", cwd=here)[1]


def test_a_broken_part_that_nobody_asked_for_breaks_nothing(here: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    commit(here, {**ONE, "platform/kustomization.yaml": "resources: [absent.yaml]\n", "other/a.yaml": "kubevirt.io: ['"})
    code, out, _ = run("check", "vms", "--no-cache", cwd=here)
    assert (code, "not-built" in out, "unreadable" in out) == (0, False, False)


@pytest.mark.parametrize("command", [("check", "--no-cache"), ("render",), ("capacity",), ("explain",)])
def test_one_target_is_read_with_what_the_others_offer(here: Path, command: tuple[str, ...]) -> None:
    folder = tree(here, {**ONE, **target("more/b.yaml", VM.replace("web", "b"))})
    code, out, _ = run(*command, ".", "--target", "vms", cwd=folder)
    assert (code, "unknown" in out, "more" in out) == (0, False, False)


@pytest.mark.parametrize("command", [("check", "--no-cache"), ("render",), ("capacity",), ("explain",)])
def test_a_target_that_is_not_there_is_an_error(here: Path, command: tuple[str, ...]) -> None:
    code, _, err = run(*command, ".", "--target", "platfrom", cwd=tree(here, ONE))
    assert (code, err) == (2, "kubevirt-render: error: --target: there is no platfrom; did you mean platform\n")


def test_another_folder_does_not_change_what_kubevirt_deploys(here: Path) -> None:
    git(here, "init", "-q", "-b", "main")
    own = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {{name: {}}}\n"
    own += "spec: {{cpu: {{guest: 7}}, memory: {{guest: 1Gi}}}}\n"
    sized = VM.replace("  runStrategy: Always", "  runStrategy: Always\n  instancetype: {name: %s}")
    sized = sized.replace("        cpu: {sockets: 2}\n        memory: {guest: 1Gi}\n", "").replace("downwardMetrics: {}", "")
    for name, sockets in (("u1.small", 1), ("house.small", 7)):
        tree(here, {**target("elsewhere/size.yaml", own.format(name)), **target("vms/web.yaml", sized % name)})
        assert f"sockets: {sockets}\n" in run("render", "vms", cwd=here)[1]


@pytest.mark.parametrize("words", [("check", "."), ("check", "vms"), ("render", "."), ("capacity", ".")])
def test_a_misspelt_name_is_corrected_by_what_others_of_the_cluster_have(here: Path, words: tuple[str, ...]) -> None:
    size = (
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\n"
        "metadata: {name: house, namespace: vms}\nspec: {cpu: {guest: 2}, memory: {guest: 2Gi}}\n"
    )
    vm = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: vms}\n"
        "spec:\n  runStrategy: Always\n  instancetype: {name: hous, kind: VirtualMachineInstancetype}\n"
        "  template: {spec: {domain: {devices: {}}}}\n"
    )
    git(here, "init", "-q")
    for folder, text in (("sizes", size), ("vms", vm)):
        (here / folder).mkdir(exist_ok=True)
        (here / folder / "kustomization.yaml").write_text("resources: [all.yaml]\n")
        (here / folder / "all.yaml").write_text(text)
    _, out, err = run(*words, cwd=here)
    assert "VirtualMachineInstancetype vms/hous is not found; use house, or add it to the bundle" in out + err


@pytest.mark.parametrize(
    "words", ["check . --no-cache", "render .", "capacity .", "explain .", "report . -o page.html", "diff . ."]
)
def test_as_many_processes_build_as_jobs_says(here: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("kustomize")
    script = here / "bin" / "kustomize"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\n[ "$1" = build ] && echo $PPID >> "{here}/parents"\nsleep 0.2\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n  runStrategy: Always\n"
    vm += "  instancetype: {name: u1.small}\n  template: {spec: {domain: {devices: {}}}}\n"
    one = {"kustomization.yaml": "resources: [vm.yaml]\n", "vm.yaml": vm}
    root = tree(here / "many", {f"{folder}/{name}": text for folder in "abcd" for name, text in one.items()})
    for jobs in (1, 2):
        (here / "parents").write_text("")
        assert run(*words.split(), "--jobs", str(jobs), cwd=root)[0] == 0
        assert len({*(here / "parents").read_text().split()}) == jobs
