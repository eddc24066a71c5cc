"""The one way in which kustomize, kubectl and helm are started.

What they build may come from strangers. So they get an environment with PATH and locale alone, since a kustomization can print
variables; and they find programs in place of git and helm: one that fails, and one that guards helm. Proxies that nobody serves
and git without protocols come on top of what is refused before anything is started (`graph`, `plugins`).

The guard between kustomize and helm allows only the calls that kustomize itself makes. With `--enable-helm`, kustomize passes
texts of a kustomization to helm unchanged. A `releaseName` may be a flag there, such as `--post-renderer=/bin/sh`, which runs
commands of the chart. `configHome` may name a folder with helm plugins, which are programs, and `chartHome` any folder to
unpack a chart into.

So kustomize finds a script as `helm` on its PATH, which calls `main`. It starts helm only with the flags that kustomize writes,
for charts and values files in the repository and in kustomize's temporary folder. The folders for helm's own files are not
those that the kustomization chooses.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import krm_fn
from krm_fn.base import programs
from krm_fn.base.programs import Finished
from krm_fn.base.value import Value

HELM = "--enable-helm"
# What a build gets of our environment. The rest stays ours: a kustomization can put variables into what it makes.
KEPT = ("PATH", "LANG", "LC_ALL")
NOWHERE = "http://127.0.0.1:9"  # no proxy listens there
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
OFFLINE = {
    **dict.fromkeys(PROXIES, NOWHERE),
    "REQUEST_METHOD": "GET",  # Go's HTTP refuses a proxy then, also for this machine itself, which it asks without one
    "SSL_CERT_FILE": os.devnull,
    "SSL_CERT_DIR": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "KUBECONFIG": os.devnull,
    # kustomize lives for a moment: it takes a seventh less time when it tidies up its memory less often
    "GOGC": "400",
    "GOMEMLIMIT": "512MiB",  # from there on often
}
# What more a build gets that may fetch: what git and HTTP need to reach hosts and to log in.
FETCHING = (
    *("HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CONFIG"),
    *("HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_ALLOW_PROTOCOL"),
    *(*PROXIES, "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)
# How many bytes a program may have and print: a few lines can have kustomize repeat a long value for each object.
MEMORY, PRINTED = 2 * 1024**3, 64_000_000
TOO_MUCH = f"it makes more than {PRINTED:,} bytes; build less at once"
NO_GIT = "#!/bin/sh\necho 'git is not started: nothing is fetched' >&2\nexit 1\n"


class Timeout(float):
    """The seconds that a build may take. After the time `until`, in seconds since the epoch, none may run; 0 for any time."""

    until: float = 0.0


class LateError(Exception):
    """All builds of a run together have taken all of their time."""


def run(
    program: str,
    words: Sequence[str],
    *,
    scratch: Path,
    roots: Sequence[str],
    timeout: float,
    network: bool = False,
    given: Mapping[str, str] | None = None,
    folder: Path | None = None,
    helm: str = "helm",
    quiet: bool = True,
) -> Finished:
    """What a program builds. What it writes goes into the folder `scratch`.

    Charts of kustomizations may be in `roots`. `given` is an environment in place of ours, all of which the program gets.
    `helm` is the program that kustomize calls by that name. Its stderr goes directly to ours, unless `quiet` keeps it. A
    program that prints too much has failed.
    Raises: programs.OvertimeError; LateError where the `timeout` is a Timeout.
    """
    variables = dict(given) if given is not None else environment(network=network)
    path = variables.get("PATH", os.defpath)
    shadows = {} if network else {"git": NO_GIT}
    if found := programs.find(helm, path):
        shadows["helm"] = guarded(found, folders=roots, scratch=scratch, network=network)
    home = str(scratch / "home")  # apart from TMPDIR, where charts may be unpacked
    own = {"HOME": home, "XDG_CONFIG_HOME": home, "TMPDIR": str(temporary(scratch))}
    shadowed = {} if Path(program).name == "helm" else {"PATH": f"{_folder(scratch, shadows)}{os.pathsep}{path}"}
    temporary(scratch).mkdir()
    Path(home).mkdir()
    needed = {**homes(str(scratch)), "HELM_PLUGINS": f"{home}/none"}
    if network or given is not None:
        own = {name: variables.get(name, value) if name == "HOME" else value for name, value in own.items()}
    blocked = {} if network else OFFLINE
    ran = _finished(
        program,
        words,
        environment={**variables, **QUIET, **blocked, **own, **needed, **shadowed},
        timeout=timeout,
        folder=folder,
        quiet=quiet,
        memory=MEMORY,
    )
    if len(ran.out) <= PRINTED:
        return ran
    if not quiet:
        sys.stderr.write(f"Error: {TOO_MUCH}\n")
    return Finished(1, b"", f"Error: {TOO_MUCH}\n".encode())


def _finished(program: str, words: Sequence[str], *, timeout: float, **how: Any) -> Finished:
    """What a program says in its time, and in what is left for all. Raises: programs.OvertimeError, LateError."""
    until = timeout.until if isinstance(timeout, Timeout) else 0.0
    left = until - time.time() if until else timeout
    if left <= 0:
        raise LateError
    try:
        return programs.finished(program, words, timeout=min(left, timeout), **how)
    except programs.OvertimeError:
        if left < timeout:
            raise LateError from None
        raise


def environment(*, network: bool = False) -> dict[str, str]:
    """The variables of ours that a build gets."""
    return {name: os.environ[name] for name in (*KEPT, *(FETCHING if network else ())) if name in os.environ}


def _folder(scratch: Path, texts: Mapping[str, str]) -> Path:
    """A new folder for the PATH with these programs."""
    folder = scratch / "bin"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


# helm reads a value of `--values` as several file names, in quotes or not, or as addresses.
NO_FILE_NAME = frozenset(',":\n\r')

# The file of a chart with the schema of its values, and how the names of the schemas begin that helm has.
REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
SCHEMA, KNOWN = "values.schema.json", ("http://json-schema.org/", "https://json-schema.org/")
SCRIPT = """\
import sys

sys.path.append({root!r})
from krm_fn.repositories.guard import main

sys.exit(main({helm!r}, sys.argv[1:], folders={folders!r}, scratch={scratch!r}, network={network!r}))
"""


class Flag(Value):
    """A flag: its long and its short name, and the kind of its value: "text", a "file", a "folder", or "" for a switch."""

    name: str
    short: str = ""
    value: str = ""


class RefusedWordError(Exception):
    """A word that may not reach the program, and the reason, "" if the word itself shows it."""

    def __init__(self, word: str, reason: str = "") -> None:
        super().__init__(word)
        self.word, self.reason = word, reason


# The commands of helm that kustomize calls, with their flags in all releases of kustomize.
CALLS = {
    "version": (Flag(name="--client", short="-c"), Flag(name="--short")),
    "pull": (
        Flag(name="--devel"),
        Flag(name="--repo", value="text"),
        Flag(name="--untar"),
        Flag(name="--untardir", value="folder"),
        Flag(name="--version", value="text"),
    ),
    "template": (
        Flag(name="--api-versions", value="text"),
        Flag(name="--debug"),
        Flag(name="--devel"),
        Flag(name="--generate-name"),
        Flag(name="--include-crds"),
        Flag(name="--kube-version", value="text"),
        Flag(name="--name-template", value="template"),
        Flag(name="--namespace", value="text"),
        Flag(name="--no-hooks"),
        Flag(name="--skip-tests"),
        Flag(name="--values", short="-f", value="file"),
    ),
}
# Functions of helm's name templates that show data which an application must not see: variables, and addresses of hosts.
REVEALING = ("env", "getHostByName")


def temporary(scratch: Path) -> Path:
    """The folder for kustomize's files. It is separate from those of the guard and helm, so that no chart is unpacked there."""
    return scratch / "tmp"


def guarded(helm: str, *, folders: Sequence[str], scratch: Path, network: bool = False) -> str:
    """The text of a program that guards the program `helm`. Charts may be in these folders; with `network`, they are pulled."""
    root = str(Path(krm_fn.__file__).resolve().parents[1])
    text = SCRIPT.format(root=root, helm=helm, folders=[*folders], scratch=str(scratch), network=network)
    return programs.script(sys.executable, text)


def main(helm: str, words: Sequence[str], *, folders: Sequence[str], scratch: str, network: bool) -> int:
    """Become helm if kustomize itself makes such a call. Otherwise write a line to stderr and return an exit code."""
    try:
        places = check(words, (*map(Path, folders), temporary(Path(scratch))), network=network)
    except RefusedWordError as error:
        reason = error.reason or "a kustomization must not pass this flag to helm"
        sys.stderr.write(f"refused: {error.word!r}: {reason}\n")
        return 1
    more = () if network else [flag for place in places for flag in unfetched(place)]
    os.execve(helm, [helm, *words, *more], {**os.environ, **homes(scratch)})  # noqa: S606  the program is helm
    return 1


def unfetched(chart: str) -> list[str]:
    """The flag that keeps helm from fetching what the schemas of a chart's values refer to; none where they need nothing."""
    found = (os.path.join(above, name) for above, _, names in os.walk(chart) for name in names)  # noqa: PTH118
    return [] if all(map(_needs_nothing, found)) else ["--skip-schema-validation"]


def _needs_nothing(file: str) -> bool:
    if file.endswith((".tgz", ".tar.gz")):
        return False  # nobody looks into it
    if os.path.basename(file) != SCHEMA:  # noqa: PTH119
        return True
    try:
        return all(_is_inside(key, value) for key, value in _entries(json.loads(Path(file).read_bytes())))
    except (OSError, ValueError, RecursionError):
        return False


def _entries(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from value.items()
    if isinstance(value, dict | list):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _entries(below)


def _is_inside(key: str, value: object) -> bool:
    """False for a key of a JSON Schema that leads to another place."""
    if key == "$schema":
        return isinstance(value, str) and value.startswith(KNOWN)
    return key not in REFERRING or (isinstance(value, str) and value.startswith("#"))


def homes(scratch: str) -> Mapping[str, str]:
    """The variables for the folders of helm's files; kustomize sets them to those of the kustomization."""
    return {f"HELM_{name}_HOME": f"{scratch}/helm/{name.lower()}" for name in ("CACHE", "CONFIG", "DATA")}


def check(words: Sequence[str], folders: Sequence[Path], *, network: bool = False) -> list[str]:
    """The folders of charts that helm is called with.

    Raises: RefusedError for arguments that kustomize itself does not write, and for places outside of the folders.
    """
    call, charts = words[0] if words else "", []
    if call not in CALLS:
        raise RefusedWordError(call)
    if call == "pull" and not network:
        raise RefusedWordError(call, "nothing is fetched; copy the chart into the repository, or use --network")
    for flag, value in read(words[1:], CALLS[call]):
        kind = flag.value if flag else "folder" if call == "template" and "/" in value else ""
        if kind == "folder" and not is_below(Path(value), folders):
            raise RefusedWordError(value, "it is outside the repository")
        if kind == "file" and not is_one_file(value, Path(), folders):
            raise RefusedWordError(value, "expected one file in the repository")
        if kind == "template" and any(name in value for name in REVEALING):
            raise RefusedWordError(value, f"a nameTemplate must not use {' or '.join(REVEALING)}")
        charts += [value] if not flag and kind == "folder" else []
    if link := next(filter(None, (link_out(chart, folders) for chart in charts)), ""):
        raise RefusedWordError(link, "it is a link out of the repository")
    return charts


def link_out(folder: str, folders: Sequence[str | Path]) -> str:
    """A link below a folder that leads out of all these, "" where there is none: helm follows links."""
    links = (os.path.join(above, name) for above, inner, names in os.walk(folder) for name in (*inner, *names))  # noqa: PTH118
    return next((link for link in links if os.path.islink(link) and not is_below(Path(link), folders)), "")  # noqa: PTH114


def read(words: Sequence[str], known: Sequence[Flag]) -> Iterator[tuple[Flag | None, str]]:
    """Each flag with its value ("" for a switch without one), and each word that is no flag, with None.

    Flags are read as in Go's pflag, but only in these forms: `--flag`, `--flag=value`, `--flag value` and `-f value`.
    Raises: RefusedError for an unknown flag, and for a flag without its value.
    """
    names = {name: flag for flag in known for name in (flag.name, flag.short) if name}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield None, word
            continue
        name, equals, value = word.partition("=")
        flag = names.get(name)
        if flag is None or (equals and name == flag.short):
            raise RefusedWordError(word)
        yield flag, _value(flag, word, rest) if not equals or not flag.value else value


def _value(flag: Flag, word: str, rest: Iterator[str]) -> str:
    if flag.value:
        for value in rest:
            return value
        raise RefusedWordError(word, "the value is missing")
    _, equals, value = word.partition("=")
    if equals and value not in ("true", "false"):
        raise RefusedWordError(word, "expected true or false")
    return value


def is_below(path: Path, folders: Sequence[str | Path]) -> bool:
    """True for a place in one of the folders, after links are followed."""
    real = Path(os.path.realpath(path))  # unlike resolve(), it accepts links that lead to themselves
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)


def is_one_file(name: str, folder: Path, folders: Sequence[Path]) -> bool:
    """True if the name, relative to `folder`, is a file in one of the folders, and helm reads it as this file alone."""
    if NO_FILE_NAME & set(name) or name != name.strip():
        return False
    path = folder / name
    return os.path.isfile(path) and is_below(path, folders)  # noqa: PTH113  is_file() raises for a name that is too long
