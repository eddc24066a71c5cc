"""Helm charts in folders, and what helm makes of them. Nothing is fetched, no plugin is run, and no cluster is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base import programs
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of
from krm_fn.base.paths import as_map
from krm_fn.base.redaction import hides_text, holds_secret
from krm_fn.repositories import guard
from krm_fn.repositories.guard import link_out, unfetched
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import ChartRelease, Problem, Target
from krm_fn.sources import reading
from krm_fn.sources.files import CHART, content, repository
from krm_fn.sources.salvage import Lost, salvage
from krm_fn.sources.source import Source, Sources

if TYPE_CHECKING:
    from krm_fn.repositories.graph import Graph
    from krm_fn.yamlio.texts import ListText, StreamText


PROGRAM = "helm"
# The name that helm itself gives a release which has none.
RELEASE, VALUES = "release-name", "values.yaml"
PLAIN = expression(r"[A-Za-z0-9][\w.-]*")  # a name that helm takes for no flag
DEFAULT = ChartRelease(RELEASE, words=("--include-crds",))
# What charts ask the cluster for. These versions are served by all releases that are known here.
API_VERSIONS = (
    *("kubevirt.io/v1", "kubevirt.io/v1/VirtualMachine", "pool.kubevirt.io/v1beta1", "cdi.kubevirt.io/v1beta1"),
    *("instancetype.kubevirt.io/v1beta1", "k8s.cni.cncf.io/v1", "snapshot.kubevirt.io/v1beta1"),
)
LIBRARY = "library"  # the type of a chart that others use, and that makes nothing by itself
SUBCHARTS = "charts/"
# A template that makes an object of KubeVirt.
OF_KUBEVIRT = expression(rb"""\bkubevirt\.io/v\d|kind:\s*["']?VirtualMachine""")
OF_TEMPLATES = (".yaml", ".yml", ".tpl", ".json", ".txt")
SOURCE = expression(rb"^# Source: (.*)$", re.MULTILINE)
# How helm names a file in the folder `crds` of a chart, or of a chart in it.
IN_CRDS = expression(rb"[^/]+/(?:charts/[^/]+/)*crds/")
ABSENT = expression(r"found in Chart\.yaml, but missing in charts/ directory: ([^\n]*)")
HIDDEN = "its message is not shown, since it may hold a secret"


def charts(files: Iterable[str], used: frozenset[str] | set[str], graph: Graph) -> Iterator[Target]:
    """The charts among files that are part of no other chart, and that no kustomization uses."""
    found = sorted(file.removesuffix(CHART) for file in files if file.rpartition("/")[2] == CHART and file not in used)
    outer: list[str] = []
    for chart in found:
        if not any(chart.startswith(above + SUBCHARTS) for above in outer):
            outer.append(chart)
            folder = chart.rstrip("/") or os.curdir
            yield chart_of(folder, graph.below((folder,)))


def chart_of(folder: str, files: Iterable[str]) -> Target:
    """The chart in a folder, which has these files."""
    file, inputs = joined(folder, CHART), tuple(sorted(joined(os.curdir, each) for each in files))
    return Target(folder, folder, file, (), inputs, _outside(folder, file), is_chart=True)


def _outside(folder: str, file: str) -> Problem | None:
    """What there is to say of a chart with a link that leads out of its repository: helm would follow it."""
    link = link_out(folder, [repository(folder)])
    return Problem(file=file, reason="outside", detail=joined(".", link), is_chart=True) if link else None


def makes_vms(chart: Target) -> bool:
    """True where a template of the chart, or of a chart in it, mentions a kind of KubeVirt."""
    below = len(chart.file) - len(CHART)
    templates = (file for file in chart.inputs if "templates/" in file[below:] and file.endswith(OF_TEMPLATES))
    return any(OF_KUBEVIRT.search(content(file)) for file in templates)


def is_library(chart: Target) -> bool:
    """True for a chart that only others use; helm says what is wrong with one that can't be read."""
    text = reading.stream(chart.file)
    return bool(text and text.items) and as_map(text.items[0] if text else None).get("type") == LIBRARY


def words(folder: str, release: ChartRelease = DEFAULT) -> list[str]:
    """What helm is called with to print what it makes of the chart in a folder."""
    served = [word for version in API_VERSIONS for word in ("--api-versions", version)]
    space = ["--namespace", release.namespace] if release.namespace else []
    return ["template", release.name, folder, *space, *release.words, "--skip-tests", *served]


def build(chart: Target, timeout: float) -> bytes | Problem:
    """What the helm on the PATH makes of a chart as it is delivered, else with its own values; or why it makes nothing."""
    if chart.problem:
        return chart.problem
    program = programs.find(PROGRAM)
    if program is None:
        return Problem(file=chart.file, reason="program", is_chart=True)
    release = (chart.delivery and chart.delivery.release) or DEFAULT
    called, roots = [*words(folder := os.path.realpath(chart.folder), release), *unfetched(folder)], [repository(chart.folder)]
    with programs.scratch() as made:
        if release.values:
            Path(file := f"{made}/{VALUES}").write_text(release.values)
            called += ["--values", os.path.realpath(file)]
        try:
            ran = guard.run(program, called, scratch=Path(os.path.realpath(made)), roots=roots, timeout=timeout)
        except guard.LateError:
            return Problem(file=chart.file, reason="late", is_chart=True)
        except programs.OvertimeError:
            return Problem(file=chart.file, reason="slow", detail=f"{timeout:g} s", is_chart=True)
    return _complaint(ran.complaints.decode(errors="replace"), chart) if ran.code else ran.out


def read_built(chart: Target, data: bytes, lost: list[Lost]) -> Sources:
    """What helm made of a chart, each object with the template that it comes from; what can't be read goes into `lost`."""
    try:
        found = reading.of_built(reading.Given(data=data, folder=chart.folder))
    except InputError:
        lines = data.splitlines(keepends=True)
        data, unread = salvage(data, chart.file)
        for each in unread:
            error = each.error
            source = _template(chart, next(iter(SOURCE.findall(b"".join(lines[: error.line]))[-1:]), b""))
            lost.append(each.but(error=InputError(error.message, file=source)))
        found = reading.of_built(reading.Given(data=data, folder=chart.folder))
    (source_text,) = found.sources
    names = named(source_text.data, source_text.text)
    built = source_text.but(origins=tuple(_template(chart, name) for name in names))
    return found.but(sources=(built.but(objects=_kept(built, names)),))


def _kept(built: Source, named: Sequence[bytes]) -> tuple[int, ...]:
    """The objects without the definitions in `crds` that a template makes too: helm writes those only once."""
    made = {_identity(built.text.items[number]) for number in built.objects if not IN_CRDS.match(named[number])}
    return tuple(
        number for number in built.objects if not (IN_CRDS.match(named[number]) and _identity(built.text.items[number]) in made)
    )


def _identity(obj: Object) -> tuple[str, str, str]:
    return group_of(obj), kind_of(obj), name_of(obj)


def named(data: bytes, text: StreamText | ListText) -> list[bytes]:
    """The template that helm names for each document: the last one before the end of the document, b"" where there is none."""
    ends = [piece.end for piece in text.pieces]
    marks = [(mark.start(), mark[1]) for mark in SOURCE.finditer(data)]
    found, at = [], -1
    for end in ends:
        while at + 1 < len(marks) and marks[at + 1][0] < end:
            at += 1
        found.append(marks[at][1] if at >= 0 else b"")
    return found


def _template(chart: Target, name: bytes) -> str:
    """The file that helm names; the chart itself where that is in an archive, or in a folder of another name."""
    file = joined(chart.folder, name.decode(errors="replace").partition("/")[2]) if name else ""
    return file if file in chart.inputs else chart.file


def _complaint(text: str, chart: Target) -> Problem:
    """What there is to say of a chart that helm does not build: the first line of what helm says, unless it may be secret."""
    if found := ABSENT.search(text):
        return Problem(file=chart.file, reason="dependencies", detail=found[1], is_chart=True)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("WARNING", "coalesce.go", "walk.go"))]
    said = next((line for line in lines if line.startswith("Error: ")), next(iter(lines), "")).removeprefix("Error: ")
    said = said.replace(os.path.realpath(chart.folder) + os.sep, "")
    if holds_secret(said) or hides_text(said.encode()):
        said = HIDDEN
    return Problem(file=chart.file, reason="refused", detail=said, is_chart=True)
