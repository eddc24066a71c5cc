"""What would set a field that a rendered VM does not have: the rows of the field tables, tried out on the VM's own template."""

from __future__ import annotations

from krm_fn.base.paths import as_map, copy, get, steps
from krm_fn.explaining.inputs import INSTANCETYPE, PREFERENCE, PRESET
from krm_fn.kubevirt.expand.apply import TABLES
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.fields.verbs import Application, consulted
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.resolve.matcher import API_VERSION, MATCHERS
from krm_fn.kubevirt.schema import kinds, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.fields.preset import Section
    from krm_fn.kubevirt.fields.verbs import Field
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.schema.node import SchemaNode

# A value of each form that a field can have; a row that does not take one of them does nothing, or fails.
KINDS = {each.field: each.kind for each in MATCHERS}
DOMAIN: Path = ("spec", "domain")
DEEPEST = 20  # steps of a path; definitions of JSON contain themselves
SAMPLES: tuple[Any, ...] = ("1Gi", True, 4, {}, [])


def setters(vm: Object, path: Path, release: Release) -> list[tuple[str, Path]]:
    """The fields that would set a path of a VM, each with the kind of its object: the fields of the table of the release."""
    if path[: len(TEMPLATE)] != TEMPLATE:
        return []
    inner, template = path[len(TEMPLATE) :], as_map(get(vm, TEMPLATE))
    found = list(_of_rows(template, inner, release))
    if not found and any(isinstance(step, int) for step in inner):  # an entry of a list that the VM may not have
        found = list(_of_rows(_around(inner[:-1], {}), inner, release))
    if inner[:2] == DOMAIN:
        found += [(PRESET, (*DOMAIN, *each.path)) for each in sections(release) if _holds(each, inner[2:])]
    return [each for each in dict.fromkeys(found) if not any(_is_around(other, each) for other in found)]


def _is_around(one: tuple[str, Path], other: tuple[str, Path]) -> bool:
    return one[0] == other[0] and len(one[1]) < len(other[1]) and other[1][: len(one[1])] == one[1]


def _holds(section: Section, path: Path) -> bool:
    start, below = path[: len(section.path)], path[len(section.path) :]
    return start == section.path and not (section.only and below and below[0] not in section.only)


def _of_rows(template: Object, path: Path, release: Release) -> Iterator[tuple[str, Path]]:
    for kind in (INSTANCETYPE, PREFERENCE):
        rows = [row for row in TABLES[kind] if release.within(since=row.since, until=row.until)]
        schema = Schema({"apiVersion": API_VERSION, "kind": KINDS[kind]}, release)
        for row in rows:
            acting = [row] if row.verbs else [each for each in rows if _reads(each, row)]
            for value in _values(path, row, schema) if acting else ():
                if get(_written(acting, _around(row.source, value), template, release), path) is not None:
                    yield kind, ("spec", *row.source)
                    break


def _reads(row: Field, other: Field) -> bool:
    """True if a row with verbs reads the field of a row without."""
    around = other.source[: len(row.source)] == row.source
    return bool(row.verbs) and around and other.reason.startswith(consulted(""))


def _values(path: Path, row: Field, schema: Schema) -> Iterator[Any]:
    """Values of a row's field that lead to a path if they are copied to a place around it."""
    starts = (start for start in range(1, len(path) + 1) if schema.has(("spec", *row.source, *path[start:])))
    return (_around(path[start:], sample) for start in starts for sample in SAMPLES)


def _written(acting: Sequence[Field], spec: Object, template: Object, release: Release) -> Object:
    """The template with what rows write into it for a spec."""
    template = copy(template)
    application = Application(template, release=release, instancetype=spec, preference=spec)
    try:
        for each in acting:
            for verb in each.verbs:
                verb(application, get(spec, each.source), ("spec", *each.source))
    except (TypeError, ValueError, AttributeError, KeyError):  # the field takes no value of this form
        return {}
    return template


def _around(path: Sequence[Any], value: Any) -> Any:
    """Maps and lists that lead to a value."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


class Schema:
    """The fields of a kind of objects in a release."""

    def __init__(self, obj: Object, release: Release) -> None:
        row = kinds.kind_known(obj, release)
        self._root = table.of(release).node(row.type) if row else None

    def has(self, path: Path) -> bool:
        """True if an object of the kind can have the path."""
        node = self._root
        for step in path:
            if node is None:
                return False
            node = node.items if isinstance(step, int) else node.fields.get(step, node.values) if node.of_map else None
        return node is not None

    def named(self, field: str) -> list[Path]:
        """The paths that a user may mean by a path or its last part; entries of lists are at 0. The status does not count."""
        wanted = tuple(step for step in steps(field) if not isinstance(step, int))
        found = self._below(self._root, str(wanted[-1]), ()) if wanted and self._root else ()
        return [path for path in found if _keys(path)[-len(wanted) :] == wanted and path[0] != "status"]

    def names(self) -> set[str]:
        """The names of all fields."""
        return {str(path[-1]) for path in self._below(self._root, "", ()) if path[0] != "status"} if self._root else set()

    def _below(self, node: SchemaNode, name: str, path: Path) -> Iterator[Path]:
        for key, below in node.fields.items() if len(path) < DEEPEST else ():
            at = (*path, key)
            if not name or key == name:
                yield at
            inner = below.items if below.items is not None else below
            if inner.of_map:
                yield from self._below(inner, name, (*at, 0) if below.items is not None else at)


def _keys(path: Path) -> Path:
    return tuple(step for step in path if not isinstance(step, int))
