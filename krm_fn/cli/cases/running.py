"""Cases, run: what `check` finds in their inputs and what `render` makes of these, compared with what is expected.

`test --update` writes the expectations as the program meets them now. Comments and matching entries stay.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.console import one_line, printable
from krm_fn.base.errors import ConfigError, InputError, RenderError
from krm_fn.base.objects import Object, is_resource, ref_of
from krm_fn.base.paths import canonical, dotted, get, steps
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.base.work import WORK, Budget, Unsupported
from krm_fn.cli import options, outputs, replacing
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases.case import Case, ExpectedField
from krm_fn.cli.formats import counted
from krm_fn.cli.units import CommandRequest, named
from krm_fn.config.keys import hint
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories import loading
from krm_fn.repositories.clusters import validating
from krm_fn.repositories.judging import judge
from krm_fn.repositories.loading import Options
from krm_fn.repositories.sharing import NOTHING
from krm_fn.sources.places import Places
from krm_fn.sources.source import Sources

if TYPE_CHECKING:
    from krm_fn.cli.cases.case import Case, ExpectedField


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
        yield from of_findings(case.findings, found(case, run))
    if case.fields or case.rendered:
        sources, outcome = rendered(case, run)
        if case.rendered:
            expected = Path(case.folder, cases.RENDERED).read_bytes()
            yield from of_rendered(expected, outputs.to_yaml(sources, outcome))
        try:
            yield from of_fields(case.fields, outcome.items, run.budget)
        except ConfigError as error:
            raise InputError(str(error), file=str(Path(case.folder, cases.EXPECTED))) from None


def found(case: Case, run: CasesRun) -> list[dict[str, str]]:
    """The findings of `check` that count for a case. Raises: RenderError."""
    paths, kustomizations = _input(case)
    flags = {"paths": paths, "kustomizations": kustomizations, "config_file": case.config or run.config_file}
    request = CommandRequest(flags={**_flags(case, run), **flags}, checking=validating)
    how, unit = Options(listed=False), named(request, paths, kustomizations)
    return counting(case, judge(unit, loading.read(unit, how), NOTHING, how).findings)


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
    pairs = paired(expected, found)
    if len(pairs) == len(expected) == len(found):
        return list(expected)
    written = {at: expected[number] for number, at in pairs.items()}
    return [written.get(at, each) for at, each in enumerate(found)]


def _fields(fields: Sequence[ExpectedField], items: Sequence[Any], budget: Budget) -> list[dict[str, Any]]:
    """The fields with the values that they have; those of objects that are gone stay."""
    objects = {str(ref_of(entry.obj)): entry.obj for entry in bundle.entries(items) if is_resource(entry.obj)}
    found = []
    for field in fields:
        has = selected(field, objects[field.object], budget) if field.object in objects else list(field.values)
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


OF_FIELD = 5_000  # units of work for each field, beside what the run has
MOST_LINES = 40  # of a golden file that differ
MOST_PAIRS = 200_000_000  # of lines of both that are compared


def shown(finding: Finding) -> dict[str, str]:
    """A finding in the form in which expected.yaml has it."""
    parts = {
        "rule": finding.rule,
        "severity": finding.severity,
        "object": printable(str(finding.ref or "")),
        "path": printable(dotted(finding.path)),
        "message": printable(one_line(finding.message)),
    }
    return {key: value for key, value in parts.items() if value}


def counting(case: Case, findings: Iterable[Finding]) -> list[dict[str, str]]:
    """The findings whose rules the case is about."""
    wanted = cache(lambda rule: any(fnmatchcase(rule, glob) for glob in case.rules))
    return [shown(each) for each in findings if wanted(each.rule)]


def paired(expected: Sequence[dict[str, str]], found: Sequence[dict[str, str]]) -> dict[int, int]:
    """The number of the finding that each expectation is met by. Each finding meets one expectation, the most exact one."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    alike: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}  # by keys and their values: the findings, last first
    for number in sorted(range(len(expected)), key=lambda number: -len(expected[number])):
        keys = tuple(sorted(expected[number]))
        if keys not in alike:
            alike[keys] = {}
            for at in reversed(range(len(found))):
                alike[keys].setdefault(tuple(found[at].get(key, "") for key in keys), []).append(at)
        fitting = alike[keys].get(tuple(expected[number][key] for key in keys), [])
        while fitting and number not in pairs:
            if (at := fitting.pop()) not in taken:
                pairs[number] = at
                taken.add(at)
    return pairs


def of_findings(expected: Sequence[dict[str, str]], found: Sequence[dict[str, str]]) -> Iterator[str]:
    """The differences between expected and actual findings, a line each."""
    pairs = paired(expected, found)
    for number, each in enumerate(expected):
        if number not in pairs:
            yield f"missing finding: {_finding_line(each)}"
    met = set(pairs.values())
    for at, each in enumerate(found):
        if at not in met:
            yield f"unexpected finding: {_finding_line(each)}"


def _finding_line(finding: dict[str, str]) -> str:
    severity = f"{finding['severity']} " if "severity" in finding else ""
    rest = [finding[key] for key in ("object", "path", "message") if key in finding]
    return ": ".join([f"{severity}{finding['rule']}", *rest])


def of_fields(fields: Sequence[ExpectedField], items: Sequence[Any], budget: Budget) -> Iterator[str]:
    """The differences between expected and rendered fields, a line each.

    Raises: ConfigError for a wrong JSONPath, and for one that takes more work than is left for all cases.
    """
    objects = {str(ref_of(entry.obj)): entry.obj for entry in bundle.entries(items) if is_resource(entry.obj)}
    for field in fields:
        if field.object not in objects:
            yield f"{field.object}: the rendered objects have no such object{hint(field.object, tuple(objects))}"
            continue
        found = selected(field, objects[field.object], budget)
        if canonical(found) != canonical(list(field.values)):
            shown_values = [_values(values, field, objects[field.object]) for values in (found, field.values)]
            yield f"{field.object}: {field.path}: found {shown_values[0]}; expected {shown_values[1]}"


def selected(field: ExpectedField, obj: Object, budget: Budget) -> list[Any]:
    """The values that a field has in an object. Raises: ConfigError for a wrong JSONPath, or an expression without a value."""
    WORK.resume(budget.left + OF_FIELD)
    try:
        return _by_expression(field.path, obj) if field.is_cel else _by_path(field.path, obj)
    finally:
        budget.left = max(WORK.left, 0)


def _by_expression(text: str, obj: Object) -> list[Any]:
    from krm_fn.policies.compiled import value_of  # only cases with expressions need it

    try:
        return [value_of(text, obj)]
    except ValueError as error:
        raise ConfigError(f"{text} has no value: {one_line(str(error))}", path="fields") from None


def _by_path(path: str, obj: Object) -> list[Any]:
    """The values that a JSONPath selects in an object; the leading `$.` may be left out. Raises: ConfigError."""
    from jsonpath import JSONPathError

    from krm_fn.cli.cases.case import values_at  # only cases with fields need it

    query = path if path.startswith("$") else f"${path}" if path.startswith("[") else f"$.{path}"
    try:
        return values_at(query, obj)
    except Unsupported as error:
        raise ConfigError(f"{path} has no value: {error}; write a simpler path", path="fields") from None
    except (JSONPathError, RecursionError) as error:
        why = one_line(str(error) or "too deep").partition("; ")[0]
        raise ConfigError(f"{path} is no JSONPath: {why}", path="fields") from None


def _values(values: Sequence[Any], field: ExpectedField, obj: Object) -> str:
    """The values in a message, without secrets: the steps of the path decide about them."""
    if field.object.startswith("Secret "):
        return counted(len(values), "value")
    if field.is_cel and not _is_public(field.path, obj):
        return counted(len(values), "value")
    if field.is_cel:
        return ", ".join(map(show, values))
    path = steps(field.path.removeprefix("$").removeprefix("."))
    return ", ".join(show(value, path) for value in values) or "nothing"


def _is_public(expression: str, obj: Object) -> bool:
    """True if nothing that an expression reads of an object is secret."""
    from krm_fn.policies.compiled import paths_in

    paths = paths_in(expression)
    return paths is not None and all(redact(get(obj, path), path) == get(obj, path) for path in paths)


def of_rendered(expected: bytes, rendered: bytes) -> Iterator[str]:
    """The lines in which a golden file differs from what is rendered."""
    if expected == rendered:
        return
    old, new = (text.decode(errors="replace").splitlines() for text in (expected, rendered))
    if len(old) * len(new) > MOST_PAIRS:
        line = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new)))
        yield f"rendered.yaml differs from what render prints from line {line + 1} on; it is too long to show how"
        return
    differing = list(difflib.unified_diff(old, new, "rendered.yaml", "what render prints", lineterm="", n=2))
    yield from map(printable, differing[:MOST_LINES])
    if len(differing) > MOST_LINES:
        yield f"… and {len(differing) - MOST_LINES} more lines"
    if not differing:
        yield "rendered.yaml differs from what render prints only in its line endings"
