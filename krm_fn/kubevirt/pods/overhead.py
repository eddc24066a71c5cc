"""The memory that the pod needs beside the guest's.

upstream: pkg/hypervisor/kvm/hypervisorbackend.go:GetMemoryOverhead, pkg/network/resources/memory.go:Calculate;
until 1.8 pkg/virt-controller/services/renderresources.go:GetMemoryOverhead, pkg/network/netbinding/memory.go:Calculate
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import text
from krm_fn.base.paths import as_map, get
from krm_fn.base.quantity import BINARY_SI, Quantity, of_int, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.amounts import KILO, ZERO, plus, thousands, whole
from krm_fn.kubevirt.releases import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.pods.launch import Launch


class Part(Value):
    """One part of the overhead: so many MiB, as often as `times` says of an instance, once where it is None."""

    mebi: int
    times: Callable[[Launch], int] | None = None
    since: Version = ()
    until: Version = ()


def _vcpus(launch: Launch) -> int:
    return max(launch.vcpus, 1)


def _has_graphics(launch: Launch) -> bool:
    return launch.devices.get("autoattachGraphicsDevice") is not False


def _is_arm(launch: Launch) -> bool:
    return launch.spec.get("architecture") == "arm64"


def _has_vfio(launch: Launch) -> bool:
    """upstream: pkg/vmitrait/vmitrait.go:HasVFIO"""
    devices = launch.devices
    return bool(devices.get("hostDevices") or devices.get("gpus")) or _has_interface(launch, "sriov")


def _has_interface(launch: Launch, binding: str) -> bool:
    return any(interface.get(binding) is not None for interface in launch.interfaces)


def _has_metrics_volume(launch: Launch) -> bool:
    return any(volume.get("downwardMetrics") is not None for volume in launch.volumes)


def _exec_probes(launch: Launch) -> int:
    probes = (launch.spec.get(probe) for probe in ("livenessProbe", "readinessProbe"))
    return sum(as_map(probe).get("exec") is not None for probe in probes)


def _has_exec_probe(launch: Launch) -> bool:
    return _exec_probes(launch) > 0


def _has_sev(launch: Launch) -> bool:
    return launch.has_sev


def _has_tpm(launch: Launch) -> bool:
    tpm = launch.devices.get("tpm")
    return tpm is not None and as_map(tpm).get("enabled") is not False


def _is_aligned(launch: Launch) -> bool:
    return launch.aligned


def _has_passt(launch: Launch) -> bool:
    return _has_interface(launch, "passtBinding")


# The first five are the processes of the pod: monitor, launcher, virtlogd, virtqemud, QEMU without its guest.
PARTS = (
    Part(mebi=25),
    Part(mebi=100),
    Part(mebi=20, until=(1, 5)),
    Part(mebi=25, since=(1, 5)),
    Part(mebi=40),
    Part(mebi=30, until=(1, 10)),
    Part(mebi=50, since=(1, 10)),
    Part(mebi=8, times=_vcpus),
    Part(mebi=8),  # an I/O thread
    Part(mebi=16, times=_has_graphics, until=(1, 6)),
    Part(mebi=32, times=_has_graphics, since=(1, 6)),
    Part(mebi=128, times=_is_arm),
    Part(mebi=1024, times=_has_vfio),
    Part(mebi=1, times=_has_metrics_volume),
    Part(mebi=10, times=_exec_probes),
    Part(mebi=100, times=_has_exec_probe),
    Part(mebi=256, times=_has_sev),
    Part(mebi=53, times=_has_tpm),
    Part(mebi=100, times=_is_aligned, since=(1, 5, 3)),
)
# These are not multiplied by the cluster's ratio.
AFTER_RATIO = (
    Part(mebi=100, times=_is_aligned, until=(1, 5, 3)),
    Part(mebi=250, times=_has_passt, since=(1, 8)),
)
RESERVED_SINCE: Version = (1, 8)


def memory_overhead(launch: Launch) -> Quantity:
    """The overhead of an instance's pod."""
    total = _summed(launch, PARTS, plus(ZERO, _page_tables(launch)))
    reserved = parse(get(launch.memory, ("reservedOverhead", "addedOverhead")))
    if reserved is not None and launch.release.within(since=RESERVED_SINCE):
        total = plus(total, reserved)
    total = _summed(launch, AFTER_RATIO, _multiplied(launch, total))
    return plus(total, _of_plugins(launch))


def _summed(launch: Launch, parts: tuple[Part, ...], total: Quantity) -> Quantity:
    """The total and those parts that the release has."""
    rows = launch.release.rows(parts)
    mebi = sum(part.mebi * (part.times(launch) if part.times else 1) for part in rows)
    return plus(total, of_int(mebi << 20, BINARY_SI)) if rows else total


def _page_tables(launch: Launch) -> Quantity:
    """A bit for each 512 bytes of the memory that the instance itself requests, in full thousands of bytes."""
    return whole(thousands(launch.requests.get("memory", ZERO)) * KILO // 512)


def _multiplied(launch: Launch, total: Quantity) -> Quantity:
    """The overhead with the cluster's ratio applied, in full thousands of bytes, rounded toward zero."""
    ratio = go_float(text(launch.cluster.setting("additionalGuestMemoryOverheadRatio")))
    if ratio is None:
        return total
    return plus(total, whole(int(thousands(total) * (ratio - 1.0)) * KILO))


def _of_plugins(launch: Launch) -> Quantity:
    """What the network binding plug-ins of the interfaces need, each plug-in once."""
    registered, total = as_map(launch.cluster.setting("network", "binding")), ZERO
    names = dict.fromkeys(text(get(interface, ("binding", "name"))) for interface in launch.interfaces)
    for name in names:
        needed = parse(get(registered.get(name), ("computeResourceOverhead", "requests", "memory")))
        total = total if needed is None else plus(total, needed)
    return total


def go_float(written: str) -> float | None:
    """The finite number that Go reads from a text, None where it reads none."""
    if not written or "_" in written or written != written.strip():
        return None
    try:
        number = float(written)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
