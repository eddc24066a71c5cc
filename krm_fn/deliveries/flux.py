"""What Flux makes of objects and of folders of a repository before it applies them.

upstream: kustomize-controller internal/controller/kustomization_controller.go: reconcile, generate, build, apply
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from krm_fn import yamlio
from krm_fn.base import programs
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, text
from krm_fn.flux.applying import action, applied
from krm_fn.flux.artifact import packed
from krm_fn.flux.generator import begun, generated
from krm_fn.flux.steps import delivered, spec_of
from krm_fn.flux.substitution import FluxError, substitute
from krm_fn.repositories import building
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.types import Problem
from krm_fn.rules.input.kustomization_not_built import message
from krm_fn.sources.files import inside

__all__ = ["FluxError", "action", "applied", "build", "substitute"]

# Problems of a kustomization that are kinds of errors by themselves; all others are of the kind `build`.
KINDS = ("outside", "remote", "helm")
# How kustomize says that it can't print an object, which Flux does before the substitution.
UNPRINTABLE = "map[string]interface {}"


def build(
    root: str,
    kustomization: Object,
    *,
    substitutes: Iterable[Object] = (),
    strict: bool = True,
    source_ignore: str | None = None,
) -> list[Object]:
    """The objects that Flux makes of a Kustomization of its own, in order, without the labels that name their owner.

    `root` is the folder of the repository that its source means, `source_ignore` the `spec.ignore` of that source.
    `substitutes` are the ConfigMaps and Secrets of the cluster. `strict`: a variable without a value is an error, as since
    Flux 2.9. Only kustomize is started, by the rules of every build; nothing is fetched, and no file is changed.
    Raises: FluxError, whose `kind` is `kustomization` (its fields are wrong), `path` (nothing is there), `generate`, `build`,
    `outside` (a path leaves the repository), `remote` (something has to be fetched), `helm`, `conventions` (an object without
    apiVersion, kind or name), `substituteFrom` (a ConfigMap or Secret is not there), `substitute` or `sops`.
    """
    objects = _built(root, spec_of(kustomization), source_ignore)
    return [obj for _, obj in delivered(objects, kustomization, substitutes, strict=strict)]


def _built(root: str, spec: Object, ignore: str | None) -> list[Object]:
    """What kustomize makes of the folder."""
    using = building.builder()
    if using is None:
        raise FluxError("build", "neither kustomize nor kubectl is on the PATH; install one of them")
    with programs.scratch() as made:
        copy = Path(os.path.realpath(made)) / "artifact"
        copy.mkdir()
        for file in packed(root, ignore):
            place = copy / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(f"{root}/{file}", place)
        folder = Path(inside(str(copy), text(spec.get("path"))))
        if not folder.is_dir():
            raise FluxError("path", f"the path {spec.get('path')} is no folder of the repository, or all in it is ignored")
        file, manifest = generated(str(folder), spec, str(copy), begun(str(folder)))
        Path(file).write_text(json.dumps(manifest))
        return _kustomized(str(folder), str(copy), using, substitutes="postBuild" in spec)


def _kustomized(folder: str, root: str, using: building.Builder, *, substitutes: bool) -> list[Object]:
    target = target_of(folder, [root])
    if target is None:
        raise FluxError("build", "the kustomization is of another kind; expected Kustomization or Component")
    found = building.plain(target, using)
    if not isinstance(found, bytes):
        raise _failure(found, root, substitutes=substitutes)
    try:
        return [item for item in yamlio.read_stream(found).items if item is not None]
    except InputError as error:
        raise FluxError("build", f"what kustomize prints can't be read: {error.message}") from None


def _failure(problem: Problem, root: str, *, substitutes: bool) -> FluxError:
    unprinted = substitutes and problem.detail.startswith(UNPRINTABLE)
    kind = problem.reason if problem.reason in KINDS else "substitute" if unprinted else "build"
    return FluxError(kind, message(problem).replace(f"{root}/", ""))
