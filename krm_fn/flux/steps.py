"""What Flux does to the objects that were built, before it applies them: variables, the checks, common labels and annotations.

upstream: kustomize-controller internal/controller/kustomization_controller.go: build, apply
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from krm_fn.base.encoding import from_base64
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, with_scalars
from krm_fn.base.work import Budget
from krm_fn.flux.applying import added_to
from krm_fn.flux.operators import UNITS
from krm_fn.flux.shapes import SPEC, WrongTypeError, shaped
from krm_fn.flux.substitution import FluxError, substitute
from krm_fn.yamlio.scalars import as_json

KUSTOMIZE = "kustomize.config.k8s.io"  # the group of kustomize's own kinds
DECRYPT, DISABLED = "kustomize.toolkit.fluxcd.io/decrypt", "disabled"
ALWAYS = "Always"
# Larger whole numbers lose digits: where Go reads JSON, and where Flux reads what was built.
EXACT, INT64 = 1 << 53, (1 << 63) - 1
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


def spec_of(kustomization: Object) -> Object:
    """What decides what is built, as Go reads it. Raises: FluxError."""
    try:
        return as_map(shaped(as_map(kustomization.get("spec")), SPEC))
    except WrongTypeError as error:
        raise FluxError("kustomization", f"the API server refuses this Kustomization: spec.{error}") from None


def delivered(
    objects: Sequence[Object],
    kustomization: Object,
    substitutes: Iterable[Object] = (),
    *,
    strict: bool = True,
    unknown: list[str] | None = None,
) -> list[tuple[int, Object]]:
    """What Flux applies of built objects, each with the number of the one that it was.

    `substitutes`, `strict`: as for `flux.build`. Where not all substitutes are known, the names of the variables without a
    value go into `unknown`; they stay in the objects as they are written. Raises: FluxError.
    """
    spec, made = spec_of(kustomization), list(objects)
    if "postBuild" in spec:
        made = _Substitution(kustomization, spec["postBuild"], substitutes, strict=strict, unknown=unknown).of(made)
    else:
        for obj in made:
            _check(obj)
    found = [(number, _rounded(obj, INT64)) for number, obj in _read(made)]
    _check_encrypted((obj for _, obj in found), spec)
    common = as_map(spec.get("commonMetadata"))
    return [(number, _marked(obj, common)) for number, obj in found] if common else found


class _Substitution:
    """The variables of one Kustomization, put into one object after the other. They are looked for when one needs them."""

    def __init__(
        self, kustomization: Object, post: Object, substitutes: Iterable[Object], *, strict: bool, unknown: list[str] | None
    ) -> None:
        self._post, self._strict, self._unknown, self._work = as_map(post), strict, unknown, Budget(UNITS)
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
        always = self._unknown is not None or self._post.get("substituteStrategy") == ALWAYS
        how: dict[str, Any] = {"strict": self._strict, "always": always, "unknown": self._unknown}
        return substitute(obj, self._variables, **how, work=self._work)

    @cached_property
    def _variables(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in as_list(self._post.get("substituteFrom")):
            key = text(each.get("kind")), self._namespace, text(each.get("name"))
            if key in self._given:
                found |= texts_of(self._given[key])
            elif not each.get("optional") and self._unknown is None:
                message = f"{key[0]} {key[1]}/{key[2]} of substituteFrom is not known"
                raise FluxError("substituteFrom", message)
        return found | as_map(self._post.get("substitute"))


def texts_of(obj: Object) -> dict[str, str]:
    """The texts in a ConfigMap or a Secret, as the cluster has them."""
    data = as_map(obj.get("data"))
    if kind_of(obj) != "Secret":
        return {key: text(value) for key, value in data.items()}
    decoded = {key: (from_base64(text(value)) or b"").decode(errors="replace") for key, value in data.items()}
    return decoded | {key: text(value) for key, value in as_map(obj.get("stringData")).items()}


def _rounded(value: Object, exact: int) -> Object:
    """An object with whole numbers beyond `exact` as floats have them."""
    rounded: Object = with_scalars(
        value, lambda each: as_json(float(each)) if isinstance(each, int) and abs(each) > exact else each
    )
    return rounded


def _id(obj: Object) -> tuple[str, ...]:
    """What tells objects apart: kustomize reads a name that is a number as a text."""
    names = metadata(obj)
    namespace = "" if kind_of(obj) in CLUSTER_KINDS else _shown(names.get("namespace")) or "default"
    return text(obj.get("apiVersion")), kind_of(obj), namespace, _shown(names.get("name"))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _check(obj: Object) -> None:
    if not (obj.get("apiVersion") and kind_of(obj) and metadata(obj).get("name")):
        raise FluxError("conventions", f"an object lacks apiVersion, kind or name: {kind_of(obj)} {name_of(obj)}".rstrip())


def _read(objects: Iterable[Object]) -> Iterator[tuple[int, Object]]:
    """The objects that Flux applies: Lists are taken apart, and what has no text as a name is dropped without a word."""
    for number, obj in enumerate(objects):
        if isinstance(obj.get("items"), list):
            yield from ((number, each) for each in obj["items"])
        elif text(obj.get("apiVersion")) and kind_of(obj) and name_of(obj) and not _is_kustomization(obj):
            yield number, obj


def _is_kustomization(obj: Object) -> bool:
    return kind_of(obj).lower() == "kustomization" and group_of(obj) == KUSTOMIZE


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
