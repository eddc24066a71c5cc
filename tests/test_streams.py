"""The standard streams: output is complete, or the exit code is not 0; closed streams change nothing more.

A cut output with exit code 0 would make Argo CD and Flux delete the missing objects.
"""

from __future__ import annotations

import array
import fcntl
import os
import signal
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import PROGRAM, own_environment

MAPS = "".join(f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a{n}}}}}\n" for n in range(1_000))
LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + MAPS
MANY = "".join(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{n}}}\n---\n" for n in range(1_000))
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  instancetype: {name: u1.smal}
  template: {spec: {domain: {devices: {}}}}
---
"""
PLUGIN = {"KUSTOMIZE_PLUGIN_CONFIG_STRING": "", "KUSTOMIZE_PLUGIN_CONFIG_ROOT": ""}

# Every way to print something: arguments, stdin, environment. Each prints more than 512 bytes.
FRONT_ENDS = {
    "function": ([], LIST, {}),
    "function with a finding": ([], LIST + "- " + VM.removesuffix("---\n").replace("\n", "\n  ").rstrip() + "\n", {}),
    "plugin": (["render.yaml"], MANY, PLUGIN),
    "render": (["render", "many.yaml"], "", {}),
    "render stdin": (["render", "-"], MANY, {}),
    "render json": (["render", "-o", "json", "many.yaml"], "", {}),
    "migrate": (["migrate", "many.yaml"], "", {}),
    "check": (["check", "--fail-on", "never", "-o", "sarif", "vm.yaml"], "", {}),
    "argocd": (["argocd"], "", {}),
    "argocd parameters": (["argocd", "parameters"], "", {}),
    "catalogue list": (["catalogue", "list"], "", {}),
    "catalogue yaml": (["catalogue", "list", "-o", "yaml"], "", {}),
    "rules": (["rules"], "", {}),
    "schema": (["schema"], "", {}),
    "help": (["--help"], "", {}),
    "doc": (["--doc"], "", {}),
}
FAILING = "function with a finding"
PRINTED: dict[str, bytes] = {}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder to work in, outside of all repositories."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        (made / "app").mkdir()
        (made / "many.yaml").write_text(MANY)
        (made / "app" / "many.yaml").write_text(MANY)
        (made / "vm.yaml").write_text("".join(VM.replace("web", f"web{n}") for n in range(20)))
        (made / "render.yaml").write_text("apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n")
        yield made


class Call:
    """One way to print something, in a separate folder."""

    def __init__(self, name: str, folder: Path, **more: str) -> None:
        self.name = name
        arguments, stdin, variables = FRONT_ENDS[name]
        self.code = 1 if name == FAILING else 0
        self.command, self.stdin = [*PROGRAM, *arguments], stdin.encode()
        self.cwd = folder / "app" if arguments == ["argocd"] else folder
        self.environment = own_environment(**variables, **more)

    def run(self, *before: str, **how: object) -> subprocess.CompletedProcess[bytes]:
        """The call with other streams, or started by another command."""
        given = {"input": self.stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.run(
            [*before, *self.command],
            cwd=self.cwd,
            env=self.environment,
            check=False,
            timeout=60,
            **given,  # type: ignore[call-overload]
        )

    def whole(self) -> bytes:
        """What it prints where nothing is in the way."""
        if self.name not in PRINTED:
            done = self.run()
            assert done.returncode == self.code, done.stderr
            assert len(done.stdout) > 1024  # more than the limits that the tests set
            PRINTED[self.name] = done.stdout
        return PRINTED[self.name]


# The variable that makes Python's stdout unbuffered, or not.
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
BUFFERED = {"PYTHONUNBUFFERED": ""}
CALLS = [(name, UNBUFFERED) for name in FRONT_ENDS]
CALLS += [(name, BUFFERED) for name in ("function", "plugin", "render", "argocd", "catalogue list")]


@pytest.fixture(params=[UNBUFFERED, BUFFERED], ids=["unbuffered", "buffered"])
def buffering(request: pytest.FixtureRequest) -> dict[str, str]:
    found: dict[str, str] = request.param
    return found


@pytest.fixture(params=CALLS, ids=lambda call: f"{call[0]}, {'unbuffered' if call[1] is UNBUFFERED else 'buffered'}")
def call(request: pytest.FixtureRequest, folder: Path) -> Call:
    name, variables = request.param
    return Call(name, folder, **variables)


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode().splitlines()[-1]


def test_a_limit_of_a_files_size_is_an_error(call: Call, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = call.run("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", stdout=out)
    assert (done.returncode, last_line(done)) == (1, "kubevirt-render: error: stdout: File too large")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_device_is_an_error(call: Call) -> None:
    with Path("/dev/full").open("wb") as out:
        done = call.run(stdout=out)
    assert (done.returncode, last_line(done)) == (1, "kubevirt-render: error: stdout: No space left on device")


def mounts() -> bool:
    """True where a file system may be mounted for a command alone."""
    try:
        ran = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return ran.returncode == 0


@pytest.fixture(scope="session")
def mounting() -> None:
    if not mounts():
        pytest.skip("mounting needs root and unshare")


def test_a_full_disk_is_an_error(call: Call, tmp_path: Path, mounting: None) -> None:
    script = f'mount -t tmpfs -o size=4k none {tmp_path}; head -c 3500 /dev/zero >{tmp_path}/out; exec "$@" >>{tmp_path}/out'
    done = call.run("unshare", "--mount", "sh", "-c", script, "sh")
    assert (done.returncode, last_line(done)) == (1, "kubevirt-render: error: stdout: No space left on device")


def small_pipe(*, blocking: bool) -> tuple[int, int]:
    """Both ends of a pipe that holds one page; writing to it may block or not."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, blocking)
    return read, write


def test_a_pipe_that_does_not_block_is_waited_for(call: Call) -> None:
    read, write = small_pipe(blocking=False)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(read, 700), b"")))
    reader.start()
    done = call.run(stdout=write)
    os.close(write)
    reader.join()
    os.close(read)
    assert (done.returncode, b"".join(got)) == (call.code, call.whole())


@pytest.mark.parametrize("name", ["function", "plugin", "render stdin"])
def test_a_stdin_that_does_not_block_is_read_to_its_end(name: str, folder: Path, buffering: dict[str, str]) -> None:
    call = Call(name, folder, **buffering)
    read, write = os.pipe()
    os.set_blocking(read, False)

    def write_slowly() -> None:
        half = len(call.stdin) // 2
        for part in (call.stdin[:half], call.stdin[half:]):
            time.sleep(0.3)
            os.set_blocking(write, True)
            with os.fdopen(os.dup(write), "wb") as target:
                target.write(part)
        os.close(write)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    done = call.run(input=None, stdin=read)
    writer.join()
    os.close(read)
    assert (done.returncode, done.stdout) == (0, call.whole()), done.stderr


@pytest.mark.parametrize("blocking", [True, False])
def test_a_pipe_that_nobody_reads_does_not_keep_it_from_ending(blocking: bool, buffering: dict[str, str], folder: Path) -> None:
    read, write = small_pipe(blocking=blocking)
    command = [*PROGRAM, "render", "many.yaml"]
    process = subprocess.Popen(command, cwd=folder, stdout=write, env=own_environment(**buffering))
    os.close(write)
    try:
        wait_until_full(read)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()
        process.wait()
        os.close(read)


def wait_until_full(read: int) -> None:
    unread = array.array("i", [0])
    for _ in range(3000):
        fcntl.ioctl(read, termios.FIONREAD, unread)
        if unread[0] == 4096:
            return
        time.sleep(0.01)
    raise AssertionError("nothing fills the pipe")


def redirected(call: Call, streams: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    return call.run("sh", "-c", f'exec "$@" {streams}', "sh", **how)


TALKING = ("function", FAILING, "plugin", "render", "check", "argocd", "argocd parameters", "catalogue list")


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("name", TALKING)
def test_a_stderr_that_cant_be_written_keeps_nothing_back(name: str, streams: str, folder: Path) -> None:
    call = Call(name, folder)
    done = redirected(call, streams)
    assert (done.returncode, done.stdout) == (call.code, call.whole())


@pytest.mark.parametrize("name", TALKING)
def test_a_reader_of_stderr_that_goes_away_keeps_nothing_back(name: str, folder: Path) -> None:
    call = Call(name, folder)
    read, write = os.pipe()
    os.close(read)
    done = call.run(stderr=write)
    os.close(write)
    assert (done.returncode, done.stdout) == (call.code, call.whole())


def test_a_closed_stdout_is_an_error(call: Call) -> None:
    done = redirected(call, ">&-")
    assert (done.returncode, last_line(done)) == (1, "kubevirt-render: error: stdout: Bad file descriptor")


@pytest.mark.parametrize("name", ["function", "render", "argocd", "rules"])
def test_output_that_cannot_be_written_is_an_error_also_without_stderr(name: str, folder: Path) -> None:
    assert redirected(Call(name, folder), "<&- >&- 2>&-").returncode == 1


@pytest.mark.parametrize("name", ["function", "plugin", "render stdin"])
def test_a_stdin_that_cant_be_read_is_an_error(name: str, folder: Path) -> None:
    done = redirected(Call(name, folder), "0>/dev/null")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"kubevirt-render: error: stdin: Bad file descriptor\n")


@pytest.mark.parametrize("streams", ["<&-", "<&- 2>&-"])
@pytest.mark.parametrize("name", ["function", "plugin", "render", "render stdin", "argocd"])
def test_a_closed_stdin_is_an_empty_one(name: str, streams: str, folder: Path) -> None:
    closed, empty = (redirected(Call(name, folder), each) for each in (streams, streams.replace("<&-", "</dev/null")))
    assert (closed.returncode, closed.stdout, closed.stderr) == (empty.returncode, empty.stdout, empty.stderr)
    assert b"internal error" not in closed.stderr


@pytest.mark.parametrize("arguments", [["check", "many.yaml"], ["check", "-o", "json=out.json", "vm.yaml"]])
def test_where_nothing_is_printed_a_closed_stdout_changes_nothing(arguments: list[str], folder: Path) -> None:
    call = Call("check", folder)
    call.command = [*PROGRAM, *arguments]
    done, closed = call.run(), redirected(call, ">&-")
    assert (closed.returncode, closed.stderr) == (done.returncode, done.stderr) == (int("vm.yaml" in arguments), b"")


def test_a_file_is_not_opened_in_the_place_of_a_closed_stream(folder: Path) -> None:
    """The first file that is opened gets the lowest free number: findings would be written into it."""
    (folder / "new.yaml").write_text(VM)
    call = Call("check", folder)
    call.command = [*PROGRAM, "render", "--in-place", "--severity", "unresolved-instancetype=warning", "new.yaml"]
    assert redirected(call, "<&- >&- 2>&-").returncode == 0
    assert (folder / "new.yaml").read_text() == VM


@pytest.mark.parametrize("streams", ["2>&-", "<&-", "<&- 2>&-"])
def test_a_build_has_all_its_streams(streams: str, folder: Path, tmp_path: Path) -> None:
    """A program that is started inherits stderr."""
    program = tmp_path / "kustomize"
    program.write_text(f"#!/bin/sh\necho told >&2 || exit 3\ncat || exit 4\ncat {folder}/many.yaml\n")
    program.chmod(0o755)
    call = Call("render", folder)
    call.command = [*PROGRAM, "render", "-k", "."]
    call.environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = redirected(call, streams)
    assert (done.returncode, done.stdout) == (0, Call("render", folder).whole())
