"""What the objects of an application meet in their cluster: what the rest of its repository has for the same cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import name_of
from krm_fn.hosts.argocd.build import repository
from krm_fn.repositories import building, loading, sharing
from krm_fn.repositories.loading import Options, Unit
from krm_fn.repositories.packages import is_below
from krm_fn.repositories.sharing import Offer, Offered, Reach
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, Surroundings
from krm_fn.sources.files import is_within

SOURCE = "ARGOCD_APP_SOURCE_PATH"
NONE = "none"  # in place of the folders: nothing of the repository counts


def surroundings(
    reach: Callable[..., Reach], asked: Asked, environment: Mapping[str, str], context: Sequence[str] | None = None
) -> Surroundings:
    """What an application in the current folder takes of its repository; nothing where Argo CD names no path there.

    `reach` makes that of the application's objects. `context` are the files and folders that alone count, None for all.
    Raises: ConfigError, InputError where that takes more than the seconds of `asked`.
    """
    root = str(repository(Path(), environment))
    within = None if context is None else _within(context, root)
    if SOURCE not in environment:
        return NO_SURROUNDINGS
    workspace = Workspace(asked.but(paths=(os.path.relpath(root),), root=root, reach=root))
    units = [*workspace.targets, *workspace.files, *workspace.charts]
    own = [unit for unit in units if unit.target and unit.target.folder == os.curdir]
    cluster = _cluster(own, environment.get("ARGOCD_APP_NAME", "")) or workspace.settings(os.curdir).cluster
    beside = [each for unit in units if unit not in own and unit.settings.cluster == cluster for each in _parts(unit, within)]
    taken = sharing.taken_by(reach(within=within), Offered(_offers(beside, asked.timeout)))
    return taken.surroundings(workspace.settings(os.curdir).externals)


def _within(context: Sequence[str], root: str) -> tuple[str, ...]:
    """The paths of a context. Raises: ConfigError for one that is not in the repository."""
    context = context if list(context) != [NONE] else ()
    for path in context:
        if not is_within(path, [root]):
            raise ConfigError(f"{path} is not in the application's repository", path="parameter context")
        if not os.path.exists(path):  # noqa: PTH110
            raise ConfigError(f"{path} is not there; expected a file or a folder", path="parameter context")
    return tuple(map(os.path.normpath, context))


def _cluster(own: Sequence[Unit], name: str) -> str:
    """The cluster to which the Application of this name applies the folder, else the only one to which it is applied."""
    called = [unit for unit in own if unit.target and unit.target.delivery and name_of(unit.target.delivery.obj) == name]
    found = {unit.settings.cluster for unit in called or own}
    return found.pop() if len(found) == 1 else ""


def _parts(unit: Unit, within: Sequence[str] | None) -> Iterator[Unit]:
    """The unit, as far as it may have something in one of the paths; all of it where there are none."""
    if within is None or (unit.target and any(is_below(file, within) for file in unit.inputs)):
        yield unit
    elif files := tuple(each for each in unit.files if is_below(each, within)):
        yield unit.but(files=files)


def _offers(units: Sequence[Unit], timeout: float) -> Iterator[Offer]:
    """What units offer. Raises: InputError where that takes too long: what is rendered must not depend on the machine."""
    start = time.monotonic()
    for unit in units:
        how = Options(using=building.builder(), timeout=max(timeout - (time.monotonic() - start), 0.1))
        try:
            yield from loading.load(unit, how).offers
        except InputError:
            continue  # the mistake of another application
        if time.monotonic() - start > timeout:
            fix = "name the folders that count with the parameter context"
            raise InputError(f"reading the rest of the repository took more than {timeout:g} s; {fix}")
