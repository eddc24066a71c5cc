"""A command that is watched while it works on the tree of a stranger, and the laws that have to hold of what it did.

It runs in this process, with the real kustomize, helm and git. Python's audit events show what it opens, starts and connects
to. Its PATH has those three programs, and a canary in place of each other one. A server on this machine listens for what
reaches it. Files outside of the tree, and variables, hold words that nothing may print. Some runs trace the programs, too.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path += [path for path in (str(ROOT), str(ROOT / "tests")) if path not in sys.path]

import click  # noqa: E402
from checking import replaced_environment  # noqa: E402
from checking import run as run_command  # noqa: E402
from running import HOSTS, NEWEST_KUSTOMIZE  # noqa: E402

import krm_fn  # noqa: E402
from krm_fn.__main__ import guarded  # noqa: E402
from krm_fn.hosts import function  # noqa: E402
from krm_fn.lsp.session import Session  # noqa: E402

FILE_CANARY, VARIABLE_CANARY = "Canary7OfAFile", "Canary7OfAVariable"
VARIABLES = ("CANARY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND")
# Programs that something in the tree may try to start: each is a canary on the PATH.
CANARIES = (
    *("sh", "bash", "ssh", "curl", "wget", "python", "python3", "docker", "podman", "kubectl", "kpt", "gpg", "less", "vi"),
    *("env", "touch", "cat", "scp", "hg", "go", "node", "evil.sh", "kubevirt-render", "git-remote-evil", "sops", "age"),
)
# Where programs and Python itself read: nothing there belongs to the user or to the tree.
# Temporary files may be in /dev/shm, so all of /dev is not known.
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "fd", "pts"))
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", *DEVICES, "/sys", "/etc/ssl", "/etc/localtime", "/etc/nsswitch.conf")
OF_SYSTEM = (
    "/etc/ld.so",
    "/etc/locale.alias",
    "/etc/gitconfig",
    "/etc/passwd",
    "/etc/group",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/mime.types",
)
OF_PROCESS = re.compile(
    r"/proc/(?:self|\d+)/(?:cgroup|mountinfo|status|stat|auxv|maps|fd|task/\d+/\w+)|/proc/(?:stat|cpuinfo|sys/.*)"
)
LOADED = [str(Path(each.__file__).parents[1]) for each in (click, krm_fn)]
PYTHON = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *filter(None, sys.path), *LOADED)
OF_PYTHON = tuple({f"{os.path.realpath(path)}/" for path in PYTHON})
SCRATCH, SCRATCH_FILE = (
    "kubevirt-render-",
    ".kubevirt-render-",
)  # how the program's own folders and files begin, until they have a name
NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind")
STARTS = ("os.exec", "os.posix_spawn", "os.system", "os.spawn", "os.startfile", "pty.spawn")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod", "shutil.move")


class Command(NamedTuple):
    """A command: its words, and what it may do beyond reading the tree.

    Without words it is the function, with `lsp` the session of an editor. `flags` are those of kustomize that it allows.
    `changes`: it writes into the tree. `fetches`: it may reach other machines. `isolated`: no file of the tree silences.
    `folders`: it works in the first of these that is there. `stdin` is the file of the tree that it gets there.
    """

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    changes: bool = False
    fetches: bool = False
    isolated: bool = False
    folders: tuple[str, ...] = ()
    stdin: str = ""


class Program(NamedTuple):
    """A program that was started."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]


class Seen(NamedTuple):
    """What a command did.

    `opened` are real paths, `written` those that it changed, `loaded` the Python files that it ran, `reached` what it connected
    to.
    """

    code: int
    told: str
    programs: tuple[Program, ...]
    opened: frozenset[str]
    written: frozenset[str]
    loaded: frozenset[str]
    reached: tuple[str, ...]


class Eye:
    """Notes audit events while it is open."""

    def __init__(self) -> None:
        self.is_open = False
        self.clear()
        sys.addaudithook(self._see)

    def clear(self) -> None:
        self.programs: list[Program] = []
        self.opened: set[str] = set()
        self.written: set[str] = set()
        self.loaded: set[str] = set()
        self.reached: list[str] = []

    def _see(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.is_open:
            return
        if event == "open":
            self._open(*given)
        elif event in ("os.listdir", "os.scandir"):
            self._note(given[0] or os.curdir, self.opened)
        elif event == "subprocess.Popen":
            words, environment = given[1], given[3]
            self.programs.append(Program(os.fspath(given[0]), tuple(map(os.fsdecode, words)), dict(environment or os.environ)))
        elif event in STARTS:
            self.programs.append(Program(f"{event} {given[0]}", (), {}))
        elif event in NETWORK:
            self.reached.append(f"{event} {given[1:]}")
        elif event in CHANGES and not (isinstance(given[-1], int) and given[-1] >= 0):  # not relative to an open folder
            self._note(given[event in ("os.symlink", "os.link")], self.written)
        elif event == "exec" and given[0].co_filename.endswith(".py"):
            self._note(given[0].co_filename, self.loaded)

    def _open(self, path: object, _mode: object, flags: int) -> None:
        is_written = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        if is_written and path == tempfile.gettempdir():
            return  # a folder can't be written: this is a temporary file without a name
        self._note(path, self.opened)
        if is_written:
            self._note(path, self.written)

    def _note(self, path: object, into: set[str]) -> None:
        if isinstance(path, (str, bytes, os.PathLike)) and not os.fsdecode(path).startswith((SCRATCH_FILE, *OF_PYTHON)):
            into.add(os.path.realpath(os.fsdecode(path)))


EYE = Eye()


class World:
    """A folder with a tree, and around it what the tree may try to reach. Paths are real paths."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.tree, self.outside, self.tools = (self.folder / name for name in ("tree", "outside", "tools"))
        self.home, self.out, self.marks = (self.folder / name for name in ("home", "out", "marks"))
        for each in (self.tree, self.outside, self.tools, self.home, self.out, self.marks):
            each.mkdir(parents=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port, self._visitors = self.listener.getsockname()[1], 0
        threading.Thread(target=self._listen, daemon=True).start()
        self.evil = self._canary(self.outside / "evil.sh")
        self._fill()

    def _fill(self) -> None:
        """The files outside of the tree, and the programs."""
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: outside}}\ndata: {{a: {FILE_CANARY}}}\n"
        self.secret, self.config = self.outside / "secret.yaml", self.folder / "config.yaml"
        self.secret.write_text(text)
        self.config.write_text("kind: RenderVirtualMachines\nspec: {kubevirtVersion: '1.9'}\n")
        (self.outside / "secret.env").write_text(f"A={FILE_CANARY}\n")
        (self.outside / "base").mkdir()
        (self.outside / "base" / "kustomization.yaml").write_text("resources: [a.yaml]\n")
        (self.outside / "base" / "a.yaml").write_text(text)
        (self.outside / "schema.json").write_text(f'{{"type": "{FILE_CANARY}"}}')
        for name in CANARIES:
            self._canary(self.tools / name)
        self.real = {
            "kustomize": NEWEST_KUSTOMIZE / "kustomize",
            "helm": HOSTS / "helm" / "helm",
            "git": shutil.which("git") or "",
        }
        for name, program in self.real.items():
            (self.tools / name).symlink_to(program)
        self._outside = self._listed(self.outside)

    def _canary(self, file: Path) -> Path:
        """A program that leaves a mark."""
        file.write_text(self.canary)
        file.chmod(0o755)
        return file

    @property
    def canary(self) -> str:
        """The text of a program that leaves a mark."""
        return f'#!/bin/sh\necho "$0 $*" >>{self.marks}/started\n'

    def watch(self, command: Command, *, trace: bool = False) -> Seen:
        """Run a command in the tree, and note what it does."""
        log, came = self.folder / "trace", self._visitors
        with self._traced(log if trace else None), self._errors() as errors:
            EYE.clear()
            EYE.is_open = True
            try:
                code, out, err = self._ran(command)
            finally:
                EYE.is_open = False
        written = "".join(path.read_text(errors="replace") for path in sorted(self.out.rglob("*")) if path.is_file())
        found = _of_trace(log) if trace else _Trace()
        return Seen(
            code,
            f"{out}\n{err}\n{errors.getvalue()}\n{written}",
            (*EYE.programs, *found.programs),
            frozenset(EYE.opened | found.opened),
            frozenset(EYE.written | found.written),
            frozenset(EYE.loaded),
            (*EYE.reached, *found.reached, *["the server on this machine"] * (self._visitors > came)),
        )

    def _ran(self, command: Command) -> tuple[int, str, str]:
        environment = {
            **dict.fromkeys(VARIABLES, VARIABLE_CANARY),
            "PATH": str(self.tools),
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
        }
        words = [each.format(out=self.out, config=self.config) for each in command.words]
        folder = next((path for each in command.folders if (path := self.tree / each).is_dir()), self.tree)
        if command.folders:  # an application, as Argo CD names its folder
            environment["ARGOCD_APP_SOURCE_PATH"] = str(folder.relative_to(self.tree))
        if words == ["lsp"]:
            return _edited(folder, environment)
        stdin = file.read_text(errors="replace") if command.stdin and (file := self.tree / command.stdin).is_file() else ""
        if not words:
            return _called(folder, stdin.encode(), environment)
        return run_command(*words, cwd=folder, stdin=stdin, **environment)

    @contextlib.contextmanager
    def _traced(self, log: Path | None) -> Iterator[None]:
        """Put the programs below strace."""
        if log is None:
            yield
            return
        log.mkdir()
        for name, program in self.real.items():
            words = f'strace -f -y -qq -s 4096 -e trace=execve,openat,connect -o "{log}/{name}.$$" "{program}" "$@"'
            (self.tools / name).unlink()
            (self.tools / name).write_text(f"#!/bin/sh\nexec /usr/bin/{words}\n")
            (self.tools / name).chmod(0o755)
        try:
            yield
        finally:
            for name, program in self.real.items():
                (self.tools / name).unlink()
                (self.tools / name).symlink_to(program)

    @staticmethod
    @contextlib.contextmanager
    def _errors() -> Iterator[io.StringIO]:
        """What programs write to the stderr of this process."""
        kept, found = os.dup(2), io.StringIO()
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                yield found
            finally:
                os.dup2(kept, 2)
                os.close(kept)
                file.seek(0)
                found.write(file.read().decode(errors="replace"))

    def _listen(self) -> None:
        """Hang up on each visitor, so that none waits."""
        with contextlib.suppress(OSError):  # it is closed
            while True:
                self.listener.accept()[0].close()
                self._visitors += 1

    def started(self) -> str:
        """The canaries that were started."""
        return "".join(file.read_text(errors="replace") for file in self.marks.iterdir())

    def changed_outside(self) -> bool:
        return self._listed(self.outside) != self._outside

    @staticmethod
    def _listed(folder: Path) -> dict[str, float]:
        return {str(path): path.lstat().st_mtime_ns for path in (folder, *folder.rglob("*"))}

    def clear(self) -> None:
        """Make room for the next tree."""
        for folder in (self.tree, self.home, self.out, self.marks, self.folder / "trace"):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.tree, self.home, self.out, self.marks):
            folder.mkdir(exist_ok=True)

    def close(self) -> None:
        self.listener.close()

    def is_known(self, path: str) -> bool:
        """True for a path that a command may read: the tree, its own scratch folders, and the system's files."""
        own = (self.tree, self.home, self.out, self.tools, self.config, self.folder / "trace")
        temporary = str(Path(os.path.realpath(tempfile.gettempdir()), SCRATCH))
        return (
            any(_is_below(path, str(each)) for each in (*own, *SYSTEM, *map(os.path.realpath, map(str, self.real.values()))))
            or path.startswith((temporary, *OF_SYSTEM))
            or f"{path}/".startswith(OF_PYTHON)
            or bool(OF_PROCESS.match(path))
        )


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


class _Trace(NamedTuple):
    programs: tuple[Program, ...] = ()
    opened: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    reached: tuple[str, ...] = ()


TRACED = re.compile(r"^\d+ +(execve|openat|connect)\((.*)\) += +(-?\d+)(?:<(.*)>)?(?: .*)?$")


def _of_trace(log: Path) -> _Trace:
    """What strace saw: programs that started, files that could be opened, and addresses."""
    programs, opened, written, reached = [], set(), set(), []
    for line in "".join(file.read_text(errors="replace") for file in log.iterdir()).splitlines():
        call, given, code, path = found.groups() if (found := TRACED.match(line)) else ("", "", "-1", "")
        if call == "execve" and code == "0":
            programs.append(Program(given.split('"')[1], (), {}))
        elif call == "openat" and path:
            opened.add(path)
            if re.search(r"O_WRONLY|O_RDWR|O_CREAT", given):
                written.add(path)
        elif "connect(" in line and "AF_UNIX" not in line:
            reached.append(line.partition("connect")[2])
    return _Trace(tuple(programs), frozenset(opened), frozenset(written), tuple(reached))


def _called(folder: Path, data: bytes, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """What the function answers to a list."""
    out, err = io.BytesIO(), io.StringIO()
    with contextlib.chdir(folder), replaced_environment({**environment}), contextlib.redirect_stderr(err):
        code = guarded(lambda: function.run(data, out, err))
    return code, out.getvalue().decode(errors="replace"), err.getvalue()


def _edited(tree: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """What the session of an editor answers about every file, as the server asks it."""
    told: list[object] = []

    def edit() -> int:
        session = Session()
        session.change(["."])
        for build in session.workspace.builds_due():
            build()
        told.append(session.begin())
        for file in session.workspace.files()[:6]:
            for line in range(0, 12, 2):
                for build in (*session.workspace.builds_for(file), *session.builds_before(file, line, 4)):
                    build()
                told.append(
                    (session.hover(file, line, 4), session.completions(file, line, 8), session.definitions(file, line, 8))
                )
            told.append((session.symbols(file), session.hints(file, 0, 99), session.actions(file, 0, 99)))
        return 0

    err = io.StringIO()
    with contextlib.chdir(tree), replaced_environment({**environment}), contextlib.redirect_stderr(err):
        code = guarded(edit)
    return code, repr(told), err.getvalue()
