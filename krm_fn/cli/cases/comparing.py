"""What a case led to, compared with what is expected of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any

from krm_fn.base import bundle
from krm_fn.base.console import one_line, printable
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import Object, is_resource, ref_of
from krm_fn.base.paths import canonical, dotted, get, steps
from krm_fn.base.redaction import redact
from krm_fn.base.wording import show
from krm_fn.base.work import WORK, Budget, Unsupported
from krm_fn.cli.formats import counted
from krm_fn.config.keys import hint
from krm_fn.findings.finding import Finding

if TYPE_CHECKING:
    from krm_fn.cli.cases.case import Case, ExpectedField


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
            yield f"missing finding: {_line(each)}"
    met = set(pairs.values())
    for at, each in enumerate(found):
        if at not in met:
            yield f"unexpected finding: {_line(each)}"


def _line(finding: dict[str, str]) -> str:
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
    from krm_fn.policies.single import value_of  # only cases with expressions need it

    try:
        return [value_of(text, obj)]
    except ValueError as error:
        raise ConfigError(f"{text} has no value: {one_line(str(error))}", path="fields") from None


def _by_path(path: str, obj: Object) -> list[Any]:
    """The values that a JSONPath selects in an object; the leading `$.` may be left out. Raises: ConfigError."""
    from jsonpath import JSONPathError

    from krm_fn.cli.cases.json_paths import values_at  # only cases with fields need it

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
    from krm_fn.policies.single import paths_in

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
