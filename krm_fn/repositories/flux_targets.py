"""What Flux applies of its repository: the folder of a Kustomization, with the kustomization that it writes there, and the
chart of a HelmRelease, with its values, and what becomes of that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from krm_fn import yamlio
from krm_fn.base import programs
from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, annotations_of, namespace_of, ref_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.flux.artifact import Packing
from krm_fn.flux.generator import HEAD, Begun, begun, generated
from krm_fn.flux.releases import HOOK, named, post_rendering, values, with_common
from krm_fn.flux.steps import spec_of
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import building, charts, delivering
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.flux_sources import GIT_REPOSITORY
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.guard import is_one_file
from krm_fn.repositories.kustomization import FILES, joined
from krm_fn.repositories.types import ChartRelease, Delivery, Problem, Target
from krm_fn.rules.input import kustomization_not_built
from krm_fn.sources.files import CHART, content, inside, is_within

if TYPE_CHECKING:
    from krm_fn.repositories.flux_sources import FluxSources
    from krm_fn.repositories.flux_values import Values

CHART_SPEC = ("spec", "chart", "spec")  # of a HelmRelease
# Objects, each after the name that helm gives to its template.
_Named: TypeAlias = "list[tuple[bytes, Object]]"


def of_chart(release: Object) -> Object:
    """The source of the chart of a HelmRelease, in the form of a Kustomization."""
    source = as_map(get(release, (*CHART_SPEC, "sourceRef")))
    return {"metadata": {"namespace": namespace_of(release)}, "spec": {"sourceRef": source}}


class Kustomizations:
    """The targets of Kustomizations, whose sources are `sources`; `root` is the folder of the repository."""

    def __init__(self, root: str, sources: FluxSources) -> None:
        self._root, self._sources = root, sources
        self._targets: dict[tuple[str, bytes], Target | None] = {}
        self._begun: dict[tuple[str, int], Begun | FluxError] = {}
        self._packings: dict[str | None, Packing] = {}

    def folder(self, obj: Object, file: str) -> str:
        """The folder of this repository that a Kustomization in a file applies, "" where it is another's, or not there."""
        path = text(get(obj, ("spec", "path"))) if isinstance(get(obj, ("spec", "path")), str) else ""
        folder = inside(self._root, path)
        is_there = os.path.isdir(folder) and is_within(folder, [self._root])  # noqa: PTH112
        return folder if is_there and self._sources.is_own(obj, path, file) else ""

    def is_open(self, obj: Object, file: str) -> bool:
        """True where the folder of this repository depends on the values of variables."""
        path = text(get(obj, ("spec", "path")))
        return "${" in path and self._sources.is_own(obj, path, file)

    def of(self, own: Delivery) -> Iterator[Target]:
        """The target of a Kustomization, none where no folder is its own; the problem of one says why Flux refuses it."""
        folder = self.folder(own.obj, own.file)
        if not folder:
            return
        here = joined(".", folder)
        try:
            found = self._target(own.obj, own, folder)
        except FluxError as error:
            problem, inputs = delivering.refused(own, error.message), tuple(sorted(all_below([here])))
            found = Target(here, here, own.file, (), inputs, problem, delivery=own)
        yield from [found] if found else []

    def _target(self, obj: Object, own: Delivery, folder: str) -> Target | None:
        """The target in a folder with the kustomization that Flux writes there. Raises: FluxError."""
        here, packing = joined(".", folder), self._packing(own)
        is_there = packing.has
        file, manifest = generated(folder, spec_of(obj), self._root, self._begun_in(folder, packing))
        file, made = joined(".", file), json.dumps(manifest).encode()
        own = own._replace(generated=file, text=made, original=content(file) if is_there(Path(file)) else b"")
        if (file, made) not in self._targets:
            with delivering.entered(Target(here, here, file, (), (), delivery=own)):
                found = target_of(here, [self._root])
            inputs = tuple(one for one in found.inputs if one == file or is_there(Path(one))) if found else ()
            self._targets[file, made] = found._replace(inputs=inputs) if found else None
        known = self._targets[file, made]
        return delivering.told(known._replace(delivery=own), self._root) if known else None

    def _begun_in(self, folder: str, packing: Packing) -> Begun:
        """What Flux writes in a folder before it counts what a Kustomization sets. Raises: FluxError."""
        key = folder, id(packing)  # which lives as long as this
        if key not in self._begun:
            try:
                self._begun[key] = begun(folder, packing.has)
            except FluxError as error:
                self._begun[key] = error
        found = self._begun[key]
        if isinstance(found, FluxError):
            raise found
        return found

    def _packing(self, own: Delivery) -> Packing:
        """The files that Flux has of the source."""
        ignore = get(self._sources.of(own.obj, own.file, own.start), ("spec", "ignore"))
        ignore = ignore if isinstance(ignore, str) else None
        if ignore not in self._packings:
            self._packings[ignore] = Packing(self._root, ignore)
        return self._packings[ignore]


class Releases:
    """The targets of HelmReleases, whose sources are `sources`; `values` has the ConfigMaps and Secrets of git."""

    def __init__(self, root: str, sources: FluxSources, values: Values) -> None:
        self._root, self._sources, self._values = root, sources, values

    def folder(self, obj: Object, file: str) -> str:
        """The folder with the chart of a HelmRelease in a file, "" where it comes from elsewhere, or is not there."""
        chart = as_map(get(obj, CHART_SPEC))
        path, source = chart.get("chart"), as_map(chart.get("sourceRef"))
        if source.get("kind") != GIT_REPOSITORY or not isinstance(path, str):
            return ""
        folder = inside(self._root, path)
        is_there = os.path.isfile(f"{folder}/{CHART}") and is_within(folder, [self._root])  # noqa: PTH113
        return folder if is_there and self._sources.is_own(of_chart(obj), path, file) else ""

    def of(self, own: Delivery) -> Iterator[Target]:
        """The target of a HelmRelease, none where the chart is not of this repository; its problem says why Flux refuses it."""
        folder = self.folder(own.obj, own.file)
        if not folder:
            return
        here = joined(".", folder)
        found = charts.chart_of(here, all_below([here]))
        try:
            yield self._target(found, folder, own._replace(at=CHART_SPEC))
        except FluxError as error:
            yield found._replace(problem=delivering.refused(own, error.message), delivery=own)

    def _target(self, chart: Target, folder: str, own: Delivery) -> Target:
        name, namespace = named(own.obj)
        if wrong := next((each for each in (name, namespace) if each and not charts.PLAIN.fullmatch(each)), ""):
            raise FluxError("values", f"helm takes no name such as {wrong!r}")
        missing: list[str] = []
        merged = values(own.obj, lambda kind, name: self._values.holding(kind, name, own), missing)
        files = self._values_files(as_map(get(own.obj, CHART_SPEC)), folder)
        words = [word for file in files for word in ("--values", file)]
        words += ["--include-crds"] if get(own.obj, ("spec", "install", "crds")) != "Skip" else []
        release = ChartRelease(name, namespace, tuple(words), json.dumps(merged) if merged else "")
        inputs = {*chart.inputs, *(joined(".", file) for file in files)}
        own = own._replace(release=release, namespace=namespace, missing=tuple(missing))
        return chart._replace(inputs=tuple(sorted(inputs)), delivery=own)

    def _values_files(self, chart: Object, folder: str) -> list[str]:
        """The files of values beside that of the chart itself. Raises: FluxError, also where the chart's own values go."""
        found = []
        for each in map(text, as_list(chart.get("valuesFiles"))):
            place = os.path.normpath("/" + each).lstrip("/")
            if is_one_file(place, Path(self._root), [Path(self._root)]):
                found.append(os.path.join(self._root, place))  # noqa: PTH118
            elif not chart.get("ignoreMissingValuesFiles"):
                raise FluxError("values", f"the values file {each} is not in the repository")
        own = f"{folder}/{charts.VALUES}"
        if found and os.path.isfile(own) and found[0] != own:  # noqa: PTH113
            raise FluxError("values", f"valuesFiles leaves out the chart's own {charts.VALUES}, and helm can't; list it first")
        return found[1:] if found[:1] == [own] else found


def made_of_chart(chart: Target, using: building.Builder | None, timeout: float) -> bytes | Problem:
    """What helm makes of a chart, as its HelmRelease changes it; or why nothing is made. Definitions in `crds` stay.

    upstream: helm-controller internal/postrender/build.go: BuildPostRenderers
    """
    made, own = charts.build(chart, timeout), chart.delivery
    if isinstance(made, Problem) or own is None or own.tool != "Flux":
        return made
    try:
        how = post_rendering(own.obj)
        return _post_rendered(made, how, using, timeout) if how else made
    except InputError as error:
        return delivering.refused(own, error.message).but(counts=charts.makes_vms(chart))


def _post_rendered(data: bytes, how: Object, using: building.Builder | None, timeout: float) -> bytes:
    """What helm made, each object after the name of its template. Raises: InputError."""
    from krm_fn.yamlio.go_text import go_text

    found = yamlio.read_stream(data)
    names, strategy = charts.named(data, found), how.get("postRenderStrategy")
    groups: dict[str, _Named] = {"crds": [], "hooks": [], "": []}
    for each in entries(found.items):
        is_hook = strategy in ("nohooks", "separate") and HOOK in annotations_of(each.obj)
        group = "crds" if charts.IN_CRDS.match(names[each.item]) else "hooks" if is_hook else ""
        groups[group].append((names[each.item], each.obj))
    for group in ("", "hooks") if strategy == "separate" else ("",):
        for renderer in map(as_map, as_list(how.get("postRenderers"))):
            if renderer.get("kustomize") and groups[group]:
                groups[group] = _kustomized(groups[group], renderer["kustomize"], using, timeout)
        common = as_map(how.get("commonMetadata"))
        groups[group] = [(name, with_common(obj, common)) for name, obj in groups[group]]
    every = (each for group in groups.values() for each in group)
    return b"".join(b"---\n# Source: " + name + b"\n" + go_text(obj).encode() for name, obj in every)


def _kustomized(made: _Named, how: Object, using: building.Builder | None, timeout: float) -> _Named:
    """What kustomize makes of objects; one that it renames has no name of a template. Raises: InputError."""
    from krm_fn.yamlio.go_text import go_text

    if using is None:
        message = "spec.postRenderers need kustomize, and neither kustomize nor kubectl is on the PATH; install one of them"
        raise InputError(message)
    names = {ref_of(obj): name for name, obj in made}
    with programs.scratch() as scratch:
        folder = Path(os.path.realpath(scratch))
        (folder / "made.yaml").write_bytes("---\n".join(go_text(obj) for _, obj in made).encode())
        (folder / FILES[0]).write_text(json.dumps({**HEAD, **how, "resources": ["made.yaml"]}))
        target = target_of(str(folder), [str(folder)])
        built = building.plain(target, using, timeout=timeout) if target else b""
    if not isinstance(built, bytes):
        raise InputError(kustomization_not_built.message(built).replace(f"{folder}/", ""))
    return [(names.get(ref_of(each), b""), each) for each in yamlio.read_stream(built).items if each]
