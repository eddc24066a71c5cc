"""Requests to add or remove volumes in a VM's status.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:validateVolumeRequests
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import number
from krm_fn.kubevirt.admission.scope import Cause, bus_of, maps, name_of, target_of
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release, Version

UPSTREAM = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:validateVolumeRequests"
PLACE = ("status", "volumeRequests")
NAMED = "Status.volumeRequests"
SOURCES = ("persistentVolumeClaim", "dataVolume")
ACTIONS = ("addVolumeOptions", "removeVolumeOptions")
# Before this release, the boot order of an added disk is checked only in the VM after the request.
BOOT_ORDER_SINCE: Version = (1, 7)
# Before this release, the threads of an added disk are not checked.
THREADS_SINCE: Version = (1, 2, 1)


class Buses(Value):
    """The buses on which a disk can be added to a running VM, by its target."""

    of: dict[str, tuple[str, ...]]
    since: Version = ()
    until: Version = ()


BUSES = (
    Buses(of={"disk": ("scsi",)}, until=(1, 2)),
    Buses(of={"disk": ("scsi",), "lun": ("scsi",)}, since=(1, 2), until=(1, 6)),
    Buses(of={"disk": ("scsi", "virtio"), "lun": ("scsi",)}, since=(1, 6)),
)


def volume_requests(vm: Object, release: Release) -> Iterator[Cause]:
    """The causes of the requests themselves."""
    volumes = {name_of(volume): volume for volume in maps(get(vm, (*INSTANCE_SPEC, "volumes")))}
    seen: set[tuple[str, str]] = set()
    for index, request in enumerate(maps(get(vm, PLACE))):
        at, wanted = (*PLACE, index), [action for action in ACTIONS if request.get(action) is not None]
        if len(wanted) != 1:
            yield _cause(at, "a request must either add or remove a volume; set either addVolumeOptions or removeVolumeOptions")
            continue
        options = as_map(request[wanted[0]])
        key = wanted[0], name_of(options)
        if key in seen:
            yield _cause((*at, key[0], "name"), f"volume {show(key[1])} is requested twice; remove one request")
        seen.add(key)
        if wanted == ["addVolumeOptions"]:
            yield from _disk(as_map(options.get("disk")), (*at, "addVolumeOptions", "disk"), release)
            if key[1] in volumes and volumes[key[1]] != volume_of(options):
                yield _cause((*at, "addVolumeOptions"), f"the VM already has another volume {show(key[1])}; use another name")


def volume_of(options: Object) -> Object:
    """The volume of a request to add one."""
    source = next((key for key in SOURCES if get(options, ("volumeSource", key)) is not None), "")
    return {"name": name_of(options), **({source: options["volumeSource"][source]} if source else {})}


def _disk(disk: Object, at: Path, release: Release) -> Iterator[Cause]:
    """upstream: pkg/storage/admitters/storagehotplug.go:ValidateHotplugDiskConfiguration"""
    buses = next(row.of for row in BUSES if release.within(since=row.since, until=row.until))
    target, bus = target_of(disk), bus_of(disk)
    if target not in buses:
        yield _cause(at, f"the added disk must be a {' or a '.join(buses)}; set {'one of them' if len(buses) > 1 else 'it'}")
    elif bus not in buses[target]:
        yield _cause(
            (*at, target, "bus"),
            f"a {target} cannot be added on the bus {show(bus)} while the VM runs; use {' or '.join(buses[target])}",
        )
    elif disk.get("dedicatedIOThread") is True and bus != "virtio" and release.within(since=THREADS_SINCE):
        yield _cause((*at, "dedicatedIOThread"), "dedicatedIOThread needs the bus virtio; change the bus or remove it")
    ordered = release.within(since=BOOT_ORDER_SINCE) and disk.get("bootOrder") is not None
    if ordered and number(disk["bootOrder"]) < 1:
        path, named = (*at, "bootOrder"), "spec.domain.devices.disks[1].bootOrder"  # upstream always writes the number 1
        yield Cause(path=path, message="bootOrder is out of range; count from 1", upstream_path=named, upstream=UPSTREAM)


def _cause(at: Path, message: str) -> Cause:
    return Cause(path=at, message=message, upstream_path=NAMED, upstream=UPSTREAM)


class Named:
    """The list at a key of a map, by the names of its items; `put` writes it back if it was changed."""

    def __init__(self, owner: Object, key: str) -> None:
        self._owner, self._key = owner, key
        self._items: dict[int, Any] = {}
        self._numbers: dict[str, list[int]] = {}
        self._count = 0
        for item in as_list(owner.get(key)):
            self.add(item)
        self._changed = False

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def add(self, item: Any) -> None:
        self._numbers.setdefault(name_of(as_map(item)), []).append(self._count)
        self._items[self._count] = item
        self._count += 1
        self._changed = True

    def remove(self, name: str) -> None:
        for place in self._numbers.pop(name, ()):
            del self._items[place]
        self._changed = True

    def put(self) -> None:
        if self._changed:
            self._owner[self._key] = list(self._items.values())


def with_requests(spec: Object, requests: object) -> Object:
    """A copy of the instance's spec in which the requested volumes are added and removed.

    upstream: pkg/controller/controller.go:ApplyVolumeRequestOnVMISpec
    """
    spec = copy(spec)
    domain = spec["domain"] = as_map(spec.get("domain"))
    devices = domain["devices"] = as_map(domain.get("devices"))
    volumes, disks = Named(spec, "volumes"), Named(devices, "disks")
    for request in maps(requests):
        added, removed = request.get("addVolumeOptions"), request.get("removeVolumeOptions")
        if isinstance(added, dict):
            name = name_of(added)
            if name in volumes:
                continue
            volumes.add(volume_of(added))
            if isinstance(added.get("disk"), dict):
                disks.add({**added["disk"], "name": name})
        elif isinstance(removed, dict):
            volumes.remove(name_of(removed))
            disks.remove(name_of(removed))
    volumes.put()
    disks.put()
    return spec
