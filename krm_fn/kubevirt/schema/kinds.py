"""The type of each kind, and the parts that KubeVirt's webhooks check themselves."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object, group_of, kind_of, text
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import CORE, INSTANCETYPE, POOL
from krm_fn.kubevirt.holders import POOLED
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.schema.flaws import (
    ELSEWHERE,
    MISSING,
    NULL,
    NUMBER,
    RANGE,
    SERVER,
    TYPE,
    UNKNOWN,
    UNQUOTED,
    VALUE,
    WEBHOOKS,
    Flaw,
)

FILLED = frozenset(("a string", "an integer", "a number", "true or false"))
# Text with a choice in the CustomResourceDefinition that Go leaves out if it is "". Other such fields are written, or pointers.
# upstream: kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1/types.go:DataVolumeSpec
LEFT_OUT = ("contentType",)
# Fields of a DataVolume that CDI has and KubeVirt's copy of its types lacks.
# upstream: containerized-data-importer staging/src/kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1/types.go
LATER = frozenset(
    (
        ("spec", "serviceAccountName"),
        *(("spec", "source", "http", field) for field in ("checksum", "insecureSkipVerify")),
        ("spec", "source", "vddk", "certConfigMap"),
    )
)
OBJECT_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")


class Kind(Value):
    """A kind in the API versions and releases that serve it: its `type` in the table of types.

    `strict`: its webhooks check the spec against KubeVirt's own schema, which accepts no unknown field; other webhooks only
    decode the object. `mutated`: a mutating webhook rewrites the object before the API server checks it against the
    CustomResourceDefinition. `status`: its status is a subresource, so the API server deletes it from what users write.
    `scale`: so are its replicas. `always`: fields of other releases are reported in every mode, because rendering reads them.
    `neighbour`: another product serves it, whose release is not known, and its webhooks and its status are not KubeVirt's.
    upstream: pkg/util/openapi/openapi.go:Validate; it looks for `v1.<Kind>Spec`, and finds none for the other groups' kinds;
    pkg/virt-operator/resource/generate/components/webhooks.go:NewVirtAPIValidatingWebhookConfiguration
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    type: str
    strict: bool = False
    mutated: bool = False
    status: bool = False
    scale: bool = False
    always: bool = False
    neighbour: bool = False
    since: Version = ()
    until: Version = ()


def _core(kind: str, **others: Any) -> Kind:
    return Kind(group=CORE, versions=("v1", "v1alpha3"), kind=kind, type=f"v1.{kind}", strict=True, **others)


def _pool(versions: tuple[str, ...], version: str, since: Version = (), until: Version = ()) -> Kind:
    kind = "VirtualMachinePool"
    return Kind(
        group=POOL,
        versions=versions,
        kind=kind,
        type=f"{version}.{kind}",
        status=True,
        scale=True,
        always=True,
        since=since,
        until=until,
    )


KINDS = (
    _core("VirtualMachine", mutated=True, status=True, always=True),
    _core("VirtualMachineInstance", mutated=True),
    _core("VirtualMachineInstanceReplicaSet", status=True, scale=True),
    _core("VirtualMachineInstancePreset"),
    _core("KubeVirt", status=True),
    _pool(("v1alpha1",), "v1alpha1", until=(1, 7)),
    _pool(("v1alpha1", "v1beta1"), "v1beta1", since=(1, 7)),  # since 1.7 one schema serves both versions
    # One schema served all versions; the alpha ones before 1.5.
    *(
        Kind(group=INSTANCETYPE, versions=versions, kind=kind, type=f"v1beta1.{kind}", always=True, until=until)
        for kind in (
            "VirtualMachineInstancetype",
            "VirtualMachineClusterInstancetype",
            "VirtualMachinePreference",
            "VirtualMachineClusterPreference",
        )
        for versions, until in ((("v1beta1",), ()), (("v1alpha1", "v1alpha2"), (1, 6)))
    ),
    # KubeVirt has CDI's own type for the templates of DataVolumes.
    Kind(group="cdi.kubevirt.io", versions=("v1beta1",), kind="DataVolume", type="v1.DataVolumeTemplateSpec", neighbour=True),
)

_by_kind: dict[tuple[str, str], list[Kind]] = {}


def version_of(obj: Object) -> str:
    """The version in an object's apiVersion: `v1beta1` of `instancetype.kubevirt.io/v1beta1`."""
    return text(obj.get("apiVersion")).rpartition("/")[2]


def kind_known(obj: Object, release: Release) -> Kind | None:
    """The row of an object's kind; None if the release does not serve the kind or version, or it is not KubeVirt's."""
    if not _by_kind:
        for row in KINDS:
            _by_kind.setdefault((row.group, row.kind), []).append(row)
    for row in _by_kind.get((group_of(obj), kind_of(obj)), ()):
        if version_of(obj) in row.versions and release.within(since=row.since, until=row.until):
            return row
    return None


def counts(flaw: Flaw, row: Kind) -> bool:
    """False if neither the API server nor a webhook refuses the flaw in an object of the kind.

    In a status that is a subresource, the API server refuses only unknown fields, and deletes the rest. A mutating webhook sees
    it earlier. Go reads a number as a quantity, even if the CustomResourceDefinition does not accept it. A mutating webhook
    writes it as text, and leaves out empty values.
    upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate, vmi-mutator.go:Mutate
    """
    if row.neighbour:
        return flaw.by != WEBHOOKS and flaw.kind != ELSEWHERE and flaw.path[:1] != ("status",) and flaw.path not in LATER
    if row.status and flaw.path[:1] == ("status",) and flaw.kind not in (UNKNOWN, ELSEWHERE):
        return row.mutated and refused(flaw, row)
    if _is_rewritten(flaw, row):
        return isinstance(flaw.current, str)
    if flaw.kind == VALUE and flaw.current == "" and flaw.path[-1] in LEFT_OUT:
        return not row.mutated
    if flaw.by == WEBHOOKS and (flaw.kind == NUMBER or flaw.current is None):
        return row.strict  # what is only decoded may hold null anywhere, and numbers as quantities
    return True


def taken(flaw: Flaw, row: Kind) -> bool:
    """True for a flaw with which the object is still admitted.

    These are quantities with blanks around them, which a mutating webhook rewrites, and flaws that only webhooks would refuse,
    in parts that they do not check. The template of a pool counts as refused, because its VMs are.
    """
    if _is_rewritten(flaw, row):
        return True
    elsewhere = flaw.path[:1] != ("metadata",) and flaw.path[: len(POOLED)] != POOLED
    return flaw.by == WEBHOOKS and elsewhere and not refused(flaw, row)


def _is_rewritten(flaw: Flaw, row: Kind) -> bool:
    return flaw.kind == UNQUOTED and flaw.by == SERVER and row.mutated


def refused(flaw: Flaw, row: Kind) -> bool:
    """True if the webhooks of the kind refuse an object for this flaw.

    In parts that they only decode, they refuse wrong types. Null never reaches them.
    upstream: pkg/util/webhooks/webhooks.go:ValidateSchema, github.com/go-openapi/validate/object_validator.go
    """
    top = flaw.path[0] if flaw.path else ""  # a definition can refuse the object itself
    if flaw.by == SERVER or row.neighbour:
        return False
    if len(flaw.path) == 1 and flaw.kind in (UNKNOWN, ELSEWHERE, MISSING):
        return top == "spec" if flaw.kind == MISSING else top not in OBJECT_KEYS
    if row.status and not row.mutated and top == "status":
        return False  # it is deleted before a webhook sees it
    if row.strict and top in ("spec", "status"):
        # Upstream reads these two as keywords of the schema itself, and accepts anything in a status.
        passed = flaw.kind in (UNKNOWN, ELSEWHERE) and (top == "status" or flaw.path[-1] in ("$schema", "id"))
        # Its schema has a default for these, and sets it before it checks for missing fields.
        filled = flaw.kind == MISSING and flaw.expected in FILLED
        return not (passed or filled) and flaw.kind != NULL
    return flaw.kind in (TYPE, RANGE) and flaw.current is not None  # Go ignores null in a list
