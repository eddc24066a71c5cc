"""Files that commands write: whole or as they were, and nothing is left beside them, whatever ends the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from functions import vm
from running import PROGRAM, own_environment

from krm_fn import yamlio

VM = yamlio.dump(vm("web", instancetype="SIZE")).replace("VirtualMachineInst", "VirtualMachineClusterInst")
# The program on a slow disk.
SLOW = """\
import os, time
fsync = os.fsync
os.fsync = lambda file: (time.sleep(0.02), fsync(file))
from krm_fn.__main__ import main
raise SystemExit(main())
"""
BEFORE = "version: 1\nfindings: []\n"
LIMITED = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=own_environment(), capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a VM whose instancetype is misspelt."""
    made = tmp_path / "folder"
    made.mkdir()
    (made / "vm.yaml").write_text(VM.replace("SIZE", "u1.smal"))
    return made


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


CALLS = {
    "a report": ["check", "--fail-on", "never", "-o", "json=out", "vm.yaml"],
    "a baseline": ["check", "--fail-on", "never", "--baseline", "out", "--update-baseline", "vm.yaml"],
}


@pytest.mark.parametrize("call", CALLS)
def test_a_file_is_as_it_was_where_it_cant_be_written_whole(call: str, folder: Path) -> None:
    (folder / "out").write_text(BEFORE)
    done = run(*LIMITED, *PROGRAM, *CALLS[call], cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "kubevirt-render: error: out: File too large\n")
    assert (folder / "out").read_text() == BEFORE
    assert names(folder) == ["out", "vm.yaml"]


@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_left_of_a_file_that_is_new(call: str, folder: Path) -> None:
    assert run(*LIMITED, *PROGRAM, *CALLS[call], cwd=folder).returncode == 1
    assert names(folder) == ["vm.yaml"]


@pytest.mark.parametrize("call", CALLS)
def test_a_file_keeps_its_mode_and_its_links(call: str, folder: Path) -> None:
    (folder / "real").write_text(BEFORE)
    (folder / "real").chmod(0o640)
    (folder / "out").symlink_to("real")
    assert run(*PROGRAM, *CALLS[call], cwd=folder).returncode == 0
    assert (folder / "out").is_symlink()
    assert (folder / "real").stat().st_mode & 0o777 == 0o640
    assert "u1.smal" in (folder / "real").read_text() or "unresolved" in (folder / "real").read_text()


def test_a_new_report_has_the_mode_of_new_files(folder: Path) -> None:
    mask = os.umask(0o027)
    try:
        assert run(*PROGRAM, *CALLS["a report"], cwd=folder).returncode == 0
    finally:
        os.umask(mask)
    assert (folder / "out").stat().st_mode & 0o777 == 0o640


def test_a_report_goes_into_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "out")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((folder / "out").read_text()))
    reader.start()
    done = run(*PROGRAM, *CALLS["a report"], cwd=folder)
    reader.join()
    assert (done.returncode, got[0][:1]) == (0, "{")
    assert (folder / "out").is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_report_into_a_full_device_is_an_error(folder: Path) -> None:
    done = run(*PROGRAM, "check", "--fail-on", "never", "-o", "json=/dev/full", "vm.yaml", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "kubevirt-render: error: /dev/full: No space left on device\n")


def test_a_report_goes_where_only_the_file_may_be_written(folder: Path) -> None:
    """As in a container, where a single file is mounted."""
    (folder / "out").write_text("")
    mounted = f"mount --bind {folder}/out {folder}/out"
    try:
        allowed = subprocess.run(["unshare", "--mount", "sh", "-c", mounted], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting needs root and unshare")
    done = run("unshare", "--mount", "sh", "-c", f'{mounted} && exec "$@"', "sh", *PROGRAM, *CALLS["a report"], cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "unresolved-instancetype" in (folder / "out").read_text()
    assert names(folder) == ["out", "vm.yaml"]


def test_a_plugin_is_installed_whole_or_not_at_all(tmp_path: Path) -> None:
    done = run(*LIMITED, *PROGRAM, "install-plugin", str(tmp_path / "home"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("/RenderVirtualMachines: File too large\n")
    assert names(tmp_path) == []


def many(folder: Path) -> dict[str, str]:
    """Many files that rendering changes."""
    for number in range(100):
        (folder / f"vm{number}.yaml").write_text(VM.replace("SIZE", "u1.small").replace("web", f"web{number}"))
    (folder / "vm.yaml").unlink()
    return texts(folder)


def texts(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in names(folder)}


@contextmanager
def writing(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that writes files, at the moment when the first of them is there."""
    command = [sys.executable, "-c", SLOW, "render", "--in-place", "."]
    with subprocess.Popen(command, cwd=folder, env=own_environment(), stderr=subprocess.PIPE) as process:
        while not any(name.startswith(".") for name in os.listdir(folder)):  # noqa: PTH208  the fastest way to look
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        yield process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 20])
def test_a_signal_leaves_all_files_as_they_were(number: signal.Signals, times: int, folder: Path) -> None:
    before = many(folder)
    with writing(folder) as process:
        for _ in range(times if number != signal.SIGINT else 1):
            process.send_signal(number)
            time.sleep(0.001)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (128 + number, b"")
    assert texts(folder) == before


def test_a_signal_that_is_to_be_ignored_stays_ignored(folder: Path) -> None:
    many(folder)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with writing(folder) as process:
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=60)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert process.returncode == 0
    assert all("instancetype" not in text for text in texts(folder).values())
