"""Laws of all checks of admission: their form, their secrecy, and that no shape of input throws them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from admitting import causes_of, changed, gates
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Ref
from krm_fn.base.paths import copy, dotted, put
from krm_fn.kubevirt import admission, releases
from krm_fn.kubevirt.admission import parts, specs
from krm_fn.kubevirt.admission.checks import Check
from krm_fn.kubevirt.admission.expansion import expand_for_admission
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.rules import registry

CHECKS = [check for group in specs.GROUPS for check in group.checks]
EXAMINATIONS = (*specs.EXAMINATIONS, *specs.VM_EXAMINATIONS)
RELEASES = [releases.parse(f"1.{minor}") for minor in range(4, 10)]
SECRET = "hunter2-" * 400

SPEC = ("spec", "template", "spec")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "x", "1Gi", "-1", "é"])
ANYTHING = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["name", "disk", "x"]), below, max_size=2),
    max_leaves=4,
)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [path, *(place for key, below in items for place in _places(below, (*path, key)))]
        if path
        else [place for key, below in items for place in _places(below, (key,))]
    )


FULL = changed(
    {
        "domain.cpu": {
            "cores": 1,
            "dedicatedCpuPlacement": True,
            "features": [{"name": "x"}],
            "numa": {"guestMappingPassthrough": {}},
        },
        "domain.memory": {"guest": "1Gi", "maxGuest": "2Gi", "hugepages": {"pageSize": "2Mi"}},
        "domain.resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "domain.firmware": {
            "acpi": {"slicNameRef": "x"},
            "bootloader": {"efi": {}},
            "kernelBoot": {"container": {"image": "x"}},
        },
        "domain.launchSecurity": {"sev": {}},
        "domain.devices.gpus": [{"name": "a", "claimName": "a", "requestName": "b"}],
        "domain.devices.hostDevices": [{"name": "a", "deviceName": "a"}],
        "domain.devices.filesystems": [{"name": "root"}],
        "domain.devices.disks.0.blockSize": {"custom": {"logical": 1, "physical": 1}},
        "domain.devices.interfaces.0.ports": [{"name": "a", "port": 1}],
        "domain.devices.interfaces.0.portRanges": [{"start": 1, "end": 2, "protocol": "TCP"}],
        "domain.devices.interfaces.0.dhcpOptions": {"ntpServers": ["x"], "privateOptions": [{"option": 1}]},
        "volumes.0": {"name": "root", "cloudInitNoCloud": {"userData": "x"}},
        "accessCredentials": [{"sshPublicKey": {"source": {}, "propagationMethod": {"noCloud": {}}}}],
        "dnsConfig": {"nameservers": ["x"], "searches": ["x"], "options": [{"name": "x"}]},
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {"matchLabels": {"a": "b"}}}]}
        },
        "topologySpreadConstraints": [{"topologyKey": "a"}],
        "resourceClaims": [{"name": "a"}],
        "/spec.dataVolumeTemplates": [{"metadata": {"name": "a"}, "spec": {"pvc": {}, "source": {}}}],
    }
)


@pytest.mark.parametrize("row", CHECKS, ids=lambda row: f"{'.'.join(row.at)}-{row.upstream.rpartition(':')[2]}")
def test_every_row_names_its_place_in_upstreams_source_and_says_fact_and_fix(row: Check) -> None:
    assert re.fullmatch(r"pkg/[\w/.-]+\.go:\w+", row.upstream)
    assert "; " in row.message
    assert not row.message.endswith(".")
    assert "\n" not in row.message


@pytest.mark.parametrize("found", EXAMINATIONS, ids=lambda found: found.check.__name__)
def test_every_examination_names_its_place_in_upstreams_source(found: Any) -> None:
    assert re.fullmatch(r"pkg/[\w/.-]+\.go:\w+", found.upstream)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_places(FULL)), ANYTHING, st.sampled_from(RELEASES), st.booleans())
def test_no_shape_of_any_field_throws_a_check(place: Any, value: Any, release: Any, open_gates: bool) -> None:
    vm = copy(FULL)
    put(vm, place, value)
    before = copy(vm)
    configuration = (
        gates("PortRangesSpec", "NetworkDevicesWithDRA", "HostDevices", "GraceIOVirtualization") if open_gates else {}
    )
    causes = admission.admit_vm(vm, expanded=vm, cluster=Cluster(configuration=configuration), release=release)
    assert all(cause.message and dotted(cause.path) is not None for cause in causes)
    assert vm == before


def test_every_part_of_an_object_has_a_rule_and_every_rule_a_part() -> None:
    named = {part for part, _ in (*parts.IN_INSTANCE, *parts.IN_VM)}
    assert {f"refused-{part}" for part in (*named, "label", "object")} == {rule.id for rule in registry.load("admission")}


def test_secrets_stand_in_no_cause() -> None:
    causes = causes_of(
        {
            "volumes": [
                {
                    "name": "root",
                    "cloudInitNoCloud": {"userData": SECRET, "userDataBase64": SECRET, "networkDataBase64": SECRET},
                },
                {"name": "b", "cloudInitConfigDrive": {"networkData": SECRET, "networkDataBase64": SECRET}},
            ],
        }
    )
    assert len(causes) > 3
    assert not any("hunter2" in repr(cause) for cause in causes)


def test_a_cause_names_upstreams_path_only_where_it_is_another() -> None:
    vm = FULL
    causes = admission.admit_vm(vm, expanded=vm, cluster=Cluster(), release=releases.NEWEST)
    assert [cause for cause in causes if cause.upstream_path == dotted(cause.path)] == []


@pytest.mark.parametrize("vm", [{}, {"spec": None}, {"spec": {"template": []}}, {"spec": {"template": {"spec": "x"}}}])
def test_a_vm_without_a_template_is_not_judged(vm: Any) -> None:
    expanded = expand_for_admission(
        Resolution(vm=vm), namespace="x", bundle=Bundle([]), cluster=Cluster(), release=releases.NEWEST
    )
    assert expanded.vm is None


def test_judging_changes_nothing_it_is_given() -> None:
    before = copy(FULL)
    expand_for_admission(Resolution(vm=FULL), namespace="x", bundle=Bundle([]), cluster=Cluster(), release=releases.NEWEST)
    assert before == FULL


def test_a_vm_whose_default_network_is_forbidden_is_not_judged() -> None:
    vm = changed({"networks": [], "domain.devices.interfaces": []})
    cluster = Cluster(configuration={"network": {"permitBridgeInterfaceOnPodNetwork": False}})
    expanded = expand_for_admission(
        Resolution(vm=vm), namespace="x", bundle=Bundle([]), cluster=cluster, release=releases.NEWEST
    )
    assert (expanded.vm, expanded.refusals) == (None, ("bridge-forbidden",))


def test_an_unmet_requirement_of_the_preference_is_reported() -> None:
    spec = {"requirements": {"memory": {"guest": "8Gi"}}}
    ref = Ref(api_version="instancetype.kubevirt.io/v1beta1", kind="VirtualMachinePreference", name="x")
    resolution = Resolution(vm=changed({}), preference=Found(spec=spec, ref=ref, origin="bundle"))
    expanded = expand_for_admission(resolution, namespace="x", bundle=Bundle([]), cluster=Cluster(), release=releases.NEWEST)
    assert [unmet.required for unmet in expanded.unmet] == ["8Gi"]
