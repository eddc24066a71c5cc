"""Folders of manifests that kustomize or Helm builds: what only becomes an object by a build is not judged as one."""

import json

import pytest
from checking import check, run
from committing import commit, git
from trees import tree

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
        memory: {guest: 1Gi}
"""
# Of another size than VM.
LARGE = VM.replace("1Gi", "8Gi")
# Without what it needs.
BARE = VM.replace("  runStrategy: Always\n", "")


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def reported(root, *paths):
    """Rule and file of each finding of `check`."""
    _, out, _ = check("-o", "json", *(paths or (".",)), cwd=root)
    return [(each["tags"]["rule"], each["file"]["path"]) for each in json.loads(out)["results"]]


def kustomization(**keys):
    return json.dumps({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **keys})


SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: own}
spec: {cpu: {guest: 3}, memory: {guest: 1Gi}}
"""
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: root, namespace: shop}\nspec: {}\n"
DISK = VM.replace("devices: {}", "devices: {disks: [{name: root, disk: {}}]}") + (
    "      volumes: [{name: root, persistentVolumeClaim: {claimName: root}}]\n"
)


def with_namespace(text, namespace):
    return text.replace("name: web", f"name: web\n  namespace: {namespace}")


def test_a_namespace_that_is_not_written_may_be_the_one_that_is_meant(tmp_path):
    write(tmp_path, {"vm.yaml": DISK, "claim.yaml": CLAIM})
    assert reported(tmp_path) == []
    write(tmp_path, {"vm.yaml": with_namespace(DISK, "shop"), "claim.yaml": CLAIM.replace(", namespace: shop", "")})
    assert reported(tmp_path) == []


def test_what_a_machine_without_a_namespace_makes_may_be_the_one_that_is_meant(tmp_path):
    spec = "{source: {blank: {}}, storage: {resources: {requests: {storage: 1Gi}}}}"
    template = f"  dataVolumeTemplates: [{{metadata: {{name: root}}, spec: {spec}}}]\n  template:"
    maker = DISK.replace("  template:", template).replace("persistentVolumeClaim: {claimName", "dataVolume: {name")
    write(tmp_path, {"web.yaml": maker, "copy.yaml": DISK.replace("name: web", "name: copy\n  namespace: shop")})
    assert reported(tmp_path) == []
    assert reported(tmp_path, "web.yaml", "copy.yaml") == []


NETWORK = (
    "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {name: lan, namespace: shop}\nspec: {}\n"
)
ON_NETWORK = VM.replace("devices: {}", "devices: {interfaces: [{name: lan, bridge: {}}]}") + (
    "      networks: [{name: lan, multus: {networkName: lan}}]\n"
)


@pytest.mark.parametrize(
    ("vm", "other"),
    [
        (DISK, CLAIM),
        (with_namespace(DISK, "shop"), CLAIM.replace(", namespace: shop", "")),
        (ON_NETWORK, NETWORK),
        (with_namespace(ON_NETWORK, "shop"), NETWORK.replace(", namespace: shop", "")),
    ],
)
def test_a_kustomization_leaves_a_namespace_that_is_not_written_to_who_applies(tmp_path, vm, other):
    write(
        tmp_path, {"vm.yaml": vm, "other.yaml": other, "kustomization.yaml": kustomization(resources=["vm.yaml", "other.yaml"])}
    )
    assert reported(tmp_path) == []
    write(tmp_path, {"kustomization.yaml": kustomization(resources=["vm.yaml", "other.yaml"], namespace="lab")})
    assert reported(tmp_path) == []
    write(tmp_path, {"vm.yaml": with_namespace(vm.replace("\n  namespace: shop", ""), "lab")})
    written = other.replace("name: root}", "name: root, namespace: shop}").replace("name: lan}", "name: lan, namespace: shop}")
    write(tmp_path, {"other.yaml": written, "kustomization.yaml": kustomization(resources=["vm.yaml", "other.yaml"])})
    assert reported(tmp_path) == [("missing-object", "vm.yaml")]


def test_an_object_is_missing_where_all_namespaces_are_written(tmp_path):
    write(tmp_path, {"vm.yaml": with_namespace(DISK, "lab"), "claim.yaml": CLAIM})
    assert reported(tmp_path) == [("missing-object", "vm.yaml")]
    assert reported(tmp_path, "vm.yaml", "claim.yaml") == [("missing-object", "vm.yaml")]


DUPLICATE = [("duplicate-object", "b.yaml")]


def test_objects_of_one_name_clash_in_one_folder(tmp_path):
    write(tmp_path, {"a.yaml": VM, "b.yaml": LARGE})
    assert reported(tmp_path) == DUPLICATE


@pytest.mark.parametrize(
    ("files", "paths", "severity"),
    [
        ({"a.yaml": VM, "b.yaml": LARGE}, ["."], "warning"),
        ({"a.yaml": VM, "b.yaml": LARGE}, ["a.yaml", "b.yaml"], "error"),
        ({"a.yaml": VM, "b.yaml": LARGE}, [".", "b.yaml"], "error"),
        ({"a.yaml": f"{VM}---\n{LARGE}"}, ["."], "error"),
    ],
    ids=["found", "named", "named too", "one file"],
)
def test_different_files_that_nobody_named_may_be_variants(tmp_path, files, paths, severity):
    write(tmp_path, files)
    code, out, _ = check("-o", "json", *paths, cwd=tmp_path)
    assert [(each["tags"]["rule"], each["severity"]) for each in json.loads(out)["results"]] == [("duplicate-object", severity)]
    assert code == int(severity == "error")


def test_objects_of_one_name_clash_where_the_files_are_named(tmp_path):
    write(tmp_path, {"one/a.yaml": VM, "two/b.yaml": LARGE})
    assert reported(tmp_path, "one/a.yaml", "two/b.yaml") == [("duplicate-object", "two/b.yaml")]
    assert reported(tmp_path, "one", "two/b.yaml") == [("duplicate-object", "two/b.yaml")]


def test_what_stands_in_different_folders_may_be_for_different_clusters(tmp_path):
    write(tmp_path, {"one/a.yaml": VM, "two/b.yaml": LARGE})
    assert reported(tmp_path) == []


def test_of_a_folder_with_a_kustomization_what_it_leaves_out_does_not_clash(tmp_path):
    write(tmp_path, {"a.yaml": VM, "b.yaml": LARGE, "kustomization.yaml": kustomization(resources=["c.yaml"]), "c.yaml": "{}"})
    assert DUPLICATE[0] not in reported(tmp_path)


def test_different_kubevirts_in_folders_are_of_different_clusters(tmp_path):
    vm = VM.replace("{}", "{hostDevices: [{name: gpu, deviceName: example.com/gpu}]}")
    kubevirt = (
        "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: k, namespace: NAME}\nspec: {imagePullPolicy: PULL}\n"
    )
    north, south = (kubevirt.replace("NAME", "kubevirt").replace("PULL", pull) for pull in ("Always", "Never"))
    write(tmp_path, {"vm.yaml": vm, "north/kubevirt.yaml": north})
    assert ("refused-device", "vm.yaml") in reported(tmp_path)
    write(tmp_path, {"same/kubevirt.yaml": north})
    assert ("refused-device", "vm.yaml") in reported(tmp_path)
    write(tmp_path, {"south/kubevirt.yaml": south})
    assert reported(tmp_path) == [("unknown-configuration", "vm.yaml")]


PATCH = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: Always}\n"
BASE = {"base/kustomization.yaml": kustomization(resources=["vm.yaml"]), "base/vm.yaml": VM}


def test_what_a_kustomization_leaves_out_may_be_a_patch(tmp_path):
    write(tmp_path, {**BASE, "base/p.yaml": PATCH})
    assert reported(tmp_path) == [("unused-patch", "base/p.yaml")]
    assert reported(tmp_path, ".", "base/p.yaml")[0] == ("missing-field", "base/p.yaml")
    write(tmp_path, {"other/p.yaml": PATCH})
    assert reported(tmp_path)[0] == ("missing-field", "other/p.yaml")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("patches/stop.yaml", PATCH),
        ("stop_patch.yaml", PATCH),
        ("overlays/north/stop.yaml", PATCH),
        ("stop.yaml", PATCH.replace("spec: {", "spec: {$retainKeys: [runStrategy], ")),
        ("stop.yaml", PATCH.replace("web", "other")),
        ("stop.yaml", PATCH.replace("metadata: {name: web}\n", "")),
    ],
    ids=[
        "a folder of patches",
        "its name",
        "an overlay without a kustomization",
        "a directive",
        "a complete namesake",
        "no name",
    ],
)
def test_a_part_of_an_object_is_an_info_where_something_shows_that_it_is_one(tmp_path, file, text):
    write(tmp_path, {file: text, "vm/vm.yaml": VM.replace("name: web", "name: other")})
    code, out, _ = check(".", cwd=tmp_path)
    assert code == 0
    assert out.startswith(f"info: {file}:1:1: VirtualMachine")
    assert out.endswith("; name it in a kustomization, or add what it lacks (unused-patch)\n")
    assert out.count("\n") == 1


def test_an_object_that_lacks_what_people_forget_is_no_part(tmp_path):
    write(tmp_path, {"patches/vm.yaml": BARE, "one/vm.yaml": VM, "two/vm.yaml": BARE})
    assert reported(tmp_path) == [("refused-run-strategy", "patches/vm.yaml"), ("refused-run-strategy", "two/vm.yaml")]
    write(tmp_path, {"nameless/vm.yaml": VM.replace("metadata:\n  name: web\n", "")})
    assert ("invalid-name", "nameless/vm.yaml") in reported(tmp_path)


def test_the_values_of_a_part_are_checked_but_not_its_directives(tmp_path):
    spec = "{runStrategy: Always, instancetyp: {name: x}, template: {$patch: delete, metadata: null}}"
    write(tmp_path, {"patches/p.yaml": PATCH.replace("{runStrategy: Always}", spec)})
    assert reported(tmp_path) == [("unknown-field", "patches/p.yaml"), ("unused-patch", "patches/p.yaml")]


def test_the_parts_in_one_file_are_told_once(tmp_path):
    write(tmp_path, {"patches/p.yaml": f"{PATCH}---\n{PATCH.replace('web', 'db')}"})
    said = (
        "this looks like a patch that no kustomization uses, and so does 1 more object of the file: it has no spec.template; "
    )
    assert said in check(".", cwd=tmp_path)[1]


def test_the_definition_of_a_kind_counts_where_it_is_applied(tmp_path):
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\n"
        "spec:\n  group: example.com\n  names: {kind: Shop, plural: shops}\n  scope: Namespaced\n  versions:\n"
        "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: "
        "{spec: {type: object, properties: {FIELD: {type: string}}}}}}}\n"
    )
    shop = "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: {town: Rome}\n"
    old, new = crd.replace("FIELD", "city"), crd.replace("FIELD", "town")
    write(tmp_path, {"1/crd.yaml": old, "1/shop.yaml": shop, "2/crd.yaml": new, "2/shop.yaml": shop, "3/shop.yaml": shop})
    assert reported(tmp_path) == [("unknown-field", "1/shop.yaml")]
    write(tmp_path, {"2/crd.yaml": old})
    assert reported(tmp_path) == [("unknown-field", f"{folder}/shop.yaml") for folder in (1, 2, 3)]


def test_the_files_of_a_helm_chart_are_left_alone(tmp_path):
    chart = {
        "chart/Chart.yaml": "apiVersion: v2\nname: vm\nversion: 0.1.0\n",
        "chart/templates/vm.yaml": VM.replace("web", "{{ .Release.Name }}"),
        "chart/crds/vm.yaml": BARE,
    }
    write(tmp_path, chart)
    said = "chart/templates is skipped: it contains templates of a Helm chart; to render them, use `helm template`\n"
    assert said in check("-v", ".", cwd=tmp_path)[2]
    assert reported(tmp_path) == [("chart-not-built", "chart/Chart.yaml")]
    assert reported(tmp_path, "chart/templates") == [("unrendered-template", "chart/templates/vm.yaml")]


def test_one_template_stands_for_all(tmp_path):
    write(tmp_path, {f"{name}.yaml": VM.replace("web", "{{ name }}") for name in "abc"})
    write(tmp_path, {"twice.yaml": VM.replace("{}", "{rng: {}, rng: {}}")})
    code, out, _ = check(".", cwd=tmp_path)
    fix = "{{ belongs to a template: render it first, for example with `helm template`"
    said = f"a map or list cannot be a key; expected a string; {fix}"
    assert (code, out.splitlines()) == (
        1,
        [
            "error: twice.yaml:10:28: the key 'rng' is set twice in one map (unreadable-document)",
            f"info: a.yaml:4:10: {said} (2 more files are templates) (unrendered-template)",
        ],
    )


@pytest.mark.parametrize(
    "mark", ["{{ name }}", "{% raw %}", "%%_NAME_%%", "@NAME@", "@name@", "a\n  <#if b>", "web}\n${B}\nx: {a: b", "[a, ${ B }]"]
)
def test_a_template_fails_the_run_only_where_it_is_named(tmp_path, mark):
    write(tmp_path, {"vm.yaml": VM, "template.yaml": VM.replace("web", mark)})
    assert check(".", cwd=tmp_path)[0] == 0
    assert reported(tmp_path) == [("unrendered-template", "template.yaml")]
    assert check("template.yaml", "vm.yaml", cwd=tmp_path)[0] == 1
    assert reported(tmp_path, "template.yaml", "vm.yaml") == [("unreadable-document", "template.yaml")]
    assert check(".", "--severity", "unrendered-template=off", cwd=tmp_path)[:2] == (0, "")


def test_a_mistake_beside_a_template_is_not_silenced(tmp_path):
    write(tmp_path, {"a.yaml": VM.replace("web", "{{ name }}"), "b.yaml": VM.replace("{}", "{rng: {}, rng: {}}")})
    code, _, err = check(".", "--severity", "unreadable-document=off", cwd=tmp_path)
    assert code
    assert "the key 'rng' is set twice" in err


def test_a_folder_named_templates_without_a_chart_is_read(tmp_path):
    write(tmp_path, {"templates/vm.yaml": BARE})
    assert reported(tmp_path) == [("refused-run-strategy", "templates/vm.yaml")]


def test_folders_of_package_managers_are_read_only_where_they_are_named(tmp_path):
    write(tmp_path, {"vendor/modules.txt": "# example.com/a v1.0.0\n", "vendor/a/vm.yaml": BARE})
    write(tmp_path, {"site/node_modules/a/vm.yaml": BARE, "vm.yaml": VM})
    assert reported(tmp_path) == []
    assert (
        "note: vendor is skipped: it contains other projects; to read them, name the folder"
        in check(".", "-v", cwd=tmp_path)[2]
    )
    assert reported(tmp_path, "vendor") == [("refused-run-strategy", "vendor/a/vm.yaml")]
    assert reported(tmp_path, "site/node_modules") == [("refused-run-strategy", "site/node_modules/a/vm.yaml")]


def test_a_folder_named_vendor_without_a_list_of_modules_is_read(tmp_path):
    write(tmp_path, {"vendor/vm.yaml": BARE})
    assert reported(tmp_path) == [("refused-run-strategy", "vendor/vm.yaml")]


def test_what_cannot_be_read_and_says_no_api_version_is_no_object(tmp_path):
    write(tmp_path, {"playbook.yaml": "- hosts: all\n  vars: {a: 1, a: 2}\n", "vm.yaml": VM})
    assert reported(tmp_path) == []
    assert reported(tmp_path, "playbook.yaml") == [("unreadable-document", "playbook.yaml")]
    write(tmp_path, {"vm.yaml": VM.replace("{}", "{rng: {}, rng: {}}")})
    assert reported(tmp_path) == [("unreadable-document", "vm.yaml")]


def test_what_sops_encrypts_is_not_judged(tmp_path):
    sops = "sops:\n  mac: ENC[AES256_GCM,data:aa,type:str]\n  version: 3.10.2\n"
    encrypted = VM.replace("domain:", "terminationGracePeriodSeconds: ENC[AES256_GCM,data:aa,type:int]\n      domain:")
    write(tmp_path, {"vm.yaml": encrypted + sops})
    assert reported(tmp_path) == []
    write(tmp_path, {"vm.yaml": VM + "sops: {}\n"})
    assert reported(tmp_path) == [("unknown-field", "vm.yaml")]


UNREADABLE = "/*** DO NOT USE\n\napiVersion: {}\nkind: {}\n"


@pytest.mark.parametrize(
    ("version", "kind", "severity"),
    [
        ("example.com/v1", "Policy", "info"),
        ("v1", "Secret", "error"),
        ("cdi.kubevirt.io/v1beta1", "Some", "error"),
        ("${VERSION}", "VirtualMachinePool", "error"),
        ('"kube\\x76irt.io/v1"', '"Virtual\\x4dachine"', "error"),
    ],
)
def test_what_cannot_be_read_and_is_for_another_program_is_an_info(tmp_path, version, kind, severity):
    write(tmp_path, {"vm.yaml": VM, "policy.yaml": UNREADABLE.format(version, kind)})
    code, out, _ = check(".", cwd=tmp_path)
    assert (code, out.startswith(f"{severity}: policy.yaml:")) == (int(severity == "error"), True)
    assert out.count("\n") == 1


def test_what_cannot_be_read_is_an_error_where_it_is_named(tmp_path):
    write(tmp_path, {"policy.yaml": UNREADABLE.format("example.com/v1", "Policy"), "vm.yaml": VM})
    assert check("policy.yaml", "vm.yaml", cwd=tmp_path)[0] == 1


def test_an_unreadable_document_for_another_program_stops_no_comparison(tmp_path):
    git(tmp_path, "init", "-q")
    commit(tmp_path, {"vm.yaml": VM})
    write(tmp_path, {"policy.yaml": UNREADABLE.format("example.com/v1", "Policy")})
    assert run("diff", "--base", "HEAD", cwd=tmp_path)[:2] == (0, "none of 1 VM changes\n")


@pytest.mark.parametrize("dots", ["...", "\u2026"])
def test_an_ellipsis_is_named_at_its_line(tmp_path, dots):
    write(tmp_path, {"vm.yaml": VM.replace("  template:", f"  {dots}\n  template:")})
    told = "'...' is no YAML where it stands for what was left out; write that, or delete the line (unreadable-document)"
    assert check(".", cwd=tmp_path) == (1, f"error: vm.yaml:7:3: {told}\n", "")


def test_two_overlays_of_a_base_tell_its_mistake_once(tmp_path):
    write(tmp_path, {"base/vm.yaml": VM.replace("runStrategy: Always", "running: true")})
    write(tmp_path, {"base/kustomization.yaml": kustomization(resources=["vm.yaml"])})
    for name in ("north", "south"):
        write(tmp_path, {f"{name}/kustomization.yaml": kustomization(resources=["../base"], namespace=name)})
    assert reported(tmp_path) == [("deprecated-field", "base/vm.yaml")]


def test_a_kustomization_that_a_template_makes_is_no_error(tmp_path):
    write(tmp_path, {"app/kustomization.yaml.j2": "", "vms/vm.yaml": VM, "vms/app.yaml": CLAIM})
    write(tmp_path, {"kustomization.yaml": kustomization(resources=["./app", "./vms/vm.yaml"])})
    code, out, err = check(".", cwd=tmp_path)
    made = (
        "not built: it needs app/kustomization.yaml, made from kustomization.yaml.j2; check what the step that makes it writes"
    )
    assert (code, err) == (0, "")
    assert f"warning: kustomization.yaml: {made}" in out
    assert "error: " not in out


NOT_DEPLOYED = "not deployed: the kustomization of this folder does not list the file; list it, or delete the file"


@pytest.fixture
def unlisted(tmp_path):
    """A repository with two VMs, of which the kustomization beside them lists the first one."""
    root = tree(tmp_path, {"a.yaml": VM.replace("web", "a"), "b.yaml": VM.replace("web", "b")})
    git(root, "init", "-q")
    commit(root, {"kustomization.yaml": kustomization(resources=["a.yaml"], namespace="lab")})
    return root


@pytest.mark.parametrize("command", ["check", "capacity", "explain", "render"])
def test_a_file_that_the_kustomization_beside_it_does_not_list_is_told_as_not_deployed(unlisted, command):
    code, out, err = run(command, ".", cwd=unlisted)
    told = out if command == "check" else err
    assert (code, told.count("info: b.yaml:1:1: VirtualMachine b: " + NOT_DEPLOYED)) == (0, 1)


def test_a_machine_that_is_not_deployed_is_one_of_no_command(unlisted):
    capacity = json.loads(run("capacity", ".", "-o", "json", cwd=unlisted)[1])
    explained = json.loads(run("explain", ".", "-o", "json", cwd=unlisted)[1])
    rendered = json.loads(run("render", ".", "-o", "json", cwd=unlisted)[1])
    names = [each["name"] for answer in (capacity, explained) for each in answer["vms"]]
    assert [*names, *(each["metadata"]["name"] for each in rendered["items"])] == ["a", "a", "a"]
    run("report", ".", "-o", "report.html", cwd=unlisted)
    page = (unlisted / "report.html").read_text()
    assert ("lab/a" in page, "lab/b" in page, "default/b" in page, NOT_DEPLOYED in page) == (True, False, False, True)


def test_a_file_that_becomes_listed_is_new_and_one_that_is_no_more_is_removed(unlisted):
    commit(unlisted, {"kustomization.yaml": kustomization(resources=["a.yaml", "b.yaml"], namespace="lab")})
    assert "\n1 of 2 VMs changes: 1 new\n" in run("diff", "--base", "HEAD~1", cwd=unlisted)[1]
    assert check(".", cwd=unlisted) == (0, "", "")
    write(unlisted, {"kustomization.yaml": kustomization(resources=["a.yaml"], namespace="lab")})
    assert "\n1 of 2 VMs changes: 1 removed\n" in run("diff", "--base", "HEAD", cwd=unlisted)[1]


def test_a_machine_that_is_not_deployed_is_judged_all_the_same(unlisted):
    write(unlisted, {"b.yaml": VM.replace("devices", "devises")})
    assert ("unknown-field", "b.yaml") in reported(unlisted)


def test_files_become_listed_where_their_folder_gets_a_kustomization(tmp_path):
    root = tree(tmp_path, {"a.yaml": VM.replace("web", "a"), "b.yaml": VM.replace("web", "b")})
    git(root, "init", "-q")
    commit(root, {"notes.md": ""})
    write(root, {"kustomization.yaml": kustomization(resources=["a.yaml"])})
    assert "\n1 of 2 VMs changes: 1 removed\n" in run("diff", "--base", "HEAD", cwd=root)[1]


@pytest.mark.parametrize(
    "files",
    [
        {"kustomization.yaml": "resources: [a.yaml\n"},
        {"kustomization.yaml": "Resources: [a.yaml, b.yaml]\n"},
        {"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\n"},
        {"../kustomization.yaml": "resources: [vms, vms/b.yaml]\n"},
    ],
    ids=["unreadable", "a key in other letters", "package", "another one lists it"],
)
def test_what_may_be_deployed_is_not_called_not_deployed(tmp_path, files):
    write(tmp_path, {"vms/a.yaml": VM.replace("web", "a"), "vms/b.yaml": VM.replace("web", "b")})
    git(tmp_path, "init", "-q")
    write(tmp_path, {"vms/kustomization.yaml": kustomization(resources=["a.yaml"])})
    write(tmp_path / "vms", files)
    assert "not-deployed" not in {rule for rule, _ in reported(tmp_path, "vms")}
    assert "not-deployed" not in {rule for rule, _ in reported(tmp_path / "vms")}


def test_a_size_that_no_kustomization_lists_is_still_known(unlisted):
    bare = VM.replace("        memory: {guest: 1Gi}\n", "")
    sized = bare.replace("  runStrategy", "  instancetype: {name: own}\n  runStrategy")
    write(unlisted, {"a.yaml": sized.replace("web", "a")})
    write(unlisted, {"size.yaml": SIZE})
    assert reported(unlisted) == [("not-deployed", "b.yaml")]
    assert [each["vcpus"] for each in json.loads(run("capacity", ".", "-o", "json", cwd=unlisted)[1])["vms"]] == [3]
