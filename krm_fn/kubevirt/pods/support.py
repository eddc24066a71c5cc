"""The containers beside `compute`: console log, container disks, virtiofs, hook sidecars, and that of the hotplug pod.

Each is a dict with `name`, `requests`, `limits` (amounts) and, of those that run beside the others, `restartPolicy`.
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import Amounts, amount
from krm_fn.kubevirt.pods.launch import Launch, MissingObjectError, PodError
from krm_fn.kubevirt.releases import Version

KERNEL_BOOT = "kernel-boot-volume"
IMAGE_VOLUME_GATE = "ImageVolume"
SKIP_DIGESTS = "kubevirt.io/image-volume-skip-digest-resolution"
SKIP_DIGESTS_SINCE: Version = (1, 10)
HOOKS = "hooks.kubevirt.io/hookSidecars"
DISK_STORAGE = {"ephemeral-storage": amount("50M")}


def _sizes(cpu: str, memory: str) -> Amounts:
    return {"cpu": amount(cpu), "memory": amount(memory)}


class Support(Value):
    """What a container asks for: `type` is the cluster's word for it in supportContainerResources.

    `high` are the limits where the pod may be Guaranteed, which are the requests then; None for those that don't change.
    """

    type: str
    requests: Amounts
    limits: Amounts
    high: Amounts | None
    upstream: str


CONSOLE_LOG = Support(
    type="guest-console-log",
    requests=_sizes("5m", "35M"),
    limits=_sizes("15m", "60M"),
    high=_sizes("15m", "60M"),
    upstream="pkg/virt-controller/services/serialconsolelog.go:resourcesForSerialConsoleLogContainer",
)
CONTAINER_DISK = Support(
    type="container-disk",
    requests=_sizes("1m", "1M"),
    limits=_sizes("10m", "40M"),
    high=_sizes("10m", "40M"),
    upstream="pkg/container-disk/container-disk.go:getMinimalInitContainerDiskResources",
)
CONTAINER_DISK_BINARY = Support(
    type="container-disk",
    requests=_sizes("10m", "1M"),
    limits=_sizes("100m", "40M"),
    high=_sizes("10m", "40M"),
    upstream="pkg/virt-controller/services/renderresources.go:initContainerResourceRequirementsForVMI",
)
VIRTIOFS = Support(
    type="virtiofs",
    requests=_sizes("10m", "1M"),
    limits=_sizes("100m", "80M"),
    high=_sizes("100m", "80M"),
    upstream="pkg/virtiofs/resources.go:ResourcesForVirtioFSContainer",
)
SIDECAR = Support(
    type="sidecar",
    requests={},
    limits={},
    high=_sizes("200m", "64M"),
    upstream="pkg/virt-controller/services/renderresources.go:sidecarResources",
)
HOTPLUG = Support(
    type="hotplug-disk",
    requests=_sizes("10m", "2M"),
    limits=_sizes("100m", "80M"),
    high=None,
    upstream="pkg/virt-controller/services/renderresources.go:hotplugContainerResourceRequirementsForVMI",
)


def container(launch: Launch, name: str, support: Support) -> Object:
    """A container of this sort."""
    aligned = launch.aligned and support.high is not None
    limits = launch.overlaid((support.high if aligned else None) or support.limits, "limits", support.type)
    requests = dict(limits) if aligned else launch.overlaid(support.requests, "requests", support.type)
    return {"name": name, "requests": requests, "limits": limits}


class ContainerPlace(Value):
    """Containers and where they stand in the pod, in order; those of rows of other releases do not exist."""

    make: Callable[[Launch], Iterator[Object]]
    since: Version = ()
    until: Version = ()


def containers(launch: Launch) -> list[Object]:
    """Those that run beside `compute`. Raises: PodError."""
    return _made(launch, RUNNING)


def init_containers(launch: Launch) -> list[Object]:
    """Those that start before."""
    return _made(launch, INITIAL)


def _made(launch: Launch, places: tuple[ContainerPlace, ...]) -> list[Object]:
    return [each for place in launch.release.rows(places) for each in place.make(launch)]


def _console_log(launch: Launch) -> Iterator[Object]:
    """upstream: pkg/virt-controller/services/serialconsolelog.go:isSerialConsoleLogEnabled"""
    own = launch.devices.get("logSerialConsole")
    disabled = launch.cluster.pointer("virtualMachineOptions", "disableSerialConsoleLog") is not None
    wanted = own is True if own is not None else not disabled
    if wanted and launch.devices.get("autoattachSerialConsole") is not False:
        yield container(launch, "guest-console-log", CONSOLE_LOG)


def _lasting_console_log(launch: Launch) -> Iterator[Object]:
    for each in _console_log(launch):
        yield {**each, "restartPolicy": "Always"}


def _disks(launch: Launch, *, suffix: str = "", kernel_too: bool = False) -> Iterator[Object]:
    """One container for each container disk; a volume that has the name of the kernel's is passed over."""
    volumes = (volume for volume in launch.volumes if volume.get("containerDisk") is not None)
    names = [text(volume.get("name")) for volume in volumes]
    for name in (*(name for name in names if kernel_too or name != KERNEL_BOOT), *_kernel(launch)):
        made = container(launch, f"volume{name}{suffix}", CONTAINER_DISK)
        yield {**made, "requests": {**made["requests"], **DISK_STORAGE}}


def _kernel(launch: Launch) -> list[str]:
    boots = get(launch.domain, ("firmware", "kernelBoot", "container")) is not None
    return [KERNEL_BOOT] if boots else []


def _container_disks(launch: Launch) -> Iterator[Object]:
    if not launch.gate(IMAGE_VOLUME_GATE):
        yield from _disks(launch)


def _container_disk_inits(launch: Launch) -> Iterator[Object]:
    has_disk = any(volume.get("containerDisk") is not None for volume in launch.volumes)
    if not launch.gate(IMAGE_VOLUME_GATE) and (has_disk or _kernel(launch)):
        yield container(launch, "container-disk-binary", CONTAINER_DISK_BINARY)
        yield from _disks(launch, suffix="-init")


def _image_volume_inits(launch: Launch) -> Iterator[Object]:
    """upstream: pkg/container-disk/container-disk.go:CreateImageVolumeInitContainer,
    pkg/virt-controller/services/rendervolumes.go:withImageVolumes
    """
    skipped = launch.annotations.get(SKIP_DIGESTS) == "true" and launch.release.within(since=SKIP_DIGESTS_SINCE)
    if launch.gate(IMAGE_VOLUME_GATE) and not skipped:
        yield from _disks(launch, kernel_too=True)


def _virtiofs(launch: Launch) -> Iterator[Object]:
    """One for each volume that is a file system of the guest. upstream: generateVirtioFSContainers"""
    shared = {text(as_map(each).get("name")) for each in as_list(launch.devices.get("filesystems"))}
    for volume in launch.volumes:
        if text(volume.get("name")) in shared and volume.get("containerPath") is None:
            yield container(launch, f"virtiofs-{text(volume.get('name'))}", VIRTIOFS)


def _sidecars(launch: Launch) -> Iterator[Object]:
    for number in range(len(_hooks(launch)) + len(_plugin_sidecars(launch))):
        yield container(launch, f"hook-sidecar-{number}", SIDECAR)


def _hooks(launch: Launch) -> list[Object]:
    """The sidecars that the annotation names. upstream: pkg/hooks/hooks.go:UnmarshalHookSidecarList"""
    if HOOKS not in launch.annotations:
        return []
    try:
        listed = json.loads(text(launch.annotations[HOOKS]))
    except ValueError as error:
        raise PodError(f"annotation {HOOKS} is no JSON: {error}") from None
    if listed is not None and not (isinstance(listed, list) and all(isinstance(each, dict) for each in listed)):
        raise PodError(f"annotation {HOOKS} is no list of sidecars")
    return as_list(listed)


def _plugin_sidecars(launch: Launch) -> list[str]:
    """The images of the network binding plug-ins, each plug-in once.

    upstream: pkg/network/netbinding/netbinding.go:netBindingPluginSidecar
    """
    registered, images = as_map(launch.cluster.setting("network", "binding")), {}
    for interface in launch.interfaces:
        if interface.get("binding") is not None:
            name = text(as_map(interface["binding"]).get("name"))
            if name not in registered:
                raise PodError(f"couldn't find configuration for network binding: {name}")
            images[name] = text(as_map(registered[name]).get("sidecarImage"))
    return [image for image in images.values() if image]


def check_hooks(launch: Launch) -> None:
    """Raises: PodError where a sidecar uses a ConfigMap that does not exist.

    upstream: pkg/virt-controller/services/template.go:renderLaunchManifest
    """
    _plugin_sidecars(launch)
    for hook in _hooks(launch):
        if hook.get("configMap") is not None:
            name = text(get(hook, ("configMap", "name")))
            if launch.around.bundle.find("ConfigMap", launch.around.namespace, name) is None:
                raise MissingObjectError(f'configmaps "{name}" not found')


RUNNING = (
    ContainerPlace(make=_container_disks),
    ContainerPlace(make=_virtiofs),
    ContainerPlace(make=_console_log, until=(1, 6)),
    ContainerPlace(make=_sidecars),
)
INITIAL = (
    ContainerPlace(make=_lasting_console_log, since=(1, 6)),
    ContainerPlace(make=_container_disk_inits),
    ContainerPlace(make=_image_volume_inits, since=(1, 7)),
)
