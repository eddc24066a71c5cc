"""Which files of folders hold objects of their own, and which parts of kustomizations change these objects."""

from pathlib import Path

import pytest
from trees import tree

from krm_fn import yamlio
from krm_fn.repositories.bases import Alteration, Bases, own_files
from krm_fn.repositories.discovery import discover

VM = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {instancetype: {name: own}}\n"
FILES = {
    "base/kustomization.yaml": "resources: [vm.yaml, both.yaml]\npatches: [{path: both.yaml}]\ncomponents: [../part]\n",
    "base/vm.yaml": VM,
    "base/both.yaml": VM.replace("web", "both"),
    "base/unused.yaml": VM.replace("web", "unused"),
    "part/kustomization.yaml": "kind: Component\nresources: [more.yaml]\npatches: [{path: patch.yaml}]\n",
    "part/more.yaml": VM.replace("web", "more"),
    "part/patch.yaml": VM.replace("web", "more").replace("own", "other"),
    "transformers/kustomization.yaml": "resources: [t.yaml]\n",
    "transformers/t.yaml": VM.replace("web", "t"),
    "top/kustomization.yaml": "resources: [../base]\ntransformers: [../transformers]\n"
    "helmCharts: [{name: c, valuesFile: v.yaml}]\n",
    "top/v.yaml": "a: 1\n",
    "top/charts/c/templates/vm.yaml": VM,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tree(tmp_path, FILES)


def test_resources_and_unused_files_are_objects_of_their_own_in_the_order_of_a_walk(here):
    files = own_files(discover(["."]), ["."])
    assert files.own == ("base/unused.yaml", "base/vm.yaml", "part/more.yaml")
    assert files.parts == (
        "base/both.yaml", "part/patch.yaml", "top/charts/c/templates/vm.yaml", "top/v.yaml", "transformers/t.yaml"
    )  # fmt: skip


def test_only_files_below_the_folders_count(here):
    assert own_files(discover(["top"]), ["top"]).own == ()
    assert own_files(discover(["base"]), ["base"]).own == ("base/unused.yaml", "base/vm.yaml")
    assert own_files(discover([str(here)]), [str(here)]).own == own_files(discover(["."]), ["."]).own


def test_no_link_leads_out_of_the_folders(here):
    outside = tree(here / "elsewhere", {"vm.yaml": VM})
    (here / "base" / "link.yaml").symlink_to(outside / "vm.yaml")
    tree(here, {"base/kustomization.yaml": "resources: [vm.yaml, link.yaml]\n"})
    assert "base/link.yaml" not in own_files(discover(["base"]), ["base"]).own
    assert "base/link.yaml" in own_files(discover(["base"]), ["base"], follow=True).own


def change(file):
    return Bases(discover(["."]).targets).change(file, yamlio.read_value(Path(file).read_text()))


def test_a_patch_of_a_component_changes_what_the_component_brings(here):
    (here / "transformers/t.yaml").write_text(
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\ntarget: {name: x}\n"
    )
    tree(here, {"top/kustomization.yaml": "resources: [../base]\ntransformers: [../transformers/t.yaml]\n"})
    assert change("part/more.yaml") == Alteration("part/patch.yaml", "VirtualMachine", "more")
    assert change("base/vm.yaml") is None
    assert change("base/unused.yaml") is None


def test_what_a_folder_of_transformers_does_is_not_known(here):
    assert change("base/vm.yaml") == Alteration("transformers", "VirtualMachine", "web")


def test_a_preference_that_is_patched_changes_the_vms_that_name_it(here):
    tree(
        here,
        {
            "base/vm.yaml": VM.replace("spec: {", "spec: {preference: {kind: VirtualMachinePreference, name: p}, "),
            "top/kustomization.yaml": "resources: [../base]\npatches: [{path: p.yaml}]\n",
            "top/p.yaml": "kind: VirtualMachinePreference\nmetadata: {name: p}\nspec: {}\n",
        },
    )
    assert change("base/vm.yaml") == Alteration("top/p.yaml", "VirtualMachinePreference", "p")
