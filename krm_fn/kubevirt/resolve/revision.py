"""ControllerRevisions: the instancetype or preference in one, whichever release stored it.

upstream: pkg/instancetype/compatibility/compatibility.go:GetInstancetypeSpec, GetPreferenceSpec, Decode

Stored instancetypes and preferences that Go can certainly decode, judged by their most common fields alone.

The table of all types, in `schema`, takes longer to load than a small bundle to render. False means: use that table.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import as_map, copy, get, is_set, put
from krm_fn.base.quantity import canonical, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.resolve.matcher import API_VERSION, GROUP, INSTANCETYPE, MATCHERS, PREFERENCE, Matcher

ANY = ""  # stands for every key of a map


def _is_text(value: Any) -> bool:
    return value.__class__ is str


def _is_truth(value: Any) -> bool:
    return value.__class__ is bool


def _is_count(value: Any) -> bool:
    return value.__class__ is int and 0 <= value < 2**32


def _is_size(value: Any) -> bool:
    return value.__class__ is str and parse(value) is not None


TEXTS = {ANY: _is_text}
# Fields of one name have the same type in instancetypes and preferences. If a kind does not have a field, Go ignores it.
FIELDS = {
    "apiVersion": _is_text,
    "kind": _is_text,
    "metadata": {"name": _is_text, "namespace": _is_text, "uid": _is_text, "labels": TEXTS, "annotations": TEXTS},
    "spec": {
        "annotations": TEXTS,
        "cpu": {
            "guest": _is_count,
            "maxSockets": _is_count,
            "model": _is_text,
            "dedicatedCPUPlacement": _is_truth,
            "isolateEmulatorThread": _is_truth,
            "preferredCPUTopology": _is_text,
        },
        "memory": {"guest": _is_size, "overcommitPercent": _is_count, "hugepages": {"pageSize": _is_text}},
        "ioThreadsPolicy": _is_text,
        "schedulerName": _is_text,
        "nodeSelector": TEXTS,
        "devices": {"preferredDiskBus": _is_text, "preferredInterfaceModel": _is_text, "preferredRng": {}},
        "requirements": {"cpu": {"guest": _is_count}, "memory": {"guest": _is_size}},
    },
}


def is_plain(value: Any, form: Any = None) -> bool:
    """True for an object of common fields with values of their types; null counts as absent."""
    form = FIELDS if form is None else form
    if value is None:
        return True
    if form.__class__ is not dict:
        return bool(form(value))
    return value.__class__ is dict and all(_is_plain_field(form.get(key, form.get(ANY)), value[key]) for key in value)


def _is_plain_field(form: Any, value: Any) -> bool:
    return form is not None and is_plain(value, form)


UNDECODABLE = "revision-undecodable"
UNREADABLE_FORM = "revision-form-unreadable"


class Payload(Value):
    """The content of a ControllerRevision: the spec in v1beta1 form, and the matcher that it is for.

    `kind` and `name` are those of the stored object, "" in the oldest form, which has only a spec.
    """

    matcher: Matcher
    spec: Object
    kind: str = ""
    name: str = ""


class Form(Value):
    """One stored form: the apiVersion of a full object, "" for a spec alone; `tables` name its fields in `alpha`, () if all
    fields are accepted.
    """

    api_version: str
    until: Version = ()
    tables: tuple[tuple[Matcher, str], ...] = ()


# The tables are in upstream's order: a spec alone that fits a preference is one, so an empty one always is.
V1ALPHA1 = ((PREFERENCE, "PREFERENCE"), (INSTANCETYPE, "INSTANCETYPE"))
V1ALPHA2 = ((PREFERENCE, "PREFERENCE_V1ALPHA2"), (INSTANCETYPE, "INSTANCETYPE"))
# The places of a v1beta1 spec that are quantities, and those that are plain maps, for which empty means unset.
QUANTITIES = (("memory", "guest"), ("requirements", "memory", "guest"))
MAPS = ("annotations", "nodeSelector")
# Before this release, the matcher decides what a spec alone is, and unknown fields are ignored.
TOLD_APART_SINCE: Version = (1, 3)
LONE_SPEC = Form(api_version="", until=(1, 7), tables=V1ALPHA1)
OBJECTS = (
    Form(api_version=f"{GROUP}/v1alpha1", until=(1, 7), tables=V1ALPHA1),
    Form(api_version=f"{GROUP}/v1alpha2", until=(1, 7), tables=V1ALPHA2),
    Form(api_version=API_VERSION),
)


def decode(data: Any, release: Release, *, asking: str = "") -> Payload | str:
    """The content of a ControllerRevision's `data` for that release, or a word for why there is none.

    `asking` is the field of the matcher that refers to it, "" if none does. The words: `revision-undecodable` (no instancetype
    or preference of any form), `revision-form-unreadable` (one that older releases could read, but this one can't).
    """
    data = as_map(data)
    if asking and release.within(until=TOLD_APART_SINCE) and isinstance(data.get("spec"), str | None):
        return _decode_asked(data, release, next(each for each in MATCHERS if each.field == asking))
    if not set(data) - {"apiVersion", "spec"} and isinstance(data.get("spec"), str):
        return _decode_lone_spec(data, release)
    form = next((form for form in OBJECTS if form.api_version == data.get("apiVersion")), None)
    matcher = next((matcher for matcher in MATCHERS if kind_of(data) in matcher.kinds), None)
    if form is None or matcher is None:
        return UNDECODABLE
    if not release.within(until=form.until):
        return UNREADABLE_FORM
    spec = _read_spec(data, form, matcher, release)
    if spec is None:
        return UNDECODABLE
    return Payload(matcher=matcher, spec=_with_sizes(spec, matcher), kind=kind_of(data), name=name_of(data))


def same_payload(one: Any, other: Any, release: Release) -> bool:
    """True if the `data` of two ControllerRevisions hold the same spec, as Go compares: `1Gi` is `1024Mi`, empty is unset.

    False if one of them holds none.
    upstream: pkg/instancetype/revision/compare.go:Compare
    """
    first, second = decode(one, release), decode(other, release)
    if isinstance(first, str) or isinstance(second, str) or first.matcher != second.matcher:
        return False
    return bool(_comparable(canonical_spec(first.spec)) == _comparable(canonical_spec(second.spec)))


def canonical_spec(spec: Object) -> Object:
    """A copy of a v1beta1 spec, with its quantities as Go writes them."""
    written: Object = copy(spec)
    for path in QUANTITIES:
        if get(written, path) is not None:
            put(written, path, canonical(get(written, path)))
    return written


def _comparable(value: Any) -> Any:
    """The value without unset fields. In Go an empty map equals no map, but a structure without fields does not equal none."""
    if isinstance(value, dict):
        below = {key: _comparable(item) for key, item in value.items()}
        return {key: item for key, item in below.items() if is_set(item) and (item != {} or key not in MAPS)}
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _decode_lone_spec(data: Object, release: Release) -> Payload | str:
    """The content of a spec that KubeVirt 0.55 to 0.57 stored alone, as base64. Releases since 1.0 ignore its apiVersion."""
    spec = _parsed(data["spec"]) if isinstance(data.get("apiVersion"), str | None) else UNDECODABLE
    from krm_fn.kubevirt.resolve import alpha  # needed only for such an old form

    for matcher, table in LONE_SPEC.tables:
        try:
            read = {} if spec is None else alpha.read(spec, getattr(alpha, table), release, strict=True)
        except alpha.FormMismatch:
            continue
        if not release.within(until=LONE_SPEC.until):
            return UNREADABLE_FORM
        return Payload(matcher=matcher, spec=_with_sizes(_converted(read, matcher), matcher))
    return UNDECODABLE


def _decode_asked(data: Object, release: Release, matcher: Matcher) -> Payload | str:
    """The content of a lone spec for the matcher that refers to it, whatever the spec was stored for.

    upstream: pkg/instancetype/compatibility/compatibility.go:decodeSpecRevision until 1.7
    """
    given = isinstance(data.get("spec"), str) and isinstance(data.get("apiVersion"), str | None)
    spec = _parsed(data["spec"], strict=False) if given else UNDECODABLE
    from krm_fn.kubevirt.resolve import alpha

    try:
        read = {} if spec is None else alpha.read(spec, getattr(alpha, dict(V1ALPHA1)[matcher]), release, strict=False)
    except alpha.FormMismatch:
        return UNDECODABLE
    return Payload(matcher=matcher, spec=_with_sizes(_converted(read, matcher), matcher))


def _parsed(encoded: str, *, strict: bool = True) -> Any:
    """The JSON in a base64 text; a word, which fits no table, if there is none. With `strict`, no key may stand twice."""
    import json  # the form is old, so few runs need it

    from krm_fn.base.encoding import from_base64

    raw = from_base64(encoded)
    if raw is None:
        return UNDECODABLE
    try:
        return json.loads(raw.decode(), object_pairs_hook=_unique if strict else dict, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return UNDECODABLE


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _read_spec(data: Object, form: Form, matcher: Matcher, release: Release) -> Object | None:
    """The spec of a full object in v1beta1 form; None if it does not have the form of its version."""
    spec, table = data.get("spec"), dict(form.tables).get(matcher)
    if spec is not None and not isinstance(spec, dict):
        return None
    if table is None:
        return as_map(spec) if _is_decodable(data, release) else None
    from krm_fn.kubevirt.resolve import alpha

    try:
        return _converted(alpha.read(as_map(spec), getattr(alpha, table), release, strict=False), matcher)
    except alpha.FormMismatch:
        return None


def _is_decodable(data: Object, release: Release) -> bool:
    """True if Go decodes the object: each value has its field's type, and each number fits. Unknown fields are ignored.

    upstream: pkg/instancetype/compatibility/compatibility.go:decodeControllerRevisionObject
    """
    if is_plain(data):
        return True
    from krm_fn.kubevirt.schema.checking import check  # needed only for uncommon fields
    from krm_fn.kubevirt.schema.flaws import RANGE, TYPE

    return not any(flaw.kind in (TYPE, RANGE) and flaw.upstream for flaw in check(data, release))


def _with_sizes(spec: Object, matcher: Matcher) -> Object:
    """The spec with the sizes that every instancetype has in Go. Nobody checks that a revision has them: they may be zero."""
    if matcher != INSTANCETYPE:
        return spec
    sizes = (("cpu", 0), ("memory", "0"))
    lacking = {
        block: {**as_map(spec.get(block)), "guest": zero} for block, zero in sizes if get(spec, (block, "guest")) is None
    }
    return {**spec, **lacking} if lacking else spec


def _converted(spec: Object, matcher: Matcher) -> Object:
    """A v1alpha1 or v1alpha2 spec in v1beta1 form.

    upstream: staging/src/kubevirt.io/api/instancetype/v1alpha1/conversion_generated.go:
    Convert_v1alpha1_CPUInstancetype_To_v1beta1_CPUInstancetype until 1.7; the same in v1alpha2
    """
    cpu = as_map(spec.get("cpu"))
    if matcher == INSTANCETYPE:
        # Plain values become pointers that are never nil, so even an unset one conflicts with a value of the VM.
        unset = {"model": "", "dedicatedCPUPlacement": False, "isolateEmulatorThread": False}
        return {**spec, "cpu": {**unset, **cpu}}
    if cpu.get("preferredCPUTopology") == "":
        return {**spec, "cpu": {}}
    return spec
