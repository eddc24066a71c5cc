"""The commands about live objects: what a dump gives, how deliveries apply, and that nothing secret is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from canaries import CANARY
from checking import run as run_in

Object = dict[str, Any]

# A password that a person wrote into cloud-init, held by kubectl and named in its annotation.
SPEC = {
    "runStrategy": "Always",
    "template": {
        "spec": {
            "domain": {"devices": {"disks": [{"name": "ci", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "1Gi"}},
            "volumes": [{"name": "ci", "cloudInitNoCloud": {"userData": f"#cloud-config\npassword: {CANARY}\n"}}],
        }
    },
}
NAMED = {"name": "web", "namespace": "shop"}
MANIFEST = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": NAMED, "spec": SPEC}
HELD = {"f:domain": {"f:devices": {"f:disks": {}}}, "f:volumes": {}}
FIELDS = {"f:spec": {"f:runStrategy": {}, "f:template": {"f:spec": HELD}}}
LIVE = {
    **MANIFEST,
    "metadata": {
        **NAMED,
        "uid": "1",
        "resourceVersion": "2",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(MANIFEST)},
        "managedFields": [
            {"manager": "kubectl-edit", "operation": "Update", "apiVersion": "kubevirt.io/v1", "fieldsV1": FIELDS},
        ],
    },
    "status": {"printableStatus": "Running"},
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "uid": "2"}, "stringData": {"password": CANARY}}


def run(*arguments: str) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    return run_in(*arguments, cwd=Path.cwd())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [LIVE, SECRET]}))
    (tmp_path / "git").mkdir()
    write(tmp_path, "git/vm.yaml", MANIFEST)
    return tmp_path


def write(folder: Path, path: str, obj: Object) -> None:
    (folder / path).write_text(json.dumps(obj))


def changed(**spec: Any) -> Object:
    return {**MANIFEST, "spec": {**SPEC, **spec}}


def test_an_apply_of_what_runs_changes_nothing(folder: Path) -> None:
    code, out, _ = run("drift", "live.json", "git")
    assert (code, out) == (0, "none of 1 live VM changes\n")


def test_a_dump_in_the_folder_of_git_is_no_part_of_git(folder: Path) -> None:
    write(folder, "live.json", {**LIVE, "metadata": {**LIVE["metadata"], "name": "other"}})
    out = run("drift", "live.json", ".")[1]
    assert "in the cluster and not in git: shop/other\n" in out


def test_the_exit_code_is_that_of_diff(folder: Path) -> None:
    write(folder, "git/vm.yaml", changed(runStrategy="Halted"))
    assert [run("drift", "live.json", "git", "--fail-on", level)[0] for level in ("data", "restart", "never")] == [0, 1, 0]


def test_diff_with_a_live_side_is_drift(folder: Path) -> None:
    write(folder, "git/vm.yaml", changed(runStrategy="Halted"))
    assert run("diff", "live.json", "git") == run("drift", "live.json", "git")


def test_manifests_that_nobody_read_from_a_cluster_are_no_live_side(folder: Path) -> None:
    code, out, err = run("drift", "git/vm.yaml", "git")
    assert (code, out) == (2, "")
    assert "LIVE has no object that was read from a cluster" in err


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  source: {repoURL: https://example.com/repo.git, path: git}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  syncPolicy: {syncOptions: ["OPTION"]}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec:
  path: ./git
  prune: true
  interval: 5m
  sourceRef: {kind: GitRepository, name: flux-system}
"""


@pytest.mark.parametrize(
    ("delivery", "goes"),
    [
        ("", False),  # an edit is in nobody's annotation, so a client-side apply leaves it
        (APPLICATION.replace("OPTION", "Prune=false"), False),
        (APPLICATION.replace("OPTION", "ServerSideApply=true"), False),  # Argo CD takes over applies, and no edits
        (APPLICATION.replace("OPTION", "Replace=true"), True),
        (FLUX, True),  # Flux takes over what kubectl has set
    ],
)
def test_what_somebody_edited_goes_by_the_manner_of_the_delivery(folder: Path, delivery: str, goes: bool) -> None:
    edited = json.loads(json.dumps(LIVE))
    edited["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 7
    edited["metadata"]["managedFields"].append(
        {
            "manager": "kubectl-edit",
            "operation": "Update",
            "apiVersion": "kubevirt.io/v1alpha3",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:terminationGracePeriodSeconds": {}}}}},
        }
    )
    write(folder, "live.json", edited)
    (folder / "delivery.yaml").write_text(delivery)
    found = json.loads(run("drift", "live.json", ".", "-o", "json")[1])
    lost = [change["path"] for record in found["vms"] for change in record.get("changes", ())]
    assert ("/spec/terminationGracePeriodSeconds" in lost) == goes


CLUSTERS = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  clusters:
  - {name: north, targets: [git]}
  - {name: south, targets: [south]}
"""


def test_a_dump_is_compared_with_one_cluster_of_a_repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".kubevirt-render.yaml").write_text(CLUSTERS)
    (folder / "south").mkdir()
    write(folder, "south/vm.yaml", changed(runStrategy="Halted"))
    for name in ("git", "south"):
        (folder / name / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
    given = ("drift", "live.json", ".")
    code, _, err = run(*given)
    assert code == 2
    assert "LIVE is one cluster, and these paths belong to north and south; choose one with --cluster" in err
    assert run(*given, "--cluster", "north")[1] == "none of 1 live VM changes\n"
    assert run(*given, "--cluster", "south")[1].endswith("1 of 1 live VM changes: 1 restart\n")


def test_no_output_about_live_objects_shows_a_secret(folder: Path) -> None:
    other = json.loads(json.dumps(MANIFEST).replace(CANARY, f"{CANARY}2"))
    write(folder, "git/vm.yaml", other)
    shown = [
        run(*command)
        for command in (
            *(("drift", "live.json", "git", "-o", form) for form in ("text", "json", "markdown")),
            *(("drift", "live.json", "git", "--apply", manner) for manner in ("server-side", "replace")),
            *(("plan", "live.json", "git", "-o", form) for form in ("text", "json", "markdown")),
            ("adopt", "live.json", "--output-dir", "out", "-v"),
        )
    ]
    assert all(code in (0, 1) for code, _, _ in shown)
    assert not any(CANARY in text for _, out, err in shown for text in (out, err))
    adopted = [path for path in (folder / "out").rglob("*") if path.is_file() and CANARY in path.read_text()]
    assert [path.name for path in adopted] == ["virtualmachine-web.yaml"]  # the VM's own data makes the machine


def test_adopt_writes_a_repository_that_drift_and_check_read(folder: Path) -> None:
    assert run("adopt", "live.json", "--output-dir", "out")[0] == 0
    files = sorted(path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*") if path.is_file())
    assert files == [
        ".kubevirt-render.yaml",
        "kustomization.yaml",
        "shop/kustomization.yaml",
        "shop/virtualmachine-web.yaml",
    ]
    assert run("drift", "live.json", "out")[:2] == (0, "none of 1 live VM changes\n")
    assert run("check", "out")[0] == 0


def test_instances_without_their_vms_are_not_adopted_and_the_message_asks_for_the_vms(folder: Path) -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": "1"}
    about = {**NAMED, "uid": "2", "ownerReferences": [owner]}
    spec = {"domain": {"devices": {}}}
    write(folder, "live.json", {**MANIFEST, "kind": "VirtualMachineInstance", "metadata": about, "spec": spec})
    code, out, err = run("adopt", "live.json", "--output-dir", "out")
    assert (code, out, (folder / "out").exists()) == (2, "", False)
    assert "no VM, pool or replica set, and no instance beside theirs; save these, too, with `dump`" in err


def test_adopt_overwrites_nothing_without_force(folder: Path) -> None:
    assert run("adopt", "live.json", "--output-dir", "out")[0] == 0
    (folder / "out/shop/virtualmachine-web.yaml").write_text("mine")
    code, _, err = run("adopt", "live.json", "--output-dir", "out")
    assert (code, (folder / "out/shop/virtualmachine-web.yaml").read_text()) == (2, "mine")
    assert "out/shop/virtualmachine-web.yaml exists and has other contents" in err
    assert run("adopt", "live.json", "--output-dir", "out", "--force")[0] == 0


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("../../x", "a"),
        (".git/hooks", "a"),
        (".git", "a"),
        ("/etc", "a"),
        ("shop", "../../../a"),
        ("shop", "a\0b"),
        ("shop", "Web"),
        ("shop", "-"),
        ("shop", ""),
        ("shop", "x" * 254),
        ("shop", "x\n::error::y"),
    ],
)
@pytest.mark.parametrize("command", [("adopt", "--output-dir", "out/a/b"), ("plan",), ("drift", "git")])
def test_a_name_that_no_cluster_has_is_an_error_and_nothing_is_written(
    folder: Path, command: tuple[str, ...], namespace: str, name: str
) -> None:
    write(folder, "live.json", {**LIVE, "metadata": {**LIVE["metadata"], "namespace": namespace, "name": name}})
    before = sorted(folder.rglob("*"))
    code, out, err = run(command[0], "live.json", *command[1:])
    assert (code, out, sorted(folder.rglob("*"))) == (1, "", before)
    assert "no cluster has an object of such a name" in err
    assert err.count("\n") == 1


def test_adopt_cuts_the_name_of_a_file_and_not_that_of_the_object(folder: Path) -> None:
    """No file's name has more than 255 bytes, and the names of two objects may differ in their last letter only."""
    names = ["x" * 252 + last for last in "ab"]
    items = [{**LIVE, "metadata": {**LIVE["metadata"], "name": name}} for name in names]
    write(folder, "live.json", {"apiVersion": "v1", "kind": "List", "items": items})
    assert run("adopt", "live.json", "--output-dir", "out")[0] == 0
    files = (folder / "out/shop").glob("virtualmachine-*")
    assert sorted(yaml.safe_load(file.read_text())["metadata"]["name"] for file in files) == names


def test_adopt_takes_none_of_two_different_objects_of_one_name(folder: Path) -> None:
    write(folder, "live.json", {"apiVersion": "v1", "kind": "List", "items": [LIVE, {**LIVE, "spec": {**SPEC, "x": 1}}]})
    code, _, err = run("adopt", "live.json", "--output-dir", "out")
    assert (code, (folder / "out").exists()) == (1, False)
    assert "VirtualMachine shop/web is there twice" in err


@pytest.mark.parametrize("link", ["out", "out/shop", "out/shop/virtualmachine-web.yaml"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_adopt_follows_no_link_in_its_folder(folder: Path, link: str, force: tuple[str, ...]) -> None:
    (folder / ".git").mkdir()
    outside = folder.parent / f"{folder.name}-outside"
    (outside / "shop").mkdir(parents=True)
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(outside / link.partition("/")[2], target_is_directory=True)
    before = sorted(outside.rglob("*"))
    code, _, err = run("adopt", "live.json", "--output-dir", "out", *force)
    assert (code in (1, 2), sorted(outside.rglob("*"))) == (True, before)
    assert "symbolic link" in err


def test_adopt_writes_all_files_or_none(folder: Path) -> None:
    """The last one can't take its place."""
    (folder / "out/.kubevirt-render.yaml").mkdir(parents=True)
    assert run("adopt", "live.json", "--output-dir", "out")[0] == 2
    assert [path.name for path in (folder / "out").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("fields", [5, [1], "f:spec", {"f:spec": 5}, {"f:spec": [1]}, {"f:spec": {"k:{": {}, "": {}}}])
def test_managed_fields_that_no_api_server_writes_own_nothing_more(folder: Path, fields: object) -> None:
    entries = [1, None, {"manager": "m", "operation": "Update", "apiVersion": "kubevirt.io/v1", "fieldsV1": fields}]
    write(folder, "live.json", {**LIVE, "metadata": {**LIVE["metadata"], "managedFields": entries}})
    assert run("drift", "live.json", "git", "--apply", "server-side")[:2] == (0, "none of 1 live VM changes\n")


def test_plan_shows_text_of_a_dump_as_text(folder: Path) -> None:
    message = "\x1b[31m \n::error::x [a](http://evil.example) ##[error]y"
    condition = {"type": "RestartRequired", "status": "True", "message": message}
    room = {"allocatable": {"cpu": "1", "memory": "1Gi"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n\n::error::`|<b>", "uid": "u"}, "status": room}
    live = {**LIVE, "status": {"conditions": [condition]}}
    write(folder, "live.json", {"apiVersion": "v1", "kind": "List", "items": [live, node]})
    for form in ("text", "markdown"):
        code, out, _ = run("plan", "live.json", "-o", form)
        assert code == 0
        assert "\x1b" not in out
        assert "##[" not in out
        assert not [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert "::error::x [a](http://evil.example) #\\x23[error]y`" in out
    assert "node `n\\n::error::\\x60\\x7c<b>`" in out


def test_dump_asks_for_managed_fields_and_for_no_secrets() -> None:
    code, out, _ = run("dump")
    assert code == 0
    assert out.startswith("kubectl get virtualmachines.kubevirt.io,")
    assert out.endswith(" -A -o yaml --show-managed-fields\n")
    assert "secret" not in out
    assert "configmap" not in out


KUBECTL = """\
#!/bin/sh
echo "$@" >> calls
case $1 in
  api-resources) echo virtualmachines.kubevirt.io; echo secrets; echo datavolumes.cdi.kubevirt.io ;;
  *) echo "kind: List" ;;
esac
"""


def test_dump_runs_only_verbs_that_read_and_asks_for_the_kinds_that_the_cluster_has(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = folder / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    code, out, _ = run("dump", "--run")
    assert (code, out) == (0, "kind: List\n")
    assert (folder / "calls").read_text().splitlines() == [
        "api-resources --verbs=list -o name",
        "get virtualmachines.kubevirt.io,datavolumes.cdi.kubevirt.io -A -o yaml --show-managed-fields",
    ]


@pytest.mark.parametrize("path", ["", ".", "bin"])
def test_dump_runs_no_kubectl_of_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    program = folder / path / "kubectl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(KUBECTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:{folder / 'none'}")
    assert run("dump", "--run")[0] == 1
    assert not (folder / "calls").exists()


def test_dump_says_that_kubectl_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    code, out, err = run("dump", "--run")
    assert (code, out) == (1, "")
    assert "kubectl is not on the PATH; put it there, or run the printed command" in err


@pytest.mark.parametrize(
    "words", [("drift", "live.yaml", "git"), ("plan", "live.yaml"), ("adopt", "live.yaml", "--output-dir", "o")]
)
def test_a_dump_that_breaks_off_is_an_error_at_its_place(tmp_path, words):
    whole = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a, uid: u, resourceVersion: '1'}\n"
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "vm.yaml").write_text("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\n")
    (tmp_path / "live.yaml").write_text(f"{whole}spec: {{}}\n---\na: [\n")
    code, out, err = run_in(*words, cwd=tmp_path)
    assert (code, out, err.startswith("kubevirt-render: error: live.yaml:")) == (1, "", True)


@pytest.mark.parametrize("spec", [{"domain": "Y"}, {"domain": []}, {"domain": {"devices": "Y"}}, {"volumes": "Y"}], ids=str)
def test_a_spec_that_no_cluster_has_ends_no_command(folder: Path, spec: Object) -> None:
    write(folder, "odd.json", {**LIVE, "spec": {"runStrategy": "Always", "template": {"spec": spec}}})
    for words in (("drift", "odd.json", "git"), ("plan", "odd.json"), ("adopt", "--output-dir", "adopted", "odd.json")):
        code, _, err = run(*words)
        assert (code in (0, 1, 2), "internal error" in err) == (True, False)
