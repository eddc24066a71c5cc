"""What kustomize makes of a target. No program of the repository is run, and no file of it is changed.

To learn which file each object comes from, a *wrapper* is built: a kustomization in a scratch folder that includes the target
and asks for annotations with the origins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from krm_fn.base import programs
from krm_fn.base.errors import InputError
from krm_fn.base.objects import text
from krm_fn.base.programs import Finished
from krm_fn.repositories import guard
from krm_fn.repositories.complaints import complaint
from krm_fn.repositories.copying import as_before, copied, gathered, has_local, moved_to, own_functions, without_remote
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.kustomization import FILES, is_remote, joined, read
from krm_fn.repositories.types import Kustomization, Problem, Target
from krm_fn.rules.input.kustomization_not_built import MESSAGES, message
from krm_fn.sources.files import FOLLOW, is_file, is_in_repository, is_unsaved, is_within, refuse_links_out, repository
from krm_fn.sources.steps import Step

# The seconds that a kustomization may take to build; Argo CD has the same limit.
TIMEOUT: float = 90
# The seconds that all builds of a run may take. A large repository takes some minutes the first time.
TOTAL: float = 1_800
# Files from anywhere in the repository. Kustomize never gets this flag: it builds a copy that has them below the kustomization.
ANYWHERE = "--load-restrictor=LoadRestrictionsNone"
# Keys of a kustomization that count in the outermost one alone.
OUTERMOST = ("sortOptions", "buildMetadata")
ORIGINS = "originAnnotations"
# What kustomize says where an object's annotations are no map, such as a placeholder: without the wrapper it builds that.
UNWRITTEN = b"cannot add path annotation"


class Builder(NamedTuple):
    """A program that builds kustomizations: where it is, the words before the folder, and whether it may fetch."""

    program: str
    words: tuple[str, ...]
    network: bool = False


class Built(NamedTuple):
    """What was built of a target: YAML documents with annotations that name origins.

    The paths in these run from `wrapper`. What they name below `copy`, where the target was built from a copy, stands below
    `original`; `moved` are the files in the copy that stand elsewhere, each with its place. `steps` are this program's
    own among the transformers: what was built is what the first of them gets. `affixes` are the prefixes and
    suffixes that names got. `named` is the folder of the target, where its path has links or leads up.
    """

    data: bytes
    wrapper: str
    copy: str = ""
    original: str = ""
    moved: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    affixes: tuple[tuple[str, str], ...] = ()
    named: str = ""

    def file(self, path: str) -> str:
        """The file that an origin names, as a path from the working directory that begins as that of the target."""
        found = os.path.normpath(os.path.join(self.wrapper, path))  # noqa: PTH118
        if found in (moved := dict(self.moved)):
            return joined(".", moved[found])
        if self.copy and found.startswith(self.copy + os.sep):
            found = self.original + found[len(self.copy) :]
        plain = joined(".", found)
        folder = self.named or os.curdir
        is_renamed = self.named or os.path.isabs(plain)  # noqa: PTH117
        if not (is_renamed and is_within(found, [repository(folder)])):  # complaints have slashes that begin no path
            return plain
        named = joined(folder, os.path.relpath(found, os.path.realpath(folder)))
        return named if os.path.realpath(named) == os.path.realpath(found) else plain


def builder(path: str | None = None, *, network: bool = False) -> Builder | None:
    """The program on the PATH that builds: kustomize, else kubectl; None where neither is there."""
    if found := programs.find("kustomize", path):
        return Builder(found, ("build",), network)
    if found := programs.find("kubectl", path):
        return Builder(found, ("kustomize",), network)
    return None


def version(of: Builder) -> str:
    """What a program says of its version, for a cache; "" where it does not say."""
    words = ["version"] if of.words == ("build",) else ["version", "--client"]
    with programs.scratch() as made:
        try:
            ran = guard.run(of.program, words, scratch=Path(made), roots=(), timeout=TIMEOUT)
        except programs.OvertimeError:
            return ""
    return "" if ran.code else ran.out.decode(errors="replace").strip()


def build(
    target: Target, using: Builder, *, flags: Sequence[str] = (), timeout: float = TIMEOUT, partly: bool = False
) -> Built | Problem:
    """What kustomize makes of a target, or why it makes nothing. `flags` are some that the config may name.

    With `partly`, what the target includes of other machines is left out where it is not fetched.
    """
    kustomizations = kustomizations_of(target)
    flags = [ANYWHERE] if target.delivery and target.delivery.is_of_flux else flags
    problem = barred(target, network=using.network)
    is_less = partly and problem is not None and problem.reason == "remote"
    if problem := (None if is_less else problem) or _needs_helm(kustomizations, flags):
        return problem
    if not kustomizations:  # it was there when the target was found
        return Problem(file=target.file, reason="absent", detail=target.file)
    with programs.scratch() as made:
        scratch = Path(os.path.realpath(made))
        functions, steps = own_functions(kustomizations)
        if is_less:
            without_remote(kustomizations, functions)
        needs_copy = functions or any(map(is_unsaved, target.inputs)) or has_local(target)
        built = _placed(target, kustomizations, functions, flags, scratch, needs_copy=bool(needs_copy))
        built = built._replace(steps=steps, affixes=_affixes(kustomizations))
        wrapped = partial(_wrapper, target=_folder(target, built), of=kustomizations[0])
        asking = built._replace(wrapper=str(wrapped(scratch / "wrapper", [ORIGINS])))
        found = _built(target, using, flags, asking, timeout)
        if found is not None:
            return found
        plain = built._replace(wrapper=str(wrapped(scratch / "plain" / "wrapper", [])))
        return _built(target, using, flags, plain, timeout, asks=False) or plain


def plain(target: Target, using: Builder, *, timeout: float = TIMEOUT) -> bytes | Problem:
    """What the program prints for a target, with files from anywhere in its repository, or why it prints nothing."""
    kustomizations = kustomizations_of(target)
    if problem := barred(target, network=using.network) or _needs_helm(kustomizations, ()):
        return problem
    with programs.scratch() as made:
        scratch = Path(os.path.realpath(made))
        built = _placed(target, kustomizations, {}, [ANYWHERE], scratch)
        built = built._replace(wrapper=_folder(target, built))
        ran = _ran(target, using, (), built, timeout, scratch=scratch)
    found = ran if isinstance(ran, Problem) else _read(ran, target, built)
    if not isinstance(found, Built):
        return found
    for place, file in built.moved:  # annotations with origins name files
        there, here = os.path.relpath(place, built.wrapper), os.path.relpath(file, target.folder)
        found = found._replace(data=found.data.replace(there.encode(), here.encode()))
    return found.data


def printed(folder: str, *, timeout: float, flags: Sequence[str] = (), network: bool = False, follow: bool = False) -> bytes:
    """The stdout of `kustomize build` for a folder that a user names; its stderr goes directly to ours.

    Without `follow`, its files are all in its repository, where it is in one.
    Raises: InputError.
    """
    using = builder(network=network)
    if using is None:
        raise InputError(f"neither kustomize nor kubectl is on the PATH to build {folder}; install one of them")
    refuse_links_out([] if follow else [folder], FOLLOW)
    roots = [] if follow or not is_in_repository(folder) else [repository(folder), os.curdir]
    target = target_of(folder, roots)
    refuse(target and barred(target, network=network))
    refuse(Problem(file="", reason="remote", detail=folder) if is_remote(folder) and not network else None)
    name = " ".join([Path(using.program).name, *using.words, folder, *flags])
    with programs.scratch() as made:
        scratch = Path(os.path.realpath(made))
        built = _placed(target, kustomizations_of(target), {}, flags, scratch) if target else Built(b"", "")
        place = _folder(target, built) if target and built.copy else folder
        words = [*using.words, place, *(flag for flag in flags if flag != ANYWHERE)]
        try:
            ran = guard.run(
                using.program,
                words,
                scratch=scratch,
                roots=_roots(folder, built),
                timeout=timeout,
                network=network,
                quiet=False,
            )
        except guard.LateError:
            raise InputError(f"`{name}`: {MESSAGES['late']}") from None
        except programs.OvertimeError:
            raise InputError(
                f"`{name}` was stopped after {timeout:g} s; reduce what the build fetches, or raise --timeout"
            ) from None
    if ran.code:
        raise InputError(f"`{name}` failed with exit code {ran.code}; see its message above")
    return ran.out


def barred(target: Target, *, network: bool) -> Problem | None:
    """Why a target is not built, as far as that is known without a build."""
    return None if target.problem and network and target.problem.reason == "remote" else target.problem


def refuse(problem: Problem | None) -> None:
    """Raises: InputError for a problem."""
    if problem:
        raise InputError(message(problem), file=problem.file, line=problem.line, column=problem.column)


def _roots(folder: str, built: Built) -> list[str]:
    """The folders in which charts may be."""
    return [repository(folder), *([built.copy] if built.copy else [])]


def _placed(
    target: Target,
    kustomizations: list[Kustomization],
    texts: dict[str, str],
    flags: Sequence[str],
    scratch: Path,
    *,
    needs_copy: bool = False,
) -> Built:
    """Where a target is built from: its folder, or a copy of its files, some with other texts."""
    moved = gathered(kustomizations, texts) if ANYWHERE in flags else {}
    is_plain = os.path.realpath(target.folder) == os.path.normpath(os.path.join(os.getcwd(), target.folder))  # noqa: PTH109, PTH118
    named = target.folder if not is_plain or target.folder.startswith(("..", os.sep)) else ""
    if not (moved or needs_copy):
        return Built(b"", "", named=named)
    copy, original = copied(target, texts, scratch / "copy", moved, local=needs_copy)
    places = tuple((str(place), file) for place, file in moved_to(copy, original, moved))
    return Built(b"", "", str(copy), original, places, named=named)


def _folder(target: Target, built: Built) -> str:
    real = os.path.realpath(target.folder)
    return built.copy + real.removeprefix(built.original) if built.copy else real


def _built(
    target: Target, using: Builder, flags: Sequence[str], built: Built, timeout: float, *, asks: bool = True
) -> Built | Problem | None:
    """What kustomize makes of a target; None where it can't write the annotations that the wrapper asks for."""
    ran = _ran(target, using, flags, built, timeout, scratch=Path(built.wrapper).parent)
    if isinstance(ran, Problem):
        return ran
    return None if ran.code and asks and UNWRITTEN in ran.complaints else _read(ran, target, built)


def _ran(
    target: Target, using: Builder, flags: Sequence[str], built: Built, timeout: float, *, scratch: Path
) -> Finished | Problem:
    words = [*using.words, built.wrapper, *(flag for flag in flags if flag != ANYWHERE)]
    roots = _roots(target.folder, built)
    try:
        return guard.run(using.program, words, scratch=scratch, roots=roots, timeout=timeout, network=using.network)
    except guard.LateError:
        return Problem(file=target.file, reason="late")
    except programs.OvertimeError:
        return Problem(file=target.file, reason="slow", detail=f"{timeout:g} s")


def _read(ran: Finished, target: Target, built: Built) -> Built | Problem:
    if ran.code:
        return complaint(ran.complaints.decode(errors="replace"), target, built.file)
    return built._replace(data=as_before(ran.out) if built.copy else ran.out)


def _affixes(kustomizations: Iterable[Kustomization]) -> tuple[tuple[str, str], ...]:
    """The prefixes and suffixes that kustomizations give to names; `("", "")` is there for the hash of a generator."""
    pairs = ((text(each.obj.get("namePrefix")), text(each.obj.get("nameSuffix"))) for each in kustomizations)
    found = dict.fromkeys(affix for prefix, suffix in pairs for affix in ((prefix, ""), ("", suffix)))
    return tuple(found)


def kustomizations_of(target: Target) -> list[Kustomization]:
    """The kustomizations of a target, itself first."""
    found = []
    for folder in target.kustomizations:
        files = [target.file] if folder == target.folder else [joined(folder, name) for name in FILES]
        file = next(filter(is_file, files), None)
        each = read(folder, file) if file else None
        found += [each.kustomization] if each else []
    return found


def _needs_helm(kustomizations: Iterable[Kustomization], flags: Iterable[str]) -> Problem | None:
    if guard.HELM in flags:
        return None
    return next((Problem(file=each.file, reason="helm") for each in kustomizations if each.charts), None)


def _wrapper(folder: Path, metadata: list[str], target: str, of: Kustomization) -> Path:
    """The folder with a kustomization that includes the target, and asks for this metadata of objects."""
    own = {key: of.obj[key] for key in OUTERMOST if of.obj.get(key)}
    asked = own.get("buildMetadata")
    metadata = [*(asked if isinstance(asked, list) else ()), *metadata]
    folder.mkdir(parents=True)
    text = json.dumps({**own, "resources": [os.path.relpath(target, folder)], "buildMetadata": list(dict.fromkeys(metadata))})
    (folder / FILES[0]).write_text(text)
    return folder
