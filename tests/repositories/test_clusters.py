"""The settings of targets: the configs of a repository, its clusters, and what of them counts for which target."""

import pickle

import pytest

from krm_fn.base.errors import ConfigError
from krm_fn.base.external import External
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories.clusters import Configs

HEAD = "kind: RenderVirtualMachines\nspec:\n"
CLUSTERS = """\
  severity: {null-item: "off", duplicate-object: warning}
  external: [{kind: Secret}]
  kustomizeBuildFlags: ["--load-restrictor=LoadRestrictionsNone"]
  clusters:
  - name: north
    targets: ["clusters/north/*", "infrastructure"]
    exclude: ["clusters/north/old"]
    kubevirtVersion: "1.7"
    severity: {duplicate-object: info}
    external: [{kind: DataSource}]
  - name: south
    targets:
    - clusters/south
    - clusters/suth
    kubevirtVersion: "1.9"
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for folder in ("clusters/north/apps", "clusters/north/old", "clusters/south/apps", "infrastructure", "other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, text, head=HEAD):
    (folder / ".kubevirt-render.yaml").write_text(head + text)


def test_the_globs_of_a_named_config_outside_of_the_repository_start_here(repository, tmp_path_factory):
    outside = tmp_path_factory.mktemp("runner")
    for folder in (outside, repository.parent):
        write(folder, CLUSTERS)
        found = Configs(["."], file=str(folder / ".kubevirt-render.yaml")).settings_for("clusters/north/apps")
        assert (found.cluster, found.config.severity["duplicate-object"]) == ("north", "info")
    (repository.parent / ".kubevirt-render.yaml").unlink()


def test_the_globs_of_a_named_config_in_the_repository_start_in_its_folder(repository):
    write(repository / "other", CLUSTERS)
    named = Configs(["."], file="other/.kubevirt-render.yaml")
    assert (named.settings_for("clusters/south/apps").cluster, named.settings_for("other/clusters/south/x").cluster) == (
        "",
        "south",
    )


def test_without_a_config_the_defaults_count(repository):
    found = Configs(["."]).settings_for("other")
    assert (found.config, found.cluster, found.external, found.build_flags, found.file) == (Config(), "", (), (), "")


def test_each_target_has_the_settings_of_its_cluster(repository):
    write(repository, CLUSTERS)
    configs = Configs(["."])
    north, south, other = map(configs.settings_for, ("clusters/north/apps", "clusters/south/apps", "other"))
    assert [each.cluster for each in (north, south, other)] == ["north", "south", ""]
    assert [each.config.release for each in (north, south, other)] == [
        Release(version=(1, 7, 4)),
        Release(version=(1, 9, 0)),
        None,
    ]
    assert north.config.severity == {"null-item": "off", "duplicate-object": "info"}
    assert south.config.severity == other.config.severity == {"null-item": "off", "duplicate-object": "warning"}
    assert north.external == (External(kind="Secret"), External(kind="DataSource"))
    assert other.external == (External(kind="Secret"),)
    assert {each.build_flags for each in (north, south, other)} == {("--load-restrictor=LoadRestrictionsNone",)}
    assert {each.file for each in (north, south, other)} == {".kubevirt-render.yaml"}


def test_a_clusters_exclude_takes_targets_out_of_it(repository):
    write(repository, CLUSTERS)
    assert Configs(["."]).settings_for("clusters/north/old").cluster == ""


def test_the_nearest_config_beats_the_cluster_and_flags_beat_all(repository):
    write(repository, CLUSTERS)
    nearest = "  kubevirtVersion: 1.8.4\n  external: [{kind: ConfigMap}]\n  kustomizeBuildFlags: []\n"
    write(repository / "clusters/north/apps", nearest)
    found = Configs(["."]).settings_for("clusters/north/apps")
    assert (found.config.release, found.cluster) == (Release(version=(1, 8, 4)), "north")
    assert found.config.severity == {"null-item": "off", "duplicate-object": "info"}
    assert found.external == (External(kind="Secret"), External(kind="DataSource"), External(kind="ConfigMap"))
    assert (found.build_flags, found.file) == ((), "clusters/north/apps/.kubevirt-render.yaml")
    release = Release(version=(1, 4, 1))
    flagged = Configs(["."], flags=lambda config: config.but(release=release)).settings_for("clusters/north/apps")
    assert flagged.config == found.config.but(release=release)


def test_without_clusters_the_nearest_config_counts_alone(repository):
    write(repository, "  failOn: warning\n  external: [{kind: Secret}]\n")
    write(repository / "clusters", "  severity: {null-item: info}\n")
    found = Configs(["."]).settings_for("clusters/north/apps")
    assert (found.config, found.external) == (Config(severity={"null-item": "info"}), ())


def test_targets_with_the_same_settings_share_them(repository):
    write(repository, CLUSTERS)
    configs = Configs(["."])
    assert configs.settings_for("clusters/north/apps") is configs.settings_for("infrastructure")


def test_a_target_in_two_clusters_is_an_error(repository):
    write(repository, CLUSTERS.replace("clusters/suth", "clusters/north"))
    with pytest.raises(ConfigError) as caught:
        Configs(["."]).settings_for("clusters/north/apps")
    assert str(caught.value) == (
        ".kubevirt-render.yaml:15:5: spec.clusters[1].targets: clusters/north/apps belongs to two clusters, north and south; "
        "change the targets of one of them, or add an exclude"
    )


def test_a_glob_that_matches_nothing_is_named_with_its_place(repository):
    write(repository, CLUSTERS)
    configs = Configs(["."])
    for target in ("clusters/north/apps", "clusters/south/apps", "infrastructure"):
        configs.settings_for(target)
    (found,) = configs.unmatched()
    assert (found.glob, found.cluster, found.path) == ("clusters/suth", "south", ("spec", "clusters", 1, "targets", 1))
    assert (found.file, found.line, found.column) == (".kubevirt-render.yaml", 16, 7)


def test_a_run_over_a_part_of_the_repository_misses_no_targets(repository):
    write(repository, CLUSTERS)
    configs = Configs(["clusters/north"])
    configs.settings_for("clusters/north/apps")
    assert configs.unmatched() == ()


@pytest.mark.parametrize("folder", ["clusters", "clusters/north/apps"])
def test_clusters_stand_only_at_the_root(repository, folder):
    write(repository / folder, "  clusters:\n  - {name: a, targets: [b]}\n")
    with pytest.raises(ConfigError) as caught:
        Configs(["."]).settings_for("clusters/north/apps")
    assert str(caught.value) == (
        f"{folder}/.kubevirt-render.yaml:4:3: spec.clusters: clusters stand only in the config at the root of the repository; "
        "move them there"
    )


def test_outside_of_a_repository_the_topmost_path_is_the_root(repository):
    (repository / ".git").rmdir()
    write(repository, CLUSTERS)
    assert Configs(["."]).settings_for("clusters/north/apps").cluster == "north"
    assert Configs(["clusters", "."]).settings_for("clusters/north/apps").cluster == "north"
    assert Configs(["clusters"]).settings_for("clusters/north/apps") == Configs().settings_for("other")


def test_a_named_config_is_the_only_one(repository):
    write(repository, "  failOn: never\n")
    (repository / "ci.yaml").write_text(HEAD + CLUSTERS)
    found = Configs(["."], file="ci.yaml").settings_for("clusters/south/apps")
    assert (found.cluster, found.config.fail_on, found.file) == ("south", "error", "ci.yaml")
    isolated = Configs(["."], file="ci.yaml", isolated=True).settings_for("clusters/south/apps")
    assert isolated == found


def test_in_isolation_only_flags_count(repository):
    write(repository, "  failOn: never\n  exclude: [other]\n")
    configs = Configs(["."], isolated=True, exclude=["infra*"], flags=lambda config: config.but(fail_on="warning"))
    assert configs.settings_for("other").config == Config(fail_on="warning")
    assert [configs.excludes(path) for path in ("other", "infrastructure/a.yaml")] == [False, True]


def test_excludes_of_all_configs_above_a_path_count(repository):
    write(repository, '  exclude: ["**/old/**"]\n')
    write(repository / "clusters", '  exclude: ["south/*.yaml"]\n')
    configs = Configs(["."])
    excluded = ["clusters/north/old", "clusters/north/old/vm.yaml", "clusters/south/vm.yaml"]
    kept = ["clusters/north", "clusters/south/apps/vm.yaml", "south/vm.yaml", "."]
    assert [configs.excludes(path) for path in excluded] == [True] * 3
    assert [configs.excludes(path) for path in kept] == [False] * 4
    assert configs.excludes(str(repository / excluded[1]))


def test_what_is_wrong_is_named_with_file_line_and_path(repository):
    write(repository, CLUSTERS.replace("kubevirtVersion: '1.9'", "kubevirtVersio: '1.9'").replace('"1.9"', '"1.99"'))
    with pytest.raises(ConfigError) as caught:
        Configs(["."]).settings_for("other")
    assert str(caught.value).startswith(".kubevirt-render.yaml:17:5: spec.clusters[1].kubevirtVersion: ")


def test_a_config_that_is_a_link_out_of_the_repository_is_refused(repository, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "config.yaml"
    outside.write_text(HEAD)
    (repository / ".kubevirt-render.yaml").symlink_to(outside)
    for call in (Configs(["."]).settings_for, Configs(["."]).excludes):
        with pytest.raises(ConfigError, match="this symbolic link points outside the repository"):
            call("other/apps")


def test_settings_travel_to_other_processes(repository):
    write(repository, CLUSTERS)
    found = Configs(["."]).settings_for("clusters/north/apps")
    assert pickle.loads(pickle.dumps(found)) == found
