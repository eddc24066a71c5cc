"""What a HelmRelease of Flux gives to helm: the name of the release, its namespace, and the values.

What helm makes of them is in the hands of a HelmRelease once more: `post_rendering`, `with_common`.
upstream: helm-controller api/v2/helmrelease_types.go: GetReleaseName, GetReleaseNamespace; internal/release/name.go:
ShortenName; internal/postrender; fluxcd/pkg chartutil/values.go: ChartValuesFromReferences
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.wording import brief
from krm_fn.flux.shapes import SPEC, TEXT, Shape, WrongTypeError, shaped
from krm_fn.flux.steps import texts_of
from krm_fn.flux.substitution import FluxError

LONGEST, KEPT, DIGITS = 53, 40, 12  # characters of a release's name, and of a longer one those that stay, and of its digest
MOST_STEPS, LONGEST_STEP = 100, 1000  # of a targetPath; nobody writes more
MOST_DIGITS = 20  # strconv.ParseInt takes no longer number; such a value stays text
KEY = "values.yaml"  # of a ConfigMap or a Secret, where none is named
STEP = expression(r"\[\d+\]|(?:\\.|[^.\[\\])+")
WHOLE = expression(r"-?[1-9]\d*")
WORDS = {"true": True, "false": False, "null": None, "0": 0}
SYNTAX = frozenset(",{}[]\\")  # what helm reads in a value beside text
HOOK = "helm.sh/hook"  # an annotation
# What of a HelmRelease changes the objects after helm has made them. A patch there has no options, and names no file.
POST: dict[str, Shape] = {
    "postRenderers": [{"kustomize": {key: SPEC[key] for key in ("patches", "images")}}],
    "postRenderStrategy": TEXT,
    "commonMetadata": SPEC["commonMetadata"],
}


def named(release: Object) -> tuple[str, str]:
    """The name of the release, and its namespace."""
    from krm_fn.base.uuids import short  # hashes are slow to load

    spec = as_map(release.get("spec"))
    target = text(spec.get("targetNamespace"))
    name = text(spec.get("releaseName")) or "-".join(filter(None, (target, name_of(release))))
    return short(name, longest=LONGEST, kept=KEPT, digits=DIGITS), target or namespace_of(release)


def chart_named(release: Object) -> str:
    """The chart of a release and where it comes from, in words; "" where it names no source."""
    spec = as_map(release.get("spec"))
    chart = as_map(as_map(spec.get("chart")).get("spec"))
    source = as_map(spec.get("chartRef")) or as_map(chart.get("sourceRef"))
    place = "/".join(filter(None, (text(source.get("namespace")), text(source.get("name")))))
    name = " ".join(filter(None, ("the chart", text(chart.get("chart")), text(chart.get("version")))))
    return f"{name} in the {text(source.get('kind'))} {place}" if place else ""


def values(release: Object, holding: Callable[[str, str], Object | None], missing: list[str]) -> Object:
    """The values: those of `valuesFrom` in order, and over them `values`.

    `holding` gives a ConfigMap or a Secret by kind and name; those that it does not know go into `missing`. Raises: FluxError.
    """
    spec = as_map(release.get("spec"))
    own = as_map(spec.get("values"))
    found: Object = {}
    for each in map(as_map, as_list(spec.get("valuesFrom"))):
        kind, name, path = (text(each.get(key)) for key in ("kind", "name", "targetPath"))
        held, key = holding(kind, name), text(each.get("valuesKey")) or KEY
        if held is None:
            missing += [] if each.get("optional") else [f"{kind} {name}"]
            continue
        given = texts_of(held).get(key)
        if given is None and not each.get("optional"):
            raise FluxError("values", f"{kind} {name} of valuesFrom has no key {key}")
        if given is not None and path:
            found = _with(_merged(found, own), _steps(path), _typed(given, is_text=each.get("literal") is True))
        elif given is not None:
            found = _merged(found, _map(given, f"{kind} {name}"))
    return _merged(found, own)


def post_rendering(release: Object) -> Object:
    """What is done to the objects after helm has made them, as Go reads it; {} for nothing. Raises: FluxError."""
    try:
        found = as_map(shaped(as_map(release.get("spec")), POST))
    except WrongTypeError as error:
        raise FluxError("values", f"the API server refuses this HelmRelease: spec.{error}") from None
    added = any(as_map(found.get("commonMetadata")).values())
    return found if added or any(each.get("kustomize") for each in as_list(found.get("postRenderers"))) else {}


def with_common(obj: Object, common: Object) -> Object:
    """The object with common labels and annotations over its own."""
    names = metadata(obj)
    added = {key: {**as_map(names.get(key)), **values} for key, values in common.items() if values}
    return {**obj, "metadata": {**names, **added}}


def _map(given: str, named: str) -> Object:
    try:
        items = yamlio.read_stream(given.encode()).items
    except InputError as error:
        raise FluxError("values", f"the values of {named} can't be read: {error.message}") from None
    found = items[0] if items else None
    if found is not None and not isinstance(found, dict):
        raise FluxError("values", f"the values of {named} are no map")
    return found or {}


def _merged(one: Object, other: Object) -> Object:
    """Both maps; where they differ, the other one counts."""
    found = dict(one)
    for key, value in other.items():
        below = found.get(key)
        found[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def _steps(path: str) -> list[str]:
    """The steps of a targetPath. Raises: FluxError."""
    steps = STEP.findall(path)
    if not steps or steps[0].startswith("[") or len(steps) > MOST_STEPS or any(len(step) > LONGEST_STEP for step in steps):
        raise FluxError("values", f"the targetPath {brief(path)} leads to no value; expected names, joined by dots")
    return steps


def _typed(given: str, *, is_text: bool) -> Any:
    """A value as helm reads it after `--set`. Raises: FluxError."""
    if is_text:
        return given
    if len(given) > 1 and given[0] in "'\"" and given[-1] in "'\"":
        return given.strip("'\"")
    if SYNTAX & set(given):
        raise FluxError("values", "a value with a targetPath has `,`, braces or `\\`; set literal: true for it")
    return WORDS[given] if given in WORDS else int(given) if len(given) < MOST_DIGITS and WHOLE.fullmatch(given) else given


def _with(of: Any, steps: list[str], value: Any) -> Any:
    """A map or a list with a value at a path; what is missing on the way is made."""
    if not steps:
        return value
    step, *rest = steps
    if step.startswith("["):
        entries, number = list(of) if isinstance(of, list) else [], int(step[1:-1])
        if number > len(entries):
            raise FluxError("values", f"a targetPath leads to {step}, and the list has {len(entries)} entries")
        below = entries[number] if number < len(entries) else None
        return [*entries[:number], _with(below, rest, value), *entries[number + 1 :]]
    key, found = step.replace("\\", ""), dict(of) if isinstance(of, dict) else {}
    return {**found, key: _with(found.get(key), rest, value)}
