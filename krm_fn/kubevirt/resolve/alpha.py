"""The instancetype and preference specs of v1alpha1 and v1alpha2, as in Go in the releases that still decode them.

A table is {field: form}. A form is a scalar below, `[form]`, a table, or (form, since) for a field that was added later. The
tables show which of the two a spec without a kind is, drop unknown fields, and refuse values of another form.

upstream: the Go types of instancetype.kubevirt.io/v1alpha1 and v1alpha2 until 1.7
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release


class Scalar(Value):
    """A scalar form: its Python types, and the range of an integer."""

    types: tuple[type, ...]
    least: int = 0
    most: int = 0


STRING = Scalar(types=(str,))
BOOL = Scalar(types=(bool,))
UINT32 = Scalar(types=(int,), most=2**32 - 1)
INT = Scalar(types=(int,), least=-(2**63), most=2**63 - 1)
UINT = Scalar(types=(int,), most=2**64 - 1)
QUANTITY = Scalar(types=(str, int, float), least=-(2**63), most=2**63 - 1)

EMPTY: Object = {}
STATE = {"enabled": BOOL}

VGPU_OPTIONS = {"display": {"enabled": BOOL, "ramFB": STATE}}
DEVICE = {"name": STRING, "deviceName": STRING, "tag": STRING, "claimName": (STRING, (1, 6)), "requestName": (STRING, (1, 6))}
SEV = {
    "policy": {"encryptedState": BOOL},
    "attestation": (EMPTY, (1, 1)),
    "session": (STRING, (1, 1)),
    "dhCert": (STRING, (1, 1)),
}

INSTANCETYPE = {
    "cpu": {
        "guest": UINT32,
        "model": STRING,
        "dedicatedCPUPlacement": BOOL,
        "numa": {"guestMappingPassthrough": EMPTY},
        "isolateEmulatorThread": BOOL,
        "realtime": {"mask": STRING},
    },
    "memory": {"guest": QUANTITY, "hugepages": {"pageSize": STRING}},
    "gpus": [{**DEVICE, "virtualGPUOptions": VGPU_OPTIONS}],
    "hostDevices": [DEVICE],
    "ioThreadsPolicy": STRING,
    "launchSecurity": {"sev": SEV},
}

TIMER = {
    "hpet": {"tickPolicy": STRING, "present": BOOL},
    "kvm": {"present": BOOL},
    "pit": {"tickPolicy": STRING, "present": BOOL},
    "rtc": {"tickPolicy": STRING, "present": BOOL, "track": STRING},
    "hyperv": {"present": BOOL},
}
HYPERV = {
    "relaxed": STATE,
    "vapic": STATE,
    "spinlocks": {"enabled": BOOL, "spinlocks": UINT32},
    "vpindex": STATE,
    "runtime": STATE,
    "synic": STATE,
    "synictimer": {"enabled": BOOL, "direct": STATE},
    "reset": STATE,
    "vendorid": {"enabled": BOOL, "vendorid": STRING},
    "frequencies": STATE,
    "reenlightenment": STATE,
    "tlbflush": STATE,
    "ipi": STATE,
    "evmcs": STATE,
}
DEVICES = {
    "preferredAutoattachGraphicsDevice": BOOL,
    "preferredAutoattachMemBalloon": BOOL,
    "preferredAutoattachPodInterface": BOOL,
    "preferredAutoattachSerialConsole": BOOL,
    "preferredAutoattachInputDevice": BOOL,
    "preferredDisableHotplug": BOOL,
    "preferredVirtualGPUOptions": VGPU_OPTIONS,
    "preferredSoundModel": STRING,
    "preferredUseVirtioTransitional": BOOL,
    "preferredInputBus": STRING,
    "preferredInputType": STRING,
    "preferredDiskBus": STRING,
    "preferredLunBus": STRING,
    "preferredCdromBus": STRING,
    "preferredDiskDedicatedIoThread": BOOL,
    "preferredDiskCache": STRING,
    "preferredDiskIO": STRING,
    "preferredDiskBlockSize": {"custom": {"logical": UINT, "physical": UINT}, "matchVolume": STATE},
    "preferredInterfaceModel": STRING,
    "preferredRng": EMPTY,
    "preferredBlockMultiQueue": BOOL,
    "preferredNetworkInterfaceMultiQueue": BOOL,
    "preferredTPM": {"persistent": BOOL, "enabled": (BOOL, (1, 4))},
}
PREFERENCE = {
    "clock": {"preferredClockOffset": {"utc": {"offsetSeconds": INT}, "timezone": STRING}, "preferredTimer": TIMER},
    "cpu": {"preferredCPUTopology": STRING},
    "devices": DEVICES,
    "features": {
        "preferredAcpi": STATE,
        "preferredApic": {"enabled": BOOL, "endOfInterrupt": BOOL},
        "preferredHyperv": HYPERV,
        "preferredKvm": {"hidden": BOOL},
        "preferredPvspinlock": STATE,
        "preferredSmm": STATE,
    },
    "firmware": {
        "preferredUseBios": BOOL,
        "preferredUseBiosSerial": BOOL,
        "preferredUseEfi": BOOL,
        "preferredUseSecureBoot": BOOL,
    },
    "machine": {"preferredMachineType": STRING},
}
# Only v1alpha2 has the storage class.
PREFERENCE_V1ALPHA2 = {**PREFERENCE, "volumes": {"preferredStorageClassName": STRING}}


class FormMismatch(Exception):  # noqa: N818  it is no error: another table is tried next
    """The value does not have that form."""


def read(value: Any, form: Any, release: Release, *, strict: bool) -> Any:
    """The value as Go reads it into that form: without nulls, and without unknown fields unless `strict`.

    Raises: Misfit for a value of another form, and with `strict` for an unknown field.
    """
    if isinstance(form, dict):
        return _read_map(value, form, release, strict=strict)
    if isinstance(form, list):
        if not isinstance(value, list):
            raise FormMismatch
        return [{} if item is None else read(item, form[0], release, strict=strict) for item in value]
    if not isinstance(value, form.types) or (isinstance(value, bool) and bool not in form.types):
        raise FormMismatch
    if isinstance(value, int) and form.most and not form.least <= value <= form.most:
        raise FormMismatch
    return value


def _read_map(value: Any, table: Object, release: Release, *, strict: bool) -> Object:
    if not isinstance(value, dict):
        raise FormMismatch
    out: Object = {}
    for key, below in value.items():
        form, since = _form(table.get(key))
        if form is None or not release.within(since=since):
            if strict:
                raise FormMismatch
        elif below is not None:
            out[key] = read(below, form, release, strict=strict)
    return out


def _form(row: Any) -> tuple[Any, tuple[int, ...]]:
    return row if isinstance(row, tuple) else (row, ())
