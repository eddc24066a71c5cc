"""`migrate` of folders with kustomizations, `--check` and `--diff`."""

import subprocess

import pytest
from checking import run
from test_render_folders import VM
from trees import tree

OLD = VM.replace("runStrategy: Always", "running: true   # since forever")
NEW = OLD.replace("running: true", "runStrategy: Always")
PATCH = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {running: false}\n"
REPOSITORY = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": OLD,
    "north/kustomization.yaml": "resources: [../base]\npatches: [{path: run.yaml}]\n",
    "north/run.yaml": PATCH,
    "loose.yaml": OLD.replace("web", "loose"),
    "values.yaml": "a: 1\n",
}
LEFT = "kubevirt-render: note: 1 file is left alone: kustomizations use it as a patch or another part; --verbose names it\n"
PATCHED = (
    "kubevirt-render: note: base/vm.yaml: VirtualMachine web: north/run.yaml changes this object and is not migrated; "
    "check it for old forms\n"
)


@pytest.fixture
def here(tmp_path):
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


def migrate(root, *words, **more):
    return run("migrate", *(words or (".",)), cwd=root, **more)


def texts(root):
    return {file.relative_to(root).as_posix(): file.read_text() for file in root.rglob("*") if file.is_file()}


def test_resources_are_migrated_and_patches_are_not(here):
    code, out, err = migrate(here)
    assert (code, out) == (0, NEW + "---\n" + NEW.replace("web", "loose"))
    assert err == LEFT + PATCHED


def test_in_place_writes_the_resources_in_their_own_files(here):
    code, out, err = migrate(here, ".", "--in-place")
    assert (code, out) == (0, "")
    assert err.endswith("note: base/vm.yaml: written\nkubevirt-render: note: loose.yaml: written\n")
    changed = {"base/vm.yaml": NEW, "loose.yaml": NEW.replace("web", "loose")}
    assert texts(here) == {**REPOSITORY, **changed}
    assert migrate(here, ".", "--check") == (0, "", LEFT)


def test_check_names_what_would_change_and_writes_nothing(here):
    code, out, err = migrate(here, ".", "--check")
    assert (code, out) == (1, "")
    assert err.endswith("note: base/vm.yaml: would change\nkubevirt-render: note: loose.yaml: would change\n")
    assert texts(here) == REPOSITORY


def test_check_is_silent_where_nothing_would_change(tmp_path):
    tree(tmp_path, {"vm.yaml": NEW})
    assert migrate(tmp_path, ".", "--check", "--diff") == (0, "", "")


def test_a_diff_is_what_patch_takes(here):
    (here / "loose.yaml").write_bytes(OLD.replace("web", "loose").rstrip("\n").encode())
    code, out, _ = migrate(here, ".", "--diff")
    assert code == 0
    assert "--- a/base/vm.yaml\n+++ b/base/vm.yaml\n" in out
    assert "-  running: true   # since forever\n+  runStrategy: Always   # since forever\n" in out
    subprocess.run(["patch", "-p1", "--quiet"], input=out.encode(), cwd=here, check=True)
    assert texts(here)["base/vm.yaml"] == NEW
    assert texts(here)["loose.yaml"] == NEW.replace("web", "loose").rstrip("\n")


def test_a_diff_of_the_last_line_says_that_no_newline_ends_it(tmp_path):
    text = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: w}\nspec:\n"
    text += "  template: {spec: {domain: {}}}\n  running: true"
    tree(tmp_path, {"vm.yaml": text})
    _, out, _ = migrate(tmp_path, ".", "--diff")
    assert out.endswith(
        "-  running: true\n\\ No newline at end of file\n+  runStrategy: Always\n\\ No newline at end of file\n"
    )
    subprocess.run(["patch", "-p1", "--quiet"], input=out.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "vm.yaml").read_text() == text.replace("running: true", "runStrategy: Always")


def test_check_and_diff_go_together(here):
    code, out, err = migrate(here, "base", "--check", "--diff")
    assert code == 1
    assert out.startswith("--- a/base/vm.yaml\n")
    assert err.endswith("note: base/vm.yaml: would change\n")


def test_a_terminal_gets_colours_unless_they_are_not_wanted(here):
    out = migrate(here, "base", "--diff", tty=True)[1]
    assert "\x1b[31m-  running: true   # since forever\x1b[0m\n" in out
    assert "\x1b" not in migrate(here, "base", "--diff", tty=True, NO_COLOR="1")[1]
    assert "\x1b" not in migrate(here, "base", "--diff")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((".", "--check", "--in-place"), "--check writes no files; remove it or --in-place"),
        ((".", "--diff", "--in-place"), "--diff writes no files; remove it or --in-place"),
        (("-", "--check"), "--check needs files, but stdin and builds have no file to write to; remove --check"),
        (("-k", "base", "--diff"), "--diff needs files, but stdin and builds have no file to write to; remove --diff"),
    ],
)
def test_wrong_usage_is_named(here, words, message):
    assert migrate(here, *words) == (2, "", f"kubevirt-render: error: {message}\n")


def test_folders_can_be_left_out(here):
    tree(here, {"testdata/old.yaml": OLD})
    assert "testdata/old.yaml: would change" in migrate(here, ".", "--check")[2]
    assert "testdata" not in migrate(here, ".", "--check", "--exclude", "testdata")[2]


def test_a_text_of_another_program_stops_nothing_and_an_unreadable_object_does(here):
    tree(here, {"settings.json": '{"a": {b: : }} // mine'})
    assert "settings.json" not in migrate(here, ".", "--check")[2]
    assert run("render", "--in-place", "--force", ".", cwd=here)[2].startswith("kubevirt-render: note: ")
    tree(here, {"broken.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: [\n"})
    for words in (("migrate", "--in-place"), ("render", "--in-place", "--force")):
        before = texts(here)
        code, out, err = run(*words, ".", cwd=here)
        assert (code, out) == (1, "")
        assert "kubevirt-render: error: broken.yaml:" in err
        assert texts(here) == before
