"""How findings about the schema read: message, severity, path and values."""

from __future__ import annotations

from typing import Any

import pytest

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import dotted
from krm_fn.cli.rules import documentation
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema import examine
from krm_fn.rules import registry


def findings(obj: dict[str, Any], release: str = "1.9", *, whole: bool = True, severity: Any = None) -> list[Any]:
    found = examine(Bundle([obj]), releases.parse(release), complete=whole)
    return [finding for facts in found for finding in registry.judge("schema", facts, severity or {})]


def vm(spec: Any = None, **domain: Any) -> dict[str, Any]:
    template = {"spec": {"domain": {"devices": {}, **domain}, **(spec or {})}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"runStrategy": "Always", "template": template},
    }


def preference(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "fast"},
        "spec": spec,
    }


def instancetype(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small"},
        "spec": {"cpu": {"guest": 1}, **spec},
    }


def pool(**selectors: Any) -> dict[str, Any]:
    template = {"spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}}}}
    strategy = {"proactive": {"selectionPolicy": {"selectors": selectors}}}
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "web"},
        "spec": {"selector": {}, "virtualMachineTemplate": template, "updateStrategy": strategy},
    }


BASE = "spec.template.spec."
CASES: list[tuple[dict[str, Any], str, str, str, str, str]] = [
    (
        preference(devices={"preferedDiskBus": "virtio"}),
        "unknown-field",
        "error",
        "",
        "spec.devices.preferedDiskBus",
        "KubeVirt 1.9.0 has no field preferedDiskBus here; did you mean preferredDiskBus",
    ),
    (
        vm(cpu={"cores": 2, "xyzzy": 1}),
        "unknown-field",
        "error",
        "admission",
        BASE + "domain.cpu.xyzzy",
        "KubeVirt 1.9.0 has no field xyzzy here; remove it, or move it to the right place",
    ),
    (
        vm(memory={"guest": "1Gi", "size": "1Gi"}),
        "unknown-field",
        "error",
        "admission",
        BASE + "domain.memory.size",
        "KubeVirt 1.9.0 has no field size here; expected one of guest, hugepages, maxGuest, reservedOverhead",
    ),
    (
        vm(cpu={"cores": "2"}),
        "wrong-type",
        "error",
        "admission",
        BASE + "domain.cpu.cores",
        "cores is a string, expected an integer; write 2",
    ),
    (
        vm(cpu={"cores": 2.5}),
        "wrong-type",
        "error",
        "admission",
        BASE + "domain.cpu.cores",
        "cores is the number 2.5; write an integer",
    ),
    (
        vm(devices={"rng": None}),
        "wrong-type",
        "warning",
        "",
        BASE + "domain.devices.rng",
        "rng is null, which counts as absent; write {} to set it, or remove it",
    ),
    (
        vm(devices={"disks": ["root"]}),
        "wrong-type",
        "error",
        "admission",
        BASE + "domain.devices.disks[0]",
        "an item of disks is a string; write a map",
    ),
    (
        instancetype(memory={"guest": 0.5}),
        "wrong-type",
        "error",
        "",
        "spec.memory.guest",
        "guest is the number 0.5, expected a quantity in quotes; write '0.5'",
    ),
    (
        vm(memory={"guest": " 4Gi"}),
        "wrong-type",
        "warning",
        "",
        BASE + "domain.memory.guest",
        "guest is a quantity with white space around it, expected one without it; write '4Gi'",
    ),
    (
        instancetype(memory={"guest": " 4Gi"}),
        "wrong-type",
        "error",
        "",
        "spec.memory.guest",
        "guest is a quantity with white space around it, expected one without it; write '4Gi'",
    ),
    (
        vm({"volumes": [{"name": "a", "emptyDisk": {}}]}),
        "missing-field",
        "error",
        "admission",
        BASE + "volumes[0].emptyDisk.capacity",
        "capacity is missing, which KubeVirt 1.9.0 requires here; add it",
    ),
    (
        vm({"volumes": [{"containerDisk": {"image": "a"}}]}),
        "missing-field",
        "error",
        "",
        BASE + "volumes[0].name",
        "name is missing, which KubeVirt 1.9.0 requires here; add it",
    ),
    (
        vm(cpu={"cores": -1}),
        "value-out-of-range",
        "error",
        "admission",
        BASE + "domain.cpu.cores",
        "cores is -1, which is out of range; use 0 to 2147483647",
    ),
    (
        instancetype(memory={"guest": "1Gi", "overcommitPercent": 101}),
        "value-out-of-range",
        "error",
        "",
        "spec.memory.overcommitPercent",
        "overcommitPercent is 101, which is out of range; use 0 to 100",
    ),
    (
        vm({"networks": [{"name": str(number)} for number in range(257)]}),
        "value-out-of-range",
        "error",
        "",
        BASE + "networks",
        "networks has 257 entries, which is out of range; use at most 256 entries",
    ),
    (
        vm({"volumes": [{"name": "a", "containerPath": {"path": "/" + 4096 * "a"}}]}),
        "value-out-of-range",
        "error",
        "",
        BASE + "volumes[0].containerPath.path",
        "path has 4097 characters, which is out of range; use at most 4096 characters",
    ),
    (
        vm({"volumes": [{"name": "a", "containerPath": {"path": "a/../b"}}]}),
        "value-not-allowed",
        "error",
        "",
        BASE + "volumes[0].containerPath.path",
        "path is 'a/../b', which is not allowed; use an absolute path, which starts with '/'",
    ),
    (
        vm({"resourceClaims": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}),
        "value-not-allowed",
        "error",
        "",
        BASE + "resourceClaims[2]",
        "resourceClaims has {name: 'a'} twice; remove one, or make them differ",
    ),
    (
        vm(rebootPolicy="reboot"),
        "value-not-allowed",
        "error",
        "",
        BASE + "domain.rebootPolicy",
        "rebootPolicy is 'reboot', which is not allowed; use Reboot or Terminate",
    ),
    (
        pool(nodeSelectorRequirementMatcher=[{"key": "a", "operator": "is"}]),
        "value-not-allowed",
        "warning",
        "",
        "spec.updateStrategy.proactive.selectionPolicy.selectors.nodeSelectorRequirementMatcher[0].operator",
        "operator is 'is', which is not allowed; use DoesNotExist, Exists, Gt, In, Lt or NotIn",
    ),
    (
        vm({"dnsPolicy": "clusterFirst"}),
        "value-not-allowed",
        "error",
        "admission",
        BASE + "dnsPolicy",
        "dnsPolicy is 'clusterFirst', which is not allowed; use ClusterFirst, ClusterFirstWithHostNet, Default or None",
    ),
]


@pytest.mark.parametrize(("obj", "told"), [(obj, tuple(told)) for obj, *told in CASES])
def test_a_flaw_reads_so(obj: dict[str, Any], told: tuple[str, ...]) -> None:
    (found,) = findings(obj)
    assert (found.rule, found.severity, found.upstream, dotted(found.path), found.message) == told


def copied(**source: Any) -> dict[str, Any]:
    found = vm()
    volume = {"source": source, "storage": {"resources": {"requests": {"storage": 0.5}}}, "contentType": ""}
    found["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": volume}]
    return found


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (vm(resources={"requests": {"cpu": 0.1}, "limits": {"cpu": 2**64}}), []),
        (copied(blank={}), []),
        (vm(rebootPolicy=""), ["rebootPolicy"]),  # Go reads a pointer here, and writes "" again
        (vm(memory={"guest": "4 Gi"}), ["guest"]),  # Go reads no quantity here
    ],
)
def test_a_definition_sees_what_a_mutating_webhook_wrote(obj: dict[str, Any], errors: list[str]) -> None:
    assert [found.path[-1] for found in findings(obj) if found.severity == "error"] == errors
    in_pool = pool()
    in_pool["spec"]["virtualMachineTemplate"]["spec"] = obj["spec"]
    assert [found for found in findings(in_pool) if found.severity == "error"] != []


def test_a_missing_map_is_proposed() -> None:
    bare = vm()
    del bare["spec"]["template"]["spec"]["domain"]["devices"]
    (found,) = findings(bare)
    assert found.message == "devices is missing, which KubeVirt 1.9.0 requires here; add at least devices: {}"
    assert found.proposed == {}


def test_values_stand_in_the_finding() -> None:
    (found,) = findings(vm(cpu={"cores": "2"}))
    assert (found.current, found.proposed) == ("2", 2)
    (found,) = findings(vm({"dnsPolicy": "clusterFirst"}))
    assert (found.current, found.proposed) == ("clusterFirst", "ClusterFirst")


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("obj", "release", "severity", "message"),
    [
        (
            preference(preferredLaunchSecurity={}),
            "1.8.4",
            "warning",
            (
                "KubeVirt 1.8.4 has no field preferredLaunchSecurity here; "
                "1.9 adds it: remove it, or render for 1.9 if the cluster runs that release"
            ),
        ),
        (
            vm(rebootPolicy="Terminate"),
            "1.7.2",
            "error",
            (
                "KubeVirt 1.7.2 has no field rebootPolicy here; "
                "1.8 adds it: remove it, or render for 1.8 if the cluster runs that release"
            ),
        ),
        (
            vm(devices={"tpm": {"enabled": False}}),
            "1.5.0",
            "error",
            (
                "KubeVirt 1.5.0 has no field enabled here; "
                "1.5.1 adds it: remove it, or render for 1.5.1 if the cluster runs that release"
            ),
        ),
    ],
)
def test_a_field_of_a_later_release_reads_so_in_every_mode(
    obj: dict[str, Any], release: str, severity: str, message: str, *, whole: bool
) -> None:
    (found,) = findings(obj, release, whole=whole)
    assert (found.rule, found.severity, found.message) == ("field-of-another-release", severity, message)
    assert found.upstream == ("admission" if severity == "error" else "")


def test_a_field_of_an_earlier_release_reads_so() -> None:
    claims = {"resources": {"claims": []}}
    given = vm()
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "a"}, "spec": {"storage": claims}}]
    (found,) = findings(given)
    assert found.message == "KubeVirt 1.9.0 has no field claims here; 1.4 is the last release with it: remove it"


@pytest.mark.parametrize(
    "credentials",
    [
        {"userdata": "s3cret"},
        {"userData": 7355608},
        {"userData": {"s3cret": 1}},
        "s3cret",
        ["s3cret"],
        {"secretRef": "s3cret"},
    ],
)
def test_no_secret_stands_in_a_message_or_a_result(credentials: Any) -> None:
    from krm_fn.findings.results import line, to_krm

    for found in findings(vm({"volumes": [{"name": "a", "cloudInitNoCloud": credentials}]})):
        told = f"{line(found)} {to_krm(found)}".replace("['s3cret']", "s3cret")
        assert "s3cret" not in told
        assert "7355608" not in told


def test_a_rule_can_be_put_off() -> None:
    assert findings(vm(cpu={"cores": "2"}), severity={"wrong-type": "off"}) == []
    assert [found.severity for found in findings(vm(cpu={"cores": "2"}), severity={"wrong-type": "info"})] == ["info"]


@pytest.mark.parametrize("declared", registry.load("schema"), ids=lambda rule: rule.id)
def test_the_example_of_a_rule_gives_its_finding_and_no_other(declared: registry.Rule) -> None:
    example = documentation(declared).partition("Example:")[2]
    release = example.partition('kubevirtVersion: "')[2].partition('"')[0] or "1.9"
    assert [found.rule for found in findings(yamlio.read_value(example), release)] == [declared.id]


def test_a_definition_is_named() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Thing"}, "versions": [version]},
    }
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"sizes": 1}}
    (facts,) = examine(Bundle([crd, thing]), releases.NEWEST, complete=True)
    (found,) = registry.judge("schema", facts, {})
    assert found.message == "the CustomResourceDefinition things.example.com has no field sizes here; did you mean size"
    assert (found.item, found.current) == (1, UNSET)
