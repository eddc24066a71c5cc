"""Cases, run: what `check` finds in their inputs and what `render` makes of these, compared with what is expected.

`test --update` writes the expectations as the program meets them now. Comments and matching entries stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.errors import ConfigError, InputError, RenderError
from krm_fn.base.objects import is_resource, ref_of
from krm_fn.base.paths import canonical
from krm_fn.base.value import Value
from krm_fn.base.work import Budget
from krm_fn.cli import options, outputs, replacing
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases import comparing
from krm_fn.cli.cases.case import Case, ExpectedField
from krm_fn.cli.units import CommandRequest, named
from krm_fn.findings import results
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories import loading
from krm_fn.repositories.judging import judge
from krm_fn.repositories.loading import Options
from krm_fn.repositories.sharing import NOTHING
from krm_fn.repositories.workspace import validating
from krm_fn.sources.places import Places
from krm_fn.sources.source import Sources


class CasesRun(Value):
    """How all cases of a run are judged. `budget` is the work that the fields of all cases may take together."""

    flags: Mapping[str, Any]
    config_file: str | None
    budget: Budget


class Result(Value):
    """What came of a case. `differences` are lines, empty where the case passes; `error` says why it could not be run."""

    folder: str
    differences: tuple[str, ...] = ()
    error: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.differences or self.error)


def result_of(folder: str, tops: Sequence[str], run: CasesRun) -> Result:
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


def _differences(case: Case, run: CasesRun) -> Iterator[str]:
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


def found(case: Case, run: CasesRun) -> list[dict[str, str]]:
    """The findings of `check` that count for a case. Raises: RenderError."""
    paths, kustomizations = _input(case)
    flags = {"paths": paths, "kustomizations": kustomizations, "config_file": case.config or run.config_file}
    request = CommandRequest(flags={**_flags(case, run), **flags}, checking=validating)
    how, unit = Options(listed=False), named(request, paths, kustomizations)
    return comparing.counting(case, judge(unit, loading.read(unit, how), NOTHING, how).findings)


def rendered(case: Case, run: CasesRun) -> tuple[Sources, Outcome]:
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


def _flags(case: Case, run: CasesRun) -> Mapping[str, Any]:
    """The flags for a case, whose own config must not have code loaded."""
    return {**run.flags, "exclude": (), "helm": False, "target": None, "cluster": None, options.UNTRUSTED: bool(case.config)}


def _input(case: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths to read and the kustomizations to build."""
    built = tuple(path for path in case.inputs if cases.is_kustomization(path))
    return tuple(path for path in case.inputs if path not in built), built


HEAD = "# Written by `kubevirt-render test --update`; change it as you like.\n"


def update(folder: str, tops: Sequence[str], run: CasesRun) -> list[str]:
    """Write the expectations of the case in a folder anew. The files that changed. Raises: RenderError."""
    case = cases.read(folder, tops)
    changed = []
    new: dict[str, Any] = {}
    if case.findings is not None or case.expects_nothing:
        new["findings"] = _findings(case.findings or (), found(case, run))
    if case.fields or case.rendered:
        sources, outcome = rendered(case, run)
        if case.fields:
            new["fields"] = _fields(case.fields, outcome.items, run.budget)
        if case.rendered:
            changed += _written(Path(folder, cases.RENDERED), outputs.to_yaml(sources, outcome))
    return [*changed, *_expected(Path(folder, cases.EXPECTED), new)] if new else changed


def _findings(expected: Sequence[dict[str, str]], found: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The findings that there are; an expectation that is met stays as it is written, and in its place if all are met."""
    pairs = comparing.paired(expected, found)
    if len(pairs) == len(expected) == len(found):
        return list(expected)
    written = {at: expected[number] for number, at in pairs.items()}
    return [written.get(at, each) for at, each in enumerate(found)]


def _fields(fields: Sequence[ExpectedField], items: Sequence[Any], budget: Budget) -> list[dict[str, Any]]:
    """The fields with the values that they have; those of objects that are gone stay."""
    objects = {str(ref_of(entry.obj)): entry.obj for entry in bundle.entries(items) if is_resource(entry.obj)}
    found = []
    for field in fields:
        has = comparing.selected(field, objects[field.object], budget) if field.object in objects else list(field.values)
        if field.is_cel:
            stated = {} if has == [True] else {"value": has[0]}
            found.append({"object": field.object, "cel": field.path, **stated})
            continue
        single = field.single and len(has) == 1
        found.append({"object": field.object, "path": field.path, **({"value": has[0]} if single else {"values": has})})
    return found


def _expected(file: Path, new: dict[str, Any]) -> list[str]:
    if not file.exists():
        return _written(file, (HEAD + yamlio.dump(new)).encode())
    text = yamlio.read_stream(file.read_bytes(), file=str(file))
    old = text.items[0] if text.items else {}
    if canonical(old) == canonical({**old, **new}):
        return []
    return _written(file, yamlio.write_stream(text, [{**old, **new}]))


def _written(file: Path, data: bytes) -> list[str]:
    """The name of the file if its content changed."""
    if file.exists() and file.read_bytes() == data:
        return []
    replacing.write(str(file), data)
    return [file.as_posix()]
