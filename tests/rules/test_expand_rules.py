"""The findings that expansion leads to."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Ref
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.releases import parse
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import judge

SMALL = {"cpu": {"guest": 3}, "memory": {"guest": "1Gi"}}
NO_BRIDGE = {"network": {"permitBridgeInterfaceOnPodNetwork": False}}


def found(kind, name, spec):
    ref = Ref(api_version="instancetype.kubevirt.io/v1beta1", kind=f"VirtualMachineCluster{kind}", name=name)
    return Found(spec=spec, ref=ref, origin="bundle")


def judged(spec, *, instancetype=None, preference=None, configuration=None, template=True, release="1.9"):
    """The findings about a VM `web` with instancetype `small` and preference `linux`, where their specs are given."""
    matchers = {"instancetype": {"name": "small"}, "preference": {"name": "linux"}}
    vm = {"metadata": {"name": "web"}, "spec": {**matchers, "template": {"spec": spec}} if template else matchers}
    cluster, release = Cluster(configuration=configuration or {}), parse(release)
    resolution = Resolution(
        vm=vm,
        instancetype=found("Instancetype", "small", instancetype) if instancetype else None,
        preference=found("Preference", "linux", preference) if preference else None,
    )
    expansion = expand(vm, instancetype=instancetype, preference=preference, cluster=cluster, release=release, defaults=True)
    entry = Entry(obj=vm, item=0)
    facts = VmFacts(
        entry=entry, vm=vm, release=release, cluster=cluster, resolution=resolution, expansion=expansion, admitted=vm
    )
    return list(judge("vm", facts, {}))


def test_a_conflict_names_both_values_both_places_and_the_fix() -> None:
    (finding,) = judged({"domain": {"memory": {"guest": "2Gi"}}}, instancetype=SMALL)
    assert (finding.rule, finding.severity, finding.upstream) == ("instancetype-conflict", "error", "admission")
    assert (finding.path[-2:], finding.current) == (("memory", "guest"), "2Gi")
    assert finding.message == (
        "VirtualMachine web sets spec.template.spec.domain.memory.guest to 2Gi, but VirtualMachineClusterInstancetype small "
        "sets spec.memory.guest to 1Gi; remove spec.template.spec.domain.memory.guest from the VM"
    )


def test_a_launch_security_conflict_shows_none_of_it() -> None:
    secret = {"sev": {"session": "c2VjcmV0"}}
    (finding,) = judged({"domain": {"launchSecurity": secret}}, instancetype={**SMALL, "launchSecurity": secret})
    assert finding.current is UNSET
    assert "c2VjcmV0" not in finding.message


@pytest.mark.parametrize(
    ("preference", "instancetype", "message"),
    [
        (
            {"cpu": {"guest": 4}},
            SMALL,
            (
                "VirtualMachineClusterPreference linux requires 4 vCPUs, but VirtualMachineClusterInstancetype small has 3; "
                "choose a larger instancetype"
            ),
        ),
        (
            {"cpu": {"guest": 4}},
            None,
            "VirtualMachineClusterPreference linux requires 4 vCPUs, but VirtualMachine web has 1; raise sockets to 4",
        ),
        (
            {"memory": {"guest": "4Gi"}},
            None,
            (
                "VirtualMachineClusterPreference linux requires 4Gi of memory, but VirtualMachine web has 0; "
                "raise domain.memory.guest to 4Gi"
            ),
        ),
        (
            {"architecture": "arm64"},
            SMALL,
            (
                "VirtualMachineClusterPreference linux requires the architecture arm64, but VirtualMachine web has amd64; "
                "set architecture to arm64"
            ),
        ),
    ],
)
def test_an_unmet_requirement_names_who_requires_and_who_falls_short(preference, instancetype, message) -> None:
    (finding,) = judged({}, instancetype=instancetype, preference={"requirements": preference})
    assert (finding.rule, finding.message) == ("unmet-requirement", message)


@pytest.mark.parametrize(
    ("topology", "fix"),
    [(None, "set cpu.sockets to 4"), ("preferCores", "set cpu.cores to 4"), ("odd", "set cpu.sockets to 4")],
)
def test_a_vm_without_a_cpu_is_told_the_field_that_counts(topology, fix) -> None:
    stated = {"requirements": {"cpu": {"guest": 4}}} | ({"cpu": {"preferredCPUTopology": topology}} if topology else {})
    (finding,) = judged({}, preference=stated, release="1.0.0")
    assert finding.message == f"VirtualMachineClusterPreference linux requires 4 vCPUs, but VirtualMachine web has 0; {fix}"


def test_several_fields_that_count_are_named_together() -> None:
    preference = {"cpu": {"preferredCPUTopology": "any"}, "requirements": {"cpu": {"guest": 4}}}
    (finding,) = judged({}, preference=preference)
    assert finding.message.endswith("raise cores and sockets and threads until their product is 4")
    assert finding.proposed is UNSET


def test_a_spread_that_does_not_divide_is_reported_at_the_matcher() -> None:
    (finding,) = judged({}, instancetype=SMALL, preference={"cpu": {"preferredCPUTopology": "spread"}})
    assert (finding.rule, finding.path, finding.current) == ("indivisible-vcpus", ("spec", "instancetype"), {"name": "small"})
    assert finding.upstream_path == "instancetype.spec.cpu.guest"


def test_a_forbidden_network_is_refused_by_admission() -> None:
    (finding,) = judged({}, instancetype=SMALL, configuration=NO_BRIDGE)
    assert (finding.rule, finding.upstream) == ("forbidden-default-network", "admission")


def test_a_network_that_the_preference_declines_stops_the_expander_alone() -> None:
    preference = {"devices": {"preferredAutoattachPodInterface": False}}
    (finding,) = judged({}, instancetype=SMALL, preference=preference, configuration=NO_BRIDGE)
    assert finding.upstream == "expand"


def test_a_missing_template_is_reported() -> None:
    (finding,) = judged({}, instancetype=SMALL, template=False)
    assert (finding.rule, finding.path) == ("missing-template", ("spec", "template"))


def test_a_vm_that_renders_leads_to_no_finding() -> None:
    assert judged({}, instancetype=SMALL) == []
