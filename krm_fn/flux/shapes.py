"""Go's types for what Flux reads, as tables: values of other types are refused, unknown keys dropped, empty values left out.

upstream: kustomize api/types; fluxcd/pkg apis/kustomize; kustomize-controller api/v1/kustomization_types.go
"""

from __future__ import annotations

from typing import Any

from krm_fn.yamlio.emit import number_text

Shape = str | list[Any] | dict[str, Any]


# Kinds of values. `TEXT` takes numbers and truths as text where kustomize's own YAML is read; `PLAIN` never does: Go's reader
# does not see the type of what is in an embedded struct.
TEXT, PLAIN, TRUTH, NUMBER, ANY = "text", "plain", "truth", "number", "any"
TEXTS, LABELS = [TEXT], {"*": TEXT}
# A key that is written even if it is empty.
ALWAYS = frozenset(("count", "select"))

GVK = {"group": PLAIN, "version": PLAIN, "kind": PLAIN}
SELECTOR = {**GVK, "name": PLAIN, "namespace": PLAIN, "annotationSelector": TEXT, "labelSelector": TEXT}
PATCH = {"path": TEXT, "patch": TEXT, "target": SELECTOR, "options": {"allowNameChange": TRUTH, "allowKindChange": TRUTH}}
IMAGE = {"name": TEXT, "newName": TEXT, "tagSuffix": TEXT, "newTag": TEXT, "digest": TEXT}
OPTIONS = {"labels": LABELS, "annotations": LABELS, "disableNameSuffixHash": TRUTH, "immutable": TRUTH}
SOURCES = {"literals": [PLAIN], "files": [PLAIN], "envs": [PLAIN], "env": PLAIN}
GENERATOR = {"namespace": PLAIN, "name": PLAIN, "behavior": PLAIN, **SOURCES, "options": OPTIONS}
FIELD = {"delimiter": TEXT, "index": NUMBER, "encoding": TEXT, "create": TRUTH}
OBJECT = {**GVK, "name": PLAIN, "namespace": PLAIN}
TARGET = {"select": SELECTOR, "reject": [SELECTOR], "fieldPaths": TEXTS, "options": FIELD}
REPLACEMENT = {
    "source": {**OBJECT, "fieldPath": TEXT, "options": FIELD},
    "targets": [TARGET],
    "sourceValue": PLAIN,
    "path": TEXT,
}
LABEL = {
    "pairs": LABELS,
    "includeSelectors": TRUTH,
    "includeTemplates": TRUTH,
    "includeVolumeClaimTemplates": TRUTH,
    "fields": [{**GVK, "path": TEXT, "create": TRUTH}],
}
VAR = {
    "name": TEXT,
    "objref": {"apiVersion": TEXT, **GVK, "name": TEXT, "namespace": TEXT},
    "fieldref": {"fieldPath": TEXT},
}
# The charts are only counted: Flux does not build any of them.
KUSTOMIZATION: dict[str, Shape] = {
    "apiVersion": PLAIN,
    "kind": PLAIN,
    "metadata": {"name": TEXT, "namespace": TEXT, "labels": LABELS, "annotations": LABELS},
    "openapi": LABELS,
    **dict.fromkeys(("namePrefix", "nameSuffix", "namespace"), TEXT),
    **dict.fromkeys(("commonLabels", "commonAnnotations"), LABELS),
    "labels": [LABEL],
    "patchesStrategicMerge": TEXTS,
    "patchesJson6902": [PATCH],
    "patches": [PATCH],
    "images": [IMAGE],
    "imageTags": [IMAGE],
    "replacements": [REPLACEMENT],
    "replicas": [{"name": TEXT, "count": NUMBER}],
    "vars": [VAR],
    "sortOptions": {"order": TEXT, "legacySortOptions": {"orderFirst": TEXTS, "orderLast": TEXTS}},
    **dict.fromkeys(("resources", "components", "crds", "bases", "configurations"), TEXTS),
    **dict.fromkeys(("generators", "transformers", "validators", "buildMetadata"), TEXTS),
    "configMapGenerator": [GENERATOR],
    "secretGenerator": [{**GENERATOR, "type": TEXT}],
    "helmGlobals": {"chartHome": TEXT, "configHome": TEXT},
    "helmCharts": [ANY],
    "helmChartInflationGenerator": [ANY],
    "generatorOptions": OPTIONS,
}
# What of a Flux Kustomization decides what is built.
SPEC: dict[str, Shape] = {
    **dict.fromkeys(("path", "targetNamespace", "namePrefix", "nameSuffix"), TEXT),
    "commonMetadata": {"labels": LABELS, "annotations": LABELS},
    "components": TEXTS,
    "buildMetadata": TEXTS,
    "ignoreMissingComponents": TRUTH,
    "force": TRUTH,
    "decryption": {"provider": TEXT},
    "images": [IMAGE],
    "patches": [{"patch": TEXT, "target": dict.fromkeys(SELECTOR, TEXT)}],
    "postBuild": {
        "substitute": LABELS,
        "substituteFrom": [{"kind": TEXT, "name": TEXT, "optional": TRUTH}],
        "substituteStrategy": TEXT,
    },
}


class WrongTypeError(Exception):
    """A value of another type than Go's. The text names the key and what is expected."""


def shaped(value: Any, shape: Shape, *, at: str = "", lenient: bool = False) -> Any:
    """A value as Go keeps it; None for what it leaves out. `lenient`: numbers and truths may stand for a text.

    Raises: WrongTypeError.
    """
    if value is None or shape == ANY:
        return value
    if isinstance(shape, list):
        _expect(isinstance(value, list), at, "a list")
        return [_item(each, shape[0], f"{at}[{number}]", lenient=lenient) for number, each in enumerate(value)] or None
    if isinstance(shape, dict):
        _expect(isinstance(value, dict), at, "a map")
        return _map(value, shape, at, lenient=lenient)
    if shape in (TEXT, PLAIN):
        return _text(value, at, lenient=lenient and shape == TEXT)
    is_truth = isinstance(value, bool)
    fits = is_truth if shape == TRUTH else isinstance(value, int) and not is_truth
    _expect(fits, at, "true or false" if shape == TRUTH else "a whole number")
    return value


def _item(value: Any, shape: Shape, at: str, *, lenient: bool) -> Any:
    found = shaped(value, shape, at=at, lenient=lenient)
    return found if found is not None or shape == ANY else {} if isinstance(shape, dict) else ""


def _map(value: dict[str, Any], shape: dict[str, Any], at: str, *, lenient: bool) -> dict[str, Any]:
    if "*" in shape:
        return {key: shaped(each, shape["*"], at=f"{at}.{key}", lenient=lenient) or "" for key, each in value.items()}
    folded = {key.casefold(): key for key in shape}
    found: dict[str, Any] = {}
    for key, each in value.items():
        name = key if key in shape else folded.get(key.casefold(), "")  # Go's JSON does not look at the case
        if name and (key == name or name not in value):
            found[name] = shaped(each, shape[name], at=f"{at}.{name}".lstrip("."), lenient=lenient)
    return {key: each for key, each in found.items() if key in ALWAYS or each not in (None, "", False, [])}


def _text(value: Any, at: str, *, lenient: bool) -> str:
    if lenient and isinstance(value, bool):
        return "true" if value else "false"
    if lenient and isinstance(value, (int, float)):
        return number_text(value)
    _expect(isinstance(value, str), at, "a text")
    return str(value)


def _expect(fits: bool, at: str, expected: str) -> None:
    if not fits:
        raise WrongTypeError(f"{at or 'the whole'}: expected {expected}")
