"""What an Application of Argo CD applies of its repository: a target for each of its sources."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from krm_fn import yamlio
from krm_fn.argocd import sources as argocd
from krm_fn.argocd.sources import ApplicationSource, ArgoError
from krm_fn.base.errors import InputError
from krm_fn.base.globs import WILD, Globs
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.work import SpentError
from krm_fn.kubevirt.updates.stored_form import patched
from krm_fn.repositories import charts, delivering
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.flux_sources import FluxSources
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.guard import is_one_file
from krm_fn.repositories.kustomization import FILES, joined
from krm_fn.repositories.types import ChartRelease, Delivery, Target
from krm_fn.sources.files import inside, is_within, read_found

Of = Callable[..., Delivery]  # the delivery of a source, with what is known of it

TOO_MUCH = "its globs take too many comparisons with the files of the folder; use shorter ones"


class Applications:
    """The targets of Applications in the repository `root`, whose sources are `sources`."""

    def __init__(self, root: str, sources: FluxSources) -> None:
        self._root, self._is_own, self._other = root, sources.is_this, sources.other_revision
        self._below: dict[str, list[str]] = {}

    def folder(self, source: Object) -> str:
        """The folder of this repository that a source applies, "" where it is another's, or not there."""
        path = source.get("path")
        if not isinstance(path, str) or not path or source.get("chart"):
            return ""
        folder = inside(self._root, path)
        is_there = os.path.isdir(folder) and is_within(folder, [self._root])  # noqa: PTH112
        return folder if is_there and self._is_own(text(source.get("repoURL"))) else ""

    def revisions(self, application: Object) -> dict[str, str]:
        """The folders that an Application applies of revisions that are not at hand, with these."""
        sources = [source for _, source in argocd.sources_of(application)]
        return {self.folder(each): self._other(text(each.get("targetRevision"))) for each in sources if self.folder(each)}

    def others(self, obj: Object) -> list[str]:
        """What an Application, or the template of a set, applies of other repositories, in words."""
        spec = as_map(obj.get("spec"))
        sources = [source for _, source in argocd.sources_of(as_map(spec.get("template")) or obj)]
        return [argocd.source_named(each) for each in sources if not self._is_own(text(each.get("repoURL")))]

    def of(self, application: Object, own: Delivery) -> Iterator[Target]:
        """What an Application applies. `own` is how it is delivered, without what its sources say."""
        space = text(as_map(as_map(application.get("spec")).get("destination")).get("namespace"))
        for at, source in argocd.sources_of(application):
            folder = self.folder(source)
            if not folder or self._other(text(source.get("targetRevision"))):
                continue
            here = joined(".", folder)
            try:
                yield self._target(application, argocd.ApplicationSource(at, source), folder, own._replace(namespace=space))
            except (ArgoError, SpentError) as error:
                why = TOO_MUCH if isinstance(error, SpentError) else error.message
                problem = delivering.refused(own, why)
                inputs = tuple(sorted(all_below([here])))
                yield Target(here, here, own.file, (), inputs, problem, delivery=own._replace(namespace=space))

    def _target(self, application: Object, source: ApplicationSource, folder: str, own: Delivery) -> Target:
        merged = self._with_overrides(application, source.of, folder)
        kind = argocd.kind_of_source(merged, os.listdir(folder))  # noqa: PTH208
        of_kind = os.listdir(folder) if kind == "plugin" else ()  # noqa: PTH208
        kind = argocd.kind_of_source({}, of_kind) if kind == "plugin" else kind
        known = argocd.variables(application, source.of)
        made = partial(own._replace, at=(*source.at, kind))
        if kind == "kustomize":
            return self._kustomized(as_map(merged.get(kind)), folder, known, made)
        if kind == "helm":
            return self._chart(application, as_map(merged.get(kind)), folder, known, made)
        directory = as_map(merged.get("directory"))
        return self._files(directory if "plugin" not in merged else {"recurse": True}, folder, made)

    def _with_overrides(self, application: Object, source: Object, folder: str) -> Object:
        """A source with what files of its folder say of it."""
        made = source
        for name in argocd.OVERRIDES:
            file = f"{folder}/{name.format(name_of(application))}"
            if os.path.isfile(file) and is_within(file, [self._root]):  # noqa: PTH113
                try:
                    (patch,) = yamlio.read_stream(read_found(file)[0]).items[:1] or [{}]
                except (InputError, OSError):
                    raise ArgoError(f"{joined('.', file)} can't be read") from None
                if not isinstance(patch, dict):
                    raise ArgoError(f"{joined('.', file)} has no map; expected parts of a source")
                made = patched(made, patch)
        return {**made, **{key: source[key] for key in ("chart", "path", "repoURL", "targetRevision") if key in source}}

    def _kustomized(self, options: Object, folder: str, known: dict[str, str], own: Of) -> Target:
        here = joined(".", folder)
        file = next((joined(here, name) for name in FILES if os.path.isfile(f"{folder}/{name}")), "")  # noqa: PTH113
        if not file:
            raise ArgoError(f"{here} has no kustomization.yaml")
        delivery = own()
        if is_within(file, [self._root]) and set(options) - {"version", "kubeVersion", "apiVersions"}:
            original = read_found(file)[0]
            manifest = argocd.kustomized(_only(original, file), self._with_components(options, folder), known)
            delivery = own(generated=file, text=json.dumps(manifest).encode(), original=original)
        with delivering.entered(Target(here, here, file, (), (), delivery=delivery)):
            found = target_of(here, [self._root])
        if found is None:
            raise ArgoError(f"{file} is no kustomization")
        return delivering.told(found._replace(delivery=delivery), self._root)

    def _with_components(self, options: Object, folder: str) -> Object:
        """The options without components that are not there, where these may be missing."""
        if not options.get("ignoreMissingComponents"):
            return options
        paths = [text(each) for each in as_list(options.get("components"))]
        there = [each for each in paths if os.path.exists(f"{folder}/{each}") and is_within(f"{folder}/{each}", [self._root])]  # noqa: PTH110
        return {**options, "components": there}

    def _files(self, directory: Object, folder: str, own: Of) -> Target:
        here = joined(".", folder)
        found = [f"{folder}/{path}" for path in argocd.files_in(self._paths(folder), directory)]
        inside = [file for file in found if os.path.isfile(file) and is_within(file, [self._root])]  # noqa: PTH113
        unknown = tuple(joined(".", file) for file in inside if file.endswith(".jsonnet"))
        kept = [file for file in inside if not file.endswith(".jsonnet") and argocd.SKIPPED not in read_found(file)[0]]
        delivery = own(missing=unknown)
        return Target(here, here, delivery.file, (), tuple(joined(".", file) for file in kept), delivery=delivery)

    def _paths(self, folder: str) -> list[str]:
        """The files below a folder, as paths from there."""
        if folder not in self._below:
            found = (os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)  # noqa: PTH118
            self._below[folder] = sorted(os.path.relpath(file, folder).replace(os.sep, "/") for file in found)
        return self._below[folder]

    def _chart(self, application: Object, helm: Object, folder: str, known: dict[str, str], own: Of) -> Target:
        spec = as_map(application.get("spec"))
        names = text(helm.get("releaseName")) or name_of(application), text(helm.get("namespace")) or own().namespace
        if wrong := next((name for name in names if name and not charts.PLAIN.fullmatch(name)), ""):
            raise ArgoError(f"helm takes no name such as {wrong!r}")
        files, unknown = self._value_files(helm, folder, spec, known)
        words = [word for file in files for word in ("--values", os.path.join(self._root, file))]  # noqa: PTH118
        words += argocd.helm_words(helm, known)
        for each in map(as_map, as_list(helm.get("fileParameters"))):
            place, _ = self._place(text(each.get("path")), folder, spec, known)
            if not self._is_file(place):
                raise ArgoError(f"the file {each.get('path')} of the parameter {each.get('name')} is not in the repository")
            words += ["--set-file", f"{text(each.get('name'))}={os.path.join(self._root, place)}"]  # noqa: PTH118
        values = helm.get("valuesObject") or helm.get("values")
        own_text = values if isinstance(values, str) else json.dumps(values) if values else ""
        words += ["--include-crds"] if not helm.get("skipCrds") else []
        release = ChartRelease(names[0], names[1], tuple(words), own_text)
        here = joined(".", folder)
        found = charts.chart_of(here, all_below([here]))
        inputs = {*found.inputs, *(joined(".", os.path.join(self._root, file)) for file in files)}  # noqa: PTH118
        return found._replace(inputs=tuple(sorted(inputs)), delivery=own(release=release, missing=tuple(unknown)))

    def _value_files(self, helm: Object, folder: str, spec: Object, known: dict[str, str]) -> tuple[list[str], list[str]]:
        """The files of values, as paths from the root, and those that are not known here. Raises: ArgoError."""
        found, unknown = [], []
        for written in map(text, as_list(helm.get("valueFiles"))):
            place, is_known = self._place(written, folder, spec, known)
            if not is_known:
                unknown.append(written)
                continue
            files = self._alike(place) if WILD.search(place) else [place] if self._is_file(place) else []
            if not files and not helm.get("ignoreMissingValueFiles"):
                raise ArgoError(f"the values file {written} is not in the repository")
            found += [file for file in files if file not in found]
        return found, unknown

    def _place(self, written: str, folder: str, spec: Object, known: dict[str, str]) -> tuple[str, bool]:
        """The path from the root that a value file has, and True where it is of this repository."""
        if "://" in written:
            return "", False
        refs = {text(as_map(each).get("ref")): as_map(each) for each in as_list(spec.get("sources"))}
        ref, _, below = written.partition("/")
        if ref.startswith("$") and ref[1:] in refs:
            return os.path.normpath("/" + argocd.substituted(below, known))[1:], self._is_own(
                text(refs[ref[1:]].get("repoURL"))
            )
        path = argocd.substituted(written, known)
        from_root = path if path.startswith("/") else f"/{os.path.relpath(folder, self._root)}/{path}"
        return os.path.normpath(from_root).lstrip("/"), True

    def _is_file(self, place: str) -> bool:
        return is_one_file(place, Path(self._root), [Path(self._root)])

    def _alike(self, glob: str) -> list[str]:
        globs = Globs([glob])
        return [path for path in self._paths(self._root) if globs.covering(path) and self._is_file(path)]


def _only(data: bytes, file: str) -> Object:
    """The kustomization in a text. Raises: ArgoError."""
    try:
        found = [each for each in yamlio.read_stream(data).items if isinstance(each, dict)]
    except InputError as error:
        raise ArgoError(f"{file} can't be read: {error.message}") from None
    return found[0] if found else {}
