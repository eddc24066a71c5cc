"""`render --output-dir`: which files it writes, which it removes, and what it never touches."""

import os
from pathlib import Path

import pytest
from checking import run
from test_render_folders import CONFIG_MAP, OVERLAY, REPOSITORY, VM
from trees import tree

from krm_fn.base.errors import InputError
from krm_fn.cli import output_dir

LIST = ".kubevirt-render-output"
FILES = ["loose/map.yaml", "overlays/north/base/vm.yaml", "overlays/south/base/vm.yaml"]


@pytest.fixture
def here(tmp_path, monkeypatch, kustomize):
    """A repository, and the newest kustomize on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tree(tmp_path / "repo", REPOSITORY)


pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)


def write(root, *words):
    return run("render", *(words or (".",)), "--output-dir", "out", cwd=root)


def found(folder):
    """The texts of all files below a folder, but for the list."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != LIST)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def notes(*lines):
    return "".join(f"kubevirt-render: note: {line}\n" for line in lines)


def test_there_is_a_file_for_each_target_and_source_file(here):
    assert write(here) == (0, "", notes(*(f"out/{file}: written" for file in FILES)))
    files = found(here / "out")
    assert list(files) == FILES
    assert files["loose/map.yaml"].decode() == CONFIG_MAP
    assert b"guest: 2Gi" in files["overlays/north/base/vm.yaml"]
    assert b"guest: 8Gi" in files["overlays/south/base/vm.yaml"]


def test_a_second_run_writes_nothing_and_does_not_read_the_folder(here):
    write(here)
    before = {file: (here / "out" / file).stat().st_ino for file in FILES}
    assert write(here) == (0, "", "")
    assert {file: (here / "out" / file).stat().st_ino for file in FILES} == before


def test_rendering_the_folder_again_changes_nothing(here):
    write(here)
    assert run("render", "out", "--output-dir", "again", cwd=here)[0] == 0
    assert found(here / "again") == found(here / "out")
    assert run("render", ".", "--output-dir", "../other", "-j", "1", "--exclude", "again", "--exclude", "out", cwd=here)[0] == 0
    assert found(here.parent / "other") == found(here / "out")


def test_the_layout_does_not_depend_on_the_working_directory(here):
    write(here)
    (here.parent / "elsewhere").mkdir()
    assert (
        run("render", str(here), "--exclude", f"../{here.name}/out", "--output-dir", "o", cwd=here.parent / "elsewhere")[0] == 0
    )
    assert found(here.parent / "elsewhere" / "o") == found(here / "out")


def test_what_is_no_longer_made_is_removed_and_named_with_its_empty_folders(here):
    write(here)
    (here / "loose" / "map.yaml").unlink()
    (here / "overlays/south/kustomization.yaml").write_text("resources: [own.yaml]\n")
    tree(here, {"overlays/south/own.yaml": VM})
    (here / "overlays/south/size.yaml").unlink()
    assert write(here) == (
        0,
        "",
        notes(
            "out/overlays/south/own.yaml: written", "out/loose/map.yaml: removed", "out/overlays/south/base/vm.yaml: removed"
        ),
    )
    assert list(found(here / "out")) == ["overlays/north/base/vm.yaml", "overlays/south/own.yaml"]
    assert not (here / "out" / "loose").exists()
    assert (here / "out" / LIST).read_text().endswith("files:\n- overlays/north/base/vm.yaml\n- overlays/south/own.yaml\n")


def test_a_file_of_somebody_else_stays_and_is_never_replaced(here):
    tree(here, {"out/overlays/mine.yaml": "mine\n", "out/README": "mine\n"})
    assert write(here)[0] == 0
    tree(here, {"overlays/mine.yaml": CONFIG_MAP, "zzz/new.yaml": CONFIG_MAP})
    before = found(here / "out")
    code, out, err = write(here)
    assert (code, out) == (1, "")
    assert err == (
        "kubevirt-render: error: out/overlays/mine.yaml: kubevirt-render did not write this file, so it is not replaced; "
        "remove it, or name another --output-dir\n"
    )
    assert found(here / "out") == before
    assert before["overlays/mine.yaml"] == b"mine\n"


def test_a_file_that_somebody_removed_or_changed_is_written_again(here):
    write(here)
    (here / "out/loose/map.yaml").unlink()
    (here / "out/overlays/north/base/vm.yaml").write_text("mine\n")
    assert write(here)[2] == notes("out/loose/map.yaml: written", "out/overlays/north/base/vm.yaml: written")


@pytest.mark.parametrize("link", ["loose", "loose/map.yaml", LIST])
def test_no_link_is_followed_out_of_the_folder(here, link):
    write(here)
    outside = tree(here.parent / "outside", {"map.yaml": "theirs\n"})
    place = here / "out" / link
    if link == "loose":
        (place / "map.yaml").unlink()
        place.rmdir()
        place.symlink_to(outside)
    else:
        place.unlink()
        place.symlink_to(outside / "map.yaml")
    code, out, err = write(here)
    assert (code, out) == (1, "")
    assert err.startswith(f"kubevirt-render: error: out/{link}: ")
    assert "symbolic link" in err or "no list" in err
    assert found(outside) == {"map.yaml": b"theirs\n"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind: [\n",
        "files: [loose/map.yaml]\n",
        "version: 2\nfiles: []\n",
        "version: 1\nfiles: {a: b}\n",
        "version: 1\nfiles: [../vm.yaml]\n",
        "version: 1\nfiles: [/etc/x.yaml]\n",
        "version: 1\nfiles: [.git/config.yaml]\n",
        "version: 1\nfiles: [a//b.yaml]\n",
        "version: 1\nfiles: [main.py]\n",
        "version: 1\nfiles: [1]\n",
        "version: 1\nfiles: []\n---\nversion: 1\nfiles: []\n",
    ],
)
def test_a_list_that_is_not_ours_stops_it(here, text):
    tree(here, {f"out/{LIST}": text, "out/main.py": "mine", "vm.yaml": VM})
    code, out, err = write(here)
    assert (code, out) == (1, "")
    assert err == (
        f"kubevirt-render: error: out/{LIST}: this is no list of files that kubevirt-render wrote; remove it and these files, "
        "or name another --output-dir\n"
    )
    assert found(here / "out") == {"main.py": b"mine"}


def test_a_finding_at_or_above_fail_on_writes_nothing(here):
    write(here)
    before = found(here / "out")
    tree(here, {"overlays/north/size.yaml": (here / "overlays/north/size.yaml").read_text().replace("small", "smal")})
    code, out, err = write(here)
    assert (code, out) == (1, "")
    assert "unresolved-instancetype" in err
    assert err.endswith("kubevirt-render: note: out: nothing is written, because of the findings above\n")
    assert found(here / "out") == before


def test_what_was_written_of_a_target_that_can_not_be_built_now_stays(here):
    write(here)
    before = found(here / "out")
    tree(here, {"overlays/south/kustomization.yaml": OVERLAY.format("south").replace("../../base", "https://example.com/x")})
    assert write(here, ".", "--severity", "kustomization-not-built=warning")[0] == 0
    assert found(here / "out") == before
    tree(here, {"overlays/south/kustomization.yaml": OVERLAY.format("south")})
    assert write(here) == (0, "", "")


def test_a_target_that_can_not_be_built_does_not_keep_the_others_from_being_written(here):
    write(here)
    before = found(here / "out")
    broken = OVERLAY.format("south").replace("../../base", "absent.yaml")
    tree(here, {"overlays/south/kustomization.yaml": broken, "loose/map.yaml": CONFIG_MAP.replace("ConfigMap", "Secret")})
    code, out, err = write(here)
    assert (code, out) == (1, "")
    assert "overlays/south/kustomization.yaml" in err.splitlines()[0]
    assert err.endswith("kubevirt-render: note: out/loose/map.yaml: written\n")
    assert found(here / "out") == {**before, "loose/map.yaml": CONFIG_MAP.replace("ConfigMap", "Secret").encode()}


def test_what_was_written_of_targets_that_include_one_another_now_stays(here):
    write(here)
    before = found(here / "out")
    circle = "resources: [../{}]\n"
    for one, other in (("north", "south"), ("south", "north")):
        tree(here, {f"overlays/{one}/kustomization.yaml": circle.format(other)})
    assert write(here)[0] == 1
    assert before.items() <= found(here / "out").items()


def test_objects_that_no_file_holds_get_files_of_their_own(here):
    more = "configMapGenerator: [{name: made, literals: [a=b], options: {disableNameSuffixHash: true}}]\n"
    tree(here, {"overlays/north/kustomization.yaml": OVERLAY.format("north") + more})
    assert write(here, "overlays/north", "--instances", "include")[0] == 0
    assert list(found(here / "out")) == ["base/vm.yaml", "configmap_north_made.yaml", "virtualmachineinstance_north_web.yaml"]


def test_a_revision_is_in_the_file_of_the_vm_that_needs_it(here):
    assert write(here, ".", "--mode", "snapshot")[0] == 0
    text = found(here / "out")["overlays/north/base/vm.yaml"].decode()
    assert text.index("kind: ControllerRevision") < text.index("kind: VirtualMachine\n")


def test_two_sources_never_share_a_file(here):
    tree(
        here,
        {
            "overlays/north/kustomization.yaml": OVERLAY.format("north").replace("base]", "base, base/vm.yaml, data.json]"),
            "overlays/north/base/vm.yaml": VM.replace("web", "twin"),
            "overlays/north/data.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}',
        },
    )
    assert write(here)[0] == 0
    files = found(here / "out")
    assert [file for file in files if "north" in file] == [
        "overlays/north/base/vm-2.yaml", "overlays/north/base/vm.yaml", "overlays/north/data.yaml"
    ]  # fmt: skip
    assert b"name: twin" in files["overlays/north/base/vm.yaml"]
    assert b"name: web" in files["overlays/north/base/vm-2.yaml"]


def test_a_run_that_is_ended_loses_track_of_no_file(here, monkeypatch):
    tree(here, {"loose/zap.yaml": CONFIG_MAP})

    def interrupted(*_):
        raise InputError("no")

    monkeypatch.setattr(output_dir.OutputDir, "_remove", interrupted)
    write(here)
    (here / "loose/map.yaml").unlink()
    assert write(here) == (1, "", "kubevirt-render: error: no\n")
    monkeypatch.undo()
    assert write(here, "loose")[0] == 0
    assert list(found(here / "out")) == ["zap.yaml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((".", "--output-dir", "."), "--output-dir: . contains ., which is read; name another folder"),
        (("overlays", "--output-dir", "."), "--output-dir: . contains overlays, which is read; name another folder"),
        ((".", "--output-dir", "base/vm.yaml"), "--output-dir: base/vm.yaml is not a folder; name a folder"),
        ((".", "--output-dir", "out", "--in-place"), "--output-dir writes YAML files; remove it or --in-place"),
        ((".", "--output-dir", "out", "-o", "json"), "--output-dir writes YAML files; remove it or -o"),
    ],
)
def test_wrong_usage_is_named(here, words, message):
    before = found(here)
    assert run("render", *words, cwd=here) == (2, "", f"kubevirt-render: error: {message}\n")
    assert found(here) == before


def test_a_folder_that_is_a_link_out_of_the_repository_is_refused(here):
    (here.parent / "outside").mkdir()
    (here / "out").symlink_to(here.parent / "outside")
    code, _, err = write(here)
    assert (code, err) == (
        2,
        "kubevirt-render: error: --output-dir: out is a symbolic link out of the repository; name its target instead\n",
    )


def test_stdin_is_written_by_the_names_of_its_objects(here):
    text = VM.replace("name: web", "name: web\n  namespace: shop")
    assert run("render", "-", "--output-dir", "out", cwd=here, stdin=text)[0] == 0
    assert list(found(here / "out")) == ["virtualmachine_shop_web.yaml"]
