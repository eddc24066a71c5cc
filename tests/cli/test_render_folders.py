"""`render` of folders with kustomizations: targets are built and rendered, each with its settings; stdout has all of them."""

import json
import os
from pathlib import Path

import pytest
from checking import run
from trees import tree

from krm_fn import yamlio
from krm_fn.base import programs

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
  name: own
spec:
  cpu:
    guest: {}
  memory:
    guest: 2Gi
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap   # mine\nmetadata: {name: other}\n"
OVERLAY = "resources: [../../base]\nnamespace: {}\npatches: [{{path: size.yaml}}]\n"
REPOSITORY = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": VM,
    "overlays/north/kustomization.yaml": OVERLAY.format("north"),
    "overlays/north/size.yaml": SIZE_PATCH.format("u1.small"),
    "overlays/south/kustomization.yaml": OVERLAY.format("south"),
    "overlays/south/size.yaml": SIZE_PATCH.format("u1.large"),
    "loose/map.yaml": CONFIG_MAP,
}


@pytest.fixture
def here(tmp_path, monkeypatch, kustomize):
    """A repository, and the newest kustomize on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)


def render(root, *words, **more):
    return run("render", *(words or (".",)), cwd=root, **more)


def sizes(out):
    """Namespace, name and memory of each VM of a stream."""
    vms = [item for item in yamlio.read_stream(out.encode()).items if item["kind"] == "VirtualMachine"]
    return [
        (
            each["metadata"].get("namespace", ""),
            each["metadata"]["name"],
            each["spec"]["template"]["spec"]["domain"].get("memory", {}).get("guest"),
        )
        for each in vms
    ]


def test_each_target_is_built_and_rendered_and_other_files_keep_their_text(here):
    code, out, err = render(here)
    assert (code, err) == (0, "")
    assert sizes(out) == [("north", "web", "2Gi"), ("south", "web", "8Gi")]
    assert out.endswith("---\n" + CONFIG_MAP)


def test_the_output_does_not_depend_on_the_number_of_processes_and_rendering_it_again_changes_nothing(here):
    found = [render(here, ".", "--jobs", jobs) for jobs in ("1", "2")]
    assert found[0] == found[1]
    assert render(here, "-", stdin=found[0][1]) == (0, found[0][1], "")


def test_nothing_of_a_build_is_lost(here):
    tree(
        here,
        {
            "overlays/north/kustomization.yaml": OVERLAY.format("north")
            + "configMapGenerator: [{name: made, literals: [a=b]}]\ncomponents: [../../part]\n",
            "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [map.yaml]\n",
            "part/map.yaml": CONFIG_MAP,
        },
    )
    built = programs.finished(
        programs.find("kustomize"), ["build", str(here / "overlays/north")], environment=dict(os.environ), timeout=60
    ).out

    def names(text):
        return sorted((item["kind"], item["metadata"]["name"]) for item in yamlio.read_stream(text).items)

    assert names(render(here, "overlays/north")[1].encode()) == names(built)


def test_a_finding_names_its_targets_and_leads_to_the_source_and_stdout_stays_empty(here):
    tree(here, {"base/vm.yaml": VM.replace("devices: {}", "devices: {}\n        cpu: {cores: 2}")})
    code, out, err = render(here)
    assert (code, out) == (1, "")
    places = [line.split(": ")[2] for line in err.splitlines()]
    assert places == ["base/vm.yaml:13:22"] * len(places)
    assert "[targets overlays/north and overlays/south]" in err or err.count("[target overlays/") == 2, err


def test_a_target_that_is_not_built_is_an_error_unless_a_flag_says_otherwise(here):
    tree(here, {"far/kustomization.yaml": "resources: ['https://example.com/base.yaml', own.yaml]\n", "far/own.yaml": VM})
    code, out, err = render(here)
    assert (code, out) == (1, "")
    assert err.startswith("kubevirt-render: error: far/kustomization.yaml:1:13: not built: it refers to https://example.com/")
    code, out, err = render(here, ".", "--severity", "kustomization-not-built=warning")
    assert (code, len(sizes(out))) == (0, 2)
    assert err.startswith("kubevirt-render: warning: far/kustomization.yaml")
    assert render(here, ".", "--exclude", "far")[::2] == (0, "")


def test_without_kustomize_nothing_is_printed(here):
    code, out, err = render(here, PATH=os.fspath(here))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "not built: neither kustomize nor kubectl is on the PATH" in err
    assert "[targets overlays/north and overlays/south]" in err


def test_each_target_has_the_settings_of_its_cluster(here):
    tree(
        here,
        {
            ".kubevirt-render.yaml": "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"
            "  clusters:\n  - {name: up, targets: [overlays/north], kubevirtVersion: '1.4', provenance: true}\n"
            "  - {name: down, targets: [overlays/south], mode: validate}\n"
        },
    )
    code, out, err = render(here)
    assert code == 0, err
    north, south, _ = yamlio.read_stream(out.encode()).items
    assert any("kubevirt-render.dev/" in key for key in north["metadata"]["annotations"])
    assert south["spec"]["instancetype"] == {"name": "u1.large"}


def test_a_target_uses_the_instancetypes_of_other_targets_and_not_one_of_several(here):
    tree(
        here,
        {
            "types/kustomization.yaml": "resources: [size.yaml]\n",
            "types/size.yaml": SIZE.format(2),
            "overlays/north/size.yaml": SIZE_PATCH.format("own"),
        },
    )
    code, out, err = render(here)
    assert (code, err) == (0, "")
    assert sizes(out) == [("north", "web", "2Gi"), ("south", "web", "8Gi")]
    tree(here, {"others/kustomization.yaml": "resources: [size.yaml]\n", "others/size.yaml": SIZE.format(3)})
    code, out, err = render(here)
    assert "ambiguous-reference" in err
    assert ("north", "web", None) in sizes(out)


def test_files_of_different_folders_that_no_kustomization_uses_are_told_apart(here):
    tree(here, {f"loose/{name}/vm.yaml": VM.replace("u1.medium", "own") for name in ("a", "b")})
    tree(here, {f"loose/{name}/size.yaml": SIZE.format(cpus) for name, cpus in (("a", 2), ("b", 4))})
    code, out, err = render(here, "loose", "--exclude", "nothing")
    assert code == 1  # one bundle, as long as no kustomization is there
    assert "duplicate-object" in err
    code, out, err = render(here)
    assert (code, err) == (0, "")
    cpus = [
        each["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"]
        for each in yamlio.read_stream(out.encode()).items
        if each["kind"] == "VirtualMachine" and "namespace" not in each["metadata"]
    ]
    assert cpus == [2, 4]


def test_two_variants_in_one_folder_are_printed_unless_they_decide_how_vms_are_rendered(here):
    quota = CONFIG_MAP.replace("ConfigMap", "ResourceQuota")  # of foreign kinds, nobody tells variants
    tree(here, {f"loose/{name}.yaml": quota.replace("other}", f"variant, labels: {{a: {name}}}}}") for name in ("a", "b")})
    code, out, err = render(here)
    assert code == 0
    assert out.count("name: variant") == 2
    assert err.startswith("kubevirt-render: warning: loose/b.yaml")
    tree(here, {f"loose/size{cpus}.yaml": SIZE.format(cpus) for cpus in (2, 4)})
    code, out, err = render(here)
    assert (code, out) == (1, "")
    assert "error: loose/size4.yaml" in err


@pytest.mark.parametrize("output", ["json", "resourcelist"])
def test_other_outputs_have_the_objects_of_all_targets(here, output):
    code, out, err = render(here, ".", "-o", output)
    assert (code, err) == (0, "")
    items = json.loads(out)["items"] if output == "json" else yamlio.read_stream(out.encode()).items[0]["items"]
    assert [each["metadata"]["name"] for each in items] == ["web", "web", "other"]


def test_patches_belong_to_one_kustomization(here):
    code, out, err = render(here, ".", "-o", "patch")
    assert (code, out) == (1, "")
    assert err == (
        "kubevirt-render: error: patches belong to one kustomization, but VMs change in overlays/north and overlays/south; "
        "name one of them\n"
    )
    code, out, err = render(here, "overlays/north", "-o", "patch")
    assert (code, err) == (0, "")
    assert yamlio.read_value(out)[0]["target"]["name"] == "web"


def test_files_stdin_and_builds_can_be_named_beside_a_folder(here):
    tree(here, {"mine.txt": VM})
    code, out, err = render(here, "overlays", "mine.txt", "-", "-k", "overlays/north", stdin=CONFIG_MAP)
    assert (code, err) == (0, "")
    assert sizes(out) == [
        ("north", "web", "2Gi"), ("south", "web", "8Gi"), ("", "web", "4Gi"), ("north", "web", "2Gi")
    ]  # fmt: skip


def test_a_document_that_is_no_object_is_left_out_and_an_unreadable_object_stops_it(here):
    tree(here, {"loose/play.yaml": "- hosts: {{ all }}\n  tasks: [\n"})
    code, out, err = render(here)
    assert (code, len(sizes(out))) == (0, 2), err
    tree(here, {"loose/broken.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: [\n"})
    code, out, err = render(here, ".", "--fail-on", "never")
    assert (code, out) == (1, "")
    assert "unreadable-document" in err


def test_verbose_names_what_is_used_of_others(here):
    tree(
        here,
        {
            "types/kustomization.yaml": "resources: [size.yaml]\n",
            "types/size.yaml": SIZE.format(2),
            "overlays/north/size.yaml": SIZE_PATCH.format("own"),
        },
    )
    err = render(here, ".", "-v")[2]
    assert "note: overlays/north: VirtualMachineClusterInstancetype own comes from target types\n" in err
    assert "note: overlays/south: the target release is KubeVirt 1.9.0\n" in err


BROKEN = '{"a": 1, "b" 2}'  # as the settings of other tools are, which allow more than JSON


@pytest.fixture
def plain(here):
    """A folder without kustomizations, with a file of another tool."""
    return tree(here / "plain", {"vm.yaml": CONFIG_MAP, "ui/settings.json": BROKEN})


def test_files_of_other_tools_stop_no_folder_whether_it_has_kustomizations_or_not(plain):
    assert render(plain) == (0, CONFIG_MAP, "")
    tree(plain, {"kustomization.yaml": "resources: [vm.yaml]\n"})
    assert render(plain)[0::2] == (0, "")


@pytest.mark.parametrize(
    ("words", "text"), [(("vm.yaml", "ui/settings.json"), BROKEN), ((".",), BROKEN.replace("a", "apiVersion"))]
)
def test_a_broken_file_that_is_named_or_has_objects_stops_the_rendering(plain, words, text):
    tree(plain, {"ui/settings.json": text})
    code, out, err = render(plain, *words)
    assert (code, out) == (1, "")
    assert "ui/settings.json:1:" in err


def test_in_place_leaves_the_broken_files_of_other_tools_as_they_are(plain):
    tree(plain, {"vm.yaml": VM})
    assert render(plain, "--in-place", ".")[0] == 0
    assert (plain / "ui/settings.json").read_text() == BROKEN
    assert "u1.medium" not in (plain / "vm.yaml").read_text()
