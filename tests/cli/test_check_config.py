"""The command's own config: `.kubevirt-render.yaml`, in the repository of the paths."""

import os
import threading

import pytest
from checking import CONFLICT, SIZE, check, run, write

CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: render}\nspec: {%s}\n"
QUIET = CONFIG % "severity: {instancetype-conflict: info}"


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "shop" / "vms").mkdir(parents=True)
    write(tmp_path / "repo" / "shop" / "vms", all=f"{SIZE}---\n{CONFLICT}")
    return tmp_path / "repo"


def config(folder, text):
    (folder / ".kubevirt-render.yaml").write_text(text)


def code(*arguments, cwd, **more):
    return run("check", *arguments, cwd=cwd, **more)[0]


def test_the_config_in_the_root_counts_for_paths_below(repository):
    config(repository, QUIET)
    for paths, cwd in ((["shop"], repository), (["all.yaml"], repository / "shop" / "vms"), ([str(repository)], "/")):
        assert code(*paths, cwd=cwd) == 0


def test_the_nearest_counts(repository):
    config(repository, QUIET)
    config(repository / "shop", CONFIG % "failOn: error")
    assert code("shop/vms/all.yaml", cwd=repository) == 1


def test_a_config_above_the_repository_does_not_count(repository):
    config(repository.parent, QUIET)
    assert code("shop", cwd=repository) == 1


@pytest.mark.parametrize(("places", "expected"), [([], 1), (["shop/vms"], 0), (["shop", "."], 1)])
def test_outside_of_a_repository_only_the_folder_of_the_path_counts(tmp_path, places, expected):
    """Whoever may write into /tmp would else decide about everything below it."""
    folder = tmp_path / "shop" / "vms"
    folder.mkdir(parents=True)
    write(folder, all=f"{SIZE}---\n{CONFLICT}")
    for place in places:
        config(tmp_path / place, QUIET)
    for path in ("vms", "vms/all.yaml"):
        assert code(path, cwd=folder.parent) == expected
    assert code("-", cwd=folder, stdin=f"{SIZE}---\n{CONFLICT}") == expected


def test_a_flag_and_a_named_config_beat_it(repository):
    config(repository, QUIET)
    (repository / "loud.yaml").write_text(CONFIG % "failOn: info")
    assert code("--severity", "instancetype-conflict=error", "shop", cwd=repository) == 1
    (repository / "loud.yaml").write_text(CONFIG % "severity: {instancetype-conflict: error}")
    assert code("--config", "loud.yaml", "shop", cwd=repository) == 1


def test_verbose_says_which_config_counts(repository):
    config(repository, QUIET)
    _, _, err = run("check", "-v", "all.yaml", cwd=repository / "shop" / "vms")
    used = "kubevirt-render: note: the target release is KubeVirt 1.9.0\n"
    assert err == f"kubevirt-render: note: the config is {repository}/.kubevirt-render.yaml\n{used}"
    _, _, err = run("check", "-v", "shop", cwd=repository)
    assert err == f"kubevirt-render: note: the config is .kubevirt-render.yaml\n{used}"


def test_it_counts_for_rendering_and_for_stdin_too(repository):
    config(repository, CONFIG % "mode: validate")
    text = f"{SIZE}---\n" + CONFLICT.replace("cpu: {cores: 4}", "machine: {type: q35}")
    assert run("render", "-", cwd=repository / "shop", stdin=text)[1] == text


def test_the_config_of_a_resource_list_beats_it(repository):
    config(repository, CONFIG % "mode: nonsense")
    listing = "kind: ResourceList\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, data: {mode: validate}}\nitems:\n- %s"
    text = listing % SIZE.replace("\n", "\n  ").rstrip(" ")
    assert run("render", "-", "-o", "resourcelist", cwd=repository, stdin=text)[:2] == (0, text)


CLUSTERS = CONFIG % (
    "severity: {instancetype-conflict: info}, clusters: ["
    "{name: north, targets: [shop/vms], severity: {instancetype-conflict: error}}, {name: south, targets: [south]}]"
)


def test_the_cluster_of_the_path_counts(repository):
    config(repository, CLUSTERS)
    (repository / "south").mkdir()
    write(repository / "south", all=f"{SIZE}---\n{CONFLICT}")
    assert [code(path, cwd=repository) for path in ("shop/vms", "shop/vms/all.yaml", "south")] == [1, 1, 0]
    (repository / "named.yaml").write_text(CLUSTERS)
    assert [code("--config", "named.yaml", path, cwd=repository) for path in ("shop/vms", "south")] == [1, 0]
    config(repository / "shop", CONFIG % "severity: {instancetype-conflict: warning}")
    assert code("shop/vms", cwd=repository) == 0
    (repository / "shop" / ".kubevirt-render.yaml").unlink()
    assert run("check", "shop/vms", "south", cwd=repository)[0] == 1
    assert run("check", "shop/vms/all.yaml", "south/all.yaml", cwd=repository) == (
        2,
        "",
        "kubevirt-render: error: the paths belong to different clusters, north and south; name those of one cluster\n",
    )


def test_the_keys_of_a_repository_are_no_keys_of_a_function_config(repository):
    own = "{apiVersion: kubevirt-render.dev/v1alpha1, kind: RenderVirtualMachines, spec: {clusters: []}}"
    items = "items:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n"
    done = run("check", "-", cwd=repository, stdin=f"kind: ResourceList\nfunctionConfig: {own}\n{items}")
    assert done[0] == 2
    assert "spec.clusters: unknown key; expected one of mode, " in done[2]


def test_paths_of_two_repositories_need_a_choice(repository):
    config(repository, QUIET)
    config(repository / "shop", QUIET)
    write(repository, size=SIZE.replace("small", "large"))
    assert run("check", "shop", "size.yaml", cwd=repository) == (
        2,
        "",
        (
            "kubevirt-render: error: the paths have different configs, shop/.kubevirt-render.yaml and "
            ".kubevirt-render.yaml; name one with --config\n"
        ),
    )


def test_what_is_wrong_in_it_is_named_with_the_file(repository):
    config(repository, CONFIG % "mode: chek")
    assert run("check", "shop", cwd=repository)[2].startswith(
        "kubevirt-render: error: .kubevirt-render.yaml:4:8: spec.mode: found 'chek'; "
    )


@pytest.mark.parametrize("given", ["nosuch.yaml", "../no such/file", "cpuModel"])
def test_a_configuration_that_is_no_file_and_no_map_is_named_as_a_file(repository, given):
    code, out, err = check("--configuration", given, ".", cwd=repository)
    assert (code, out) == (2, "")
    said = f"there is no file {given}; expected a file, or YAML such as '{{cpuModel: host-model}}'"
    assert err == f"kubevirt-render: error: --configuration: {said}\n"


def test_a_configuration_may_come_through_a_pipe(repository):
    pipe = repository / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_text, args=("{cpuModle: host-model}",))
    writing.start()
    assert "cpuModle" in check("--configuration", str(pipe), ".", cwd=repository)[2]
    writing.join()


def test_one_that_cannot_be_read_is_an_error(repository):
    (repository / ".kubevirt-render.yaml").symlink_to("absent.yaml")
    said = "kubevirt-render: error: .kubevirt-render.yaml: No such file or directory\n"
    assert run("check", "shop", cwd=repository) == (2, "", said)


def test_a_folder_that_holds_it_is_checked_without_it(repository):
    config(repository, QUIET)
    assert "2 objects of 1 file" in run("check", "--summary", ".", cwd=repository)[1]
