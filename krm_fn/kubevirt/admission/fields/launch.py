"""What stops an instance that its admission lets in: the API server refuses its pod, or virt-handler or qemu can't run it."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map, get
from krm_fn.base.quantity import parse
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import LABEL_FORM, Check, Group, count, examine
from krm_fn.kubevirt.admission.formats import is_label, is_label_value, is_port_name, is_qualified_name, is_subdomain
from krm_fn.kubevirt.admission.scope import DUPLICATE, INTERFACES, Cause, Scope, maps, name_of

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
# The volumes that KubeVirt adds to each pod, and the volumes of a VM that have their own names in its pod.
POD_VOLUMES = (
    *("private", "public", "sockets", "virt-bin-share-dir", "libvirt-runtime", "ephemeral-disks"),
    *("container-disks", "hotplug-disks"),
)
OF_OWN_NAME = (
    *("persistentVolumeClaim", "dataVolume", "ephemeral", "hostDisk", "downwardMetrics"),
    *("sysprep", "secret", "configMap", "downwardAPI"),
)
IMAGE_VOLUMES = "ImageVolume"
# What a container may ask for, besides what has a domain in its name.
STORAGE = "ephemeral-storage"
RESOURCES = ("cpu", "memory", STORAGE)
HUGE_PAGES = "hugepages-"
LABEL_VALUE = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"


class MachineTypes(Value):
    """The machine types of an architecture: an alias, and a prefix of versions."""

    architecture: str
    alias: str
    prefix: str


MACHINES = (
    MachineTypes(architecture="amd64", alias="q35", prefix="pc-q35"),
    MachineTypes(architecture="arm64", alias="virt", prefix="virt"),
    MachineTypes(architecture="s390x", alias="s390-ccw-virtio", prefix="s390-ccw-virtio"),
)


def _tolerates_nothing(_: object, toleration: Object, __: Scope) -> bool:
    return not toleration.get("key") and toleration.get("operator") != "Exists"


def _is_no_port(value: object, _: object, __: Scope) -> bool:
    return not (is_port_name(value) if isinstance(value, str) else isinstance(value, int) and 0 < value < 65536)


def _images(at: Path) -> Group:
    """The image of a container in the pod."""
    return Group(
        at=at,
        checks=(
            Check(
                at=("image",),
                refuses=lambda image, _, __: isinstance(image, str) and image != image.strip(),
                message="Kubernetes refuses the pod: the image {value} begins or ends with white space; remove it",
                upstream=PODS + "validateContainerCommon",
            ),
            Check(
                at=("image",),
                refuses=lambda image, _, __: image == "",
                message="Kubernetes refuses the pod: the name of the image is empty; write it, with its tag",
                upstream=PODS + "validateContainerCommon",
            ),
        ),
    )


def _probe(key: str) -> Iterator[Group]:
    """A probe, which the pod gets with KubeVirt's defaults."""
    for handler in ("httpGet", "tcpSocket"):
        check = Check(
            at=("port",),
            refuses=_is_no_port,
            message="Kubernetes refuses the pod: {value} is no port; use 1 to 65535, or the name of a port",
            upstream=PODS + "ValidatePortNumOrName",
        )
        yield Group(at=(key, handler), checks=(check,))
    command = Check(
        at=(),
        refuses=lambda _, probe, __: not probe.get("command"),
        message="Kubernetes refuses the pod: the probe has no command to execute; set command",
        upstream=PODS + "validateExecAction",
    )
    yield Group(at=(key, "exec"), checks=(command,))


GROUPS = (
    _images(("volumes", EACH, "containerDisk")),
    _images(("domain", "firmware", "kernelBoot", "container")),
    *_probe("readinessProbe"),
    *_probe("livenessProbe"),
    Group(
        at=("livenessProbe",),
        checks=(
            Check(
                at=("successThreshold",),
                refuses=lambda times, _, __: isinstance(times, int) and times > 1,
                message="Kubernetes refuses the pod: successThreshold of a liveness probe is {value}; it must be 1",
                upstream=PODS + "validateLivenessProbe",
            ),
        ),
    ),
    Group(
        at=("volumes", EACH, "serviceAccount"),
        checks=(
            Check(
                at=("serviceAccountName",),
                refuses=lambda value, _, __: value != "" and not is_subdomain(value),
                message="Kubernetes refuses the pod: {value} is no name of a ServiceAccount; correct it",
                upstream=PODS + "ValidatePodSpec",
            ),
        ),
    ),
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


@examine("volumes", upstream=VOLUMES + "Volumes")
def pod_volumes(scope: Scope) -> Iterator[Cause]:
    """No volume of a VM has the name of one that KubeVirt adds to the pod."""
    from_images = scope.gate(IMAGE_VOLUMES)
    taken = [name for name in POD_VOLUMES if not (from_images and name == "container-disks")]
    own = (*OF_OWN_NAME, "containerDisk") if from_images else OF_OWN_NAME
    for index, volume in enumerate(scope.volumes):
        name = name_of(volume)
        if name in taken and any(volume.get(source) is not None for source in own):
            message = f"Kubernetes refuses the pod: KubeVirt adds a volume {show(name)} of its own; use another name"
            yield scope.cause(("volumes", index, "name"), message, reason=DUPLICATE)


@examine("volumes", upstream="pkg/container-disk/container-disk.go:toContainerName")
def container_names(scope: Scope) -> Iterator[Cause]:
    """The containers of the pod for container disks and for shared file systems are named after the volumes."""
    shared = {name_of(each) for each in maps(scope.devices.get("filesystems"))}
    for index, volume in enumerate(scope.volumes):
        added = []
        if volume.get("containerDisk") is not None:
            added.append(len("volume") if scope.gate(IMAGE_VOLUMES) else len("volume-init"))
        if name_of(volume) in shared and volume.get("containerPath") is None:
            added.append(len("virtiofs-"))
        most = 63 - max(added, default=0)
        if most < len(name_of(volume)) <= 63:
            fact = f"Kubernetes refuses the pod: a container named after the volume {show(name_of(volume))}"
            message = f"{fact} has more than 63 characters; use at most {most}"
            yield scope.cause(("volumes", index, "name"), message)


@examine("domain", "resources", upstream=PODS + "ValidateContainerResourceRequirements")
def resource_names(scope: Scope) -> Iterator[Cause]:
    """The container that runs the machine asks for what the VM asks for."""
    for kind, amounts in (("requests", scope.requests), ("limits", scope.limits)):
        for name in amounts:
            if not (name in RESOURCES or name.startswith(HUGE_PAGES) or ("/" in name and is_qualified_name(name))):
                message = f"Kubernetes refuses the pod: {show(name)} is no resource of a container; use {', '.join(RESOURCES)}"
                yield scope.cause(("domain", "resources", kind, name), f"{message}, or the full name of a device")
    asked, most = parse(scope.requests.get(STORAGE)), parse(scope.limits.get(STORAGE))
    if asked and most and asked.nanos > most.nanos:
        message = f"Kubernetes refuses the pod: the request of {STORAGE} is above its limit; lower it"
        yield scope.cause(("domain", "resources", "requests", STORAGE), message)


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


EXAMINATIONS = (
    node_selector,
    credential_volumes,
    cloud_init_volumes,
    pod_volumes,
    container_names,
    resource_names,
    machine_type,
)
