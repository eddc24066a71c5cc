"""KubeVirt 1.0 to 1.3 apply instancetypes and preferences differently from 1.4, and from one another."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand, set_default_network
from krm_fn.kubevirt.releases import parse

FOUR = {"cpu": {"guest": 4}, "memory": {"guest": "1Gi"}}


def vm(**domain):
    return {"metadata": {"name": "vm"}, "spec": {"template": {"spec": {"domain": {"devices": {}, "resources": {}, **domain}}}}}


def expanded(release, *, instancetype=None, preference=None, given=None, configuration=None):
    return expand(
        given or vm(),
        instancetype=instancetype,
        preference=preference,
        cluster=Cluster(configuration=configuration or {}),
        release=parse(release),
        defaults=True,
    )


def domain_of(release, **given):
    return expanded(release, **given).vm["spec"]["template"]["spec"]["domain"]


def topology(release, name, *, vcpus=4, **rest):
    preference = {"cpu": {"preferredCPUTopology": name, **rest}}
    cpu = domain_of(release, instancetype={**FOUR, "cpu": {"guest": vcpus}}, preference=preference)["cpu"]
    return cpu.get("sockets", 0), cpu["cores"], cpu["threads"]


@pytest.mark.parametrize(
    ("name", "layouts"),
    [
        ("preferCores", [(1, 4, 1), (1, 4, 1), (1, 4, 1), (1, 4, 1)]),
        ("preferSpread", [(1, 1, 1), (2, 2, 1), (2, 2, 1), (2, 2, 1)]),
        ("preferAny", [(1, 1, 1), (4, 1, 1), (4, 1, 1), (4, 1, 1)]),
        ("cores", [(1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 4, 1)]),
        ("", [(1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1)]),
    ],
)
def test_a_topology_has_an_effect_in_the_releases_that_know_its_name(name, layouts):
    assert [topology(release, name) for release in ("1.0", "1.1", "1.3", "1.4")] == layouts


def test_a_single_vcpu_is_spread_before_1_3():
    assert [topology(release, "preferSpread", vcpus=1) for release in ("1.2", "1.3")] == [(0, 2, 1), (1, 1, 1)]


def test_spread_options_count_since_1_3():
    options = {"spreadOptions": {"across": "CoresThreads"}}
    assert [topology(release, "preferSpread", vcpus=8, **options) for release in ("1.2", "1.3")] == [(4, 2, 1), (1, 4, 2)]


@pytest.mark.parametrize(("release", "ignored"), [("1.0", "preferAny"), ("1.1", ""), ("1.3", ""), ("1.4", "")])
def test_an_ignored_topology_is_a_fact_of_the_expansion(release, ignored):
    preference = {"cpu": {"preferredCPUTopology": "preferAny"}}
    assert expanded(release, instancetype=FOUR, preference=preference).ignored_topology == ignored


def test_no_vcpus_are_lost_of_one_or_without_an_instancetype():
    preference = {"cpu": {"preferredCPUTopology": "cores"}}
    assert expanded("1.3", instancetype={**FOUR, "cpu": {"guest": 1}}, preference=preference).ignored_topology == ""
    assert expanded("1.3", preference=preference).ignored_topology == ""


def test_expand_spec_only_merges_before_1_3_1():
    wanted = {"cpu": {"sockets": 4, "cores": 1, "threads": 1}, "devices": {}, "memory": {"guest": "1Gi"}, "resources": {}}
    assert domain_of("1.3.0", instancetype=FOUR) == wanted


def test_expand_spec_of_1_3_1_writes_all_defaults_of_a_vm():
    given = vm(
        features={"acpi": {}, "hyperv": {"spinlocks": {}}}, devices={"disks": [{"name": "a"}, {"name": "b", "cdrom": {}}]}
    )
    assert domain_of("1.3.1", instancetype=FOUR, given=given) == {
        "cpu": {"sockets": 4, "cores": 1, "threads": 1, "model": "host-model"},
        "devices": {
            "disks": [
                {"name": "a", "disk": {"bus": "sata"}},
                {"name": "b", "cdrom": {"bus": "sata", "readonly": True, "tray": "closed"}},
            ],
            "interfaces": [{"name": "default", "bridge": {}}],
        },
        "features": {"acpi": {"enabled": True}, "hyperv": {"spinlocks": {"enabled": True, "spinlocks": 4096}}},
        "machine": {"type": "q35"},
        "memory": {"guest": "1Gi"},
        "resources": {"requests": {"memory": "1Gi"}},
    }


def test_1_4_writes_no_model_and_no_bus():
    domain = domain_of("1.4", instancetype=FOUR, given=vm(devices={"disks": [{"name": "a"}]}))
    assert (domain["cpu"].get("model"), domain["devices"]["disks"]) == (None, [{"name": "a"}])


def test_1_3_1_disables_acpi_on_s390x_and_chooses_efi_on_arm64():
    def of(architecture):
        given = vm()
        given["spec"]["template"]["spec"]["architecture"] = architecture
        return domain_of("1.3.1", instancetype=FOUR, given=given)

    assert of("s390x")["features"] == {"acpi": {"enabled": False}}
    assert of("arm64")["firmware"] == {"bootloader": {"efi": {"secureBoot": False}}}
    assert of("arm64")["cpu"]["model"] == "host-passthrough"


def test_defaults_that_a_cluster_decides_are_left_out_if_it_is_not_known():
    made = expand(
        vm(), instancetype=FOUR, preference=None, cluster=Cluster(known=False), release=parse("1.3.1"), defaults=True
    ).vm["spec"]["template"]["spec"]
    assert "model" not in made["domain"]["cpu"]
    assert "architecture" not in made


@pytest.mark.parametrize(("release", "secure"), [("1.0.0", True), ("1.0.1", False)])
def test_only_1_0_0_overwrites_secure_boot(release, secure):
    given = vm(firmware={"bootloader": {"efi": {"secureBoot": False}}})
    preference = {"firmware": {"preferredUseSecureBoot": True}}
    firmware = domain_of(release, preference=preference, given=given)["firmware"]
    assert firmware == {"bootloader": {"efi": {"secureBoot": secure}}}


@pytest.mark.parametrize(("release", "loader"), [("1.3", {}), ("1.4", {"efi": {"persistent": True}})])
def test_preferred_efi_counts_since_1_4(release, loader):
    preference = {"firmware": {"preferredEfi": {"persistent": True}}}
    assert domain_of(release, preference=preference)["firmware"]["bootloader"] == loader


@pytest.mark.parametrize(("release", "bound"), [("1.0", {"bridge": {}, "masquerade": {}}), ("1.1", {"bridge": {}})])
def test_1_0_gives_masquerade_to_every_interface(release, bound):
    given = vm(devices={"interfaces": [{"name": "a", "bridge": {}}]})
    given["spec"]["template"]["spec"]["networks"] = [{"name": "a", "pod": {}}]
    preference = {"devices": {"preferredInterfaceMasquerade": {}}}
    assert domain_of(release, preference=preference, given=given)["devices"]["interfaces"] == [{"name": "a", **bound}]


@pytest.mark.parametrize(("release", "conflicts"), [("1.0", []), ("1.1", [("nodeSelector",), ("schedulerName",)])])
def test_1_0_knows_no_node_selector_and_scheduler_of_instancetypes(release, conflicts):
    given = vm()
    given["spec"]["template"]["spec"] |= {"nodeSelector": {"a": "b"}, "schedulerName": "own"}
    instancetype = {**FOUR, "nodeSelector": {"c": "d"}, "schedulerName": "other"}
    found = expanded(release, instancetype=instancetype, given=given).conflicts
    assert [conflict.path[-1:] for conflict in found] == conflicts


@pytest.mark.parametrize(("release", "known"), [("1.2", False), ("1.3", True)])
def test_limits_of_hotplug_come_from_instancetypes_since_1_3(release, known):
    instancetype = {"cpu": {"guest": 4, "maxSockets": 8}, "memory": {"guest": "1Gi", "maxGuest": "2Gi"}}
    domain = domain_of(release, instancetype=instancetype)
    assert ("maxSockets" in domain["cpu"], "maxGuest" in domain["memory"]) == (known, known)


@pytest.mark.parametrize(
    ("release", "named"),
    [
        ("1.0", []),
        ("1.1", [("spec.template.spec.domain.cpu.cores, spec.template.spec.domain.cpu.sockets")]),
        ("1.3", [("spec.template.spec.domain.cpu.sockets, spec.template.spec.domain.cpu.cores")]),
    ],
)
def test_requirements_of_a_spread_topology(release, named):
    preference = {"cpu": {"preferredCPUTopology": "preferSpread"}, "requirements": {"cpu": {"guest": 4}}}
    found = expanded(release, preference=preference, given=vm(cpu={"sockets": 1, "cores": 2, "threads": 1})).unmet
    assert [unmet.upstream_path for unmet in found] == named


def test_1_0_0_requires_cpus_of_the_vm_as_it_is_written():
    preference = {"requirements": {"cpu": {"guest": 1}}}
    assert [unmet.path[-1] for unmet in expanded("1.0.0", preference=preference).unmet] == ["cpu"]
    assert expanded("1.0.1", preference=preference).unmet == ()


@pytest.mark.parametrize(("release", "unmet"), [("1.2", 0), ("1.3", 1)])
def test_memory_that_nobody_sets_is_no_unmet_requirement_before_1_3(release, unmet):
    preference = {"requirements": {"memory": {"guest": "1Gi"}}}
    assert len(expanded(release, preference=preference).unmet) == unmet


@pytest.mark.parametrize(
    ("release", "permitted", "refusal"),
    [("1.2", True, ""), ("1.2", False, "slirp-forbidden"), ("1.3", True, "slirp-removed")],
)
def test_slirp_is_a_default_network_where_it_is_permitted(release, permitted, refusal):
    spec = {"domain": {"devices": {}}}
    network = {"defaultNetworkInterface": "slirp", "permitSlirpInterface": permitted}
    cluster = Cluster(configuration={"network": network})
    assert set_default_network(spec, cluster, parse(release)) == refusal
    assert ("networks" in spec) == (refusal == "")
