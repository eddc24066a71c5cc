"""A kustomization that can't be built is reported once, and judged as it is written; commands go on, and fail."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from checking import run
from committing import commit, git
from jsonschema import Draft202012Validator
from running import helm
from trees import tree

from krm_fn import yamlio
from krm_fn.changes.schema import schema

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template: {spec: {domain: {devices: {}}}}
"""
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
BROKEN = "resources: [lost.yaml, absent.yaml]\n"
LOST = VM.replace("name: web", "name: lost")
REMOTE = "https://example.com/base.yaml"
FAR = f"resources: ['{REMOTE}']\n"
CONFLICT = LOST.replace("devices: {}", "devices: {}, cpu: {cores: 2}")
NOT_BUILT = "kustomization-not-built"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: str) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    files = {"good/kustomization.yaml": "resources: [vm.yaml]\n", "good/vm.yaml": VM, "bad/kustomization.yaml": BROKEN}
    return tree(tmp_path, {**files, "bad/lost.yaml": LOST})


def checked(here: Path, *words: str) -> list[tuple[str, str, str, int]]:
    """Severity, rule, file and line of each finding of `check`."""
    results = json.loads(run("check", "-o", "json", *words, cwd=here)[1])["results"]
    found = [(each, each.get("file", {})) for each in results]
    return [
        (each["severity"], each["tags"]["rule"], file.get("path", ""), int(each["tags"].get("line", 0))) for each, file in found
    ]


pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
# What is said of a file that the kustomization beside it does not list.
BESIDE = ("not-deployed", "bad/lost.yaml")


@pytest.mark.parametrize("words", [("check", "--no-cache"), ("render",), ("diff", "--base", "HEAD"), ("explain",)])
def test_no_build_begins_after_the_time_for_all_of_them(
    here: Path, kustomize: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    log, tools = here / ".log", here / ".tools"
    tools.mkdir()
    (tools / "kustomize").write_text(f'#!/bin/sh\necho "$*" >>{log}\nsleep 0.5\nexec {kustomize} "$@"\n')
    (tools / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    files = {
        f"t{number}/{name}": text
        for number in range(9)
        for name, text in (("vm.yaml", VM), ("kustomization.yaml", "resources: [vm.yaml]\n"))
    }
    git(here, "init", "-q", "-b", "main")
    commit(here, files)
    tree(here, {"t0/vm.yaml": CONFLICT})
    code, out, err = run(*words, "-j", "1", "--total-timeout", "1", ".", cwd=here)
    assert code == 1
    assert log.read_text().count("build ") < 9
    assert "raise --total-timeout" in out + err


SLOW = {
    "kustomize": (
        [word for number in range(9) for word in ("-k", f"t{number}")],
        "kustomization.yaml",
        "resources: [vm.yaml]\n",
    ),
    "helm": (["--helm", "."], "Chart.yaml", "{apiVersion: v2, name: c, version: 1.0.0}\n"),
}


@pytest.mark.parametrize("program", SLOW)
def test_the_time_for_all_builds_holds_for_charts_and_for_kustomizations_that_are_named(
    here: Path, kustomize: str, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (words, file, text), log, tools = SLOW[program], here / ".log", here / ".tools"
    real = {"kustomize": kustomize, "helm": helm()}[program]
    tree(here, {f".tools/{program}": f'#!/bin/sh\necho "$1" >>{log}\nsleep 0.5\nexec {real} "$@"\n'})
    (tools / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    made = {f"t{number}/{name}": each for number in range(9) for name, each in ((file, text), ("templates/vm.yaml", VM))}
    tree(here, {**made, **{f"t{number}/vm.yaml": VM for number in range(9)}})
    _, out, err = run("check", "--no-cache", "-j", "1", "--total-timeout", "1", *words, cwd=here)
    assert 0 < len(log.read_text().splitlines()) < 9
    assert "raise --total-timeout" in out + err


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_the_other_targets_are_shown_and_this_one_as_it_is_written(here: Path, command: str) -> None:
    code, out, err = run(command, ".", "-o", "json", cwd=here)
    assert code == 1
    assert [each["name"] for each in json.loads(out)["vms"]] == ["lost", "web"]
    assert [line.partition("kustomize does not build this")[0] for line in err.splitlines()] == [
        "kubevirt-render: error: bad/kustomization.yaml: "
    ]
    assert err.endswith("; its files are judged as they are written [target bad] (kustomization-not-built)\n")


@pytest.mark.parametrize("command", ["check", "capacity", "explain"])
def test_a_severity_counts_from_outside_of_the_tree_alone(here: Path, command: str) -> None:
    config = CONFIG + f"spec: {{failOn: never, severity: {{{NOT_BUILT}: 'off'}}}}\n"
    tree(here, {".kubevirt-render.yaml": config})
    assert run(command, ".", cwd=here)[0] == 1
    tree(here, {"../outside.yaml": config})
    assert run(command, ".", "--config", "../outside.yaml", cwd=here)[0] == 0
    assert run(command, ".", "--severity", f"{NOT_BUILT}=warning", cwd=here)[0] == 0


@pytest.mark.parametrize(
    "words", [["check"], ["capacity"], ["capacity", "--matrix"], ["explain"], ["report", "-o", "page.html"]]
)
def test_where_nothing_is_judged_only_that_is_said(here: Path, words: list[str]) -> None:
    tree(here, {"far/kustomization.yaml": FAR})
    code, out, err = run(*words, "far", cwd=here)
    assert (code, out) == (1, "")
    assert (
        err
        == "kubevirt-render: error: nothing is judged in far: not built: far; use --verbose to see why, or name other paths\n"
    )
    assert f"refers to {REMOTE}" in run(*words, "--verbose", "far", cwd=here)[2]


def test_where_all_is_excluded_the_run_says_so(here: Path) -> None:
    code, out, err = run("check", "good", "--exclude", "good/**", cwd=here)
    assert (code, out) == (1, "")
    assert "nothing is judged in good: excluded: 2 files" in err


@pytest.mark.parametrize(
    "line", [f"- {REMOTE}", "- absent.yaml", "helmCharts: [{name: c}]", "configMapGenerator: [{name: a, files: [gone]}]"]
)
def test_one_more_line_hides_no_object(here: Path, line: str) -> None:
    tree(here, {"bad/kustomization.yaml": f"resources:\n- lost.yaml\n{line}\n", "bad/lost.yaml": CONFLICT})
    assert [each[:3] for each in checked(here, ".")] == [
        ("error", NOT_BUILT, "bad/kustomization.yaml"),
        ("error", "instancetype-conflict", "bad/lost.yaml"),
    ]


def test_without_a_program_that_builds_all_is_judged_as_it_is_written(here: Path) -> None:
    tree(here, {"good/kustomization.yaml": "resources: [vm.yaml]\n", "good/vm.yaml": VM.replace("small", "smal")})
    code, out, _ = run("check", ".", cwd=here, PATH=os.fspath(here))
    assert code == 1
    assert [line.rpartition("(")[2] for line in out.splitlines()] == ["kustomization-not-built)", "unresolved-instancetype)"]
    assert "neither kustomize nor kubectl is on the PATH" in out
    assert "[targets bad and good]" in out


def test_a_kustomization_without_an_object_of_kubevirt_is_only_a_note(here: Path) -> None:
    tree(here, {"bad/kustomization.yaml": FAR, "bad/lost.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    code, out, err = run("check", ".", "--verbose", cwd=here)
    assert (code, out) == (0, "")
    assert "note: bad: not built: it refers to" in err
    assert run("check", ".", cwd=here) == (0, "", "")
    assert run("render", ".", cwd=here)[0] == 0


OF_VM = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: lost}\n"


@pytest.mark.parametrize(
    ("patches", "is_told"),
    [
        ("patches: [{path: p.yaml}]", False),
        ("patchesStrategicMerge: [p.yaml]", False),
        ("patches: [{target: {kind: VirtualMachine}, path: q.yaml}]", False),
        ("patches: [{target: {name: lost}, path: q.yaml}]", False),
        ("patches: [{target: {kind: Deployment}, path: q.yaml}]", True),
    ],
)
def test_what_a_patch_may_take_away_is_not_told(here: Path, patches: str, is_told: bool) -> None:
    tree(
        here,
        {
            "bad/kustomization.yaml": f"resources: [lost.yaml, absent.yaml]\n{patches}\n",
            "bad/lost.yaml": CONFLICT.replace("Always", "Always\n  bogus: 1"),
            **({"bad/p.yaml": OF_VM} if "p.yaml" in patches else {}),
            "bad/q.yaml": "- {op: remove, path: /spec/instancetype}\n",
        },
    )
    rules = [each[1] for each in checked(here, ".")]
    assert sorted(rules) == sorted([NOT_BUILT, "unknown-field", *["instancetype-conflict"] * is_told])


MENTIONS = {
    "a label of nodes": "nodeSelector: {cpu-model.node.kubevirt.io/SandyBridge: 'true'}\n",
    "a comment": "nodeSelector: {}\n# cpu-model.node.kubevirt.io/SandyBridge: 'true'\n",
    "a role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: vms}\n"
    "rules: [{apiGroups: [kubevirt.io], resources: [virtualmachines], verbs: [get]}]\n",
}


@pytest.mark.parametrize("text", MENTIONS.values(), ids=MENTIONS)
def test_a_text_that_only_mentions_kubevirt_has_no_object_of_it(here: Path, text: str) -> None:
    tree(here, {"bad/kustomization.yaml": "helmCharts: [{name: c, valuesFile: lost.yaml}]\n", "bad/lost.yaml": text})
    assert run("check", ".", cwd=here) == (0, "", "")


COUNTING = {
    "a claim's source": "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataSource\nmetadata: {name: a}\n",
    "without a version": "apiVersion: cdi.kubevirt.io\nkind: DataVolume\nmetadata: {name: a}\n",
    "a class for disks": "classes: [{annotations: {storageclass.kubevirt.io/is-default-virt-class: 'true'}}]\n",
    "a patch of all kinds": "- target: {group: kubevirt.io}\n  path: a.yaml\n",
    "a policy": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n"
    "spec: {matchConstraints: {resourceRules: [{apiGroups: [kubevirt.io]}]}}\n",
}


@pytest.mark.parametrize("text", COUNTING.values(), ids=COUNTING)
def test_what_vms_use_or_what_judges_them_counts(here: Path, text: str) -> None:
    tree(here, {"bad/kustomization.yaml": "helmCharts: [{name: c, valuesFile: lost.yaml}]\n", "bad/lost.yaml": text})
    assert (NOT_BUILT, "bad/kustomization.yaml") in [each[1:3] for each in checked(here, ".")]


def test_a_kind_is_found_however_it_is_written(here: Path) -> None:
    escaped = LOST.replace("kubevirt.io/v1", '"kubevirt\\u002eio/v1"').replace("VirtualMachine", '"Virtual\\u004dachine"')
    assert "kubevirt.io" not in escaped
    tree(here, {"bad/kustomization.yaml": f"resources: [lost.yaml, '{REMOTE}']\n", "bad/lost.yaml": escaped})
    assert [each[1] for each in checked(here, ".")] == [NOT_BUILT]


def test_a_patch_of_a_vm_in_a_remote_base_counts_and_is_no_object(here: Path) -> None:
    patch = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"
    tree(here, {"bad/kustomization.yaml": f"{FAR}patches: [{{path: patch.yaml}}]\n", "bad/patch.yaml": patch})
    assert [each[1:3] for each in checked(here, ".")] == [(NOT_BUILT, "bad/kustomization.yaml"), BESIDE]


SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: own, namespace: elsewhere}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""
OWN = LOST.replace("{name: u1.small}", "{kind: VirtualMachineInstancetype, name: own}")


def test_the_files_of_a_target_are_one_bundle_in_the_namespace_of_the_kustomization(here: Path) -> None:
    tree(
        here,
        {
            "app/kustomization.yaml": "namespace: shop\nresources: [../sizes, vms, absent.yaml]\n",
            "app/vms/kustomization.yaml": "namespace: inner\nresources: [vm.yaml]\n",
            "app/vms/vm.yaml": OWN,
            "sizes/kustomization.yaml": "resources: [size.yaml]\n",
            "sizes/size.yaml": SIZE,
        },
    )
    (vm,) = json.loads(run("capacity", "app", "-o", "json", cwd=here)[1])["vms"]
    assert (vm["namespace"], vm["vcpus"]) == ("shop", 1)


def test_what_only_the_build_would_give_is_not_missed(here: Path) -> None:
    incomplete = OWN.replace("  runStrategy: Always\n", "")
    patch = "patches: [{target: {kind: VirtualMachine}, patch: '[{op: add, path: /spec/runStrategy, value: Halted}]'}]\n"
    tree(here, {"bad/kustomization.yaml": f"resources: [lost.yaml, '{REMOTE}']\n{patch}", "bad/lost.yaml": incomplete})
    assert [each[1] for each in checked(here, ".")] == [NOT_BUILT]


def test_what_stands_outside_of_the_repository_is_not_read(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tree(tmp_path_factory.mktemp("outside"), {"vm.yaml": CONFLICT})
    (here / "bad/link.yaml").symlink_to(outside / "vm.yaml")
    resources = json.dumps(["lost.yaml", "link.yaml", os.fspath(outside / "vm.yaml")])
    tree(here, {"bad/kustomization.yaml": f"resources: {resources}\n", "good/.git/HEAD": ""})
    assert [each[1] for each in checked(here, ".")] == [NOT_BUILT, "outside-link"]


def test_kustomizations_that_include_one_another_are_judged_as_they_are_written(here: Path) -> None:
    tree(
        here,
        {
            "bad/kustomization.yaml": "resources: [../good]\n",
            "good/kustomization.yaml": "resources: [../bad, vm.yaml]\n",
            "good/vm.yaml": CONFLICT,
        },
    )
    assert [each[1:3] for each in checked(here, ".")] == [
        (NOT_BUILT, "bad/kustomization.yaml"),
        ("instancetype-conflict", "good/vm.yaml"),
        BESIDE,
    ]


def test_a_report_is_written_and_the_run_fails(here: Path) -> None:
    code, _, err = run("report", ".", "-o", "page.html", cwd=here)
    assert (code, err.count("\n"), "kustomize does not build this" in err) == (1, 1, True)
    assert "lost" in (here / "page.html").read_text()


def committed(here: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=here, check=True)


@pytest.mark.parametrize(
    "change",
    [
        {"good/kustomization.yaml": f"resources: [vm.yaml, '{REMOTE}']\n"},
        {"good/kustomization.yaml": FAR, "good/vm.yaml": "{}\n"},
        {"all/kustomization.yaml": f"resources: [../good, '{REMOTE}']\n"},
        {"good/kustomization.yaml": "resources: [vm.yaml, ../all]\n", "all/kustomization.yaml": "resources: [../good]\n"},
        {
            "all/kustomization.yaml": f"resources: [../good/vm.yaml, '{REMOTE}']\n",
            "good/kustomization.yaml": "configMapGenerator: [{name: a, literals: [a=b]}]\n",
        },
    ],
)
def test_a_vm_that_can_no_longer_be_built_is_not_compared_and_never_removed(here: Path, change: dict[str, str]) -> None:
    tree(here, {"bad/kustomization.yaml": FAR, "bad/lost.yaml": "{}\n"})
    committed(here)
    tree(here, change)
    code, out, err = run("diff", "--base", "HEAD", cwd=here)
    assert (code, out.splitlines()[-1].partition(";")[0]) == (1, "none of 0 VMs change")
    assert (err.count("\n"), "; its VMs are not compared" in err) == (1, True), err


UNFETCHED = {
    "bad/kustomization.yaml": f"resources: [lost.yaml, '{REMOTE}']\n",
    "bad/lost.yaml": LOST.replace("u1.small", "own"),
}
OWN_SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: own}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""


def uncompared(here: Path, change: dict[str, str], *words: str) -> tuple[int, list[str]]:
    """The exit code of a diff, and the targets that are not compared."""
    committed(here)
    tree(here, change)
    code, out, err = run("diff", "--base", "HEAD", "-o", "json", *words, cwd=here)
    found = [each["target"] for each in json.loads(out).get("uncompared", ())]
    left = "note: the change leaves bad alone, which can't be built or read on either side\n"
    assert err == f"kubevirt-render: {left}" or found, err
    return code, found


def test_a_target_that_is_built_on_neither_side_and_left_alone_is_no_error(here: Path) -> None:
    tree(here, UNFETCHED)
    assert uncompared(here, {"good/vm.yaml": VM.replace("Always", "Halted")}) == (0, [])


def test_a_change_without_a_target_that_is_built_is_no_error(here: Path) -> None:
    tree(here, {**UNFETCHED, "good/kustomization.yaml": "resources: []\n"})
    assert uncompared(here, {"README.md": "a\n"}) == (0, [])


@pytest.mark.parametrize(
    "change",
    [
        {"bad/kustomization.yaml": f"resources: [lost.yaml, '{REMOTE}?ref=2']\n"},
        {"bad/lost.yaml": LOST},
        {"good/vm.yaml": OWN_SIZE.replace("1Gi", "2Gi")},
        {".kubevirt-render.yaml": CONFIG + "spec: {kubevirtVersion: '1.8'}\n"},
    ],
    ids=["the kustomization", "a file of it", "an instancetype of another target", "the config"],
)
def test_a_target_that_the_change_may_reach_is_not_compared(here: Path, change: dict[str, str]) -> None:
    tree(here, {**UNFETCHED, "good/vm.yaml": OWN_SIZE})
    assert uncompared(here, change) == (1, ["bad"])


def test_an_upgrade_may_reach_what_is_built_on_neither_side(here: Path) -> None:
    tree(here, {**UNFETCHED, "good/vm.yaml": OWN_SIZE})
    assert uncompared(here, {}, "--to-kubevirt-version", "1.9") == (1, ["bad"])


def test_files_that_are_named_as_one_and_that_nothing_changes_are_left_alone_too(here: Path) -> None:
    broken = {"vm.yaml": VM, "bad.yaml": VM + "  - x\n"}
    tree(here, {f"{side}/{file}": text for side in ("old", "new") for file, text in broken.items()})
    tree(here, {"other/vm.yaml": VM, "other/bad.yaml": VM + "  - y\n"})
    left = "kubevirt-render: note: the change leaves the files alone, which can't be built or read on either side\n"
    for sides in (("old", "new"), ("old/bad.yaml", "new/bad.yaml")):
        code, _, err = run("diff", *sides, cwd=here)
        assert (code, err) == (0, left)
    for side in ("other", "old/vm.yaml"):
        assert run("diff", "old", side, cwd=here)[0] == 1


def test_each_output_of_a_diff_says_what_is_not_compared(here: Path) -> None:
    tree(here, {"bad/kustomization.yaml": FAR, "bad/lost.yaml": "{}\n"})
    committed(here)
    tree(here, {"good/kustomization.yaml": f"resources: [vm.yaml, '{REMOTE}']\n"})
    said = {name: run("diff", "--base", "HEAD", "-o", name, cwd=here)[1] for name in ("text", "json", "markdown", "patch")}
    why = "good/kustomization.yaml:1:22: not built: it refers to"
    assert said["text"].startswith(f"not compared: good: {why}")
    assert said["text"].endswith("\n\nnone of 0 VMs change; 1 target is not compared\n")
    assert "none of 0 VMs change; 1 target is not compared\n" in said["markdown"]
    assert "- not compared: `good`: `good/kustomization.yaml:1:22:" in said["markdown"]
    assert said["patch"].startswith(f"# not compared: good: {why}")
    assert yamlio.read_value(said["patch"]) == []
    answer = json.loads(said["json"])
    Draft202012Validator(schema()).validate(answer)
    assert (answer["summary"]["uncompared"], [each["target"] for each in answer["uncompared"]]) == (1, ["good"])
    assert answer["uncompared"][0]["because"][0].startswith(why)
    page = run("report", "--base", "HEAD", ".", "-o", "-", cwd=here)[1]
    assert "1 target is not compared" in page


def test_a_diff_does_not_fail_for_a_kustomization_without_vms(here: Path) -> None:
    tree(here, {"bad/kustomization.yaml": FAR, "bad/lost.yaml": "{}\n"})
    committed(here)
    tree(here, {"good/vm.yaml": VM.replace("u1.small", "u1.medium")})
    code, out, err = run("diff", "--base", "HEAD", cwd=here)
    assert (code, err) == (0, "")
    assert "web" in out


def test_render_prints_all_or_nothing(here: Path) -> None:
    code, out, err = run("render", ".", cwd=here)
    assert (code, out) == (1, "")
    assert "kustomize does not build this" in err


FLAWED = VM.replace("u1.small", "u1.smal")
PREFIX = "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: kube, fieldSpecs: [{path: apiVersion}]}"
PLAIN, NONE = "kubevirt.io/v1", "example.com/v1"
BUILT_FROM = "resources: [vm.yaml]\n"
# How the API version of a VM stands nowhere in a file as it is; kustomize makes it all the same.
HIDDEN: dict[str, dict[str, str | bytes]] = {
    "an escape": {"vm.yaml": FLAWED.replace(PLAIN, '&a "kubevirt\\x2eio/v1"')},
    "an alias": {"vm.yaml": 'x: &a "kubevirt\\U0000002eio/v1"\n' + FLAWED.replace(PLAIN, "*a")},
    "a comment": {"vm.yaml": FLAWED.replace(PLAIN, '# x\n  "kube\\x76irt.io/v1"')},
    "a line's end": {"vm.yaml": FLAWED.replace(PLAIN, '&a "kubevirt.\\\n  \\\n  io/v1"')},
    "a line's end of Windows": {"vm.yaml": FLAWED.replace(PLAIN, '&a "kube\\\n  virt.io/v1"').replace("\n", "\r\n")},
    "base64": {"vm.yaml": FLAWED.replace(PLAIN, "&a !!binary a3ViZXZpcnQuaW8vdjE=")},
    "UTF-16": {"vm.yaml": FLAWED.encode("utf-16")},
    "a name": {"kustomization.yaml": "resources: [vm.txt]\n", "vm.txt": FLAWED},
    "a patch that is read twice": {
        "kustomization.yaml": BUILT_FROM
        + r"""patches:
- target: {kind: VirtualMachine}
  patch: "- {op: replace, path: /apiVersion, value: \"kube\\\nvirt.io/v1\"}"
""",
        "vm.yaml": FLAWED.replace(PLAIN, NONE),
    },
    "a replacement": {
        "kustomization.yaml": BUILT_FROM
        + """replacements:
- source: {kind: ConfigMap, name: c, fieldPath: data.a}
  targets: [{select: {kind: VirtualMachine}, fieldPaths: [apiVersion], options: {delimiter: ".", index: 1}}]
configMapGenerator: [{name: c, literals: [a=io/v1]}]
""",
        "vm.yaml": FLAWED.replace(PLAIN, "kubevirt.x/v1"),
    },
    "a replacement in a file": {
        "kustomization.yaml": BUILT_FROM + "replacements: [{path: r}]\nconfigMapGenerator: [{name: c, literals: [a=io/v1]}]\n",
        "r": """\
- source: {kind: ConfigMap, name: c, fieldPath: data.a}
  targets: [{select: {kind: VirtualMachine}, fieldPaths: [apiVersion], options: {delimiter: ".", index: 1}}]
""",
        "vm.yaml": FLAWED.replace(PLAIN, "kubevirt.x/v1"),
    },
    "a prefix": {
        "kustomization.yaml": BUILT_FROM + "namePrefix: kube\nconfigurations: [c.yaml]\n",
        "c.yaml": "namePrefix: [{path: apiVersion, kind: VirtualMachine}]\n",
        "vm.yaml": FLAWED.replace(PLAIN, "virt.io/v1"),
    },
    "a variable": {
        "kustomization.yaml": BUILT_FROM
        + """configurations: [c.yaml]
vars: [{name: A, objref: {kind: ConfigMap, name: c, apiVersion: v1}, fieldref: {fieldpath: data.a}}]
configMapGenerator: [{name: c, literals: [a=virt]}]
""",
        "c.yaml": "varReference: [{path: apiVersion}]\n",
        "vm.yaml": FLAWED.replace(PLAIN, "kube$(A).io/v1"),
    },
    "a transformer": {
        "kustomization.yaml": BUILT_FROM + "transformers: [t.yaml]\n",
        "t.yaml": PREFIX,
        "vm.yaml": FLAWED.replace(PLAIN, "virt.io/v1"),
    },
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_no_vm_that_kustomize_makes_is_hidden(here: Path, hidden: str) -> None:
    (here / "other").mkdir()
    for name, text in {"kustomization.yaml": BUILT_FROM, **HIDDEN[hidden]}.items():
        (here / "other" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert "unresolved-instancetype" in {rule for _, rule, _, _ in checked(here, "good", "other")}


def test_what_is_made_later_without_objects_of_kubevirt_is_only_named_by_render(here: Path) -> None:
    tree(here, {"app/kustomization.yaml": "resources: [./sub]\n", "app/sub/kustomization.yaml.j2": "resources: []\n"})
    code, out, err = run("render", "app", cwd=here)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        (
            "kubevirt-render: warning: app/kustomization.yaml: not built: it needs app/sub/kustomization.yaml, made from "
            "kustomization.yaml.j2; check what the step that makes it writes [target app] (kustomization-not-built)"
        ),
        "kubevirt-render: note: nothing to judge in app: 1 kustomization without objects of KubeVirt",
    ]


@pytest.mark.parametrize("words", ["check", "render", "capacity", "explain", "migrate", "report -o -", "diff good"])
def test_a_path_that_is_not_there_fails_each_command_with_the_same_exit_code(here: Path, words: str) -> None:
    code, out, err = run(*words.split(), "nowhere", cwd=here)
    assert (code, out) == (1, "")
    assert err.startswith("kubevirt-render: error: nowhere: ")


@pytest.mark.parametrize("output", [("text", ""), ("json", '{\n  "vms": []\n}\n'), ("markdown", "")])
def test_explaining_objects_without_a_vm_gives_an_empty_answer(here: Path, output: tuple[str, str]) -> None:
    tree(here, {"only.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: ClusterIP}\n"})
    name, answer = output
    assert run("explain", "only.yaml", "-o", name, cwd=here) == (
        0,
        answer,
        "kubevirt-render: note: there is no VM in the input\n",
    )
    assert run("explain", "only.yaml", "web", cwd=here)[0] == 2


@pytest.mark.parametrize("command", ["check", "capacity"])
@pytest.mark.parametrize(
    "files",
    [
        {"app/claim.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\n  annotations: ${ALL}\n"},
        {"app/claim.yaml/kustomization.yaml.j2": "resources: []\n"},
    ],
    ids=["text for annotations", "a template makes what is listed"],
)
def test_a_folder_without_objects_of_kubevirt_is_right(here, command, files):
    tree(here, {"app/kustomization.yaml": "resources: [claim.yaml]\n", **files})
    code, _, err = run(command, "app", cwd=here)
    assert (code, err) == (0, "kubevirt-render: note: nothing to judge in app: 1 kustomization without objects of KubeVirt\n")


def test_nothing_is_said_of_what_a_service_selects_that_nothing_applies(tmp_path: Path, kustomize: str) -> None:
    vm = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: NAME}\nspec:\n  runStrategy: Always\n"
        "  template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}\n"
    )
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: ssh}\nspec: {selector: {kubevirt.io/domain: none}, ports: []}\n"
    (tmp_path / "web.yaml").write_text(vm.replace("NAME", "web"))
    (tmp_path / "lost.yaml").write_text(f"{vm.replace('NAME', 'db')}---\n{service}")
    assert ("info", "service-without-vm", "lost.yaml", 0) in checked(tmp_path, ".")
    (tmp_path / "kustomization.yaml").write_text("resources: [web.yaml]\n")
    assert [each[1] for each in checked(tmp_path, ".")] == ["not-deployed"]
