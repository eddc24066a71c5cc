"""helm as kustomize gets it: limited to what kustomize itself says to helm.

With `--enable-helm`, kustomize hands texts of a kustomization to helm as they are. A `releaseName` may be a flag there, such as
`--post-renderer=/bin/sh`, which runs what the chart says. `configHome` may name a folder with helm plugins, which are programs,
and `chartHome` any folder to unpack a chart into.

So kustomize finds a script as `helm` on its PATH, which calls `main`. It starts helm with the flags that kustomize writes and
no others, for charts and values files of the repository and of kustomize's temporary folder, and with folders for helm's own
files that the kustomization can't choose.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import krm_fn
from krm_fn.base import programs
from krm_fn.hosts.argocd.flags import Flag, RefusedError, is_below, is_one_file, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRIPT = """\
import sys

sys.path.append({root!r})
from krm_fn.hosts.argocd.helm import main

sys.exit(main({helm!r}, sys.argv[1:], repository={repository!r}, scratch={scratch!r}))
"""

# What kustomize calls helm for, and with which flags; all releases together.
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
# Functions of helm's name templates that tell what is no business of an application's: variables, and who has which address.
TELLING = ("env", "getHostByName")


def temporary(scratch: Path) -> Path:
    """Where kustomize may write: beside what the guard and helm have in the folder, so that no chart is unpacked there."""
    return scratch / "tmp"


def guarded(helm: str, *, repository: Path, scratch: Path) -> Path:
    """A new folder for the PATH with a `helm` that guards the program `helm`."""
    folder = scratch / "bin"
    folder.mkdir()
    root = str(Path(krm_fn.__file__).resolve().parents[1])
    text = SCRIPT.format(root=root, helm=helm, repository=str(repository), scratch=str(scratch))
    (folder / "helm").write_text(programs.script(sys.executable, text))
    (folder / "helm").chmod(0o755)
    return folder


def main(helm: str, words: Sequence[str], *, repository: str, scratch: str) -> int:
    """Become helm, where its arguments are what kustomize itself says; else the exit code, after a line on stderr."""
    try:
        check(words, (Path(repository), temporary(Path(scratch))))
    except RefusedError as error:
        reason = error.reason or "a kustomization must not pass this flag to helm"
        sys.stderr.write(f"refused: {error.word!r}: {reason}\n")
        return 1
    os.execve(helm, [helm, *words], {**os.environ, **homes(scratch)})  # noqa: S606  what is run is helm
    return 1


def homes(scratch: str) -> Mapping[str, str]:
    """The variables that say where helm keeps what; kustomize sets them as the kustomization says."""
    return {f"HELM_{name}_HOME": f"{scratch}/helm/{name.lower()}" for name in ("CACHE", "CONFIG", "DATA")}


def check(words: Sequence[str], folders: Sequence[Path]) -> None:
    """Raises: RefusedError for what kustomize itself doesn't say, and for what leads out of the folders."""
    call = words[0] if words else ""
    if call not in CALLS:
        raise RefusedError(call)
    for flag, value in read(words[1:], CALLS[call]):
        kind = flag.value if flag else "folder" if call == "template" and "/" in value else ""
        if kind == "folder" and not is_below(Path(value), folders):
            raise RefusedError(value, "it is outside the application's repository")
        if kind == "file" and not is_one_file(value, Path(), folders):
            raise RefusedError(value, "expected one file in the application's repository")
        if kind == "template" and any(name in value for name in TELLING):
            raise RefusedError(value, f"a nameTemplate must not use {' or '.join(TELLING)}")
