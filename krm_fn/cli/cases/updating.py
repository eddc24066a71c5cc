"""What `test --update` writes: the expectations of a case as the program meets them now. Comments and matching entries stay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.objects import is_resource, ref_of
from krm_fn.base.paths import canonical
from krm_fn.cli import outputs, replacing
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases import comparing, running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.work import Budget
    from krm_fn.cli.cases.case import Field
    from krm_fn.cli.cases.running import Run

HEAD = "# Written by `kubevirt-render test --update`; change it as you like.\n"


def update(folder: str, tops: Sequence[str], run: Run) -> list[str]:
    """Write the expectations of the case in a folder anew. The files that changed. Raises: RenderError."""
    case = cases.read(folder, tops)
    changed = []
    new: dict[str, Any] = {}
    if case.findings is not None or case.expects_nothing:
        new["findings"] = _findings(case.findings or (), running.found(case, run))
    if case.fields or case.rendered:
        sources, outcome = running.rendered(case, run)
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


def _fields(fields: Sequence[Field], items: Sequence[Any], budget: Budget) -> list[dict[str, Any]]:
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
