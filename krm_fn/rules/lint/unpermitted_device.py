"""A VM requests a device that the cluster does not permit.

What it finds: the `deviceName` of a GPU or host device, in a VM, an instance, a pool, a replica set or an instancetype, that
is not a resource in the `permittedHostDevices` of the bundle's KubeVirt object (or of the config's `configuration`).
Clusters that list none are skipped.

Why it matters: KubeVirt admits the VM. Its pod requests a resource that no node offers, and stays pending.

Fix: name a permitted device; the message names the nearest one. Or add the device to `permittedHostDevices`.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec:
      configuration:
        permittedHostDevices:
          pciHostDevices: [{pciVendorSelector: "10DE:1EB8", resourceName: nvidia.com/T4}]
    ---
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata: {name: gpu}
    spec:
      cpu: {guest: 4}
      memory: {guest: 8Gi}
      gpus: [{name: gpu1, deviceName: nvidia.com/A10}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.suggestions import Suggestions
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.holders import SERVED
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

LISTS = ("gpus", "hostDevices")
# The kinds that hold such lists, and where.
PLACES: tuple[tuple[str, str, Path], ...] = (
    *((each.kind, each.group, (*each.instance, "domain", "devices")) for each in SERVED.values()),
    ("VirtualMachineInstancetype", "instancetype.kubevirt.io", ("spec",)),
    ("VirtualMachineClusterInstancetype", "instancetype.kubevirt.io", ("spec",)),
)
# The lists of permittedHostDevices, with the key that names the resource.
PERMITTED = (("pciHostDevices", "resourceName"), ("mediatedDevices", "resourceName"), ("usb", "resourceName"))


@rule(severity="warning")
def unpermitted_device(facts: BundleFacts) -> Iterator[Hit]:
    setting = as_map(facts.cluster.setting("permittedHostDevices"))
    permitted = [as_map(each).get(key) for name, key in PERMITTED for each in as_list(setting.get(name))]
    known = {name for name in permitted if isinstance(name, str)}
    if not known:
        return
    suggestions = Suggestions()
    for kind, group, place in PLACES:
        for entry in facts.bundle.of_kind(kind, group):
            for key in LISTS:
                yield from _hits(entry, (*place, key), known, suggestions)


def _hits(entry: Entry, place: Path, known: set[str], suggestions: Suggestions) -> Iterator[Hit]:
    for index, device in enumerate(as_list(get(entry.obj, place))):
        name = as_map(device).get("deviceName")
        if isinstance(name, str) and name and name not in known:
            likely = suggestions.of(name, known)
            fix = f"use {likely}" if likely else "use a permitted one"
            yield Hit(
                message=f"device {show(name)} is not in the cluster's permittedHostDevices; {fix}, or add this one",
                path=(*place, index, "deviceName"),
                current=name,
                proposed=likely or UNSET,
                about=entry,
            )
