"""Volumes and disks that the manifest itself adds to, and takes from, a running instance.

upstream: pkg/storage/hotplug/hotplug.go:HandleDeclarativeVolumes
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import copy, put
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates.machine import Running, World, by_name, disks_of, is_hotpluggable, volumes_of

SINCE: Version = (1, 6)
GATE, OTHER_GATE = "DeclarativeHotplugVolumes", "HotplugVolumes"
MIGRATION = "Migration"
DISKS = ("domain", "devices", "disks")


def is_declarative(world: World) -> bool:
    """True where the cluster plugs the volumes that a manifest marks as hotpluggable.

    upstream: pkg/virt-controller/watch/vm/vm.go:handleDeclarativeVolumeHotplug
    """
    return world.release.within(since=SINCE) and world.gate(GATE) and not world.gate(OTHER_GATE)


def plugged(vm: Object, template: Object, running: Running) -> Object:
    """The spec of the running instance with the hotpluggable volumes of the template, which is not expanded."""
    if vm["spec"].get("updateVolumesStrategy") == MIGRATION:
        return running.spec
    volumes = [*_kept_volumes(template, running), *_new_volumes(template, running)]
    disks = [*_kept_disks(template, running, volumes), *_new_disks(template, running, volumes)]
    if volumes == volumes_of(running.spec) and disks == disks_of(running.spec):
        return running.spec
    return _with_lists(running.spec, volumes, disks)


def _with_lists(spec: Object, volumes: list[Object], disks: list[Object]) -> Object:
    changed: Object = {key: value for key, value in copy(spec).items() if key != "volumes"}
    if volumes:
        changed["volumes"] = volumes
    changed["domain"]["devices"].pop("disks", None)
    if disks:
        put(changed, DISKS, disks)
    return changed


def _kept_volumes(template: Object, running: Running) -> list[Object]:
    """Those of the instance that the template has unchanged; a changed one is plugged in again later."""
    wanted = by_name(volumes_of(template))

    def stays(volume: Object) -> bool:
        new = wanted.get(volume.get("name", ""))
        return not is_hotpluggable(volume) or (new is not None and (not is_hotpluggable(new) or new == volume))

    return [volume for volume in volumes_of(running.spec) if stays(volume)]


def _new_volumes(template: Object, running: Running) -> list[Object]:
    """Those of the template that the instance has not, and of which none of that name is just being plugged out."""
    here = {*by_name(volumes_of(running.spec)), *running.volumes}
    return [each for each in volumes_of(template) if is_hotpluggable(each) and each.get("name", "") not in here]


def _kept_disks(template: Object, running: Running, volumes: list[Object]) -> list[Object]:
    wanted, backed = by_name(volumes_of(template)), by_name(volumes)
    disks = by_name(disks_of(template))

    def stays(disk: Object) -> bool:
        name = disk.get("name", "")
        if name in backed:
            return True
        new = disks.get(name)
        both = new is not None and new.get("cdrom") is not None and disk.get("cdrom") is not None
        return new is not None and (name not in wanted or both)

    return [disk for disk in disks_of(running.spec) if stays(disk)]


def _new_disks(template: Object, running: Running, volumes: list[Object]) -> list[Object]:
    here, backed = by_name(disks_of(running.spec)), by_name(volumes)
    return [
        disk
        for disk in disks_of(template)
        if is_hotpluggable(backed.get(disk.get("name", ""))) and disk.get("name", "") not in here
    ]
