"""`init`: the first config of a repository, written or printed."""

import pytest
from checking import run, write

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
    message = f"{NAME} exists; --force overwrites it, --stdout only prints the new one"
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
