"""This program as a step of a kustomization: what it renders is what reaches the cluster, and what is judged."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from checking import run
from committing import commit, git
from layouts import INLINE, STEP
from running import ROOT
from trees import tree

import krm_fn
from krm_fn import yamlio

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  instancetype: {name: house, kind: VirtualMachineInstancetype}
  template:
    spec:
      domain: {devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata:
  name: house
  namespace: vms
  annotations: {config.kubernetes.io/local-config: "true"}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
"""
PLAIN = {"kustomization.yaml": "resources: [vm.yaml, size.yaml]\n", "vm.yaml": VM, "size.yaml": SIZE}
FORMS = {
    "file": {"kustomization.yaml": PLAIN["kustomization.yaml"] + "transformers: [render.yaml]\n", "render.yaml": STEP},
    "inline": {"kustomization.yaml": PLAIN["kustomization.yaml"] + f"transformers:\n  - |\n{INLINE}\n"},
    "folder": {
        "kustomization.yaml": PLAIN["kustomization.yaml"] + "transformers: [steps]\n",
        "steps/kustomization.yaml": "resources: [render.yaml]\n",
        "steps/render.yaml": STEP,
    },
    "component": {
        "kustomization.yaml": PLAIN["kustomization.yaml"] + "components: [rendered]\n",
        "rendered/kustomization.yaml": "kind: Component\ntransformers: [render.yaml]\n",
        "rendered/render.yaml": STEP,
    },
    "base": {
        "kustomization.yaml": "resources: [base]\n",
        **{f"base/{file}": text for file, text in PLAIN.items()},
        "base/kustomization.yaml": PLAIN["kustomization.yaml"] + "transformers: [render.yaml]\n",
        "base/render.yaml": STEP,
    },
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def diff(here: Path) -> list[dict[str, object]]:
    code, out, err = run("diff", "--base", "HEAD", ".", "-o", "json", cwd=here)
    assert code in (0, 1), err
    found: list[dict[str, object]] = json.loads(out)["vms"]
    return found


@pytest.mark.parametrize("form", FORMS)
def test_an_edit_of_an_instancetype_changes_the_rendered_vm(here: Path, form: str) -> None:
    commit(here, {**PLAIN, **FORMS[form]})
    size = here / ("base/size.yaml" if form == "base" else "size.yaml")
    size.write_text(SIZE.replace("guest: 2}", "guest: 4}"))
    (record,) = diff(here)
    assert record["guest"] == {"vcpus": {"old": 2, "new": 4}}
    assert "keeps" not in record


def test_diff_says_what_it_says_of_what_kustomize_prints(here: Path, kustomize: Path) -> None:
    commit(here, {**PLAIN, **FORMS["file"]})
    base = printed(here, kustomize)
    (here / "size.yaml").write_text(SIZE.replace("guest: 2}", "guest: 4}"))
    (expected,) = krm_fn.diff({"items": base}, {"items": printed(here, kustomize)})["vms"]
    (record,) = diff(here)
    assert {key: value for key, value in record.items() if key != "target"} == expected


def printed(here: Path, kustomize: Path) -> list[object]:
    words = [str(kustomize), "build", "--enable-alpha-plugins", "--enable-exec", "."]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # kustomize starts this program
    ran = subprocess.run(words, cwd=here, capture_output=True, check=True, env={**os.environ, "PATH": path})
    return list(yamlio.read_stream(ran.stdout).items)


def test_an_edit_in_the_quickstart_does_what_its_two_builds_differ_in(here: Path, kustomize: Path) -> None:
    shutil.copytree(ROOT / "kustomization-examples" / "quickstart" / "bundle", here, dirs_exist_ok=True)
    commit(here, {})
    base, sizes = printed(here, kustomize), here / "sizes.yaml"
    sizes.write_text(sizes.read_text().replace("    guest: 4\n", "    guest: 8\n"))
    head = printed(here, kustomize)
    (found,) = krm_fn.diff({"items": base}, {"items": head})["vms"]
    assert (found["name"], found["guest"]) == ("builder", {"vcpus": {"old": 4, "new": 8}})
    told = diff(here)
    assert [{key: value for key, value in record.items() if key != "target"} for record in told] == [found]


def test_adding_the_step_is_a_change_like_any_other(here: Path) -> None:
    commit(here, PLAIN)
    tree(here, FORMS["file"])
    (record,) = diff(here)
    assert record["change"] == "changed"
    tree(here, PLAIN)
    assert diff(here) == []


def test_what_a_step_refuses_is_found_and_not_compared(here: Path) -> None:
    commit(here, {**PLAIN, **FORMS["file"]})
    (here / "render.yaml").write_text(STEP + 'spec: {severity: {unresolved-instancetype: error}, kubevirtVersion: "1.9"}\n')
    (here / "vm.yaml").write_text(VM.replace("name: house", "name: absent"))
    code, out, _ = run("check", ".", "--no-cache", cwd=here)
    assert (code, "unresolved-instancetype" in out) == (1, True)
    code, out, err = run("diff", "--base", "HEAD", ".", cwd=here)
    assert (code, "unresolved-instancetype" in err, "removed" in out) == (1, True, False)


def test_a_step_resolves_names_that_kustomize_has_prefixed_since(here: Path) -> None:
    base = {f"base/{file}": text for file, text in PLAIN.items()}
    step = {"kustomization.yaml": "resources: [base]\nnamePrefix: dev-\ntransformers: [render.yaml]\n", "render.yaml": STEP}
    commit(here, {**base, **step})
    assert run("check", ".", "--no-cache", cwd=here)[:2] == (0, "")
    (here / "base/size.yaml").write_text(SIZE.replace("guest: 2}", "guest: 4}"))
    (record,) = diff(here)
    assert (record["name"], record["guest"]) == ("dev-web", {"vcpus": {"old": 2, "new": 4}})


# ---- the config of a step is a file of the tree

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: networks}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [kubevirt.io], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}
  validations: [{expression: "object.spec.template.spec.networks.all(n, has(n.pod))"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: networks}
spec: {policyName: networks, validationActions: [Deny]}
"""
ISOLATED = ("check", "--isolated", "--no-ignores", "--no-cache", "-o", "json", ".")


def rules(here: Path, *more: str) -> tuple[int, list[tuple[str, str]]]:
    """The exit code, and each rule that said something with the file that it names."""
    code, out, err = run(*ISOLATED, *more, cwd=here)
    assert err == ""
    return code, [(each["tags"]["rule"], each["file"]["path"]) for each in json.loads(out)["results"]]


def test_a_step_turns_no_rule_off_for_what_it_leaves_as_it_is(here: Path) -> None:
    tree(here, {**PLAIN, **FORMS["file"], "vm.yaml": VM.replace("name: house", "name: hous")})
    (here / "render.yaml").write_text(STEP + 'spec: {severity: {unresolved-instancetype: "off"}}\n')
    assert rules(here) == (1, [("unresolved-instancetype", "vm.yaml")])


@pytest.mark.parametrize(
    ("patch", "rule"),
    [
        (
            "{op: replace, path: /spec/template/spec/networks, value: [{name: default, multus: {networkName: a}}]}",
            "policy/networks",
        ),
        ("{op: add, path: /spec/template/spec/nodeSelectors, value: {}}", "unknown-field"),
        ("{op: add, path: /spec/instancetype, value: {name: u1.smal}}", "unresolved-instancetype"),
    ],
)
def test_what_the_patches_of_a_step_make_is_judged(here: Path, tmp_path_factory, patch: str, rule: str) -> None:
    policy = tree(tmp_path_factory.mktemp("own"), {"policy.yaml": POLICY}) / "policy.yaml"
    tree(here, {**PLAIN, **FORMS["file"]})
    (here / "render.yaml").write_text(STEP + f"spec: {{patches: [{{target: {{kind: VirtualMachine}}, patch: [{patch}]}}]}}\n")
    code, found = rules(here, "--policy", str(policy))
    assert (code, (rule, "vm.yaml") in found) == (1, True)


# A pipeline renders with what the whole cluster has, and by the repository's config.
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"
APART = {
    "platform/kustomization.yaml": "resources: [size.yaml]\n",
    "platform/size.yaml": SIZE,
    "vms/kustomization.yaml": "resources: [vm.yaml]\n",
    "vms/vm.yaml": VM,
}


def edited(here: Path, config: str) -> list[dict[str, object]]:
    commit(here, {**APART, ".kubevirt-render.yaml": CONFIG + config})
    (here / "platform/size.yaml").write_text(SIZE.replace("guest: 2}", "guest: 4}"))
    return diff(here)


def test_where_a_pipeline_renders_an_edit_of_an_instancetype_changes_the_vm(here: Path) -> None:
    (record,) = edited(here, "  rendered: true\n")
    assert record["guest"] == {"vcpus": {"old": 2, "new": 4}}
    assert "keeps" not in record


def test_a_cluster_may_say_for_itself_that_a_pipeline_renders(here: Path) -> None:
    (record,) = edited(here, "  clusters: [{name: a, targets: [platform, vms], rendered: true}]\n")
    assert "keeps" not in record


@pytest.mark.parametrize("config", ["  rendered: false\n", "  failOn: error\n"])
def test_without_a_pipeline_the_vm_keeps_what_is_stored(here: Path, config: str) -> None:
    (record,) = edited(here, config)
    assert "keeps" in record


def test_check_finds_nothing_more_where_a_pipeline_renders(here: Path) -> None:
    found = [
        run("check", ".", "--no-cache", cwd=tree(here, {**APART, ".kubevirt-render.yaml": CONFIG + config}))
        for config in ("  rendered: true\n", "  rendered: false\n")
    ]
    assert found[0] == found[1]


def test_adopting_the_pipeline_is_a_change(here: Path) -> None:
    commit(here, {**APART, ".kubevirt-render.yaml": f"{CONFIG}  failOn: error\n"})
    (here / ".kubevirt-render.yaml").write_text(f"{CONFIG}  rendered: true\n")
    (record,) = diff(here)
    assert record["name"] == "web"


def test_a_path_that_leads_up_leads_to_the_same_place_from_the_copy_that_is_built(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path_factory.mktemp("shared")  # where all users of the machine may put files, and where copies are made
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    tree(shared, {"gone/kustomization.yaml": "resources: [vm.yaml]\n", "gone/vm.yaml": VM.replace("web", "planted")})
    files = {
        **FORMS["file"],
        "kustomization.yaml": "resources: [vm.yaml, size.yaml, ../../gone]\ntransformers: [render.yaml]\n",
    }
    tree(here, {f"a/b/app/{file}": text for file, text in {**PLAIN, **files}.items()})
    code, out, _ = run("check", ".", cwd=here)
    assert code == 1
    assert out.startswith(
        "error: a/b/app/kustomization.yaml: kustomize does not build this: a/gone: no such file or directory;"
    )
    assert "planted" not in run("render", ".", cwd=here)[1]


# ---- a step sees nothing of its cluster

KUBEVIRT = """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {imageTag: v1.6.3, configuration: {machineType: pc-q35-9.0, cpuRequest: 200m}}
"""
CLUSTER = {"platform/kustomization.yaml": "resources: [kubevirt.yaml]\n", "platform/kubevirt.yaml": KUBEVIRT}
LACKS = re.compile(
    r"^warning: ([^:]*):(\d+):\d+: .*add to its config: (.*?)(?: \[target .*)? \(unseen-configuration\)$", re.MULTILINE
)


def lacking(here: Path, files: dict[str, str], *flags: str) -> list[tuple[str, int, str]]:
    """Where a step lacks settings of its cluster, and which."""
    out = run("check", ".", "--no-cache", *flags, cwd=tree(here, files))[1]
    return [(file, int(line), lines) for file, line, lines in LACKS.findall(out)]


def of_form(form: str, spec: str = "") -> dict[str, str]:
    files = {**PLAIN, **FORMS[form]}
    return {
        f"vms/{name}": text.replace(INLINE, INLINE + f"\n    {spec}").replace(STEP, STEP + spec) for name, text in files.items()
    }


@pytest.mark.parametrize("form", FORMS)
def test_the_lines_that_a_step_lacks_are_named_at_its_config(here: Path, form: str) -> None:
    place = {
        "file": ("vms/render.yaml", 1),
        "inline": ("vms/kustomization.yaml", 4),
        "folder": ("vms/steps/render.yaml", 1),
        "component": ("vms/rendered/render.yaml", 1),
        "base": ("vms/base/render.yaml", 1),
    }
    lines = 'kubevirtVersion: "1.6.3", configuration: {"cpuRequest": "200m", "machineType": "pc-q35-9.0"}'
    spec = "spec: {defaults: cluster}\n"
    assert lacking(here, {**CLUSTER, **of_form(form, spec)}) == [(*place[form], lines)]
    stated = f"spec: {{defaults: cluster, {lines}}}\n"
    assert lacking(here, of_form(form, stated)) == []


def test_a_flag_that_states_the_cluster_is_not_seen_by_a_step(here: Path) -> None:
    spec = "spec: {defaults: cluster}\n"
    flags = ("--configuration", "{machineType: pc-q35-9.1}")
    assert lacking(here, of_form("file", spec), *flags) == [
        ("vms/render.yaml", 1, 'configuration: {"machineType": "pc-q35-9.1"}')
    ]


def test_a_step_that_sees_the_object_of_its_cluster_lacks_nothing(here: Path) -> None:
    files = {**of_form("file", "spec: {defaults: cluster}\n"), "vms/kubevirt.yaml": KUBEVIRT}
    listed = {"vms/kustomization.yaml": "resources: [vm.yaml, size.yaml, kubevirt.yaml]\ntransformers: [render.yaml]\n"}
    assert lacking(here, {**files, **listed}) == []


def test_a_pipeline_sees_its_cluster(here: Path) -> None:
    files = {f"vms/{name}": text for name, text in PLAIN.items()}
    assert lacking(here, {**CLUSTER, **files, ".kubevirt-render.yaml": f"{CONFIG}  rendered: true\n"}) == []


@pytest.mark.parametrize("spec", ["spec: {defaults: cluster} # own\n", "# none\n"], ids=["lines", "no spec"])
@pytest.mark.parametrize("form", FORMS)
def test_the_lines_that_a_step_lacks_are_added_to_its_config(here: Path, form: str, spec: str) -> None:
    tree(here, {**CLUSTER, **of_form(form, spec), "platform/kubevirt.yaml": KUBEVIRT.replace("v1.6.3", "v1.3.1")})
    ((file, _, _),) = lacking(here, {})
    before = (here / file).read_text()
    run("check", ".", "--no-cache", "--fix", cwd=here)
    after = (here / file).read_text()
    assert lacking(here, {}) == []
    gone = [line for line in before.splitlines() if line not in after.splitlines()]
    assert all("defaults: cluster" in line for line in gone)  # a map in one line gets more keys; all else is kept
    assert 'kubevirtVersion: "1.3.1"' in after
