"""Cases, run: what `check` finds in their inputs and what `render` makes of these, compared with what is expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.errors import ConfigError, InputError, RenderError
from krm_fn.base.value import Value
from krm_fn.cli import options, outputs
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases import comparing
from krm_fn.cli.units import Request, named
from krm_fn.findings import results
from krm_fn.pipeline import stages
from krm_fn.repositories import loading
from krm_fn.repositories.judging import judge
from krm_fn.repositories.loading import Options
from krm_fn.repositories.sharing import NOTHING
from krm_fn.sources.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.base.work import Budget
    from krm_fn.cli.cases.case import Case
    from krm_fn.cli.progress import Progress
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.source import Sources


class Run(Value):
    """How all cases of a run are judged. `checking` makes the config of `check` of the one that users wrote.

    `budget` is the work that the fields of all cases may take together.
    """

    flags: Mapping[str, Any]
    config_file: str | None
    checking: Callable[[Config], Config]
    bar: Progress
    budget: Budget


class Result(Value):
    """What came of a case. `differences` are lines, empty where the case passes; `error` says why it could not be run."""

    folder: str
    differences: tuple[str, ...] = ()
    error: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.differences or self.error)


def result_of(folder: str, tops: Sequence[str], run: Run) -> Result:
    """What comes of the case in a folder. A case that can't be read fails, and the others run."""
    try:
        case = cases.read(folder, tops)
        if case.expects_nothing:
            raise InputError(
                "nothing is expected here; run `kubevirt-render test --update` to write the findings that there are",
                file=str(Path(folder, cases.EXPECTED)),
            )
        return Result(folder=folder, differences=tuple(_differences(case, run)))
    except RenderError as error:
        return Result(folder=folder, error=str(error))


def _differences(case: Case, run: Run) -> Iterator[str]:
    if case.findings is not None:
        yield from comparing.of_findings(case.findings, found(case, run))
    if case.fields or case.rendered:
        sources, outcome = rendered(case, run)
        if case.rendered:
            expected = Path(case.folder, cases.RENDERED).read_bytes()
            yield from comparing.of_rendered(expected, outputs.to_yaml(sources, outcome))
        try:
            yield from comparing.of_fields(case.fields, outcome.items, run.budget)
        except ConfigError as error:
            raise InputError(str(error), file=str(Path(case.folder, cases.EXPECTED))) from None


def found(case: Case, run: Run) -> list[dict[str, str]]:
    """The findings of `check` that count for a case. Raises: RenderError."""
    paths, kustomizations = _input(case)
    request = Request(
        paths=paths,
        kustomizations=kustomizations,
        config_file=case.config or run.config_file,
        flags=_flags(case, run),
        checking=run.checking,
    )
    how, unit = Options(listed=False), named(request, paths, kustomizations)
    return comparing.counting(case, judge(unit, loading.read(unit, how), NOTHING, how).findings)


def rendered(case: Case, run: Run) -> tuple[Sources, Outcome]:
    """What `render` makes of a case. Raises: InputError where a finding keeps it from printing anything; RenderError."""
    paths, kustomizations = _input(case)
    sources = options.read_sources(
        paths, kustomizations, verbose=False, timeout=run.flags["timeout"], build_flags=run.flags["build_flags"]
    )
    config = options.settings(sources, case.config or run.config_file, _flags(case, run), near=(*paths, *kustomizations))
    outcome = stages.render(sources.items, config, places=sources.places)
    if results.exit_code(outcome.findings, config.fail_on):
        worst = Places(sources).located(outcome.findings[:1])
        raise InputError(f"nothing is rendered, because of this finding: {results.line(worst[0])}", file=case.folder)
    return sources, outcome


def _flags(case: Case, run: Run) -> Mapping[str, Any]:
    """The flags for a case, whose own config must not have code loaded."""
    return {**run.flags, "exclude": (), "helm": False, "target": None, "cluster": None, options.UNTRUSTED: bool(case.config)}


def _input(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths to read and the kustomizations to build."""
    built = tuple(path for path in case.inputs if cases.is_kustomization(path))
    return tuple(path for path in case.inputs if path not in built), built
