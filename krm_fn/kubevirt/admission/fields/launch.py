"""What stops an instance that its admission lets in: the API server refuses its pod, or virt-handler or qemu can't run it."""

from __future__ import annotations

from krm_fn.base.paths import EACH, as_map, get
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.causes import DUPLICATE
from krm_fn.kubevirt.admission.checks import LABEL_FORM, Check, Group, count, examine
from krm_fn.kubevirt.admission.formats import is_label, is_label_value, is_qualified_name, is_subdomain
from krm_fn.kubevirt.admission.items import INTERFACES, maps, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.admission.causes import Cause
    from krm_fn.kubevirt.admission.scope import Scope

VOLUMES = "pkg/virt-controller/services/rendervolumes.go:"
PODS = "k8s.io/kubernetes pkg/apis/core/validation/validation.go:"
BINDINGS = ("bridge", "masquerade", "sriov", "slirp", "macvtap", "passt", "passtBinding", "binding")

# The volumes of a pod that are named after a Secret of credentials, or after a volume of cloud-init with a Secret.
CREDENTIAL = "-access-cred"
CLOUD_INIT = tuple(
    (source, key, suffix)
    for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
    for key, suffix in (("secretRef", "-udata"), ("networkDataSecretRef", "-ndata"))
)
LABEL_VALUE = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"


class Machine(Value):
    """The machine types of an architecture: an alias, and a prefix of versions."""

    architecture: str
    alias: str
    prefix: str


MACHINES = (
    Machine(architecture="amd64", alias="q35", prefix="pc-q35"),
    Machine(architecture="arm64", alias="virt", prefix="virt"),
    Machine(architecture="s390x", alias="s390-ccw-virtio", prefix="s390-ccw-virtio"),
)


def _tolerates_nothing(_: object, toleration: Object, __: Scope) -> bool:
    return not toleration.get("key") and toleration.get("operator") != "Exists"


GROUPS = (
    Group(
        at=(*INTERFACES, EACH),
        checks=(
            Check(
                at=(),
                refuses=lambda _, interface, __: interface.get("state") != "absent" and not count(interface, BINDINGS),
                message="the interface has no binding, so virt-handler never attaches it; set masquerade, bridge or another",
                until=(1, 9),
                upstream="pkg/network/setup/netpod/discover.go:discover",
            ),
        ),
    ),
    Group(
        at=("tolerations", EACH),
        checks=(
            Check(
                at=(),
                refuses=_tolerates_nothing,
                message="Kubernetes refuses the pod: a toleration without a key needs the operator Exists; set one of them",
                upstream=PODS + "ValidateTolerations",
            ),
            Check(
                at=("key",),
                refuses=lambda key, _, __: key != "" and not is_qualified_name(key),
                message="Kubernetes refuses the pod: key {value} is no label key; use the key of a taint",
                upstream=PODS + "ValidateTolerations",
            ),
            Check(
                at=("value",),
                refuses=lambda value, toleration, _: value != "" and toleration.get("operator") == "Exists",
                message="Kubernetes refuses the pod: the operator Exists takes no value; remove value, or use Equal",
                upstream=PODS + "ValidateTolerations",
            ),
            Check(
                at=("value",),
                refuses=lambda value, toleration, _: toleration.get("operator") != "Exists" and not is_label_value(value),
                message=f"Kubernetes refuses the pod: value {{value}} is no label value; {LABEL_VALUE}",
                upstream=PODS + "ValidateTolerations",
            ),
            Check(
                at=("tolerationSeconds",),
                refuses=lambda _, toleration, __: toleration.get("effect") != "NoExecute",
                message="Kubernetes refuses the pod: tolerationSeconds needs the effect NoExecute; set it or remove the field",
                upstream=PODS + "ValidateTolerations",
            ),
        ),
    ),
    Group(
        at=(),
        checks=(
            Check(
                at=("priorityClassName",),
                refuses=lambda value, _, __: value != "" and not is_subdomain(value),
                message="Kubernetes refuses the pod: {value} is no name of a PriorityClass; correct it",
                upstream=PODS + "ValidatePodSpec",
            ),
        ),
    ),
)


@examine("nodeSelector", upstream=PODS + "ValidatePodSpec")
def node_selector(scope: Scope) -> Iterator[Cause]:
    """The labels that a node must have are ones that a node can have."""
    for key, value in as_map(scope.spec.get("nodeSelector")).items():
        if not is_qualified_name(key):
            message = f"Kubernetes refuses the pod: {show(key)} is no label key; use the label of a node"
            yield scope.cause(("nodeSelector", key), message)
        elif not is_label_value(value or ""):
            yield scope.cause(
                ("nodeSelector", key), f"Kubernetes refuses the pod: {show(value)} is no label value; {LABEL_VALUE}"
            )


@examine("accessCredentials", upstream=VOLUMES + "withAccessCredentials")
def credential_volumes(scope: Scope) -> Iterator[Cause]:
    """Each Secret becomes a volume of the pod with a name of its own."""
    seen = set()
    for index, credential in enumerate(maps(scope.spec.get("accessCredentials"))):
        kind = "sshPublicKey" if get(credential, ("sshPublicKey", "source", "secret")) is not None else "userPassword"
        at = ("accessCredentials", index, kind, "source", "secret", "secretName")
        secret = get(scope.spec, at)
        if not isinstance(secret, str) or not secret:
            continue
        name = secret + CREDENTIAL
        if not is_label(name):
            most = 63 - len(CREDENTIAL)
            fact = f"Kubernetes refuses the pod: it has a volume named after this Secret, with {CREDENTIAL} at the end"
            yield scope.cause(at, f"{fact}, which must be a DNS label; {LABEL_FORM.replace('63', str(most))}")
        elif secret in seen:
            message = f"Kubernetes refuses the pod: it would have two volumes {show(name)}; keep one credential"
            yield scope.cause(at, message, reason=DUPLICATE)
        seen.add(secret)


@examine("volumes", upstream=VOLUMES + "handleCloudInitNoCloud")
def cloud_init_volumes(scope: Scope) -> Iterator[Cause]:
    for index, volume in enumerate(scope.volumes):
        for source, key, suffix in CLOUD_INIT:
            name = name_of(volume) + suffix
            if get(volume, (source, key)) is not None and name != suffix and not is_label(name):
                most = 63 - len(suffix)
                message = f"Kubernetes refuses the pod: the volume {show(name)} has more than 63 characters; use at most {most}"
                yield scope.cause(("volumes", index, "name"), message)


@examine("domain", "machine", "type", upstream="pkg/virt-config/virt-config.go:GetEmulatedMachines")
def machine_type(scope: Scope) -> Iterator[Cause]:
    """Patterns of types take more than qemu knows. The versions hang on the release of qemu, so any of them passes."""
    given = get(scope.spec, ("domain", "machine", "type"))
    for row in MACHINES:
        if row.architecture != scope.spec.get("architecture") or not isinstance(given, str):
            continue
        version = given.removeprefix(f"{row.prefix}-")
        known = given == row.alias or (version != given and (version[:1].isdigit() or version.startswith("rhel")))
        if not known and given.startswith((row.alias, row.prefix)):
            message = f"qemu has no machine type {show(given)}; use {row.alias}, or a version such as {row.prefix}-rhel9.4.0"
            yield scope.cause(("domain", "machine", "type"), message).but(sure=False)


EXAMINATIONS = (node_selector, credential_volumes, cloud_init_volumes, machine_type)
