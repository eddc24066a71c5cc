"""`init`: the first config of a repository, written or printed."""

import os
from pathlib import Path

import pytest
from checking import run, write
from trees import tree

from krm_fn import yamlio

NAME = ".kubevirt-render.yaml"
KUBEVIRT = """\
apiVersion: v1
kind: List
items:
- apiVersion: kubevirt.io/v1
  kind: KubeVirt
  metadata: {name: kubevirt, namespace: kubevirt}
  spec: {configuration: {developerConfiguration: {featureGates: [Snapshot]}}}
  status: {observedKubeVirtVersion: v1.8.1}
"""


@pytest.fixture
def repository(tmp_path):
    for name in ("north", "south"):
        (tmp_path / "clusters" / name).mkdir(parents=True)
        write(tmp_path / "clusters" / name, kustomization="resources: []\n")
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_it_writes_a_config_and_says_so(repository):
    assert run("init", cwd=repository) == (0, "", f"kubevirt-render: note: wrote {NAME}\n")
    assert "- name: south\n    targets:\n    - clusters/south\n" in (repository / NAME).read_text()


def test_it_overwrites_only_if_told(repository):
    (repository / NAME).write_text("kind: x\n")
    message = f"{NAME} exists; --from adds the settings of a cluster, --force overwrites it, --stdout only prints the new one"
    assert run("init", cwd=repository) == (2, "", f"kubevirt-render: error: {message}\n")
    assert (repository / NAME).read_text() == "kind: x\n"
    assert run("init", "--force", cwd=repository)[0] == 0
    assert "north" in (repository / NAME).read_text()


def test_it_excludes_test_data_where_there_is_some(repository):
    run("init", cwd=repository)
    assert '# exclude: ["**/testdata/**"]' in (repository / NAME).read_text()
    (repository / "pkg" / "testdata").mkdir(parents=True)
    write(repository / "pkg" / "testdata", vm="kind: VirtualMachine\n")
    run("init", "--force", cwd=repository)
    assert '\n  exclude: ["**/testdata/**"]\n' in (repository / NAME).read_text()


@pytest.mark.parametrize("arguments", [["-"], ["--stdout"], [".", "--stdout"]])
def test_it_prints_what_it_would_write(repository, arguments):
    code, out, err = run("init", *arguments, cwd=repository)
    assert (code, err, (repository / NAME).exists()) == (0, "", False)
    run("init", cwd=repository)
    assert (repository / NAME).read_text() == out


def test_it_takes_the_settings_of_a_cluster_from_stdin_or_a_file(repository):
    write(repository, cluster=KUBEVIRT)
    code, out, _ = run("init", "--stdout", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    assert (code, run("init", "--stdout", "--from", "cluster.yaml", cwd=repository)[1]) == (0, out)
    assert 'kubevirtVersion: "1.8.1"' in out
    assert "      featureGates:\n      - Snapshot\n" in out


def test_what_is_no_cluster_is_refused_and_nothing_is_written(repository):
    code, out, err = run("init", "--from", "-", cwd=repository, stdin="kind: Secret\napiVersion: v1\n")
    assert (code, out, (repository / NAME).exists()) == (1, "", False)
    assert err.startswith("kubevirt-render: error: no KubeVirt and no HyperConverged object found; ")


def test_an_unknown_release_is_said(repository):
    _, _, err = run("init", "--stdout", "--from", "-", cwd=repository, stdin=KUBEVIRT.replace("v1.8.1", "v9.9.9"))
    assert err == "kubevirt-render: note: the objects name no known KubeVirt release; set kubevirtVersion\n"


def test_below_the_root_it_names_no_clusters(repository):
    (repository / "sub" / "clusters" / "a").mkdir(parents=True)
    (repository / "sub" / "clusters" / "b").mkdir(parents=True)
    for name in "ab":
        write(repository / "sub" / "clusters" / name, vm="{}\n")
    assert run("init", "sub", cwd=repository)[0] == 0
    assert "clusters" not in (repository / "sub" / NAME).read_text()


def test_the_folder_must_be_one(repository):
    assert run("init", "nosuch", cwd=repository)[0] == 2


def test_a_link_out_of_the_repository_is_not_written(repository, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "file"
    (repository / NAME).symlink_to(outside)
    assert run("init", "--force", cwd=repository)[0] == 1
    assert not outside.exists()


def test_the_written_config_counts(repository):
    run("init", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    write(repository / "clusters" / "north", secret="apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
    _, _, err = run("check", "-v", "clusters", cwd=repository)
    assert "the target release is KubeVirt 1.8.1" in err


def test_the_schema_of_the_config_is_printed_and_completed(repository):
    code, out, _ = run("schema", "repository-config", cwd=repository)
    assert (code, '"clusters"' in out) == (0, True)
    code, out, err = run("schema", "repositry-config", cwd=repository)
    assert (code, out, err.rstrip().endswith("did you mean repository-config")) == (2, "", True)


OBJECT = """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {imageTag: v1.8.1, configuration: {cpuModel: Skylake}}
"""


@pytest.fixture
def built(repository, monkeypatch, kustomize):
    """Clusters whose KubeVirt objects are patched by kustomizations."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    patch = OBJECT.replace("v1.8.1, configuration: {cpuModel: Skylake}", "v1.7.0")
    return tree(
        repository,
        {
            "base/kustomization.yaml": "resources: [kubevirt.yaml]\n",
            "base/kubevirt.yaml": OBJECT,
            "clusters/north/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml}]\n",
            "clusters/north/patch.yaml": patch,
            "clusters/south/kustomization.yaml": "resources: [../../base]\n",
        },
    )


def of_clusters(text):
    return {each["name"]: each for each in yamlio.read_value(text)["spec"]["clusters"]}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_the_objects_of_the_repository_name_the_release_of_each_cluster(built):
    found = of_clusters(run("init", "-", cwd=built)[1])
    assert {name: each["kubevirtVersion"] for name, each in found.items()} == {"north": "1.7.0", "south": "1.8.1"}
    assert not any("configuration" in each for each in found.values())  # each run reads it


def test_what_is_in_the_folders_of_no_cluster_is_stated_for_all(repository):
    _, out, _ = run("init", "-", cwd=tree(repository, {"infrastructure/kubevirt.yaml": OBJECT}))
    spec = yamlio.read_value(out)["spec"]
    assert (spec["kubevirtVersion"], spec["configuration"]) == ("1.8.1", {"cpuModel": "Skylake"})
    assert "# From infrastructure/kubevirt.yaml, which is in the folders of no cluster:" in out


def test_folders_of_the_same_names_elsewhere_belong_to_the_clusters(repository):
    platform = {f"platform/{name}/kubevirt.yaml": OBJECT for name in ("north", "south")}
    found = of_clusters(run("init", "-", cwd=tree(repository, platform))[1])
    assert found["north"]["targets"] == ["clusters/north", "platform/north"]
    assert found["north"]["kubevirtVersion"] == "1.8.1"


def test_without_clusters_the_object_names_the_release(tmp_path):
    (tmp_path / ".git").mkdir()
    spec = yamlio.read_value(run("init", "-", cwd=tree(tmp_path, {"platform/kubevirt.yaml": OBJECT}))[1])["spec"]
    assert spec == {"kubevirtVersion": "1.8.1"}


def test_the_name_of_a_file_adds_no_line(tmp_path):
    (tmp_path / ".git").mkdir()
    out = run("init", "-", cwd=tree(tmp_path, {"a\n  failOn: never\n  #/kubevirt.yaml": OBJECT}))[1]
    assert yamlio.read_value(out)["spec"] == {"kubevirtVersion": "1.8.1"}
    assert '  # From "a\\n  failOn: never\\n  #/kubevirt.yaml":\n' in out


def test_of_different_objects_for_one_cluster_nothing_is_taken(repository):
    files = {"clusters/north/a.yaml": OBJECT, "clusters/north/b.yaml": OBJECT.replace("1.8.1", "1.7.0")}
    assert "kubevirtVersion" not in of_clusters(run("init", "-", cwd=tree(repository, files))[1])["north"]


EXISTING = """\
# ours
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  severity: {unused-revision: "off"}  # for now
  clusters:
  # the old one
  - name: north
    targets: ["clusters/north"]
    kubevirtVersion: "1.7"  # since May
    configuration:
      developerConfiguration:
        featureGates:
        - Sidecar  # gone
      machineType: q35
      cpuModel: Penryn
  - name: south
    targets:
    - clusters/south
"""


def test_a_dump_is_merged_into_the_cluster_and_the_text_stays(repository):
    write(repository)
    (repository / NAME).write_text(EXISTING)
    assert run("init", "--cluster", "north", "--from", "-", cwd=repository, stdin=KUBEVIRT)[0] == 0
    changes = {'"1.7"  # since May': '"1.8.1"  # since May', "Sidecar  # gone": "Snapshot"}
    expected = EXISTING.replace("      machineType: q35\n      cpuModel: Penryn\n", "")
    for old, new in changes.items():
        expected = expected.replace(old, new)
    assert (repository / NAME).read_text().replace("Snapshot  # gone", "Snapshot") == expected


def test_a_second_merge_changes_nothing(repository):
    (repository / NAME).write_text(EXISTING)
    words = ("init", "--cluster", "south", "--from", "-")
    run(*words, cwd=repository, stdin=KUBEVIRT)
    once = (repository / NAME).read_text()
    run(*words, cwd=repository, stdin=KUBEVIRT)
    assert ((repository / NAME).read_text(), of_clusters(once)["south"]["kubevirtVersion"]) == (once, "1.8.1")


def test_without_a_cluster_a_dump_is_for_all(repository):
    (repository / NAME).write_text(EXISTING)
    run("init", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    assert yamlio.read_value((repository / NAME).read_text())["spec"]["kubevirtVersion"] == "1.8.1"


def test_a_cluster_that_only_the_folders_show_is_added(repository):
    (repository / NAME).write_text(EXISTING.partition("  - name: south")[0])
    run("init", "--cluster", "south", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    found = of_clusters((repository / NAME).read_text())["south"]
    assert (found["targets"], found["kubevirtVersion"]) == (["clusters/south"], "1.8.1")


def test_a_new_config_has_the_dump_in_its_cluster(repository):
    run("init", "--cluster", "south", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    found = of_clusters((repository / NAME).read_text())
    assert (found["south"]["kubevirtVersion"], "kubevirtVersion" in found["north"]) == ("1.8.1", False)
    assert found["south"]["configuration"] == {"developerConfiguration": {"featureGates": ["Snapshot"]}}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (EXISTING, "there is no cluster east, and no folder that shows it; expected one of north or south"),
        ("", "there is no cluster east, and no folder that shows it; expected one of north or south"),
        ("kind: [\n", "kubevirt-render: error: .kubevirt-render.yaml:2:1: "),
        (EXISTING.replace("severity", "sverity"), "spec.sverity"),
    ],
)
def test_what_can_not_be_merged_is_refused_and_the_file_stays(repository, config, message):
    if config:
        (repository / NAME).write_text(config)
    code, _, err = run("init", "--cluster", "east", "--from", "-", cwd=repository, stdin=KUBEVIRT)
    assert (code, message in err) == (2, True), err
    assert not config or (repository / NAME).read_text() == config
    assert config or not (repository / NAME).exists()


def test_a_cluster_needs_a_dump(repository):
    assert run("init", "--cluster", "north", cwd=repository)[0] == 2
