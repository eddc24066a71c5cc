"""What `render --in-place` leaves of a file but its text: all of it."""

import os
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from checking import CONFLICT, SIZE, check, run, write

from krm_fn.base.errors import InputError
from krm_fn.cli.replacing import replacing
from krm_fn.sources.files import read_named

VM = CONFLICT.replace("cpu: {cores: 4}", "machine: {type: q35}")
WRITTEN = "kubevirt-render: note: web.yaml: written\n"
ACL = "system.posix_acl_access"


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, size=SIZE, web=VM)


def in_place(folder, *arguments):
    return run("render", "--in-place", ".", *arguments, cwd=folder)


def left(folder):
    """The names in the folder."""
    return sorted(path.name for path in folder.iterdir())


def needs(folder, name, value):
    """Give web.yaml an attribute, or skip."""
    try:
        os.setxattr(folder / "web.yaml", name, value)
    except OSError as error:
        pytest.skip(f"the file system takes no {name}: {error.strerror}")


def acl(*entries):
    """An access control list as the kernel stores it: (tag, permissions, id) each."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


ANYONE = 0xFFFFFFFF
# user::rw-, user:1234:rw-, group::r--, mask::rw-, other::---
LISTED = acl((1, 6, ANYONE), (2, 6, 1234), (4, 4, ANYONE), (16, 6, ANYONE), (32, 0, ANYONE))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0o4711])
def test_the_mode_stays(folder, mode):
    (folder / "web.yaml").chmod(mode)
    assert in_place(folder) == (0, "", WRITTEN)
    assert stat.S_IMODE((folder / "web.yaml").stat().st_mode) == mode
    assert "sockets" in (folder / "web.yaml").read_text()


def test_a_missing_final_newline_stays_missing(folder):
    (folder / "web.yaml").write_text(VM.rstrip("\n"))
    assert in_place(folder) == (0, "", WRITTEN)
    rendered = (folder / "web.yaml").read_text()
    assert "sockets" in rendered
    assert not rendered.endswith("\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(folder):
    os.chown(folder / "web.yaml", 1234, 4321)
    (folder / "web.yaml").chmod(0o6750)
    assert in_place(folder) == (0, "", WRITTEN)
    found = (folder / "web.yaml").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o6750)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_an_owner_that_cannot_be_kept_stops_it(folder):
    os.chown(folder / "web.yaml", 1234, 4321)
    command = ["setpriv", "--bounding-set=-chown", "--inh-caps=-chown"]
    command += [sys.executable, "-m", "krm_fn", "render", "--in-place", "."]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parents[1])}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    said = "owner 1234:4321 and mode 644 can't be kept: Operation not permitted; run the command as the owner of the file"
    assert (ran.returncode, ran.stderr) == (1, f"kubevirt-render: error: web.yaml: {said}\n")
    assert ((folder / "web.yaml").read_text(), left(folder)) == (VM, ["size.yaml", "web.yaml"])


def test_extended_attributes_stay(folder):
    needs(folder, "user.origin", b"git\x00ops")
    assert in_place(folder) == (0, "", WRITTEN)
    assert os.getxattr(folder / "web.yaml", "user.origin") == b"git\x00ops"


def test_the_access_control_list_stays(folder):
    needs(folder, ACL, LISTED)
    before = (folder / "web.yaml").stat().st_mode
    assert in_place(folder) == (0, "", WRITTEN)
    assert os.getxattr(folder / "web.yaml", ACL) == LISTED
    assert (folder / "web.yaml").stat().st_mode == before


def test_a_folders_default_list_changes_no_file_that_has_none(folder):
    needs(folder, ACL, LISTED)
    os.removexattr(folder / "web.yaml", ACL)
    (folder / "web.yaml").chmod(0o640)
    os.setxattr(folder, "system.posix_acl_default", LISTED)
    assert in_place(folder) == (0, "", WRITTEN)
    assert ACL not in os.listxattr(folder / "web.yaml")
    assert stat.S_IMODE((folder / "web.yaml").stat().st_mode) == 0o640


def test_a_file_with_another_name_is_left_alone_and_named(folder):
    os.link(folder / "web.yaml", folder / "same.txt")
    code, out, err = in_place(folder)
    fact = "web.yaml: the file has 2 hard links, and the others would keep the old content"
    assert (code, out, err) == (1, "", f"kubevirt-render: error: {fact}; replace the file with a copy first\n")
    assert (folder / "web.yaml").read_text() == (folder / "same.txt").read_text() == VM
    assert (folder / "web.yaml").samefile(folder / "same.txt")
    assert left(folder) == ["same.txt", "size.yaml", "web.yaml"]


def test_nothing_is_written_where_one_file_cannot_be(folder):
    write(folder, api=VM.replace("name: web", "name: api"))
    os.link(folder / "web.yaml", folder / "same.txt")
    assert in_place(folder)[0] == 1
    assert (folder / "api.yaml").read_text() == VM.replace("name: web", "name: api")


def test_a_file_with_a_name_of_any_length_is_written(folder):
    name = "x" * 250 + ".yaml"
    (folder / "web.yaml").rename(folder / name)
    assert in_place(folder) == (0, "", f"kubevirt-render: note: {name}: written\n")
    assert "sockets" in (folder / name).read_text()


# ---- files that somebody else changes at the same time


@pytest.fixture
def stamp(folder):
    """What says which file web.yaml is; it was just read."""
    return read_named(str(folder / "web.yaml"))[1]


def refused(stamp, meanwhile=lambda: None):
    """Why web.yaml is not replaced where this happens when the new file is on the disk."""
    with pytest.raises(InputError) as raised, replacing() as put:  # noqa: PT012
        put("web.yaml", b"new\n", stamp)
        meanwhile()
    return str(raised.value)


CHANGED = "web.yaml: the file was changed after it was read; run the command again"


def test_a_text_that_was_changed_meanwhile_is_not_lost(folder, stamp):
    (folder / "web.yaml").write_text("theirs\n")
    assert refused(stamp) == CHANGED
    assert ((folder / "web.yaml").read_text(), left(folder)) == ("theirs\n", ["size.yaml", "web.yaml"])


def test_a_change_between_writing_and_replacing_is_seen(folder, stamp):
    assert refused(stamp, lambda: (folder / "web.yaml").write_text("theirs\n")) == CHANGED
    assert ((folder / "web.yaml").read_text(), left(folder)) == ("theirs\n", ["size.yaml", "web.yaml"])


def test_a_link_that_took_the_files_place_is_not_followed(folder, stamp):
    (folder / "secret.txt").write_text("secret\n")
    (folder / "web.yaml").unlink()
    (folder / "web.yaml").symlink_to("secret.txt")
    with pytest.raises(OSError, match="it is a link; expected a file"), replacing() as put:
        put("web.yaml", b"new\n", stamp)
    assert (folder / "secret.txt").read_text() == "secret\n"


def test_a_link_that_took_the_folders_place_is_not_followed(folder, stamp):
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    folder.rename(folder.parent / "moved")
    folder.symlink_to("other")
    with pytest.raises(OSError, match="web"), replacing() as put:
        put("web.yaml", b"new\n", stamp)
    assert ((other / "web.yaml").read_text(), left(other)) == (VM, ["size.yaml", "web.yaml"])


# ---- all or none


FILES = ("a.yaml", "b.yaml", "c.yaml")


@pytest.fixture
def three(folder):
    """A folder with two files to be replaced; the third one is new."""
    shutil.rmtree(folder)
    folder.mkdir()
    for name in FILES[:2]:
        (folder / name).write_text(f"old {name}\n")
        (folder / name).chmod(0o640)
        os.utime(folder / name, ns=(1_000_000_000, 2_000_000_000))
    return folder


def put_all(folder, names, meanwhile=lambda: None):
    with replacing() as put:
        for name in names:
            put(str(folder / name), f"new {name}\n".encode())
        meanwhile()


@pytest.mark.parametrize("names", [("a.yaml", "c.yaml", "b.yaml"), ("c.yaml", "a.yaml", "b.yaml")])
def test_a_rename_that_fails_leaves_all_files_as_they_were(three, names):
    before = (three / "a.yaml").stat()

    def in_the_way():
        (three / "b.yaml").unlink()
        (three / "b.yaml").mkdir()

    with pytest.raises(OSError, match="it is not a regular file; expected a file"):
        put_all(three, names, in_the_way)
    after = (three / "a.yaml").stat()
    assert ((three / "a.yaml").read_text(), left(three)) == ("old a.yaml\n", ["a.yaml", "b.yaml"])
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_a_file_that_is_new_goes_again_where_the_next_rename_fails(three):
    with pytest.raises(OSError, match="expected a file"):
        put_all(three, ("c.yaml", "d.yaml"), (three / "d.yaml").mkdir)
    assert left(three) == ["a.yaml", "b.yaml", "d.yaml"]


def test_all_files_are_new_where_nothing_fails(three):
    put_all(three, FILES)
    assert [(three / name).read_text() for name in left(three)] == [f"new {name}\n" for name in FILES]
    assert stat.S_IMODE((three / "a.yaml").stat().st_mode) == 0o640


# Replaces two files, and kills itself while the new ones are on the disk.
KILLED = """
import os, signal, sys
from krm_fn.cli.replacing import replacing
with replacing() as put:
    put("a.yaml", b"new")
    put("b.yaml", b"new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_has_left_is_removed_a_day_later(three):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run([sys.executable, "-c", KILLED], cwd=three, env=environment, check=False)
    remains = [name for name in left(three) if name.startswith(".kubevirt-render-")]
    assert (ran.returncode, len(remains)) == (-9, 2)
    (three / ".kubevirt-render-notes.tmp").write_text("of the user")
    for name in left(three):
        os.utime(three / name, (0, 0))
    os.utime(three / remains[1])  # as of a run that is under way
    put_all(three, FILES)
    assert left(three) == sorted([*FILES, ".kubevirt-render-notes.tmp", remains[1]])


# ---- other files that the command writes


def test_a_baseline_keeps_its_mode_and_is_replaced_as_a_whole(folder):
    write(folder, web=CONFLICT)
    assert check(".", "--baseline", "known.yaml", "--update-baseline", cwd=folder)[0] == 0
    assert stat.S_IMODE((folder / "known.yaml").stat().st_mode) == 0o666 & ~umask()
    (folder / "known.yaml").chmod(0o600)
    before = (folder / "known.yaml").stat().st_ino
    (folder / "web.yaml").unlink()
    assert check(".", "--baseline", "known.yaml", "--update-baseline", cwd=folder)[0] == 0
    after = (folder / "known.yaml").stat()
    assert (stat.S_IMODE(after.st_mode), after.st_ino != before) == (0o600, True)


def umask():
    now = os.umask(0o022)
    os.umask(now)
    return now


def test_neither_a_baseline_nor_a_report_is_written_through_a_link_out_of_the_repository(folder):
    (folder / "repo" / ".git").mkdir(parents=True)
    repo = write(folder / "repo", size=SIZE, web=CONFLICT)
    (folder / "home").mkdir()
    (folder / "home" / "profile").write_text("mine\n")
    (repo / "report.xml").symlink_to("../home/profile")
    (repo / "reports").symlink_to("../home")
    (repo / "known.yaml").symlink_to("../home/known.yaml")
    for name in ("report.xml", "reports/profile", "reports/new.xml"):
        said = f"-o: {name} is a symbolic link to a file outside the repository; name that file instead"
        assert check(".", "-o", f"junit={name}", cwd=repo) == (2, "", f"kubevirt-render: error: {said}\n")
    code, _, err = check(".", "--baseline", "known.yaml", "--update-baseline", cwd=repo)
    said = "known.yaml: this symbolic link points outside the repository; name the target file instead"
    assert (code, err) == (1, f"kubevirt-render: error: {said}\n")
    assert (left(folder / "home"), (folder / "home" / "profile").read_text()) == (["profile"], "mine\n")
    (repo / "out").mkdir()
    (repo / "inside").symlink_to("out")
    assert check(".", "-o", "junit=inside/new.xml", "--fail-on", "never", cwd=repo)[0] == 0
    assert left(repo / "out") == ["new.xml"]
    assert check(".", "-o", "junit=/dev/null", "--fail-on", "never", cwd=repo)[0] == 0


def test_a_report_that_cannot_be_replaced_without_a_loss_is_written_in_its_place(folder):
    (folder / "report.xml").write_text("old")
    os.link(folder / "report.xml", folder / "same.xml")
    assert check(".", "-o", "junit=report.xml", cwd=folder)[0] == 0
    assert (folder / "report.xml").samefile(folder / "same.xml")
    assert "<testsuites" in (folder / "same.xml").read_text()


def test_a_report_goes_into_a_pipe_that_is_named(folder):
    reader, writer = os.pipe()
    assert check(".", "-o", f"json=/dev/fd/{writer}", cwd=folder)[0] == 0
    os.close(writer)
    with os.fdopen(reader) as source:
        assert source.read().startswith("{")
