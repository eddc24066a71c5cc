"""What Flux makes of objects and of folders of a repository before it applies them.

upstream: kustomize-controller internal/controller/kustomization_controller.go: reconcile, generate, build, apply
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base import programs
from krm_fn.base.encoding import from_base64
from krm_fn.base.errors import InputError
from krm_fn.base.objects import annotations_of, group_of, kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, with_scalars
from krm_fn.deliveries.applying import action, added_to, applied
from krm_fn.deliveries.artifact import packed
from krm_fn.deliveries.generator import generated
from krm_fn.deliveries.shapes import SPEC, WrongTypeError, shaped
from krm_fn.deliveries.substitution import FluxError, substitute
from krm_fn.repositories import building
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.kustomization import GROUP
from krm_fn.rules.input.kustomization_not_built import message
from krm_fn.yamlio.scalars import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.repositories.types import Problem

__all__ = ["FluxError", "action", "applied", "build", "substitute"]

DECRYPT, DISABLED = "kustomize.toolkit.fluxcd.io/decrypt", "disabled"
ALWAYS = "Always"
# Problems of a kustomization that are kinds of errors by themselves; all others are of the kind `build`.
KINDS = ("outside", "remote", "helm")
# Larger whole numbers lose digits: where Go reads JSON, and where Flux reads what was built.
EXACT, INT64 = 1 << 53, (1 << 63) - 1
# How kustomize says that it can't print an object, which Flux does before the substitution.
UNPRINTABLE = "map[string]interface {}"
# Kinds without a namespace, which decides whether two objects are one.
CLUSTER_KINDS = frozenset(
    (
        *("APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding"),
        *("CustomResourceDefinition", "FlowSchema", "IngressClass", "MutatingWebhookConfiguration", "Namespace", "Node"),
        *("PersistentVolume", "PriorityClass", "PriorityLevelConfiguration", "RuntimeClass", "StorageClass"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
        "VolumeAttachment",
    )
)


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
    spec = _spec(kustomization)
    objects = _built(root, spec, source_ignore)
    if "postBuild" in spec:
        objects = _Substitution(kustomization, spec["postBuild"], substitutes, strict=strict).of(objects)
    else:
        _check_all(objects)
    found = [_rounded(obj, INT64) for obj in _read(objects)]
    _check_encrypted(found, spec)
    common = as_map(spec.get("commonMetadata"))
    return [_marked(obj, common) for obj in found] if common else found


def _spec(kustomization: Object) -> Object:
    try:
        return as_map(shaped(as_map(kustomization.get("spec")), SPEC))
    except WrongTypeError as error:
        raise FluxError("kustomization", f"the API server refuses this Kustomization: spec.{error}") from None


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
        folder = _inside(copy, text(spec.get("path")))
        if not folder.is_dir():
            raise FluxError("path", f"the path {spec.get('path')} is no folder of the repository, or all in it is ignored")
        file, manifest = generated(str(folder), spec, str(copy))
        Path(file).write_text(json.dumps(manifest))
        return _kustomized(str(folder), str(copy), using, substitutes="postBuild" in spec)


def _inside(root: Path, path: str) -> Path:
    """A path below the root, from which `..` does not lead out."""
    return root / os.path.normpath("/" + path).lstrip("/")


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


class _Substitution:
    """The variables of one Kustomization, put into one object after the other. They are looked for when one needs them."""

    def __init__(self, kustomization: Object, post: Object, substitutes: Iterable[Object], *, strict: bool) -> None:
        self._post, self._strict = as_map(post), strict
        self._namespace = namespace_of(kustomization)
        self._given = {(kind_of(each), namespace_of(each), name_of(each)): each for each in substitutes}

    def of(self, objects: Sequence[Object]) -> list[Object]:
        """Raises: FluxError."""
        made = list(objects)
        ids = list(map(_id, made))
        counts = Counter(ids)
        for number, obj in enumerate(objects):
            _check(obj)
            try:
                made[number] = _rounded(self._substituted(obj), EXACT)
            except FluxError as error:
                kind = error.kind if error.kind == "substituteFrom" else "substitute"
                raise FluxError(kind, f"{kind_of(obj)} {name_of(obj)}: {error.message}", variable=error.variable) from None
            counts[ids[number]] -= 1
            own = _id(made[number])
            counts[own] += 1
            if counts[own] > 1:
                raise FluxError("substitute", f"{own[1]} {own[-1]} is there twice once variables have values")
        return made

    def _substituted(self, obj: Object) -> Object:
        return substitute(obj, self._variables, strict=self._strict, always=self._post.get("substituteStrategy") == ALWAYS)

    @cached_property
    def _variables(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in as_list(self._post.get("substituteFrom")):
            key = text(each.get("kind")), self._namespace, text(each.get("name"))
            if key in self._given:
                found |= _values(self._given[key])
            elif not each.get("optional"):
                message = f"{key[0]} {key[1]}/{key[2]} of substituteFrom is not known"
                raise FluxError("substituteFrom", message)
        return found | as_map(self._post.get("substitute"))


def _values(obj: Object) -> dict[str, str]:
    """The texts in a ConfigMap or a Secret, as the cluster has them."""
    data = as_map(obj.get("data"))
    if kind_of(obj) != "Secret":
        return {key: text(value) for key, value in data.items()}
    decoded = {key: (from_base64(text(value)) or b"").decode(errors="replace") for key, value in data.items()}
    return decoded | {key: text(value) for key, value in as_map(obj.get("stringData")).items()}


def _rounded(value: Object, exact: int) -> Object:
    """An object with whole numbers beyond `exact` as floats have them."""
    rounded: Object = with_scalars(value, lambda each: as_json(float(each)) if _is_beyond(each, exact) else each)
    return rounded


def _is_beyond(value: Any, exact: int) -> bool:
    return isinstance(value, int) and abs(value) > exact


def _id(obj: Object) -> tuple[str, ...]:
    """What tells objects apart: kustomize reads a name that is a number as a text."""
    names = metadata(obj)
    namespace = "" if kind_of(obj) in CLUSTER_KINDS else _shown(names.get("namespace")) or "default"
    return text(obj.get("apiVersion")), kind_of(obj), namespace, _shown(names.get("name"))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _check_all(objects: Iterable[Object]) -> None:
    for obj in objects:
        _check(obj)


def _check(obj: Object) -> None:
    if not (obj.get("apiVersion") and kind_of(obj) and metadata(obj).get("name")):
        raise FluxError("conventions", f"an object lacks apiVersion, kind or name: {kind_of(obj)} {name_of(obj)}".rstrip())


def _read(objects: Iterable[Object]) -> Iterator[Object]:
    """The objects that Flux applies: Lists are taken apart, and what has no text as a name is dropped without a word."""
    for obj in objects:
        if isinstance(obj.get("items"), list):
            yield from obj["items"]
        elif text(obj.get("apiVersion")) and kind_of(obj) and name_of(obj) and not _is_kustomization(obj):
            yield obj


def _is_kustomization(obj: Object) -> bool:
    return kind_of(obj).lower() == "kustomization" and group_of(obj) == GROUP


def _check_encrypted(objects: Iterable[Object], spec: Object) -> None:
    """Raises: FluxError for a Secret of SOPS that nobody decrypts."""
    for obj in objects if "decryption" not in spec else ():
        is_secret = kind_of(obj) == "Secret" and obj.get("apiVersion") == "v1" and "sops" in obj
        if is_secret and annotations_of(obj).get(DECRYPT) != DISABLED:
            message = f"Secret {namespace_of(obj)}/{name_of(obj)} is encrypted with SOPS, and spec.decryption is not set"
            raise FluxError("sops", message)


def _marked(obj: Object, common: Object) -> Object:
    """The object with common labels and annotations."""
    names = dict(metadata(obj))
    for key in ("labels", "annotations"):
        if merged := added_to(names.get(key)) | as_map(common.get(key)):
            names[key] = merged
    return {**obj, "metadata": names}
