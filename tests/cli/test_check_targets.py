"""`check` of whole repositories: the targets in folders are built and judged, and their findings lead home."""

import json
import os
from pathlib import Path

import pytest
from checking import check, run
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  instancetype:
    name: u1.medium
  template:
    spec:
      domain:
        devices: {}
"""
SIZE_PATCH = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  instancetype:
    name: {}
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: small
spec:
  cpu:
    guest: {}
  memory:
    guest: 2Gi
"""
OVERLAY = "resources: [../../base]\nnamespace: {}\npatches: [{{path: size.yaml}}]\n"
REPOSITORY = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": VM,
    "overlays/north/kustomization.yaml": OVERLAY.format("north"),
    "overlays/north/size.yaml": SIZE_PATCH.format("u1.small"),
    "overlays/south/kustomization.yaml": OVERLAY.format("south"),
    "overlays/south/size.yaml": SIZE_PATCH.format("u1.large"),
}


LISTED = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
metadata:
  name: render
  annotations:
    config.kubernetes.io/function: "exec: {path: kubevirt-render}"
"""


@pytest.fixture
def here(tmp_path, monkeypatch, kustomize):
    """A repository, and the newest kustomize on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)


def found(root, *words):
    """Rule, file, line, column and targets of each finding."""
    _, out, _ = check("-o", "json", *(words or (".",)), cwd=root)
    results = json.loads(out)["results"]
    return [
        (each["tags"]["rule"], each["file"]["path"], each.get("line"), each.get("column"), each.get("targets"))
        for each in results
    ]


def test_a_base_and_overlays_that_patch_it_have_no_findings(here):
    assert check(".", cwd=here) == (0, "", "")


def test_a_finding_leads_to_the_patch_that_wrote_the_value(here):
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("u1.larg")})
    assert found(here) == [("unresolved-instancetype", "overlays/south/size.yaml", 7, 11, ["overlays/south"])]


def test_what_is_missing_in_a_part_that_a_patch_wrote_leads_to_the_patch(here):
    claim = "volumes: [{name: root, persistentVolumeClaim: {readOnly: true}}]"
    text = SIZE_PATCH.format("u1.large") + f"  template: {{spec: {{{claim}}}}}\n"
    tree(here, {"overlays/south/size.yaml": text})
    assert ("missing-field", "overlays/south/size.yaml", 8, 67, ["overlays/south"]) in found(here)


def test_a_comment_names_targets_without_a_bracket_in_code(here):
    tree(here, {"base/vm.yaml": VM.replace("Always", "Sometimes")})
    out = check(".", "-o", "markdown", cwd=here)[1]
    assert "(targets overlays/north and overlays/south; refused-run-strategy)" in out


def test_a_finding_in_the_base_is_reported_once_with_its_targets(here):
    tree(here, {"base/vm.yaml": VM.replace("Always", "Sometimes")})
    assert found(here) == [("refused-run-strategy", "base/vm.yaml", 6, 16, ["overlays/north", "overlays/south"])]


def test_the_output_does_not_depend_on_the_number_of_processes(here):
    tree(here, {"base/vm.yaml": VM.replace("Always", "Sometimes"), "extra/vm.yaml": VM.replace("u1.medium", "gone")})
    outputs = {check("-o", form, "--summary", "-j", jobs, ".", cwd=here) for jobs in ("1", "2", "8") for form in ["junit"]}
    assert len(outputs) == 1
    assert outputs.pop()[0] == 1


def test_files_that_no_kustomization_uses_are_judged_by_themselves(here):
    tree(here, {"extra/vm.yaml": VM.replace("u1.medium", "gone"), "extra/notes.yaml": "a: 1\n"})
    assert found(here) == [("unresolved-instancetype", "extra/vm.yaml", 8, 11, None)]


def test_a_target_uses_the_objects_of_another_one(here):
    tree(here, {"sizes/kustomization.yaml": "resources: [small.yaml]\n", "sizes/small.yaml": SIZE.format(2)})
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("small")})
    assert check(".", cwd=here)[:2] == (0, "")
    noted = check("-v", ".", cwd=here)[2]
    assert "VirtualMachineClusterInstancetype small comes from target sizes" in noted


def test_different_objects_of_one_name_are_ambiguous_until_clusters_tell_them_apart(here):
    for name, vcpus in (("north", 2), ("south", 4)):
        tree(
            here,
            {f"sizes/{name}/kustomization.yaml": "resources: [small.yaml]\n", f"sizes/{name}/small.yaml": SIZE.format(vcpus)},
        )
        tree(here, {f"overlays/{name}/size.yaml": SIZE_PATCH.format("small")})
    assert {rule for rule, *_ in found(here)} == {"ambiguous-reference"}
    clusters = [{"name": name, "targets": [f"*/{name}"], "kubevirtVersion": "1.8"} for name in ("north", "south")]
    config = {"kind": "RenderVirtualMachines", "spec": {"clusters": clusters}}
    tree(here, {".kubevirt-render.yaml": json.dumps(config)})
    assert found(here) == []


def test_two_clusters_have_two_releases_in_one_run(here):
    clusters = [
        {"name": "north", "targets": ["overlays/north"], "kubevirtVersion": "1.4"},
        {"name": "south", "targets": ["overlays/south"], "kubevirtVersion": "1.9"},
    ]
    tree(here, {".kubevirt-render.yaml": json.dumps({"kind": "RenderVirtualMachines", "spec": {"clusters": clusters}})})
    code, out, _ = check("--summary", ".", cwd=here)
    assert (code, out) == (
        0,
        "0 errors, 0 warnings, 0 info in 2 objects of 1 file and 2 targets, KubeVirt 1.4.1, 1.9.0\n",
    )


def test_each_target_fails_by_its_own_config(here):
    tree(here, {"base/vm.yaml": VM.replace("Always", "Sometimes")})
    never = json.dumps({"kind": "RenderVirtualMachines", "spec": {"failOn": "never"}})
    tree(here, {"overlays/north/.kubevirt-render.yaml": never})
    assert check(".", cwd=here)[0] == 1
    tree(here, {"overlays/south/.kubevirt-render.yaml": never})
    assert check(".", cwd=here)[0] == 0


def test_a_file_of_no_target_fails_by_its_own_config(here):
    tree(here, {"extra/vm.yaml": VM.replace("runStrategy: Always", "running: true")})
    assert check(".", cwd=here)[0] == 0
    config = {level: json.dumps({"kind": "RenderVirtualMachines", "spec": {"failOn": level}}) for level in ("error", "warning")}
    tree(here, {"extra/.kubevirt-render.yaml": config["warning"], "overlays/south/.kubevirt-render.yaml": config["error"]})
    assert check(".", cwd=here)[0] == 1
    tree(here, {"extra/.kubevirt-render.yaml": config["error"], "overlays/south/.kubevirt-render.yaml": config["warning"]})
    assert check(".", cwd=here)[0] == 0


def test_what_can_not_be_read_beside_targets_is_reported(here, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "vm.yaml"
    outside.write_text(VM)
    (here / "link.yaml").symlink_to(outside)
    (here / "broken.yaml").symlink_to("nowhere")
    assert {(rule, file) for rule, file, *_ in found(here)} == {
        ("outside-link", "link.yaml"),
        ("unreadable-file", "broken.yaml"),
    }
    assert found(here, ".", "--exclude", "*.yaml") == []


def test_a_glob_of_a_cluster_that_matches_nothing_is_a_warning(here):
    clusters = [{"name": "north", "targets": ["overlays/north", "overlays/nrth"]}]
    config = json.dumps({"kind": "RenderVirtualMachines", "spec": {"clusters": clusters}})
    tree(here, {".kubevirt-render.yaml": config})
    column = config.index('"overlays/nrth"') + 1
    assert found(here) == [("unmatched-target-glob", ".kubevirt-render.yaml", 1, column, None)]
    assert found(here, "overlays") == []


def test_verbose_names_the_release_of_each_target_and_what_is_external_or_a_template(here):
    tree(here, {"chart/Chart.yaml": "name: a\n", "chart/templates/a.yaml": "{{ a }}\n"})
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("ours")})
    external = [{"kind": "VirtualMachineClusterInstancetype", "name": "ours"}]
    tree(here, {".kubevirt-render.yaml": json.dumps({"kind": "RenderVirtualMachines", "spec": {"external": external}})})
    err = check("-v", ".", cwd=here)[2]
    assert "note: chart/templates is skipped: it contains templates of a Helm chart" in err
    assert "note: overlays/north: the target release is KubeVirt 1.9.0" in err
    assert "note: overlays/south: VirtualMachineClusterInstancetype ours is external" in err


def test_what_is_excluded_is_neither_built_nor_judged(here):
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("u1.larg"), "extra/vm.yaml": VM.replace("u1.medium", "gone")})
    assert found(here, ".", "--exclude", "**/south", "--exclude", "extra") == []
    tree(here, {".kubevirt-render.yaml": '{"kind": "RenderVirtualMachines", "spec": {"exclude": ["**/south/**", "extra"]}}'})
    assert found(here) == []


def test_what_is_external_is_not_missed(here):
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("ours")})
    external = [{"kind": "VirtualMachineClusterInstancetype", "name": "our*"}]
    tree(here, {".kubevirt-render.yaml": json.dumps({"kind": "RenderVirtualMachines", "spec": {"external": external}})})
    assert found(here) == []


def test_what_kustomize_refuses_is_one_finding_and_the_rest_goes_on(here):
    tree(here, {"overlays/north/kustomization.yaml": "resources: [../../gone]\npatches: [{path: size.yaml}]\n"})
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("u1.larg")})
    assert [(rule, file) for rule, file, *_ in found(here)] == [
        ("kustomization-not-built", "overlays/north/kustomization.yaml"),
        ("unresolved-instancetype", "overlays/south/size.yaml"),
    ]


def test_without_a_program_that_builds_there_is_one_error(here, monkeypatch):
    monkeypatch.setenv("PATH", str(here))
    code, out, _ = check(".", cwd=here)
    assert (code, out.count("\n")) == (1, 1)
    assert "kustomization-not-built" in out


def test_a_baseline_knows_the_findings_of_targets(here):
    tree(here, {"overlays/south/size.yaml": SIZE_PATCH.format("u1.larg")})
    assert check("--baseline", "known.yaml", "--update-baseline", ".", cwd=here)[0] == 0
    assert check("--baseline", "known.yaml", ".", cwd=here)[:2] == (0, "")


def test_where_no_object_is_found_the_run_says_so(tmp_path, kustomize):
    tree(tmp_path, {"a/notes.yaml": "a: 1\n"})
    code, out, err = check("a", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert "no Kubernetes object found in a" in err


OUTSIDE = {"common/vm.yaml": VM.replace("u1.medium", "gone"), "app/kustomization.yaml": "resources: [../common/vm.yaml]\n"}
UNRESTRICTED = "--kustomize-build-flag=--load-restrictor=LoadRestrictionsNone"


def test_a_build_flag_of_the_command_line_counts_beside_those_of_the_config(here):
    tree(here, OUTSIDE)
    assert [rule for rule, *_ in found(here, "app")] == ["kustomization-not-built", "unresolved-instancetype"]
    assert found(here, UNRESTRICTED, "app") == [("unresolved-instancetype", "common/vm.yaml", 8, 11, None)]
    config = {"kind": "RenderVirtualMachines", "spec": {"kustomizeBuildFlags": ["--load-restrictor=LoadRestrictionsNone"]}}
    tree(here, {".kubevirt-render.yaml": json.dumps(config)})
    assert [rule for rule, *_ in found(here, "--kustomize-build-flag", "--enable-helm", "app")] == ["unresolved-instancetype"]


def test_a_build_flag_counts_for_a_build_that_is_named(here):
    tree(here, OUTSIDE)
    code, _, err = check("-k", "app", cwd=here)
    assert (code, "`kustomize build app` failed with exit code 1" in err) == (1, True), err
    code, out, _ = check("-k", "app", UNRESTRICTED, cwd=here)
    assert (code, "(unresolved-instancetype)" in out) == (1, True)


@pytest.mark.parametrize("flag", ["--enable-exec", "--helm-command=./evil", "--load-restrictor=x", "", "-o"])
def test_a_build_flag_that_a_config_may_not_name_is_refused(here, flag):
    code, out, err = check(f"--kustomize-build-flag={flag}", ".", cwd=here)
    assert (code, out) == (2, "")
    assert f"--kustomize-build-flag: found {flag!r}; expected one of --enable-helm, --load-restrictor=Load" in err


@pytest.mark.parametrize("command", ["check", "render"])
def test_a_listed_function_uses_objects_that_are_only_local(here, command):
    local = SIZE.format(2).replace("metadata:\n", 'metadata:\n  annotations:\n    config.kubernetes.io/local-config: "true"\n')
    files = {"vm.yaml": VM.replace("u1.medium", "small"), "sizes.yaml": local, "render.yaml": LISTED}
    listed = "resources: [vm.yaml, sizes.yaml]\ntransformers: [render.yaml]\n"
    tree(here, {f"only/{name}": text for name, text in {**files, "kustomization.yaml": listed}.items()})
    code, out, err = run(command, "only", cwd=here)
    assert (code, err, "kubevirt-render.dev" in out) == (0, "", False)


# A VM that refers to a size, a claim, a network and a Secret that a generator makes.
REFERRING = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  instancetype: {kind: VirtualMachineInstancetype, name: small}
  template:
    spec:
      domain:
        devices:
          disks: [{name: root, disk: {}}, {name: init, disk: {}}]
          interfaces: [{name: lan, bridge: {}}]
      networks: [{name: lan, multus: {networkName: lan}}]
      volumes:
      - {name: root, persistentVolumeClaim: {claimName: data}}
      - {name: init, cloudInitNoCloud: {secretRef: {name: boot}}}
"""
REFERRED = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: lan}
spec: {config: '{}'}
"""
RENAMING = {
    "base/kustomization.yaml": "resources: [vm.yaml, more.yaml]\nsecretGenerator: [{name: boot, literals: [userdata=x]}]\n",
    "base/vm.yaml": REFERRING,
    "base/more.yaml": REFERRED,
}
NAME_REFERENCES = Path(__file__).resolve().parents[2] / "kustomization-examples/overlays-with-prefix/name-references.yaml"


def renamed(folder, **files):
    """Severity, line and what was renamed, of each finding of `former-name`; and the rules of all others."""
    found = json.loads(check(".", "-o", "json", cwd=tree(folder / "renaming", {**RENAMING, **files}))[1])["results"]
    former = [each for each in found if each["tags"]["rule"] == "former-name"]
    said = [
        (each["severity"], each["line"], each["message"].partition(", but")[0].removeprefix("kustomize renamed "))
        for each in former
    ]
    return sorted(said), {each["tags"]["rule"] for each in found if each not in former}


@pytest.mark.parametrize(
    ("affixes", "now"),
    [("namePrefix: lab-\n", "lab-{}"), ("nameSuffix: -lab\n", "{}-lab"), ("namePrefix: a-\nnameSuffix: -z\n", "a-{}-z")],
)
def test_a_reference_to_what_kustomize_renamed_is_an_error(here, affixes, now):
    told, others = renamed(here, **{"lab/kustomization.yaml": f"resources: [../base]\nnamespace: lab\n{affixes}"})
    made = told.pop()
    assert told == [
        ("error", 6, f"VirtualMachineInstancetype small to {now.format('small')}"),
        ("error", 13, f"NetworkAttachmentDefinition lan to {now.format('lan')}"),
        ("error", 15, f"PersistentVolumeClaim data to {now.format('data')}"),
    ]
    assert made[:2] == ("error", 16)
    assert made[2].startswith(f"Secret boot to {now.format('boot')}-")
    assert others == set()


@pytest.mark.parametrize("words", ["render .", "capacity .", "diff ../none ."])
def test_every_command_names_the_new_name_of_what_kustomize_renamed(here, words):
    root = tree(here / "renaming", {**RENAMING, "lab/kustomization.yaml": "resources: [../base]\nnamePrefix: lab-\n"})
    (here / "none").mkdir()
    code, out, err = run(*words.split(), cwd=root)
    assert code == int(words == "render .")
    assert "kustomize renamed VirtualMachineInstancetype small to lab-small, but not this reference to it" in out + err
    assert "not found" not in out + err


def test_a_reference_that_kustomize_changes_too_is_right(here):
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\nconfigurations: [name-references.yaml]\n"
    files = {"lab/kustomization.yaml": overlay, "lab/name-references.yaml": NAME_REFERENCES.read_text()}
    assert renamed(here, **files) == ([], set())


def test_a_component_has_the_references_for_all_overlays(here):
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\ncomponents: [../name-references]\n"
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nconfigurations: [name-references.yaml]\n"
    shared = {"kustomization.yaml": component, "name-references.yaml": NAME_REFERENCES.read_text()}
    files = {"lab/kustomization.yaml": overlay, **{f"name-references/{name}": text for name, text in shared.items()}}
    assert renamed(here, **files) == ([], set())


def test_a_reference_that_no_prefix_explains_is_not_called_renamed(here):
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\n"
    wanted = REFERRING.replace("claimName: data", "claimName: dat")
    told, others = renamed(here, **{"lab/kustomization.yaml": overlay, "base/vm.yaml": wanted})
    assert [line for _, line, _ in told] == [6, 13, 16]
    assert others == {"missing-object"}


def test_an_object_of_the_cluster_is_not_the_one_that_kustomize_renamed(here):
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\n"
    external = "kind: RenderVirtualMachines\nspec: {external: [{kind: PersistentVolumeClaim, name: data, namespace: lab}]}\n"
    config = {".kubevirt-render.yaml": "apiVersion: kubevirt-render.dev/v1alpha1\n" + external}
    assert [line for _, line, _ in renamed(here, **{"lab/kustomization.yaml": overlay, **config})[0]] == [6, 13, 16]


def test_a_reference_that_may_lead_nowhere_is_a_warning_after_a_rename(here):
    optional = REFERRING.replace("cloudInitNoCloud: {secretRef: {name: boot}}", "secret: {secretName: boot, optional: true}")
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\n"
    told, _ = renamed(here, **{"lab/kustomization.yaml": overlay, "base/vm.yaml": optional})
    assert [(severity, line) for severity, line, _ in told] == [("error", 6), ("error", 13), ("error", 15), ("warning", 16)]


def test_a_step_that_renders_the_vms_needs_no_new_name_of_a_size(here):
    overlay = "resources: [../base]\nnamespace: lab\nnamePrefix: lab-\ntransformers: [render.yaml]\n"
    told, _ = renamed(here, **{"lab/kustomization.yaml": overlay, "lab/render.yaml": LISTED})
    assert [(severity, line) for severity, line, _ in told] == [("error", 13), ("error", 15), ("error", 16)]


# ---- what a patch takes away

DISKS = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template:
    spec:
      domain: {devices: {disks: [{name: root, disk: {}}, {name: data, disk: {}}], interfaces: [{name: lan, bridge: {}}]}}
      networks: [{name: lan, multus: {networkName: a}}]
      volumes:
      - {name: root, containerDisk: {image: a}}
      - {name: data, containerDisk: {image: b}}
"""
OF_WEB = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, namespace: vms}\n"
TAKING = {
    "a patch that replaces the list": (
        OF_WEB + "spec:\n  template:\n    spec:\n      volumes: [{name: root, containerDisk: {image: c}}]\n",
        [("disks[1]", "prod/p.yaml", 7)],
    ),
    "a patch that removes the list": (
        OF_WEB + "spec:\n  template:\n    spec:\n      networks: null\n",
        [("interfaces[0]", "prod/p.yaml", 7)],
    ),
    "a JSON patch that removes an entry": (
        "- op: remove\n  path: /spec/template/spec/volumes/1\n",
        [("disks[1]", "prod/p.yaml", 2)],
    ),
    "a JSON patch that replaces the list": (
        "- {op: add, path: /metadata/labels, value: {}}\n- op: replace\n  path: /spec/template/spec/volumes\n  value: []\n",
        [("disks[0]", "prod/p.yaml", 3), ("disks[1]", "prod/p.yaml", 3)],
    ),
    "a JSON patch that adds a disk": (
        "- {op: add, path: /spec/template/spec/domain/devices/disks/-, value: {name: more, disk: {}}}\n",
        [("disks[2]", "prod/p.yaml", 1)],
    ),
}


@pytest.mark.parametrize("patch", TAKING)
def test_a_disk_whose_volume_a_patch_took_away_is_found_at_the_patch(here, patch):
    text, expected = TAKING[patch]
    overlay = "resources: [../base]\npatches: [{path: p.yaml, target: {kind: VirtualMachine}}]\n"
    base = {"base/kustomization.yaml": "resources: [vm.yaml]\n", "base/vm.yaml": DISKS}
    root = tree(here / "taking", {**base, "prod/kustomization.yaml": overlay, "prod/p.yaml": text})
    found = json.loads(check(".", "-o", "json", cwd=root)[1])["results"]
    refused = [each for each in found if each["tags"]["rule"].startswith("refused-")]
    places = [(each["field"]["path"].split(".")[-2], each["file"]["path"], each["line"]) for each in refused]
    assert sorted(places) == expected


def test_a_disk_that_never_had_a_volume_is_found_where_it_stands(here):
    overlay = "resources: [../base]\npatches: [{path: p.yaml}]\n"
    volumes = OF_WEB + "spec:\n  template:\n    spec:\n      volumes: [{name: root, containerDisk: {image: c}}]\n"
    base = {
        "base/kustomization.yaml": "resources: [vm.yaml]\n",
        "base/vm.yaml": DISKS.replace("data, containerDisk", "d, containerDisk"),
    }
    root = tree(here / "taking", {**base, "prod/kustomization.yaml": overlay, "prod/p.yaml": volumes})
    found = json.loads(check(".", "-o", "json", cwd=root)[1])["results"]
    refused = [each for each in found if each["tags"]["rule"].startswith("refused-")]
    assert [(each["file"]["path"], each["line"]) for each in refused] == [("base/vm.yaml", 9)]
