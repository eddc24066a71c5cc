"""How the Application Aware Quota operator counts the launcher pod of an instance.

While an instance migrates, a second pod exists. IgnoreVmiCalculator counts it, too; the others what it needs beyond the first.
upstream: application-aware-quota pkg/aaq-controller/built-in-usage-calculators/virt-launcher-usage-calc.go
"""

from __future__ import annotations

from krm_fn.base.objects import text
from krm_fn.base.paths import as_map, get
from krm_fn.kubevirt.pods.amounts import ONE, ZERO, minus, whole
from krm_fn.kubevirt.quantity import parse
from krm_fn.sizing import usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from krm_fn.base.bundle import Bundle
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.pods.amounts import Amounts
    from krm_fn.sizing.pods import AdmittedPod

DEFAULT, UNAWARE = "DedicatedVirtualResources", "IgnoreVmiCalculator"
CONFIGURED_AT = ("spec", "configuration", "vmiCalculatorConfiguration", "configName")


def configured(bundle: Bundle) -> str:
    """The calculator that the AAQ object of the bundle selects, else the operator's default."""
    found = bundle.ordered(bundle.of_kind("AAQ"))
    named = text(get(found[0].obj, CONFIGURED_AT)) if found else ""
    return named if named in CALCULATORS else DEFAULT


def _as_pod(pod: AdmittedPod, _: Object) -> Amounts:
    return usage.of_pod(pod)


def _as_guest(_: AdmittedPod, record: Object) -> Amounts:
    """The guest's CPUs and memory in place of the pod's."""
    cpu, memory = whole(record["vcpus"]), parse(record["memory"]) or ZERO
    amounts = {"cpu": cpu, "memory": memory}
    return {**usage.PODS, **usage.of_amounts(amounts, amounts)}


def _apart(pod: AdmittedPod, record: Object) -> Amounts:
    """The same under names of their own."""
    guest = _as_guest(pod, record)
    found = {"requests.instances/vmi": ONE, "instances/vmi": ONE}
    for resource in ("cpu", "memory"):
        found[f"requests.{resource}/vmi"] = found[f"{resource}/vmi"] = guest[resource]
    return found


def _without_overhead(pod: AdmittedPod, _: Object) -> Amounts:
    """The container `compute` alone, without the memory overhead. upstream leaves the overhead in the plain name `memory`"""
    compute = as_map(pod.containers[0])
    found = {**usage.PODS, **usage.of_amounts(compute["requests"], compute["limits"])}
    overhead = parse(pod.pod.get("memoryOverhead")) or ZERO
    for name in ("requests.memory", "limits.memory"):
        if name in found:
            less = minus(found[name], overhead)
            found[name] = less if less.nanos > 0 else ZERO
    return found


CALCULATORS: dict[str, Callable[[AdmittedPod, Object], Amounts]] = {
    "VmiPodUsage": _as_pod,
    "VirtualResources": _as_guest,
    DEFAULT: _apart,
    "GuestEffectiveResources": _without_overhead,
    UNAWARE: _as_pod,
}
