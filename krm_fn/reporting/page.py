"""The page as one text: the template with its figures, and the data, styles and scripts inside.

The page forbids what it does not need: its content security policy takes only the style and the script with these digests, no
address is fetched, and no text becomes code. Names of users are text: the template escapes them, and scripts only set texts.

The figures of the first part of the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from krm_fn.base.objects import Object
from krm_fn.base.quantity import parse
from krm_fn.findings.finding import SEVERITIES
from krm_fn.findings.results import count
from krm_fn.reporting.data import VM, data_of
from krm_fn.sizing.rows import Row, amount, in_bytes, in_cpus, together

if TYPE_CHECKING:
    from krm_fn.reporting.describing import Report

MOST_RULES = 10
WIDTH = 100  # of a whole bar


def overview_of(report: Report) -> Object:
    """What the template of the page shows of all units together."""
    spaces = _namespaces(report)
    total = Row(labels=())
    for row in spaces:
        total = together(total, row)
    machines = [machine for unit in report.units for machine in unit.part.machines]
    kinds = Counter(machine.kind for machine in machines if not machine.template)
    return {
        "vms": kinds.pop(VM, 0),
        "others": sorted(kinds.items()),
        "in_templates": sum(bool(machine.template) for machine in machines),
        "targets": len(report.targets),
        "severities": count(report.findings),
        "rules": list(_rules(report)),
        "total": _figures(total),
        "machines": total.machines,
        "namespaces": list(_bars(spaces)),
        "quotas": list(_quotas(report)),
        "levels": sorted(Counter(each.effect for each in report.changes).items()),
        "unsized": sorted({unit.part.unsized for unit in report.units if unit.part.unsized}),
        "unrendered": sum(bool(machine.error) for machine in machines),
    }


def _rules(report: Report) -> Iterator[Object]:
    """The rules with the most findings, the most severe first."""
    counts = Counter((SEVERITIES.index(each.severity), each.rule) for each in report.findings)
    ranked = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    for (severity, rule), number in ranked[:MOST_RULES]:
        yield {"rule": rule, "severity": SEVERITIES[severity], "count": number}


def _namespaces(report: Report) -> list[Row]:
    """The sums of each namespace of each cluster."""
    found: dict[tuple[str, ...], Row] = {}
    for unit in report.units:
        for row in unit.part.namespaces:
            labels = (unit.cluster, *row.labels)
            found[labels] = together(found.get(labels, Row(labels=labels)), row)
    return sorted(found.values(), key=lambda row: (-row.weight[1], row.labels))


def _bars(spaces: list[Row]) -> Iterator[Object]:
    """A row with bars for each namespace; the longest bar of a column is that of its largest figure."""
    most = {name: max((getattr(row, name).nanos for row in spaces), default=0) for name in ("cpu", "memory", "storage")}
    for row in spaces:
        bars = {name: _share(getattr(row, name).nanos, most[name]) for name in most}
        yield {"cluster": row.labels[0], "namespace": row.labels[1], **_figures(row), "bars": bars}


def _figures(row: Row) -> Object:
    return {
        "machines": row.machines,
        "vcpus": row.vcpus,
        "guest": in_bytes(row.guest),
        "cpu": in_cpus(row.cpu),
        "memory": in_bytes(row.memory),
        "storage": in_bytes(row.storage),
        "without_pod": row.without_pod,
    }


def _share(part: int, whole: int) -> float:
    return round(float(Fraction(part * WIDTH, whole)), 1) if whole else 0


def _quotas(report: Report) -> Iterator[Object]:
    for unit in report.units:
        for quota in unit.part.quotas:
            where = quota.get("namespace") or ", ".join(quota.get("namespaces", ()))
            about = {
                "kind": quota["kind"],
                "where": where,
                "name": quota["name"],
                "target": unit.target,
                "cluster": unit.cluster,
            }
            for resource, used in quota["used"].items():
                yield {**about, **_use(resource, used, quota)}
            for each in quota["stops"]:
                yield {**about, "note": f"{each['namespace']}/{each['name']} never starts: {'; '.join(each['why'])}"}


def _use(resource: str, used: str, quota: Object) -> Object:
    """The use of a resource: the filled part of its bar, and by how much it is exceeded."""
    hard, over = quota["hard"][resource], quota["exceeded"].get(resource)
    parts = [found.nanos if (found := parse(text)) else 0 for text in (used, hard)]
    return {
        "resource": resource,
        "used": amount(resource, used),
        "hard": amount(resource, hard),
        "over": amount(resource, over) if over else "",
        "bar": min(_share(*parts), WIDTH) if parts[1] else (WIDTH if parts[0] else 0),
    }


FOLDER = "files"
# In the order in which they run: each uses only what is above it.
SCRIPTS = ("elements.js", "address.js", "loading.js", "tables.js", "listing.js", "graph.js", "main.js")


def page(report: Report) -> str:
    """The page of a report, the same for the same report."""
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    environment = Environment(
        loader=BaseLoader(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_file("page.html")).render(
        report=report,
        overview=overview_of(report),
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own files
        data=Markup(_json(_visible(data_of(report)))),  # noqa: S704  `_json` leaves no mark of HTML
        policy=_policy(style, script),
    )


def _file(name: str) -> str:
    return files("krm_fn.reporting").joinpath(FOLDER, name).read_text(encoding="utf-8")


def _visible(value: Any) -> Any:
    """Plain data in which texts have escapes for what nobody sees, such as marks that turn the direction of a text."""
    if isinstance(value, dict):
        return {_visible(key): _visible(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(below) for below in value]
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in value)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json(data: object) -> str:
    """JSON inside of a script element: no text in it can end the element, or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode(errors="replace").decode()


def _policy(style: str, script: str) -> str:
    """The content security policy: this style and this script, and nothing else; no text becomes HTML."""
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
