"""Which type each kind is of, and how much of it KubeVirt's webhooks look at themselves."""

from __future__ import annotations

from krm_fn.resource import group_of, kind_of, text
from krm_fn.schema.flaws import ELSEWHERE, MISSING, NULL, NUMBER, RANGE, TYPE, UNKNOWN, UNQUOTED
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.releases import Release, Version
    from krm_fn.resource import Object
    from krm_fn.schema.flaws import Flaw

CORE, INSTANCETYPE, POOL = "kubevirt.io", "instancetype.kubevirt.io", "pool.kubevirt.io"
FILLED = frozenset(("text", "an integer", "a number", "true or false"))
OBJECT_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")


class Kind(Value):
    """A kind in the API versions and releases that serve it: its `type` in the table of types.

    `strict`: its webhooks hold the spec against KubeVirt's own schema, which takes no unknown field; the others only decode the
    object. `always`: fields of other releases are reported in every mode, since rendering reads this kind.
    upstream: pkg/util/openapi/openapi.go:Validate; it looks for `v1.<Kind>Spec`, and finds none for the other groups' kinds
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    type: str
    strict: bool = False
    always: bool = False
    since: Version = ()
    until: Version = ()


V1 = ("v1", "v1alpha3")
KINDS = (
    Kind(group=CORE, versions=V1, kind="VirtualMachine", type="v1.VirtualMachine", strict=True, always=True),
    Kind(group=CORE, versions=V1, kind="VirtualMachineInstance", type="v1.VirtualMachineInstance", strict=True),
    Kind(
        group=CORE,
        versions=V1,
        kind="VirtualMachineInstanceReplicaSet",
        type="v1.VirtualMachineInstanceReplicaSet",
        strict=True,
    ),
    Kind(group=CORE, versions=V1, kind="VirtualMachineInstancePreset", type="v1.VirtualMachineInstancePreset", strict=True),
    Kind(group=CORE, versions=V1, kind="KubeVirt", type="v1.KubeVirt", strict=True),
    Kind(
        group=POOL,
        versions=("v1alpha1",),
        kind="VirtualMachinePool",
        type="v1alpha1.VirtualMachinePool",
        always=True,
        until=(1, 7),
    ),
    # From 1.7 on one schema serves both versions.
    Kind(
        group=POOL,
        versions=("v1alpha1", "v1beta1"),
        kind="VirtualMachinePool",
        type="v1beta1.VirtualMachinePool",
        always=True,
        since=(1, 7),
    ),
    # One schema served all versions; the alpha ones until 1.5.
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
)

_by_kind: dict[tuple[str, str], list[Kind]] = {}


def version_of(obj: Object) -> str:
    """The version in an object's apiVersion: `v1beta1` of `instancetype.kubevirt.io/v1beta1`."""
    return text(obj.get("apiVersion")).rpartition("/")[2]


def kind_known(obj: Object, release: Release) -> Kind | None:
    """The row of an object's kind, None where the release serves no such kind or version, or it is none of KubeVirt's."""
    if not _by_kind:
        for row in KINDS:
            _by_kind.setdefault((row.group, row.kind), []).append(row)
    for row in _by_kind.get((group_of(obj), kind_of(obj)), ()):
        if version_of(obj) in row.versions and release.within(since=row.since, until=row.until):
            return row
    return None


def counts(flaw: Flaw, row: Kind | None) -> bool:
    """False for what is no flaw in an object of the kind.

    The API server drops strange fields of a status from what users write, whatever they hold; and webhooks that only decode an
    object read whole numbers as quantities.
    """
    if flaw.path[0] == "status" and flaw.kind in (UNKNOWN, ELSEWHERE):
        return False
    return flaw.kind != NUMBER or row is None or row.strict or isinstance(flaw.current, float)


def refused(flaw: Flaw, row: Kind) -> bool:
    """True where the webhooks of the kind refuse an object for this flaw.

    What they only decode, they refuse for wrong types; nobody there minds an unquoted quantity, and null never comes there.
    upstream: pkg/util/webhooks/webhooks.go:ValidateSchema, github.com/go-openapi/validate/object_validator.go
    """
    top = flaw.path[0]
    if len(flaw.path) == 1 and flaw.kind in (UNKNOWN, ELSEWHERE, MISSING):
        return top == "spec" if flaw.kind == MISSING else top not in OBJECT_KEYS
    if isinstance(flaw.current, float) and isinstance(flaw.proposed, int):
        return False  # the API server writes 2.0 as 2 before a webhook sees it
    if row.strict and top in ("spec", "status"):
        # upstream takes these two for keywords of the schema itself, and lets a status hold anything
        passed = flaw.kind in (UNKNOWN, ELSEWHERE) and (top == "status" or flaw.path[-1] in ("$schema", "id"))
        # its schema has a default for these, and fills them in before it asks what is missing
        filled = flaw.kind == MISSING and flaw.expected in FILLED
        return not (passed or filled) and flaw.kind not in (UNQUOTED, NULL)
    return flaw.kind in (TYPE, RANGE) and flaw.current is not None  # null in a list is nothing to Go
