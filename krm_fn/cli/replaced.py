"""`check --base`: the objects that those of a run replace, for policies that compare both."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from krm_fn.cli import build_flags
from krm_fn.cli.units import key_of, units_of
from krm_fn.pipeline.stages import Before
from krm_fn.repositories.bundles import objects_of
from krm_fn.repositories.running import run
from krm_fn.repositories.workspace import Workspace
from krm_fn.sources.files import read_found

if TYPE_CHECKING:
    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Key, Request
    from krm_fn.repositories.loading import Options

KIND = b"ValidatingAdmissionPolicy"


def are_wanted(request: Request) -> bool:
    """True if a run may have policies: in the config, in a flag, in its files, or in what is built outside of folders.

    Raises: ConfigError, InputError, UsageError.
    """
    if request.flags["policies"] or request.kustomizations:
        return True
    workspace = Workspace(request.asked)
    units = workspace.units
    every = (*(unit.settings for unit in units), *map(workspace.settings, request.paths))
    if any(settings.config.policies for settings in every):
        return True
    files = (file for unit in units for file in unit.inputs)
    return any(KIND in _content(file) for file in (*files, *workspace.asked.named))


def _content(file: str) -> bytes:
    with suppress(OSError):
        return read_found(file)[0]
    return b""


def read(request: Request, how: Options, bar: Progress) -> dict[Key, Before]:
    """What each unit consists of, by its key; in the working directory, which is that of the earlier state.

    Raises: ConfigError, InputError.
    """
    workspace = request.searched(bar)
    units = units_of(request, workspace)
    using = how.but(using=build_flags.builder())
    jobs, others = request.flags["jobs"], workspace.others
    objects = run(units, using, objects_of, title="Reading", jobs=jobs, watch=bar.watch, others=others)
    return {
        key_of(unit): Before(items=[*each.items, *each.taken], config=unit.settings.config, is_whole=each.is_whole)
        for unit, each in zip(units, objects, strict=True)
    }
