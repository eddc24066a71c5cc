"""The effect of each field of a VirtualMachinePreferenceSpec.

upstream: pkg/instancetype/preference/apply/vmi.go:Apply, device.go:ApplyDevicePreferences, applyInputPreferences,
applyPanicDevicePreferences, disk.go:applyDiskPreferences, interface.go:applyInterfacePreferences,
features.go:applyFeaturePreferences, launchsecurity.go:applyLaunchSecurityPreferences, machine.go:applyMachinePreferences,
subdomain.go:applySubdomain, termination.go:applyTerminationGracePeriodSeconds, architecture.go:ApplyArchitecturePreferences
"""

from __future__ import annotations

from krm_fn.base.paths import is_nonzero
from krm_fn.kubevirt.fields.devices import (
    add_panic_device,
    as_sizes,
    give_targets,
    is_cdrom,
    is_disk,
    is_lun,
    is_virtio_disk,
    masquerade,
)
from krm_fn.kubevirt.fields.others import (
    add_cpu_features,
    default_annotations,
    set_clock_offset,
    set_up_earlier_firmware,
    set_up_firmware,
    set_up_first_firmware,
)
from krm_fn.kubevirt.fields.verbs import (
    Field,
    consulted,
    default,
    default_each,
    default_within,
    ensure,
    given,
    ignored,
    overwrite,
)

DISKS = "domain.devices.disks"
INTERFACES = "domain.devices.interfaces"
INPUTS = "domain.devices.inputs"
PANIC_DEVICES = "domain.devices.panicDevices"

# Fields that decide which devices a VM gets; they are applied before the devices when an instance starts.
AUTOATTACH = (
    Field("devices.preferredAutoattachGraphicsDevice", default("domain.devices.autoattachGraphicsDevice")),
    Field("devices.preferredAutoattachMemBalloon", default("domain.devices.autoattachMemBalloon")),
    Field("devices.preferredAutoattachPodInterface", default("domain.devices.autoattachPodInterface")),
    Field("devices.preferredAutoattachSerialConsole", default("domain.devices.autoattachSerialConsole")),
    Field("devices.preferredAutoattachInputDevice", default("domain.devices.autoattachInputDevice")),
)

DEVICES = (
    *AUTOATTACH,
    Field("devices", give_targets),
    Field("devices.preferredUseVirtioTransitional", default("domain.devices.useVirtioTransitional")),
    Field("devices.preferredBlockMultiQueue", default("domain.devices.blockMultiQueue")),
    Field("devices.preferredNetworkInterfaceMultiQueue", default("domain.devices.networkInterfaceMultiqueue")),
    Field("devices.preferredDisableHotplug", overwrite("domain.devices.disableHotplug", present=is_nonzero)),
    Field("devices.preferredSoundModel", default_within("domain.devices.sound.model")),
    Field("devices.preferredRng", default("domain.devices.rng")),
    Field("devices.preferredTPM", default("domain.devices.tpm")),
    Field("devices.preferredVideoType", ensure("domain.devices.video"), pointer=True, since=(1, 9)),
    Field("devices.preferredVideoType", default("domain.devices.video.type"), since=(1, 9)),
    Field("devices.preferredDiskBus", default_each(DISKS, "disk.bus", where=is_disk)),
    Field("devices.preferredDiskBlockSize", default_each(DISKS, "blockSize", where=is_disk, written=as_sizes), until=(1, 7)),
    Field("devices.preferredDiskBlockSize", default_each(DISKS, "blockSize", where=is_disk), since=(1, 7)),
    Field("devices.preferredDiskCache", default_each(DISKS, "cache", where=is_disk)),
    Field("devices.preferredDiskIO", default_each(DISKS, "io", where=is_disk)),
    Field("devices.preferredDiskDedicatedIoThread", default_each(DISKS, "dedicatedIOThread", where=is_disk), until=(1, 3)),
    Field(
        "devices.preferredDiskDedicatedIoThread",
        default_each(DISKS, "dedicatedIOThread", where=is_virtio_disk, read="disk.bus"),
        since=(1, 3),
    ),
    Field("devices.preferredCdromBus", default_each(DISKS, "cdrom.bus", where=is_cdrom)),
    Field("devices.preferredLunBus", default_each(DISKS, "lun.bus", where=is_lun)),
    Field("devices.preferredInterfaceModel", default_each(INTERFACES, "model")),
    # upstream gives it to interfaces with another binding, too, and admission then refuses the VM
    Field("devices.preferredInterfaceMasquerade", default_each(INTERFACES, "masquerade"), until=(1, 1)),
    Field("devices.preferredInterfaceMasquerade", masquerade, since=(1, 1)),
    Field("devices.preferredInputBus", default_each(INPUTS, "bus")),
    Field("devices.preferredInputType", default_each(INPUTS, "type")),
    Field("devices.preferredPanicDeviceModel", default_each(PANIC_DEVICES, "model", present=given), pointer=True, since=(1, 6)),
    Field("devices.preferredPanicDeviceModel", add_panic_device, pointer=True, since=((1, 8, 5), (1, 9))),
    Field("devices.preferredVirtualGPUOptions", ignored("KubeVirt declares it and applies it nowhere")),
)

HYPERV = (
    Field("features.preferredHyperv", ensure("domain.features.hyperv")),
    Field("features.preferredHyperv.evmcs", default("domain.features.hyperv.evmcs")),
    Field("features.preferredHyperv.frequencies", default("domain.features.hyperv.frequencies")),
    Field("features.preferredHyperv.ipi", default("domain.features.hyperv.ipi")),
    Field("features.preferredHyperv.reenlightenment", default("domain.features.hyperv.reenlightenment")),
    Field("features.preferredHyperv.relaxed", default("domain.features.hyperv.relaxed")),
    Field("features.preferredHyperv.reset", default("domain.features.hyperv.reset")),
    Field("features.preferredHyperv.runtime", default("domain.features.hyperv.runtime")),
    Field("features.preferredHyperv.spinlocks", default("domain.features.hyperv.spinlocks")),
    Field("features.preferredHyperv.synic", default("domain.features.hyperv.synic")),
    Field("features.preferredHyperv.synictimer", default("domain.features.hyperv.synictimer")),
    Field("features.preferredHyperv.tlbflush", default("domain.features.hyperv.tlbflush")),
    Field("features.preferredHyperv.vapic", default("domain.features.hyperv.vapic")),
    Field("features.preferredHyperv.vendorid", default("domain.features.hyperv.vendorid")),
    Field("features.preferredHyperv.vpindex", default("domain.features.hyperv.vpindex")),
)

FIRMWARE = "set_up_firmware, the row of the whole block"

PREFERENCE = (
    Field("cpu.preferredCPUFeatures", add_cpu_features),
    Field("cpu.preferredCPUTopology", consulted("the instancetype's cpu.guest")),
    Field("cpu.spreadOptions.across", consulted("the instancetype's cpu.guest")),
    Field("cpu.spreadOptions.ratio", consulted("the instancetype's cpu.guest")),
    Field("preferSpreadSocketToCoreRatio", consulted("the instancetype's cpu.guest")),
    *DEVICES,
    Field("features", ensure("domain.features")),
    Field("features.preferredAcpi", overwrite("domain.features.acpi")),  # upstream cannot see whether the VM sets it
    Field("features.preferredApic", default("domain.features.apic")),
    *HYPERV,
    Field("features.preferredKvm", default("domain.features.kvm")),
    Field("features.preferredPvspinlock", default("domain.features.pvspinlock")),
    Field("features.preferredSmm", default("domain.features.smm")),
    Field("firmware", ensure("domain.firmware.bootloader"), set_up_first_firmware, until=(1, 0, 1)),
    Field("firmware", ensure("domain.firmware.bootloader"), set_up_earlier_firmware, since=(1, 0, 1), until=(1, 4)),
    Field("firmware", ensure("domain.firmware.bootloader"), set_up_firmware, since=(1, 4)),
    Field("firmware.preferredUseBios", consulted(FIRMWARE)),
    Field("firmware.preferredUseBiosSerial", consulted(FIRMWARE)),
    Field("firmware.preferredEfi", consulted(FIRMWARE)),
    Field("firmware.preferredUseEfi", consulted(FIRMWARE)),
    Field("firmware.preferredUseSecureBoot", consulted(FIRMWARE)),
    Field("machine", ensure("domain.machine"), until=(1, 5)),
    Field("machine.preferredMachineType", default("domain.machine.type")),
    Field("clock", ensure("domain.clock")),
    Field("clock.preferredClockOffset", set_clock_offset),
    Field("clock.preferredTimer", default("domain.clock.timer")),
    Field("preferredSubdomain", default("subdomain")),
    Field("preferredTerminationGracePeriodSeconds", default("terminationGracePeriodSeconds")),
    Field("preferredArchitecture", default("architecture"), since=(1, 7)),
    Field("annotations", default_annotations, since=(1, 1)),
    Field("preferredLaunchSecurity", default("domain.launchSecurity"), since=(1, 9)),
    Field("requirements.cpu.guest", consulted("the requirements")),
    Field("requirements.memory.guest", consulted("the requirements")),
    Field("requirements.architecture", consulted("the requirements")),
    Field("volumes.preferredStorageClassName", consulted("admission, which writes it into the VM's dataVolumeTemplates")),
)
