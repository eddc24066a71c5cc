"""`migrate` takes the release from the configs, for each file: that of its cluster, of several clusters the oldest."""

import pytest
from checking import run
from trees import tree

HEAD = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n"
CLUSTERS = f"""\
{HEAD}  clusters:
    - {{name: north, targets: [north], kubevirtVersion: "1.3"}}
    - {{name: south, targets: [south], kubevirtVersion: "1.9"}}
"""
# releases before 1.4 do not know what replaces this field
OLD = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: efi}
spec: {firmware: {preferredUseEfi: true}}
"""
KUBEVIRT = (
    "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\nspec: {imageTag: v1.3.1}\n"
)
REPOSITORY = {
    ".kubevirt-render.yaml": CLUSTERS,
    "base/kustomization.yaml": "resources: [both.yaml]\n",
    "base/both.yaml": OLD,
    "north/kustomization.yaml": "resources: [../base, own.yaml]\n",
    "north/own.yaml": OLD,
    "south/kustomization.yaml": "resources: [../base, own.yaml]\n",
    "south/own.yaml": OLD,
    "loose/own.yaml": OLD,
}


@pytest.fixture
def here(tmp_path):
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


def changed(root, *words):
    """The files that would change."""
    code, _, err = run("migrate", *words, "--check", cwd=root)
    files = [line.split(": ")[2] for line in err.splitlines() if line.endswith(": would change")]
    assert code == int(bool(files)), err
    return files


def test_a_base_is_migrated_for_the_oldest_cluster_that_uses_it(here):
    assert changed(here, ".") == ["loose/own.yaml", "south/own.yaml"]


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("base", []),
        ("base/both.yaml", []),
        ("north", []),
        ("south", ["south/own.yaml"]),
        ("loose/own.yaml", ["loose/own.yaml"]),
    ],
)
def test_the_clusters_count_that_use_what_is_named_alone(here, path, files):
    assert changed(here, path) == files


def test_without_the_older_cluster_the_base_is_for_the_newer_one(here):
    (here / "north/kustomization.yaml").write_text("resources: [own.yaml]\n")
    assert changed(here, "base") == ["base/both.yaml"]


def test_a_flag_beats_the_configs(here):
    assert changed(here, ".", "--kubevirt-version", "1.3") == []
    assert changed(here, "north", "--kubevirt-version", "1.9") == ["north/own.yaml"]


def test_isolated_no_config_counts(here):
    assert changed(here, "north", "--isolated") == ["north/own.yaml"]


def test_the_config_that_a_flag_names_is_the_only_one(here):
    tree(here, {"other.yaml": f'{HEAD}  kubevirtVersion: "1.3"\n'})
    assert changed(here, ".", "--config", "other.yaml") == []


def test_stdin_has_the_config_of_this_folder(here):
    assert run("migrate", "-", cwd=here / "south", stdin=OLD)[1] != OLD
    assert run("migrate", "-", cwd=here / "north", stdin=OLD)[1] == OLD


def test_the_kubevirt_object_of_the_cluster_names_the_release(here):
    without = CLUSTERS.replace(', kubevirtVersion: "1.3"', "").replace(', kubevirtVersion: "1.9"', "")
    platform = {"north/platform.yaml": KUBEVIRT, "north/kustomization.yaml": "resources: [../base, own.yaml, platform.yaml]\n"}
    assert changed(tree(here, {".kubevirt-render.yaml": without, **platform}), ".") == ["loose/own.yaml", "south/own.yaml"]


def test_of_several_kubevirt_objects_the_nearest_names_the_release(here):
    (here / ".kubevirt-render.yaml").unlink()
    newer = KUBEVIRT.replace("v1.3.1", "v1.9.0")
    found = tree(here, {"north/platform/kubevirt.yaml": KUBEVIRT, "south/platform/kubevirt.yaml": newer})
    assert changed(found, ".") == ["south/own.yaml"]  # what is loose may be for either


def test_severity_and_fail_on_of_the_config_count(here):
    tree(
        here,
        {"south/own.yaml": "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstancePreset\nmetadata: {name: a}\nspec: {}\n"},
    )
    code, _, err = run("migrate", "south", cwd=here)
    assert (code, "warning: " in err) == (0, True)
    for more in ("failOn: warning", "severity: {not-migrated: error}"):
        tree(here, {"south/.kubevirt-render.yaml": f"{HEAD}  {more}\n"})
        assert run("migrate", "south", cwd=here)[0] == 1
    tree(here, {"south/.kubevirt-render.yaml": f'{HEAD}  severity: {{not-migrated: "off"}}\n'})
    assert run("migrate", "south", cwd=here)[2] == ""
