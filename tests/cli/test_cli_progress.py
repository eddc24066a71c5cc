"""The bar on the terminal: what a person sees of it, what stays of it, and that nobody else gets any."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from krm_fn.cli.progress import Progress

pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parents[2]
SIZE = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: small}\n"
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: %s, namespace: shop}
spec: {runStrategy: Always, instancetype: {name: %s}, template: {spec: {domain: {devices: {}}}}}
"""
# The command as it is, but that a second passes as fast as it can, and that everything takes some of them.
AT_ONCE = """\
import os, sys, time
from krm_fn import migrate, yamlio
from krm_fn.__main__ import main
from krm_fn.base import workers
from krm_fn.cli import inplace_folders as inplace, outputs, progress
from krm_fn.pipeline import stages
from krm_fn.sources import reading
progress.FIRST = progress.NEXT = 0.005
def slow(module, name, seconds):
    real = getattr(module, name)
    def slowed(*given, **named):
        time.sleep(seconds)
        return real(*given, **named)
    setattr(module, name, slowed)
slow(reading, "_parsed", 0.01)
slow(outputs, "chunks_of", 0.01)
slow(inplace, "_text", 0.01)
slow(stages, "render", 0.05)
slow(migrate, "migrate", 0.05)
{more}
sys.exit(main())
"""
IN_AN_HOUR = "from krm_fn.__main__ import main\nfrom krm_fn.cli import progress\nprogress.FIRST = 3600\nmain()"
SHARED = "workers.processes = lambda: 2\nreading.LEAST_SHARED = outputs.LEAST_SHARED = 0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "size.yaml").write_text(SIZE + "spec: {cpu: {guest: 2}, memory: {guest: 4Gi}}\n")
    for number in range(20):
        (tmp_path / f"{number:02}.yaml").write_text(VM % (f"vm-{number}", "smal" if number == 7 else "small"))
    return tmp_path


class Terminal:
    """A command on a terminal: what it wrote there, and what of it a person sees in the end."""

    def __init__(self, program: str, *arguments: str, cwd: Path, environment: Mapping[str, str], columns: int = 80) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        unset = {"CI": "", "NO_COLOR": "", "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, **unset, **environment},
            start_new_session=True,
        )
        os.close(theirs)
        self.written = b""

    def read_until(self, text: bytes) -> None:
        while text not in self.written and self.read():
            pass
        assert text in self.written

    def read(self) -> bool:
        if not select.select([self.ours], [], [], 60)[0]:
            self.process.kill()
            pytest.fail(f"nothing more comes after {self.written!r}")
        try:
            new = os.read(self.ours, 1 << 16)
        except OSError:  # nobody has the other end any more
            return False
        self.written += new
        return bool(new)

    def ended(self) -> Terminal:
        while self.read():
            pass
        os.close(self.ours)
        self.out = self.process.stdout.read().decode()
        self.process.stdout.close()
        self.code = self.process.wait(60)
        return self

    @property
    def seen(self) -> str:
        """What is left on the screen."""
        lines = []
        for line in re.sub(r"\x1b\[\?25[lh]", "", self.written.decode()).split("\r\n"):
            cells = ""
            for part in line.split("\r"):
                text = part.removeprefix("\x1b[K")
                cells = text + ("" if text != part else cells[len(text) :])
            lines.append(cells.rstrip())
        return "\n".join(lines)

    @property
    def has_cursor(self) -> bool:
        return self.written.rfind(b"\x1b[?25l") <= self.written.rfind(b"\x1b[?25h")


@pytest.fixture
def terminal(folder: Path) -> Callable[..., Terminal]:
    def start(*arguments: str, program: str = AT_ONCE.format(more=""), columns: int = 80, **environment: str) -> Terminal:
        return Terminal(program, *arguments, cwd=folder, environment=environment, columns=columns)

    return start


def elsewhere(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same command where there is no terminal."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    command = [sys.executable, "-c", AT_ONCE.format(more=""), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


CALLS = [
    (["render", ".", "--fail-on", "never"], ("Reading", "Rendering", "Writing")),
    (["render", ".", "--fail-on", "never", "-o", "json"], ("Reading", "Rendering")),
    (["check", "."], ("Reading", "Judging")),
    (["migrate", "."], ("Reading", "Migrating", "Writing")),
]


@pytest.mark.parametrize("more", ["", SHARED], ids=["one process", "two"])
@pytest.mark.parametrize(("arguments", "labels"), CALLS, ids=" ".join)
def test_the_bar_tells_what_is_done_and_leaves_nothing_behind(terminal, folder, arguments, labels, more):
    shown = terminal(*arguments, program=AT_ONCE.format(more=more)).ended()
    hidden = elsewhere(folder, *arguments)
    assert (shown.code, shown.out) == (hidden.returncode, hidden.stdout)
    summary = "21 files, 20 VMs, 1 error\n" if arguments[0] == "check" else ""
    assert shown.seen == hidden.stderr + summary
    assert shown.has_cursor
    for label in labels:
        assert f"{label:<10}  [".encode() in shown.written
    assert re.search(rb"Reading     \[#+-*\] +\d+%", shown.written)


def test_files_that_are_written_back_are_shown_too(terminal, folder):
    shown = terminal("render", "--in-place", ".").ended()
    assert shown.code == 1
    assert b"Writing     [#" in shown.written
    assert "sockets: 2" in (folder / "00.yaml").read_text()
    lines = shown.seen.splitlines()
    assert lines[0].startswith("kubevirt-render: error: 07.yaml:")
    assert set(lines[1:]) >= {"kubevirt-render: note: 00.yaml: written"}
    assert not any("07.yaml" in line for line in lines[1:])


def test_the_bar_is_gone_before_a_finding_is_printed(terminal):
    written = terminal("render", ".", "--fail-on", "never").ended().written
    before, _, _ = written.partition(b"kubevirt-render: error: ")
    assert before.endswith(b"\r\x1b[K\x1b[?25h")


def test_what_takes_no_second_shows_nothing_and_loads_no_bar(terminal, folder):
    program = IN_AN_HOUR + "\nassert 'click._termui_impl' not in sys.modules"
    shown = terminal("render", ".", program="import sys\n" + program).ended()
    assert shown.written.startswith(b"kubevirt-render: error: 07.yaml")
    assert shown.written.count(b"\n") == 1


@pytest.mark.parametrize(
    "environment", [{"TERM": "dumb"}, {"TERM": ""}, {"CI": "true"}, {"CI": "1"}], ids=lambda given: "=".join(*given.items())
)
def test_who_can_not_show_it_or_runs_unwatched_gets_none(terminal, environment):
    shown = terminal("render", ".", **environment).ended()
    assert shown.written.startswith(b"kubevirt-render: error: 07.yaml")


@pytest.mark.parametrize("environment", [{"CI": "false"}, {"NO_COLOR": "1"}], ids=lambda given: "=".join(*given.items()))
def test_it_is_shown_without_colour(terminal, environment):
    shown = terminal("render", ".", **environment).ended()
    assert b"Rendering   [" in shown.written
    assert not re.search(rb"\x1b\[[0-9;]*m", shown.written)


def test_notes_take_its_place(terminal):
    written = terminal("render", "-v", ".").ended().written
    assert b"[" not in written.replace(b"instancetypes[", b"").partition(b"kubevirt-render: error")[0]


@pytest.mark.parametrize("arguments", [["render", ".", "--fail-on", "never"], ["check", "."], ["migrate", "."]], ids=" ".join)
def test_a_quiet_command_shows_findings_alone(terminal, folder, arguments):
    shown = terminal(*arguments, "-q").ended()
    hidden = elsewhere(folder, *arguments)
    assert (shown.code, shown.out, shown.seen) == (hidden.returncode, hidden.stdout, hidden.stderr)
    assert b"[#" not in shown.written


def test_a_quiet_command_prints_no_notes(folder):
    (folder / "list.yaml").write_text("kind: ResourceList\nitems: []\nfunctionConfig: {kind: ConfigMap, data: {}}\n")
    assert "note: list.yaml" in elsewhere(folder, "check", ".").stderr
    assert elsewhere(folder, "check", "-q", ".").stderr == ""


READING = (
    "check .",
    "render .",
    "capacity .",
    "explain .",
    "report . -o /dev/null",
    "migrate .",
    "diff . .",
)


@pytest.mark.parametrize("command", READING)
def test_each_command_that_reads_notes_a_thing_once_and_can_be_quiet(folder, command):
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "a.yaml").write_text("a: 1")
    noted = [line for line in elsewhere(folder, *command.split(), "--verbose").stderr.splitlines() if "note:" in line]
    assert noted
    assert len(noted) == len(set(noted))
    assert "note:" not in elsewhere(folder, *command.split(), "--verbose", "--quiet").stderr


def test_the_last_line_on_a_terminal_says_what_was_read(terminal, folder):
    (folder / "07.yaml").unlink()
    assert terminal("check", ".").ended().seen == "20 files, 19 VMs, 0 errors\n"
    assert terminal("check", "size.yaml", "00.yaml").ended().seen == "2 files, 1 VM, 0 errors\n"
    assert elsewhere(folder, "check", ".").stderr == ""


def drawn(ours: int, progress: Progress) -> str:
    """All that has been drawn. What is written to a terminal arrives in pieces."""
    progress.terminal.write("end")
    progress.terminal.flush()
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 1 << 16)
    return shown.decode()


def test_what_is_done_failed_and_left_of_targets_is_shown(screen):
    ours, progress = screen
    fcntl.ioctl(progress.terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    for _ in progress.watch("Judging", [True, False, True], 3, failed=lambda built: not built):
        progress.draw()
    progress.draw()
    shown = drawn(ours, progress)
    counts = re.findall(r"\d+ done, \d+ failed, \d+ left", shown)
    assert counts == ["0 done, 0 failed, 3 left", "1 done, 0 failed, 2 left", "2 done, 1 failed, 1 left"]
    assert max(len(line.rstrip()) for line in re.findall(r"Judging[^\r\x1b]*", shown)) < 100


def test_the_numbers_are_left_out_of_a_narrow_terminal(screen):
    ours, progress = screen
    fcntl.ioctl(progress.terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    for _ in progress.watch("Judging", [True, False, True], 3, failed=lambda built: not built):
        progress.draw()
    shown = drawn(ours, progress)
    assert re.findall(r"\d+%", shown) == ["0%", "33%", "66%"]
    assert "done" not in shown


def test_no_line_is_wider_than_the_terminal(terminal):
    shown = terminal("render", ".", columns=40).ended()
    bars = re.findall(r"Reading[^\r\x1b]*", shown.written.decode())
    assert bars
    assert max(len(bar.rstrip()) for bar in bars) < 40


@pytest.mark.parametrize("place", ["Reading", "Rendering", "Writing"])
def test_ctrl_c_leaves_the_line_empty_and_no_process(terminal, folder, place):
    names = {"Reading": "reading, '_parsed'", "Rendering": "stages, 'render'", "Writing": "inplace, '_text'"}
    program = AT_ONCE.format(more=SHARED + f"slow({names[place]}, 2)")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    shown = terminal("render", "--in-place", ".", program=program)
    shown.read_until(f"{place:<10}  [".encode())
    os.killpg(shown.process.pid, signal.SIGINT)
    shown.ended()
    assert (shown.code, shown.out) == (130, "")
    assert shown.has_cursor
    assert not re.search(f"{place}|Traceback", shown.seen)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    wait_for_the_end_of(shown.process.pid)


def wait_for_the_end_of(group: int) -> None:
    """The processes that were killed with it are gone once init has noticed."""
    for _ in range(1000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("a process is left")


def test_a_process_that_dies_is_not_noticed(terminal, folder):
    dying = """
pid, parsed, chunks = os.getpid(), reading._parsed, outputs.chunks_of
def killed(real):
    return lambda *given: real(*given) if os.getpid() == pid else os.kill(os.getpid(), 9)
reading._parsed, outputs.chunks_of = killed(parsed), killed(chunks)
"""
    arguments = ["render", ".", "--fail-on", "never"]
    shown = terminal(*arguments, program=AT_ONCE.format(more=SHARED + dying)).ended()
    hidden = elsewhere(folder, *arguments)
    assert (shown.code, shown.out, shown.seen) == (hidden.returncode, hidden.stdout, hidden.stderr)


def test_a_job_in_the_background_draws_nothing(terminal):
    """The session's own terminal belongs to its leader, which waits, and the command is a job of another group."""
    job = """
import fcntl, termios
fcntl.ioctl(2, termios.TIOCSCTTY, 0)
if pid := os.fork():
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
os.setpgid(0, 0)
"""
    shown = terminal("render", ".", program=AT_ONCE.format(more=job)).ended()
    assert shown.code == 1
    assert shown.written.startswith(b"kubevirt-render: error: 07.yaml")


def test_the_job_in_the_foreground_of_the_terminal_draws(terminal):
    leader = "import fcntl, termios\nfcntl.ioctl(2, termios.TIOCSCTTY, 0)\n"
    assert b"Rendering   [" in terminal("render", ".", program=AT_ONCE.format(more=leader)).ended().written


def test_a_thread_draws_nothing(terminal):
    """Only a main thread is told of signals."""
    thread = """
import threading
from krm_fn.cli import run
worker = threading.Thread(target=lambda: codes.append(run(sys.argv[1:])))
codes = []
worker.start(), worker.join()
sys.exit(codes[0])
"""
    shown = terminal("render", ".", program=AT_ONCE.format(more=thread)).ended()
    assert shown.code == 1
    assert shown.written.startswith(b"kubevirt-render: error: 07.yaml")


def test_a_terminal_that_goes_away_stops_nothing(terminal, folder):
    (folder / "07.yaml").unlink()
    shown = terminal("render", ".")
    shown.read_until(b"Reading     [")
    os.close(shown.ours)
    out, _ = shown.process.communicate(timeout=60)
    assert (shown.process.returncode, out.count(b"kind: VirtualMachine\n")) == (0, 19)


@pytest.fixture
def screen() -> Iterator[tuple[int, Progress]]:
    """A terminal's other end, and a progress that is drawn there when somebody says so."""
    ours, theirs = pty.openpty()
    progress = Progress()
    progress.terminal = terminal = os.fdopen(theirs, "w")
    yield ours, progress
    with suppress(OSError):
        terminal.close()
    with suppress(OSError):
        os.close(ours)


def test_work_inside_of_work_is_shown_in_its_place(screen):
    ours, progress = screen
    with progress.at("Writing"):
        progress.draw()
        for _ in progress.watch("Reading", range(4), 4):
            progress.draw()
        progress.draw()
    progress.draw()  # nothing is done any more
    bars = re.findall(r"([A-Z]\w+) +\[[#-]+\](?: +(\d+%))?", drawn(ours, progress))
    assert bars == [("Writing", ""), *(("Reading", f"{done}%") for done in (0, 25, 50, 75)), ("Writing", "")]


def test_a_signal_while_it_is_drawn_waits(screen):
    ours, progress = screen
    progress.drawing = True
    with progress.at("Reading"):
        progress.draw()
    assert not select.select([ours], [], [], 0)[0]


def test_nothing_is_drawn_on_a_terminal_that_is_gone(screen):
    ours, progress = screen
    for number in progress.watch("Reading", range(3), 3):
        progress.draw()
        if not number:
            os.close(ours)
    assert progress.terminal is None


def test_without_a_terminal_work_is_what_it_is():
    progress = Progress()
    assert list(progress.watch("Reading", "abc", 3)) == ["a", "b", "c"]
    progress.draw()
