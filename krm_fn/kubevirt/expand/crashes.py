"""The preferences on which KubeVirt's own webhook crashes, so that the API server refuses the VM.

Each reads a part of the VM or of an instancetype that is not there. Rendering goes on as if it were empty.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, Version


class Crash(Value):
    """One crash of VMs without an instancetype.

    `field` is that of the preference, `has` what it says, `lacks` what the VM has not beside it, `fix` what to do. `crashes`
    gets the instance's spec of the VM and the preference.
    """

    word: str
    field: Path
    has: str
    lacks: str
    fix: str
    crashes: Callable[[Object, Object], bool]
    since: Version = ()
    until: Version = ()


def _adds_features(spec: Object, preference: Object) -> bool:
    """upstream: pkg/instancetype/preference/apply/cpu.go:applyCPUPreferences"""
    return get(spec, ("domain", "cpu")) is None and bool(as_list(get(preference, ("cpu", "preferredCPUFeatures"))))


def _spreads(_: Object, preference: Object) -> bool:
    """upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:applyInstancetypeToVm until 1.5"""
    return bool(get(preference, ("cpu", "preferredCPUTopology")) == "preferSpread")


CRASHES = {
    row.word: row
    for row in (
        Crash(
            word="features-crash",
            field=("cpu", "preferredCPUFeatures"),
            has="preferredCPUFeatures",
            lacks="neither an instancetype nor domain.cpu",
            fix="set domain.cpu in the VM, or refer to an instancetype",
            crashes=_adds_features,
        ),
        Crash(
            word="spread-crash",
            field=("cpu", "preferredCPUTopology"),
            has="the topology preferSpread",
            lacks="no instancetype",
            fix="refer to an instancetype, or choose another topology",
            crashes=_spreads,
            since=(1, 1),
            until=(1, 2),
        ),
    )
}


def crashes(spec: Object, *, instancetype: Object | None, preference: Object | None, release: Release) -> tuple[str, ...]:
    """The words for the crashes of a VM with this spec of its instance, before anything is applied."""
    if preference is None or instancetype is not None:
        return ()
    rows = (row for row in CRASHES.values() if release.within(since=row.since, until=row.until))
    return tuple(row.word for row in rows if row.crashes(spec, preference))
