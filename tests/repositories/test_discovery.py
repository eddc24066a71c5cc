"""What is found in folders: targets, the files that none of them uses, and what can't be built."""

import pickle
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import tree

from krm_fn.base.globs import Globs
from krm_fn.repositories.discovery import discover

VM = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"
PAIR = {
    "base/kustomization.yaml": "resources: [vm.yaml]",
    "base/vm.yaml": VM,
    "overlays/north/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml}]",
    "overlays/north/patch.yaml": VM,
    "overlays/south/kustomization.yml": "bases: [../../base]",
    "other.yaml": VM,
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(found):
    return [target.name for target in found.targets]


def test_what_another_one_uses_is_no_target(here):
    tree(here, PAIR)
    found = discover(["."])
    assert names(found) == ["overlays/north", "overlays/south"]
    assert found.files == ("other.yaml",)
    assert found.targets[0].kustomizations == ("overlays/north", "base")
    assert found.targets[0].inputs == (
        "base/kustomization.yaml",
        "base/vm.yaml",
        "overlays/north/kustomization.yaml",
        "overlays/north/patch.yaml",
    )
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_base_alone_is_a_target(here):
    tree(here, {**PAIR, "alone/Kustomization": "resources: [a.yaml]", "alone/a.yaml": VM})
    assert names(discover(["alone"])) == ["alone"]
    assert names(discover(["base"])) == ["base"]
    assert names(discover([str(here / "alone")])) == ["alone"]


def test_a_kustomization_above_the_folder_is_read_and_no_target(here):
    tree(here, PAIR)
    found = discover(["overlays/north"])
    assert names(found) == ["overlays/north"]
    assert "base/vm.yaml" in found.targets[0].inputs
    assert found.targets[0].problem is None


def test_a_component_is_no_target(here):
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: patch.yaml}]"
    tree(here, {"comp/kustomization.yaml": component, "comp/patch.yaml": VM})
    found = discover(["."])
    assert (found.targets, found.files) == ((), ())


def test_of_a_component_that_nothing_builds_only_the_resources_are_files(here):
    component = "kind: Component\nresources: [vm.yaml, both.yaml]\npatches: [{path: patch.yaml}, {path: both.yaml}]"
    tree(
        here, {"comp/kustomization.yaml": component, **dict.fromkeys(("comp/vm.yaml", "comp/patch.yaml", "comp/both.yaml"), VM)}
    )
    found = discover(["."])
    assert (found.targets, found.files) == ((), ("comp/vm.yaml",))


def test_a_circle_is_one_problem_and_the_rest_goes_on(here):
    circle = {"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]"}
    tree(here, {**PAIR, **circle})
    found = discover(["."])
    assert names(found) == ["a", "overlays/north", "overlays/south"]
    assert found.targets[0].kustomizations == ("a", "b")
    assert [(each.file, each.reason, each.detail) for each in [target.problem for target in found.targets] if each] == [
        ("a/kustomization.yaml", "cycle", "a > b > a")
    ]


def test_a_target_that_leads_into_a_circle_has_the_problem(here):
    tree(here, {"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../b]"})
    found = discover(["."])
    assert [(target.name, target.problem.reason, target.problem.detail) for target in found.targets] == [
        ("a", "cycle", "b > b"),
    ]


def test_kustomizations_that_have_one_another_built_very_often_are_not_built(here):
    tree(here, {f"{name}{level}/kustomization.yaml": included(level, name) for level in range(13) for name in "ab"})
    tree(here, {f"{name}13/vm.yaml": VM for name in "ab"})
    assert discover(["a2", "b2"]).targets[0].problem is None
    problem = discover(["."]).targets[0].problem
    assert (problem.file, problem.reason) == ("a0/kustomization.yaml", "repeated")
    assert problem.detail == "kustomizations, more than 5,000 times"


def included(level: int, name: str) -> str:
    if level == 12:
        return f"resources: [../{name}13/vm.yaml]"
    return f"namePrefix: {name}\nresources: [../a{level + 1}, ../b{level + 1}]"


def test_a_large_file_that_is_read_very_often_is_not_built(here):
    entries = "".join(f"- {{name: c{number}, files: [large.txt]}}\n" for number in range(40))
    tree(here, {"kustomization.yaml": f"resources: [vm.yaml]\nconfigMapGenerator:\n{entries}", "vm.yaml": VM})
    (here / "large.txt").write_text("a" * 400_000)
    assert discover(["."]).targets[0].problem is None
    (here / "large.txt").write_text("a" * 500_000)
    problem = discover(["."]).targets[0].problem
    assert (problem.reason, problem.detail) == ("repeated", "files, more than 16,000,000 bytes in all")


def test_kustomizations_in_a_very_long_row_are_not_built(here):
    tree(here, {f"{number}/kustomization.yaml": f"resources: [../{number + 1}]" for number in range(64)})
    tree(here, {"64/kustomization.yaml": "resources: [vm.yaml]", "64/vm.yaml": VM})
    assert discover(["1"]).targets[0].problem is None
    problem = discover(["."]).targets[0].problem
    assert (problem.file, problem.reason, problem.detail) == ("0/kustomization.yaml", "deep", "64")


def test_a_remote_base_is_found_at_its_place(here):
    tree(
        here, {"a/kustomization.yaml": "resources:\n  - ../b", "b/kustomization.yaml": "resources:\n  - https://u:pw@x.org/a\n"}
    )
    problem = discover(["."]).targets[0].problem
    assert (problem.file, problem.reason, problem.line, problem.column) == ("b/kustomization.yaml", "remote", 2, 5)
    assert problem.detail == "a URL with a password"


def test_what_leads_out_of_the_repository_is_not_read(here, monkeypatch):
    tree(here, {"base/kustomization.yaml": "resources: [vm.yaml]", "repo/a/kustomization.yaml": "resources: [../../base]"})
    (here / "repo" / ".git").mkdir()
    (here / "repo" / "link").symlink_to("../base")
    tree(here, {"repo/b/kustomization.yaml": "resources: [../link]"})
    monkeypatch.chdir(here / "repo")
    found = discover(["."])
    assert [(target.name, target.problem.reason) for target in found.targets] == [("a", "outside"), ("b", "outside")]


def test_a_path_through_a_link_to_a_file_outside_leads_outside(here, monkeypatch):
    chart = "{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: c}, name: x, chartHome: link.yaml}"
    tree(here, {"secret.yaml": "a: b\n", "repo/a/kustomization.yaml": f"generators: ['{chart}']\n"})
    (here / "repo/.git").mkdir()
    (here / "repo/a/link.yaml").symlink_to(here / "secret.yaml")
    monkeypatch.chdir(here / "repo")
    (target,) = discover(["."]).targets
    assert (target.problem.reason, target.problem.detail) == ("outside", "a/link.yaml/x")


def test_a_link_leads_to_the_same_kustomization(here):
    tree(here, {"base/kustomization.yaml": "resources: [vm.yaml]", "base/vm.yaml": VM})
    tree(here, {"a/kustomization.yaml": "resources: [base]\npatches: [{path: p.yaml}]", "common/p.yaml": VM})
    (here / "a" / "base").symlink_to("../base")
    (here / "a" / "p.yaml").symlink_to("../common/p.yaml")
    found = discover(["."])
    assert (names(found), found.files) == (["a"], ())


def test_an_object_of_flux_is_a_plain_file(here):
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./apps}\n"
    tree(here, {"flux/kustomization.yaml": flux, "apps/vm.yaml": VM})
    found = discover(["."])
    assert (found.targets, found.files) == ((), ("apps/vm.yaml", "flux/kustomization.yaml"))


def test_a_kustomization_that_is_no_yaml_is_a_problem_of_its_target(here):
    tree(here, {"a/kustomization.yaml": "resources: [\n", "a/vm.yaml": VM})
    found = discover(["."])
    assert [(target.name, target.problem.reason) for target in found.targets] == [("a", "unreadable")]
    assert found.targets[0].problem.line


def test_hidden_folders_have_no_targets_but_bases(here):
    tree(here, {".base/kustomization.yaml": "resources: [vm.yaml]", ".base/vm.yaml": VM})
    tree(here, {"a/kustomization.yaml": "resources: [../.base]"})
    found = discover(["."])
    assert (names(found), found.targets[0].kustomizations) == (["a"], ("a", ".base"))
    assert ".base/vm.yaml" in found.targets[0].inputs


def test_all_that_is_in_folders_of_charts_and_plugins_is_used(here):
    tree(here, {"a/kustomization.yaml": "helmCharts: [{name: web}]\ntransformers: [tools]"})
    tree(here, {"a/charts/web/Chart.yaml": "name: web", "a/charts/web/values.yaml": "a: b", "a/tools/t.yaml": VM})
    tree(here, {"chart/Chart.yaml": "name: x", "chart/values.yaml": "a: b", "chart/templates/x.yaml": "{{ a }}"})
    tree(here, {"chart/crds/c.yaml": VM, "chart/vm.yaml": VM})
    found = discover(["."])
    assert found.files == ("chart/vm.yaml",)
    assert found.folders == ("chart/templates",)
    assert {"a/charts/web/values.yaml", "a/tools/t.yaml"} <= set(found.targets[0].inputs)


@pytest.mark.parametrize(("key", "reason"), [("namespace", None), ("namePrefix", "made")])
def test_a_namespace_of_transformers_changes_nothing_that_they_name(here, key, reason):
    space = "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: all, namespace: x}\n"
    tree(here, {"a/kustomization.yaml": "resources: [vm.yaml]\ntransformers: [tools]", "a/vm.yaml": VM})
    tree(here, {"a/tools/kustomization.yaml": f"{key}: vms\nresources: [space.yaml]", "a/tools/space.yaml": space})
    problem = discover(["."]).targets[0].problem
    assert (problem and problem.reason) == reason


def covered(*globs):
    """What is true of the files that one of the globs covers."""
    return lambda file: bool(Globs(globs).covering(file.strip("/")))


def test_an_excluded_one_is_no_target_but_builds_for_others(here):
    tree(here, {**PAIR, "testdata/x.yaml": VM})
    found = discover(["."], excludes=covered("base", "**/testdata/**", "overlays/south"))
    assert names(found) == ["overlays/north"]
    assert "base/vm.yaml" in found.targets[0].inputs
    assert found.excluded == ("overlays/south/kustomization.yml", "testdata/x.yaml")


def test_what_only_an_excluded_one_uses_is_not_judged_by_itself(here):
    tree(here, {"a/kustomization.yaml": "resources: [../base]\npatches: [{path: ../p.yaml}]", "p.yaml": VM})
    tree(here, {"base/kustomization.yaml": "resources: [vm.yaml]", "base/vm.yaml": VM})
    found = discover(["."], excludes=covered("a"))
    assert (names(found), found.files) == (["base"], ())


FOLDERS = ("a", "b", "b/c", "d/testdata")
FILES = ("kustomization.yaml", "vm.yaml", "patch.yaml", "Chart.yaml")
PLACES = st.sampled_from([f"{folder}/{name}" for folder in FOLDERS for name in FILES])
REFERENCES = st.sampled_from(["vm.yaml", "patch.yaml", "../a", "../b", "c", "..", "../d/testdata", "../a/vm.yaml", "gone.yaml"])
KEYS = ("resources", "components", "patchesStrategicMerge", "transformers")
KUSTOMIZATIONS = st.dictionaries(st.sampled_from(KEYS), st.lists(REFERENCES, max_size=3), max_size=3)
GLOBS = st.lists(st.sampled_from(["**/testdata/**", "a", "b/*", "**/vm.yaml", "?", "[!a]/kustomization.yaml"]), max_size=2)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(PLACES, KUSTOMIZATIONS, max_size=8), GLOBS)
def test_each_file_is_used_or_left_out_or_left(files, globs):
    with tempfile.TemporaryDirectory() as name:
        texts = {file: VM if file.endswith(("vm.yaml", "patch.yaml")) else str(obj) for file, obj in files.items()}
        tree(Path(name), texts)
        is_excluded = covered(*(f"{name.strip('/')}/{glob}" for glob in globs))
        found = discover([name], excludes=is_excluded)
        all_files = sorted(f"{name}/{file}" for file in files)
        used = sorted(file for file in all_files if file in found.used)
        assert sorted((*used, *found.excluded, *found.files)) == all_files
        inputs = {file for target in found.targets for file in target.inputs}
        assert inputs.isdisjoint((*found.excluded, *found.files))
        included = {folder for target in found.targets for folder in target.kustomizations[1:] if not target.problem}
        assert included.isdisjoint(target.folder for target in found.targets)
        live = {file.rpartition("/")[0] for file in used if file.endswith("kustomization.yaml") and not is_excluded(file)}
        reached = {folder for target in found.targets for folder in target.kustomizations}
        assert live <= reached
