"""A guard between kustomize and helm: it allows only the calls that kustomize itself makes.

With `--enable-helm`, kustomize passes texts of a kustomization to helm unchanged. A `releaseName` may be a flag there, such as
`--post-renderer=/bin/sh`, which runs commands of the chart. `configHome` may name a folder with helm plugins, which are
programs, and `chartHome` any folder to unpack a chart into.

So kustomize finds a script as `helm` on its PATH, which calls `main`. It starts helm only with the flags that kustomize writes,
for charts and values files in the repository and in kustomize's temporary folder. The folders for helm's own files are not
those that the kustomization chooses.
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
    """Become helm if kustomize itself makes such a call. Otherwise write a line to stderr and return an exit code."""
    try:
        check(words, (Path(repository), temporary(Path(scratch))))
    except RefusedError as error:
        reason = error.reason or "a kustomization must not pass this flag to helm"
        sys.stderr.write(f"refused: {error.word!r}: {reason}\n")
        return 1
    os.execve(helm, [helm, *words], {**os.environ, **homes(scratch)})  # noqa: S606  the program is helm
    return 1


def homes(scratch: str) -> Mapping[str, str]:
    """The variables for the folders of helm's files; kustomize sets them to those of the kustomization."""
    return {f"HELM_{name}_HOME": f"{scratch}/helm/{name.lower()}" for name in ("CACHE", "CONFIG", "DATA")}


def check(words: Sequence[str], folders: Sequence[Path]) -> None:
    """Raises: RefusedError for arguments that kustomize itself does not write, and for places outside of the folders."""
    call = words[0] if words else ""
    if call not in CALLS:
        raise RefusedError(call)
    for flag, value in read(words[1:], CALLS[call]):
        kind = flag.value if flag else "folder" if call == "template" and "/" in value else ""
        if kind == "folder" and not is_below(Path(value), folders):
            raise RefusedError(value, "it is outside the application's repository")
        if kind == "file" and not is_one_file(value, Path(), folders):
            raise RefusedError(value, "expected one file in the application's repository")
        if kind == "template" and any(name in value for name in REVEALING):
            raise RefusedError(value, f"a nameTemplate must not use {' or '.join(REVEALING)}")
