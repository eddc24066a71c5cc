"""What kustomize makes of a target. Nothing is fetched, no program of the repository is run, and no file of it is changed.

To learn which file each object comes from, a *wrapper* is built: a kustomization in a scratch folder that includes the target
and asks for annotations with the origins.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from krm_fn.base import programs
from krm_fn.repositories.complaints import complaint
from krm_fn.repositories.copying import as_before, copied, has_local, own_functions
from krm_fn.repositories.kustomization import FILES, joined
from krm_fn.repositories.reading import read
from krm_fn.repositories.types import Problem
from krm_fn.sources.builds import TIMEOUT
from krm_fn.sources.files import is_unsaved

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krm_fn.repositories.types import Kustomization, Target

HELM = "--enable-helm"
# What programs need of our environment. The rest stays ours: a kustomization can put variables into what it makes.
KEPT = ("PATH", "LANG", "LC_ALL")
NOWHERE = "http://127.0.0.1:9"  # no proxy listens there
OFFLINE = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), NOWHERE),
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    # kustomize lives for a moment: it takes a seventh less time when it tidies up its memory less often
    "GOGC": "400",
}
# Keys of a kustomization that count in the outermost one alone.
OUTERMOST = ("sortOptions", "buildMetadata")
ORIGINS = "originAnnotations"


class Builder(NamedTuple):
    """A program that builds kustomizations: where it is, and the words before the folder."""

    program: str
    words: tuple[str, ...]


class Built(NamedTuple):
    """What was built of a target: YAML documents with annotations that name origins.

    The paths in these run from `wrapper`. What they name below `copy`, where the target was built from a copy, stands below
    `original`.
    """

    data: bytes
    wrapper: str
    copy: str = ""
    original: str = ""

    def file(self, path: str) -> str:
        """The file that an origin names, as a path from the working directory."""
        found = os.path.normpath(os.path.join(self.wrapper, path))  # noqa: PTH118
        if self.copy and found.startswith(self.copy + os.sep):
            found = self.original + found[len(self.copy) :]
        return joined(".", found)


def builder(path: str | None = None) -> Builder | None:
    """The program on the PATH that builds: kustomize, else kubectl; None where neither is there."""
    if found := programs.find("kustomize", path):
        return Builder(found, ("build",))
    if found := programs.find("kubectl", path):
        return Builder(found, ("kustomize",))
    return None


def version(of: Builder) -> str:
    """What a program says of its version, for a cache; "" where it does not say."""
    words = ["version"] if of.words == ("build",) else ["version", "--client"]
    try:
        ran = programs.finished(of.program, words, environment=environment(""), timeout=TIMEOUT, quiet=True)
    except subprocess.TimeoutExpired:
        return ""
    return "" if ran.code else ran.out.decode(errors="replace").strip()


def build(target: Target, using: Builder, *, flags: Sequence[str] = (), timeout: float = TIMEOUT) -> Built | Problem:
    """What kustomize makes of a target, or why it makes nothing. `flags` are some that the config may name."""
    kustomizations = kustomizations_of(target)
    if problem := target.problem or _needs_helm(kustomizations, flags):
        return problem
    with programs.scratch() as made:
        scratch = Path(os.path.realpath(made))
        functions = own_functions(kustomizations)
        needs_copy = functions or any(map(is_unsaved, target.inputs)) or has_local(target)
        copy, original = copied(target, kustomizations, functions, scratch / "copy") if needs_copy else (None, "")
        real = os.path.realpath(target.folder)
        folder = str(copy) + real.removeprefix(original) if copy else real
        wrapper = _wrapper(scratch / "wrapper", folder, kustomizations[0])
        built = Built(b"", str(wrapper), str(copy or ""), original)
        return _built(target, using, flags, built, timeout)


def _built(target: Target, using: Builder, flags: Sequence[str], built: Built, timeout: float) -> Built | Problem:
    words = [*using.words, built.wrapper, *flags]
    variables = environment(str(Path(built.wrapper).parent))
    try:
        ran = programs.finished(using.program, words, environment=variables, timeout=timeout, quiet=True)
    except subprocess.TimeoutExpired:
        return Problem(file=target.file, reason="slow", detail=f"{timeout:g} s")
    if ran.code:
        return complaint(ran.complaints.decode(errors="replace"), target, built.file)
    return built._replace(data=as_before(ran.out) if built.copy else ran.out)


def kustomizations_of(target: Target) -> list[Kustomization]:
    """The kustomizations of a target, itself first."""
    found = []
    for folder in target.kustomizations:
        files = [target.file] if folder == target.folder else [joined(folder, name) for name in FILES]
        file = next(filter(os.path.isfile, files), None)
        each = read(folder, file) if file else None
        found += [each.kustomization] if each else []
    return found


def _needs_helm(kustomizations: Iterable[Kustomization], flags: Iterable[str]) -> Problem | None:
    if HELM in flags:
        return None
    return next((Problem(file=each.file, reason="helm") for each in kustomizations if each.charts), None)


def _wrapper(folder: Path, target: str, of: Kustomization) -> Path:
    """The folder with a kustomization that includes the target, and asks for the origins of objects."""
    own = {key: of.obj[key] for key in OUTERMOST if of.obj.get(key)}
    asked = own.get("buildMetadata")
    metadata = [*(asked if isinstance(asked, list) else ()), ORIGINS]
    folder.mkdir()
    text = json.dumps({**own, "resources": [os.path.relpath(target, folder)], "buildMetadata": list(dict.fromkeys(metadata))})
    (folder / FILES[0]).write_text(text)
    return folder


def environment(scratch: str) -> dict[str, str]:
    """The variables that a program which builds gets; what it writes goes into a scratch folder."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, **OFFLINE, **dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME"), scratch)}
