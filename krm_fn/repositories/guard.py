"""The one way in which kustomize, kubectl and helm are started.

What they build may come from strangers. So they get an environment with PATH and locale alone, since a kustomization can print
variables; and they find programs in place of git and helm: one that fails, and one that guards helm (`helm_calls`). Proxies
that nobody serves and git without protocols come on top of what is refused before anything is started (`graph`, `plugins`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from krm_fn.base import programs
from krm_fn.base.programs import Finished
from krm_fn.repositories import helm_calls

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
    Raises: subprocess.TimeoutExpired; LateError where the `timeout` is a Timeout.
    """
    variables = dict(given) if given is not None else environment(network=network)
    path = variables.get("PATH", os.defpath)
    shadows = {} if network else {"git": NO_GIT}
    if found := programs.find(helm, path):
        shadows["helm"] = helm_calls.guarded(found, folders=roots, scratch=scratch, network=network)
    home = str(scratch / "home")  # apart from TMPDIR, where charts may be unpacked
    own = {"HOME": home, "XDG_CONFIG_HOME": home, "TMPDIR": str(helm_calls.temporary(scratch))}
    shadowed = {} if Path(program).name == "helm" else {"PATH": f"{_folder(scratch, shadows)}{os.pathsep}{path}"}
    helm_calls.temporary(scratch).mkdir()
    Path(home).mkdir()
    needed = {**helm_calls.homes(str(scratch)), "HELM_PLUGINS": f"{home}/none"}
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
    """What a program says in its time, and in what is left for all. Raises: subprocess.TimeoutExpired, LateError."""
    until = timeout.until if isinstance(timeout, Timeout) else 0.0
    left = until - time.time() if until else timeout
    if left <= 0:
        raise LateError
    try:
        return programs.finished(program, words, timeout=min(left, timeout), **how)
    except subprocess.TimeoutExpired:
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
