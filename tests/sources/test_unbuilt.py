"""Folders of manifests that kustomize or Helm builds: what only becomes an object by a build is not judged as one."""

import json

import pytest
from checking import check

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        devices: {}
"""
# Of another size than VM.
LARGE = VM.replace("devices: {}", "devices: {}\n        memory: {guest: 8Gi}")
# Without what a patch adds.
BARE = VM.replace("  runStrategy: Always\n", "")
PATCH = "kind: ignored\nmetadata: {name: ignored}\nspec: {runStrategy: Always}\n"
UNNAMED = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: Always}\n"


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def told(root, *paths):
    """Rule and file of each finding of `check`."""
    _, out, _ = check("-o", "json", *(paths or (".",)), cwd=root)
    return [(each["tags"]["rule"], each["file"]["path"]) for each in json.loads(out)["results"]]


def kustomization(**keys):
    return json.dumps({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **keys})


@pytest.mark.parametrize(
    "named",
    [
        {"patches": [{"path": "patch.yaml"}]},
        {"patchesStrategicMerge": ["./patch.yaml"]},
        {"patchesJson6902": [{"path": "patch.yaml", "target": {"kind": "VirtualMachine"}}]},
    ],
)
def test_a_patch_is_no_object(tmp_path, named):
    write(tmp_path, {"vm.yaml": VM, "patch.yaml": UNNAMED, "kustomization.yaml": kustomization(resources=["vm.yaml"], **named)})
    assert told(tmp_path) == []


def test_a_patch_is_named_among_what_is_left_alone(tmp_path):
    named = kustomization(resources=["vm.yaml"], patches=[{"path": "patch.yaml"}])
    write(tmp_path, {"vm.yaml": VM, "patch.yaml": UNNAMED, "kustomization.yaml": named})
    said = "patch.yaml is skipped: it is a patch of a kustomization; to build it, use `-k` with its folder\n"
    assert said in check("-v", ".", cwd=tmp_path)[2]


def test_a_patch_that_is_named_by_itself_is_judged(tmp_path):
    named = kustomization(resources=["vm.yaml"], patches=[{"path": "patch.yaml"}])
    write(tmp_path, {"vm.yaml": VM, "patch.yaml": UNNAMED, "kustomization.yaml": named})
    assert told(tmp_path, "patch.yaml") == [("missing-field", "patch.yaml")]


def test_a_file_that_is_a_resource_and_a_patch_is_judged(tmp_path):
    named = kustomization(resources=["vm.yaml"], patches=[{"path": "vm.yaml"}])
    write(tmp_path, {"vm.yaml": VM.replace("Always", "Sometimes"), "kustomization.yaml": named})
    assert told(tmp_path) == [("refused-run-strategy", "vm.yaml")]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"path": "patch.yaml", "target": {"kind": "VirtualMachine"}}, []),
        ({"path": "patch.yaml", "target": {"kind": "Virtual.*", "name": "we."}}, []),
        ({"path": "patch.yaml", "target": {"kind": "Service"}}, ["refused-run-strategy"]),
        ({"path": "patch.yaml", "target": {"kind": "VirtualMachine", "name": "db"}}, ["refused-run-strategy"]),
        ({"patch": UNNAMED}, []),
        ({"patch": UNNAMED.replace("web", "db")}, ["refused-run-strategy"]),
    ],
)
def test_what_a_patch_may_add_is_not_missed(tmp_path, patch, expected):
    named = kustomization(resources=["vm.yaml"], patches=[patch])
    write(tmp_path, {"vm.yaml": BARE, "patch.yaml": PATCH, "kustomization.yaml": named})
    assert [rule for rule, _ in told(tmp_path)] == expected


@pytest.mark.parametrize(("place", "expected"), [("/metadata/name", []), ("/spec/running", ["invalid-name"])])
def test_a_name_that_a_patch_replaces_is_not_judged(tmp_path, place, expected):
    patch = {"patch": f"- op: replace\n  path: {place}\n  value: web\n", "target": {"kind": "VirtualMachine"}}
    named = kustomization(resources=["vm.yaml"], patches=[patch])
    write(tmp_path, {"vm.yaml": VM.replace("web", "Web"), "kustomization.yaml": named})
    assert [rule for rule, _ in told(tmp_path)] == expected


def test_what_stands_in_a_patched_object_is_judged(tmp_path):
    named = kustomization(resources=["vm.yaml"], patches=[{"path": "patch.yaml", "target": {"kind": "VirtualMachine"}}])
    write(tmp_path, {"vm.yaml": VM.replace("Always", "Sometimes"), "patch.yaml": PATCH, "kustomization.yaml": named})
    assert told(tmp_path) == [("refused-run-strategy", "vm.yaml")]


def test_a_patch_of_an_overlay_or_a_component_counts(tmp_path):
    overlay = {
        "base/vm.yaml": BARE,
        "base/kustomization.yaml": kustomization(resources=["vm.yaml"]),
        "overlay/kustomization.yaml": kustomization(resources=["../base"], components=["../running"]),
        "running/kustomization.yaml": kustomization(patches=[{"path": "patch.yaml", "target": {"kind": "VirtualMachine"}}]),
        "running/patch.yaml": PATCH,
    }
    write(tmp_path, overlay)
    assert told(tmp_path) == []


def test_kustomizations_that_include_each_other_have_an_end(tmp_path):
    a, b = kustomization(resources=["../b", "vm.yaml"]), kustomization(resources=["../a"], components=["../b"])
    write(tmp_path, {"a/vm.yaml": BARE, "a/kustomization.yaml": a, "b/kustomization.yaml": b})
    assert told(tmp_path) == [("refused-run-strategy", "a/vm.yaml")]


@pytest.mark.parametrize(
    ("generator", "volume"),
    [("configMapGenerator", "configMap: {name: scripts}"), ("secretGenerator", "secret: {secretName: scripts}")],
)
def test_what_a_kustomization_generates_is_not_missed(tmp_path, generator, volume):
    vm = VM.replace("{}", "{disks: [{name: root, disk: {}}]}") + f"      volumes: [{{name: root, {volume}}}]\n"
    write(tmp_path, {"vm.yaml": vm, "kustomization.yaml": kustomization(resources=["vm.yaml"])})
    assert told(tmp_path) == [("missing-object", "vm.yaml")]
    generated = kustomization(resources=["vm.yaml"], **{generator: [{"name": "scripts", "files": ["a.sh"]}]})
    write(tmp_path, {"kustomization.yaml": generated})
    assert told(tmp_path) == []


CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: root, namespace: shop}\nspec: {}\n"
DISK = VM.replace("{}", "{disks: [{name: root, disk: {}}]}") + (
    "      volumes: [{name: root, persistentVolumeClaim: {claimName: root}}]\n"
)


def with_namespace(text, namespace):
    return text.replace("name: web", f"name: web\n  namespace: {namespace}")


def test_a_namespace_that_is_not_written_may_be_the_one_that_is_meant(tmp_path):
    write(tmp_path, {"vm.yaml": DISK, "claim.yaml": CLAIM})
    assert told(tmp_path) == []
    write(tmp_path, {"vm.yaml": with_namespace(DISK, "shop"), "claim.yaml": CLAIM.replace(", namespace: shop", "")})
    assert told(tmp_path) == []


def test_what_a_machine_without_a_namespace_makes_may_be_the_one_that_is_meant(tmp_path):
    template = "  dataVolumeTemplates: [{metadata: {name: root}, spec: {source: {blank: {}}, storage: {}}}]\n  template:"
    maker = DISK.replace("  template:", template).replace("persistentVolumeClaim: {claimName", "dataVolume: {name")
    write(tmp_path, {"web.yaml": maker, "copy.yaml": DISK.replace("name: web", "name: copy\n  namespace: shop")})
    assert told(tmp_path) == []
    assert told(tmp_path, "web.yaml", "copy.yaml") == [("missing-object", "copy.yaml")]


def test_an_object_is_missing_where_all_namespaces_are_written(tmp_path):
    write(tmp_path, {"vm.yaml": with_namespace(DISK, "lab"), "claim.yaml": CLAIM})
    assert told(tmp_path) == [("missing-object", "vm.yaml")]
    assert told(tmp_path, "vm.yaml", "claim.yaml") == [("missing-object", "vm.yaml")]


DUPLICATE = [("duplicate-object", "b.yaml")]


def test_objects_of_one_name_clash_in_one_folder(tmp_path):
    write(tmp_path, {"a.yaml": VM, "b.yaml": LARGE})
    assert told(tmp_path) == DUPLICATE


def test_objects_of_one_name_clash_where_the_files_are_named(tmp_path):
    write(tmp_path, {"one/a.yaml": VM, "two/b.yaml": LARGE})
    assert told(tmp_path, "one/a.yaml", "two/b.yaml") == [("duplicate-object", "two/b.yaml")]
    assert told(tmp_path, "one", "two/b.yaml") == [("duplicate-object", "two/b.yaml")]


def test_what_stands_in_different_folders_may_be_for_different_clusters(tmp_path):
    write(tmp_path, {"one/a.yaml": VM, "two/b.yaml": LARGE})
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, ["duplicate-object"]),
        ({"namespace": "shop"}, []),
        ({"namePrefix": "dev-"}, []),
    ],
)
def test_objects_of_one_name_clash_in_one_kustomization(tmp_path, keys, expected):
    files = {
        "one/a.yaml": VM,
        "one/kustomization.yaml": kustomization(resources=["a.yaml"], **keys),
        "two/b.yaml": LARGE,
        "two/kustomization.yaml": kustomization(resources=["b.yaml"]),
        "kustomization.yaml": kustomization(resources=["one", "two"]),
    }
    write(tmp_path, files)
    assert [rule for rule, _ in told(tmp_path)] == expected


def test_of_one_folder_only_what_the_same_kustomization_names_clashes(tmp_path):
    write(tmp_path, {"a.yaml": VM, "b.yaml": LARGE, "kustomization.yaml": kustomization(resources=[])})
    assert told(tmp_path) == []
    write(tmp_path, {"kustomization.yaml": kustomization(resources=["a.yaml"])})
    assert told(tmp_path) == []
    write(tmp_path, {"kustomization.yaml": kustomization(resources=["a.yaml", "./b.yaml"])})
    assert told(tmp_path) == DUPLICATE


def test_templates_of_a_helm_chart_are_left_alone(tmp_path):
    chart = {
        "chart/Chart.yaml": "apiVersion: v2\nname: vm\nversion: 0.1.0\n",
        "chart/templates/vm.yaml": VM.replace("web", "{{ .Release.Name }}"),
        "chart/crds/vm.yaml": BARE,
    }
    write(tmp_path, chart)
    said = "chart/templates is skipped: it contains templates of a Helm chart; to render them, use `helm template`\n"
    assert said in check("-v", ".", cwd=tmp_path)[2]
    assert told(tmp_path) == [("refused-run-strategy", "chart/crds/vm.yaml")]
    assert told(tmp_path, "chart/templates") == [("unreadable-document", "chart/templates/vm.yaml")]


def test_one_template_stands_for_all(tmp_path):
    write(tmp_path, {f"{name}.yaml": VM.replace("web", "{{ name }}") for name in "abc"})
    write(tmp_path, {"twice.yaml": VM.replace("{}", "{rng: {}, rng: {}}")})
    code, out, _ = check(".", cwd=tmp_path)
    fix = "{{ belongs to a template: render it first, for example with `helm template`"
    said = f"a map or list cannot be a key; expected a string; {fix}"
    assert (code, out.splitlines()) == (
        1,
        [
            f"error: a.yaml:4:10: {said} (2 more files are templates) (unreadable-document)",
            "error: twice.yaml:10:28: the key 'rng' is set twice in one map (unreadable-document)",
        ],
    )


def test_a_folder_named_templates_without_a_chart_is_read(tmp_path):
    write(tmp_path, {"templates/vm.yaml": BARE})
    assert told(tmp_path) == [("refused-run-strategy", "templates/vm.yaml")]


def test_what_cannot_be_read_and_says_no_api_version_is_no_object(tmp_path):
    write(tmp_path, {"playbook.yaml": "- hosts: all\n  vars: {a: 1, a: 2}\n", "vm.yaml": VM})
    assert told(tmp_path) == []
    assert told(tmp_path, "playbook.yaml") == [("unreadable-document", "playbook.yaml")]
    write(tmp_path, {"vm.yaml": VM.replace("{}", "{rng: {}, rng: {}}")})
    assert told(tmp_path) == [("unreadable-document", "vm.yaml")]


def test_what_sops_encrypts_is_not_judged(tmp_path):
    sops = "sops:\n  mac: ENC[AES256_GCM,data:aa,type:str]\n  version: 3.10.2\n"
    encrypted = VM.replace("domain:", "terminationGracePeriodSeconds: ENC[AES256_GCM,data:aa,type:int]\n      domain:")
    write(tmp_path, {"vm.yaml": encrypted + sops})
    assert told(tmp_path) == []
    write(tmp_path, {"vm.yaml": VM + "sops: {}\n"})
    assert told(tmp_path) == [("unknown-field", "vm.yaml")]
