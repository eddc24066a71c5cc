"""Objects held against the API of a release: what counts as a flaw, and where."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from krm_fn.base.paths import dotted, get
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, MISSING, NULL, NUMBER, RANGE, TYPE, UNKNOWN, UNQUOTED, VALUE

NEWEST, OLDEST = releases.NEWEST, releases.parse("1.4")
LAST = max({*releases.NEWEST_PATCH, *(version[:2] for version in releases.UNMEASURED)})

VM: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"example.com/a": "1"}},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.medium"},
        "dataVolumeTemplates": [
            {
                "metadata": {"name": "root"},
                "spec": {
                    "sourceRef": {"kind": "DataSource", "name": "fedora"},
                    "storage": {"resources": {"requests": {"storage": "30Gi"}}, "volumeMode": "Block"},
                },
            }
        ],
        "template": {
            "metadata": {"creationTimestamp": None, "labels": {"app": "web"}},
            "spec": {
                "domain": {
                    "cpu": {"cores": 2, "features": [{"name": "apic", "policy": "require"}]},
                    "memory": {"guest": "4Gi"},
                    "resources": {"requests": {"cpu": 2, "memory": "4Gi"}},
                    "features": {"acpi": {}, "hyperv": {"spinlocks": {"spinlocks": 8191}}},
                    "devices": {
                        "disks": [{"name": "root", "disk": {"bus": "virtio"}, "bootOrder": 1}],
                        "interfaces": [{"name": "default", "masquerade": {}, "ports": [{"port": 80}]}],
                        "rng": {},
                    },
                },
                "nodeSelector": {"zone": "a"},
                "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
                "readinessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 10},
                "terminationGracePeriodSeconds": 180,
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [
                    {"name": "root", "dataVolume": {"name": "root"}},
                    {"name": "init", "cloudInitNoCloud": {"userData": "#cloud-config\n"}},
                ],
            },
        },
    },
    "status": {},
}
SPEC = ("spec", "template", "spec")
DOMAIN = (*SPEC, "domain")

PREFERENCE: dict[str, Any] = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "fast"},
    "spec": {"devices": {"preferredDiskBus": "virtio"}, "cpu": {"preferredCPUTopology": "spread"}},
}


def changed(obj: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy of the object with another value at a path."""
    made = copy.deepcopy(obj)
    get(made, path[:-1])[path[-1]] = value
    return made


def without(obj: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    made = copy.deepcopy(obj)
    del get(made, path[:-1])[path[-1]]
    return made


def flaws(obj: dict[str, Any], release: releases.Release = NEWEST) -> list[Any]:
    return list(check(obj, release))


def told(obj: dict[str, Any], release: str = "1.9") -> list[tuple[str, str, str]]:
    """Kind, path and upstream of each flaw."""
    return [(flaw.kind, dotted(flaw.path), flaw.upstream) for flaw in flaws(obj, releases.parse(release))]


def test_a_valid_vm_has_no_flaw_in_any_release() -> None:
    assert [told(VM, f"1.{minor}") for minor in range(4, 10)] == [[]] * 6


@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_a_misspelt_field_is_unknown_and_the_known_names_are_given(release: str) -> None:
    (flaw,) = flaws(changed(PREFERENCE, ("spec", "devices", "preferedDiskBus"), "scsi"), releases.parse(release))
    assert (flaw.kind, flaw.path, flaw.upstream) == (UNKNOWN, ("spec", "devices", "preferedDiskBus"), "")
    assert "preferredDiskBus" in flaw.known


def test_the_value_of_an_unknown_field_is_not_shown() -> None:
    (flaw,) = flaws(changed(VM, (*SPEC, "volumes", 1, "cloudInitNoCloud", "userdata"), "password: s3cret"))
    assert (flaw.kind, flaw.current) == (UNKNOWN, UNSET)


def test_webhooks_refuse_unknown_fields_of_a_vm_but_not_of_a_preference() -> None:
    assert told(changed(VM, (*DOMAIN, "cpus"), 2)) == [(UNKNOWN, "spec.template.spec.domain.cpus", "admission")]
    assert told(changed(PREFERENCE, ("spec", "cpus"), 2)) == [(UNKNOWN, "spec.cpus", "")]
    assert told(changed(PREFERENCE, ("data",), {})) == [(UNKNOWN, "data", "admission")]


def test_webhooks_do_not_look_at_strange_fields_of_the_objects_metadata() -> None:
    assert told(changed(VM, ("metadata", "label"), {})) == [(UNKNOWN, "metadata.label", "")]


def replica_set(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"domain": {"devices": {}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceReplicaSet",
        "metadata": {"name": "web"},
        "spec": {"selector": {}, "template": template, **spec},
    }


def instance(**spec: Any) -> dict[str, Any]:
    spec = {"domain": {"devices": {}}, **spec}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "web"}, "spec": spec}


def kubevirt(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": spec}


@pytest.mark.parametrize("obj", [VM, replica_set(), kubevirt(), instance()], ids=lambda obj: obj["kind"])
def test_the_api_server_minds_strange_fields_of_a_status(obj: dict[str, Any]) -> None:
    assert told({**obj, "status": {"anything": 1}}) == [(UNKNOWN, "status.anything", "")]


def test_in_a_status_that_is_a_subresource_only_unknown_fields_are_reported() -> None:
    assert told({**replica_set(), "status": {"replicas": "two", "conditions": [{}]}}) == []
    assert told({**kubevirt(), "status": {"phase": 5, "conditions": [{"type": "a"}]}}) == []
    # A map in the place of a text is made of strange fields.
    assert told({**kubevirt(), "status": {"phase": {"a": "b"}}}) == [(UNKNOWN, "status.phase.a", "")]
    assert told({**kubevirt(), "status": {"conditions": [[{"a": "b"}]]}}) == [(UNKNOWN, "status.conditions[0][0].a", "")]


def test_the_mutating_webhook_has_seen_the_status_of_a_vm_before_it_is_deleted() -> None:
    assert told({**VM, "status": {"ready": "yes"}}) == [(TYPE, "status.ready", "admission")]
    assert told({**VM, "status": {"memoryDumpRequest": {"phase": "Completed"}}}) == []  # it fills in the name of the claim


def test_the_status_of_an_instance_is_no_subresource() -> None:
    assert told({**instance(), "status": {"conditions": [{}]}}) == [
        (MISSING, "status.conditions[0].status", ""),
        (MISSING, "status.conditions[0].type", ""),
    ]


def test_null_is_as_if_the_key_were_not_there() -> None:
    assert told(changed(VM, ("status",), None)) == []
    assert told(changed(VM, ("spec", "template", "spec", "schedulerName"), None)) == []
    assert told(changed(VM, ("spec", "template", "spec", "volumes"), None)) == []
    assert told(changed(VM, ("metadata", "annotations"), {"example.com/a": None})) == []
    assert told(changed(VM, ("spec",), None)) == [(MISSING, "spec", "admission")]
    assert told(changed(VM, (*DOMAIN, "devices"), None)) == [(MISSING, "spec.template.spec.domain.devices", "admission")]


def test_null_is_a_flaw_where_an_empty_map_says_something_and_in_lists() -> None:
    assert told(changed(VM, (*DOMAIN, "devices", "rng"), None)) == [(NULL, "spec.template.spec.domain.devices.rng", "")]
    assert told(changed(VM, ("spec", "template", "spec", "tolerations"), [None])) == [
        (TYPE, "spec.template.spec.tolerations[0]", "admission")
    ]


def test_a_field_of_a_later_release_names_the_releases_that_have_it() -> None:
    later = changed(PREFERENCE, ("spec", "preferredLaunchSecurity"), {"sev": {}})
    (flaw,) = flaws(later, releases.parse("1.8"))
    assert (flaw.kind, flaw.path, flaw.spans) == (ELSEWHERE, ("spec", "preferredLaunchSecurity"), (((1, 9), LAST),))
    assert told(later) == []


def test_a_field_of_a_structure_that_another_release_has_in_the_place_is_of_that_release() -> None:
    direct = changed(VM, (*DOMAIN, "features", "hyperv", "tlbflush"), {"direct": {}})
    (flaw,) = flaws(direct, releases.parse("1.7"))
    assert (flaw.kind, flaw.path[-1], flaw.spans, flaw.upstream) == (ELSEWHERE, "direct", (((1, 8), LAST),), "admission")
    assert told(direct, "1.8") == []
    claims = changed(VM, ("spec", "dataVolumeTemplates", 0, "spec", "storage", "resources", "claims"), [])
    (flaw,) = flaws(claims)
    assert (flaw.kind, flaw.path[-1], flaw.spans, flaw.upstream) == (ELSEWHERE, "claims", (((1, 0), (1, 4)),), "admission")
    assert told(claims, "1.4") == []


def test_a_field_is_no_field_of_another_release_where_another_structure_has_it() -> None:
    direct = changed(VM, (*DOMAIN, "features", "hyperv", "relaxed"), {"direct": {}})
    assert told(direct, "1.7") == [(UNKNOWN, "spec.template.spec.domain.features.hyperv.relaxed.direct", "admission")]


def test_patch_releases_share_the_fields_of_their_minor_release() -> None:
    later = changed(PREFERENCE, ("spec", "preferredLaunchSecurity"), {"sev": {}})
    assert told(later, "1.9.0") == []
    assert [kind for kind, _, _ in told(later, "1.8.2")] == [ELSEWHERE]


@pytest.mark.parametrize(
    ("path", "value", "expected", "proposed"),
    [
        ((*DOMAIN, "cpu", "cores"), "2", "an integer", 2),
        ((*DOMAIN, "cpu", "cores"), 2.5, "an integer", UNSET),
        ((*DOMAIN, "cpu", "cores"), True, "an integer", UNSET),
        ((*DOMAIN, "cpu", "cores"), "-2", "an integer", UNSET),
        ((*DOMAIN, "cpu", "model"), 486, "a string", UNSET),
        ((*DOMAIN, "cpu", "dedicatedCpuPlacement"), "true", "true or false", True),
        ((*DOMAIN, "cpu", "dedicatedCpuPlacement"), "yes", "true or false", UNSET),
        ((*DOMAIN, "cpu", "features"), {"name": "apic"}, "a list", [{"name": "apic"}]),
        ((*DOMAIN, "devices", "disks", 0), "root", "a map", UNSET),
        (("metadata", "annotations", "example.com/a"), 0o777, "a string", UNSET),
        (("metadata", "labels", "app"), True, "a string", UNSET),
        ((*SPEC, "readinessProbe", "httpGet", "port"), 8.5, "an integer or a string", UNSET),
        ((*DOMAIN, "memory", "guest"), "4 Gi", "a quantity such as 4Gi or 500m", "4Gi"),
        ((*DOMAIN, "memory", "guest"), "4GB", "4G or 4Gi", UNSET),
        ((*DOMAIN, "memory", "guest"), {}, "a quantity such as 4Gi or 500m", UNSET),
    ],
)
def test_a_value_of_another_type_is_refused_and_the_obvious_one_proposed(
    path: tuple[Any, ...], value: Any, expected: str, proposed: Any
) -> None:
    (flaw,) = flaws(changed(VM, path, value))
    assert (flaw.kind, flaw.path, flaw.expected, flaw.upstream) == (TYPE, path, expected, "admission")
    assert flaw.proposed is proposed or flaw.proposed == proposed


@pytest.mark.parametrize("value", ["4Gi", "0.5", "1e3", "100m", 4, 0, "-1", "+1Ki"])
def test_quantities_may_be_text_or_whole_numbers(value: Any) -> None:
    assert flaws(changed(VM, (*DOMAIN, "resources", "requests", "memory"), value)) == []


LARGE = [0.5, 2**63, -(2**63) - 1, 1e30, 2.0**53]


@pytest.mark.parametrize("value", LARGE)
def test_the_mutating_webhook_writes_any_number_as_the_text_of_a_quantity(value: float) -> None:
    assert told(changed(VM, (*DOMAIN, "resources", "requests", "cpu"), value)) == []
    assert told(instance(domain={"devices": {}, "memory": {"guest": value}})) == []


@pytest.mark.parametrize("value", LARGE)
def test_other_kinds_have_to_have_fractions_and_large_numbers_in_quotes(value: float) -> None:
    template = {"spec": {"domain": {"devices": {}, "resources": {"requests": {"cpu": value}}}}}
    (flaw,) = flaws(replica_set(template=template))
    assert (flaw.kind, flaw.current, flaw.proposed, flaw.upstream) == (UNQUOTED, value, str(value), "")


@pytest.mark.parametrize("value", [2.0, 1e3, 1.0])
def test_a_whole_number_with_a_point_or_an_exponent_is_an_integer(value: float) -> None:
    assert told(changed(VM, (*DOMAIN, "cpu", "cores"), value)) == []
    assert told(changed(VM, (*SPEC, "readinessProbe", "httpGet", "port"), value)) == []
    assert told(replica_set(replicas=value)) == []


@pytest.mark.parametrize(
    ("value", "kind"), [(2.5, TYPE), (-2.0, RANGE), (1e10, RANGE), (1e300, TYPE), (float("inf"), TYPE), (float("nan"), TYPE)]
)
def test_another_number_is_not(value: float, kind: str) -> None:
    (flaw,) = flaws(changed(VM, (*DOMAIN, "cpu", "cores"), value))
    assert (flaw.kind, flaw.proposed, flaw.upstream) == (kind, UNSET, "admission")


def test_the_webhooks_of_1_4_want_quantities_in_quotes_but_for_resources() -> None:
    for value, proposed, kind in ((4, "4", NUMBER), (0.5, "0.5", UNQUOTED)):
        guest = changed(VM, (*DOMAIN, "memory", "guest"), value)
        (flaw,) = flaws(guest, OLDEST)
        assert (flaw.kind, flaw.current, flaw.proposed, flaw.upstream) == (kind, value, proposed, "admission")
        claim = changed(VM, ("spec", "dataVolumeTemplates", 0, "spec", "storage", "resources", "requests", "storage"), value)
        assert [flaw.kind for flaw in flaws(claim, OLDEST)] == [kind]
    assert told(changed(VM, (*DOMAIN, "memory", "guest"), 4), "1.5") == []
    assert told(changed(VM, (*DOMAIN, "resources", "requests", "memory"), 4), "1.4") == []
    assert told(changed(VM, (*DOMAIN, "resources", "requests", "memory"), "4GB"), "1.4") == [
        (TYPE, "spec.template.spec.domain.resources.requests.memory", "admission")
    ]


def test_kinds_that_are_only_decoded_may_have_whole_numbers_as_quantities_in_1_4() -> None:
    size = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": 1073741824}},
    }
    assert flaws(size, OLDEST) == []
    (flaw,) = flaws(changed(size, ("spec", "memory", "guest"), 0.5), OLDEST)
    assert (flaw.current, flaw.proposed, flaw.upstream) == (0.5, "0.5", "")


@pytest.mark.parametrize("value", [" 4Gi", "4Gi ", "\u00a04Gi\u2003"])
def test_the_mutating_webhook_cuts_blanks_around_a_quantity_off(value: str) -> None:
    (flaw,) = flaws(changed(VM, (*DOMAIN, "memory", "guest"), value))
    assert (flaw.kind, flaw.current, flaw.upstream, flaw.taken) == (UNQUOTED, value, "", True)
    template = {"spec": {"domain": {"devices": {}, "memory": {"guest": value}}}}
    (flaw,) = flaws(replica_set(template=template))
    assert (flaw.kind, flaw.current, flaw.upstream, flaw.taken) == (UNQUOTED, value, "", False)


@pytest.mark.parametrize("value", ["\t4Gi", "4Gi\n", "4 Gi", " "])
def test_other_white_space_is_no_part_of_a_quantity(value: str) -> None:
    (flaw,) = flaws(changed(VM, (*DOMAIN, "memory", "guest"), value))
    assert (flaw.kind, flaw.current, flaw.upstream) == (TYPE, value, "admission")


@pytest.mark.parametrize("place", ["storage", "pvc"])
@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_access_modes_are_checked_one_by_one(place: str, release: str) -> None:
    path = ("spec", "dataVolumeTemplates", 0, "spec")
    vm = changed(VM, path, {"sourceRef": {"kind": "DataSource", "name": "a"}, place: {"accessModes": ["ReadWriteOnce", "rwo"]}})
    (flaw,) = flaws(vm, releases.parse(release))
    assert (flaw.kind, flaw.path, flaw.current, flaw.upstream) == (VALUE, (*path, place, "accessModes", 1), "rwo", "admission")
    assert flaw.known == ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


@pytest.mark.parametrize(
    ("value", "right"), [("90s", True), ("1h30m", True), ("0", True), ("1.5h", True), ("5", False), ("1d", False)]
)
def test_durations_are_read_as_go_reads_them(value: str, right: bool) -> None:
    template = {"spec": {"template": {"spec": {"domain": {"devices": {}}}}}}
    healing = {"autohealing": {"minFailingToStartDuration": value}}
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "web"},
        "spec": {"selector": {}, "virtualMachineTemplate": template, **healing},
    }
    place = "spec.autohealing.minFailingToStartDuration"
    assert told(pool) == ([] if right else [(TYPE, place, "admission")])


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (None, True),
        ("2024-05-01T12:00:00Z", True),
        ("2024-05-01T12:00:00.5+02:00", True),
        ("2024-05-01", False),
        ("2024-13-01T12:00:00Z", False),
        ("2024-05-01 12:00:00Z", False),
        ("", False),
    ],
)
def test_times_are_read_as_go_reads_them(value: str | None, right: bool) -> None:
    place = "spec.template.metadata.creationTimestamp"
    vm = changed(VM, ("spec", "template", "metadata", "creationTimestamp"), value)
    assert told(vm) == ([] if right else [(TYPE, place, "admission")])


@pytest.mark.parametrize(
    ("path", "value", "spans"),
    [
        ((*DOMAIN, "devices", "tpm"), {"enabled": False}, {"1.4.0": False, "1.4.1": True, "1.5.0": False, "1.5.1": True}),
        ((*DOMAIN, "devices", "watchdog"), {"name": "a", "diag288": {}}, {"1.4.1": False, "1.5.0": False, "1.5.1": True}),
        (
            ("spec", "dataVolumeTemplates", 0, "spec"),
            {"source": {"registry": {"url": "docker://a", "platform": {"architecture": "arm64"}}}, "storage": {}},
            {"1.6.3": False, "1.6.4": True, "1.7.0": True},
        ),
    ],
)
def test_some_fields_were_added_in_a_patch_release(path: tuple[Any, ...], value: Any, spans: dict[str, bool]) -> None:
    vm = changed(VM, path, value)
    assert {release: told(vm, release) == [] for release in spans} == spans
    assert {kind for release in spans for kind, _, _ in told(vm, release)} == {ELSEWHERE}


@pytest.mark.parametrize("port", [80, "http"])
def test_ports_may_be_text_or_integers(port: Any) -> None:
    assert flaws(changed(VM, (*SPEC, "readinessProbe", "httpGet", "port"), port)) == []


def test_a_port_is_no_larger_than_go_reads_it() -> None:
    port = (*SPEC, "readinessProbe", "httpGet", "port")
    assert told(changed(VM, port, 2**31)) == [(RANGE, "spec.template.spec.readinessProbe.httpGet.port", "admission")]
    assert told(changed(VM, port, 2**31 - 1)) == []


def test_text_in_the_place_of_a_map_is_not_shown() -> None:
    (flaw,) = flaws(changed(VM, (*SPEC, "volumes", 1, "cloudInitNoCloud"), "#cloud-config\npassword: s3cret\n"))
    assert (flaw.kind, flaw.current, flaw.upstream) == (TYPE, UNSET, "admission")


@pytest.mark.parametrize(
    ("path", "proposed"),
    [
        ((*DOMAIN, "devices"), {}),
        (DOMAIN, {"devices": {}}),
        (("spec", "template"), {}),
        ((*SPEC, "accessCredentials", 0, "sshPublicKey", "source"), {}),
        (("spec",), {"template": {}}),
    ],
)
def test_a_missing_field_is_reported_with_the_smallest_valid_map(path: tuple[Any, ...], proposed: Any) -> None:
    key = {"sshPublicKey": {"source": {}, "propagationMethod": {}}}
    (flaw,) = flaws(without(changed(VM, (*SPEC, "accessCredentials"), [key]), path))
    assert (flaw.kind, flaw.path, flaw.upstream) == (MISSING, path, "admission")
    assert flaw.proposed == proposed or flaw.proposed is proposed


@pytest.mark.parametrize(
    "path",
    [
        (*SPEC, "volumes", 0, "name"),
        (*DOMAIN, "cpu", "features", 0, "name"),
        (*DOMAIN, "devices", "interfaces", 0, "ports", 0, "port"),
    ],
)
@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_the_webhooks_fill_in_a_missing_text_or_number(path: tuple[Any, ...], release: str) -> None:
    (flaw,) = flaws(without(VM, path), releases.parse(release))
    assert (flaw.kind, flaw.path, flaw.proposed, flaw.upstream) == (MISSING, path, UNSET, "")


def test_the_webhooks_miss_what_may_be_a_text_or_a_number() -> None:
    for path in ((*SPEC, "readinessProbe", "httpGet", "port"), (*SPEC, "volumes", 0, "emptyDisk", "capacity")):
        (flaw,) = flaws(without(changed(VM, (*SPEC, "volumes", 0), {"name": "a", "emptyDisk": {"capacity": "1Gi"}}), path))
        assert (flaw.kind, flaw.path, flaw.upstream) == (MISSING, path, "admission")


def test_what_a_release_no_longer_requires_is_missing_only_before() -> None:
    gpu = changed(VM, (*DOMAIN, "devices", "gpus"), [{"name": "a"}])
    assert told(gpu, "1.5") == [(MISSING, "spec.template.spec.domain.devices.gpus[0].deviceName", "")]
    assert told(gpu, "1.6") == []


@pytest.mark.parametrize(
    ("path", "value", "bounds"),
    [
        ((*DOMAIN, "cpu", "cores"), -1, "0 to 2147483647"),
        ((*DOMAIN, "cpu", "cores"), 4294967296, "0 to 2147483647"),
        ((*DOMAIN, "devices", "disks", 0, "bootOrder"), -1, "0 to 9223372036854775807"),
        ((*SPEC, "readinessProbe", "periodSeconds"), 2147483648, "-2147483648 to 2147483647"),
    ],
)
def test_a_number_that_its_field_does_not_hold_is_out_of_range(path: tuple[Any, ...], value: int, bounds: str) -> None:
    (flaw,) = flaws(changed(VM, path, value))
    assert (flaw.kind, flaw.current, flaw.expected, flaw.upstream) == (RANGE, value, bounds, "admission")


def test_a_value_that_the_field_does_not_have_is_reported_with_the_valid_ones() -> None:
    (flaw,) = flaws(changed(VM, (*SPEC, "tolerations", 0, "effect"), "noSchedule"))
    assert (flaw.kind, flaw.current, flaw.known) == (VALUE, "noSchedule", ("NoExecute", "NoSchedule", "PreferNoSchedule"))


def test_a_pull_policy_is_one_of_three_words() -> None:
    disk = {"name": "root", "containerDisk": {"image": "example.com/linux:1", "imagePullPolicy": "Allways"}}
    (flaw,) = flaws(changed(VM, (*SPEC, "volumes"), [disk]))
    assert (flaw.kind, flaw.current, flaw.known) == (VALUE, "Allways", ("Always", "IfNotPresent", "Never"))
    assert flaw.upstream == "admission"


def test_words_may_differ_between_releases() -> None:
    mode = changed(VM, ("spec", "dataVolumeTemplates", 0, "spec", "storage", "volumeMode"), "FromStorageProfile")
    assert [kind for kind, _, _ in told(mode, "1.4")] == [VALUE]
    assert told(mode, "1.5") == []


@pytest.mark.parametrize(
    ("api_version", "release", "known"),
    [
        ("pool.kubevirt.io/v1alpha1", "1.6", True),
        ("pool.kubevirt.io/v1beta1", "1.6", False),
        ("pool.kubevirt.io/v1alpha1", "1.9", True),
        ("pool.kubevirt.io/v1beta1", "1.9", True),
    ],
)
def test_pools_are_looked_at_in_the_versions_that_the_release_serves(api_version: str, release: str, *, known: bool) -> None:
    template = {"spec": {"template": {"spec": {"domain": {"devices": {"disk": []}}}}}}
    spec = {"selector": {}, "virtualMachineTemplate": template}
    pool = {"apiVersion": api_version, "kind": "VirtualMachinePool", "metadata": {"name": "p"}, "spec": spec}
    path = "spec.virtualMachineTemplate.spec.template.spec.domain.devices.disk"
    assert told(pool, release) == ([(UNKNOWN, path, "")] if known else [])


def test_alpha_instancetypes_are_looked_at_as_long_as_they_are_served() -> None:
    alpha = {**changed(PREFERENCE, ("spec", "cpus"), 1), "apiVersion": "instancetype.kubevirt.io/v1alpha2"}
    assert told(alpha, "1.5") == [(UNKNOWN, "spec.cpus", "")]
    assert told(alpha, "1.6") == []


@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_the_complete_kubevirt_object_is_checked(release: str) -> None:
    path = "spec.configuration.migrations.parallelMigrationPerCluster"
    wrong = kubevirt(configuration={"migrations": {"parallelMigrationPerCluster": 5}})
    assert told(wrong, release) == [(UNKNOWN, path, "admission")]
    assert told(kubevirt(infras={}), release) == [(UNKNOWN, "spec.infras", "admission")]
    placed = {"nodePlacement": {"tolerations": [{"key": 5}]}}
    assert told(kubevirt(workloads=placed), release) == [(TYPE, "spec.workloads.nodePlacement.tolerations[0].key", "admission")]
    rotation = {"selfSigned": {"ca": {"duration": "a week"}}}
    assert told(kubevirt(certificateRotateStrategy=rotation), release) == [
        (TYPE, "spec.certificateRotateStrategy.selfSigned.ca.duration", "admission")
    ]
    assert told({**kubevirt(), "spec": None}, release) == [(MISSING, "spec", "admission")]


@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_the_verbosity_of_a_node_is_no_negative_number(release: str) -> None:
    verbosity = {"virtHandler": 4, "nodeVerbosity": {"node-a": 4, "node-b": -1}}
    spec = {"configuration": {"developerConfiguration": {"logVerbosity": verbosity}}}
    path = "spec.configuration.developerConfiguration.logVerbosity.nodeVerbosity.node-b"
    assert told(kubevirt(**spec), release) == [(RANGE, path, "admission")]


@pytest.mark.parametrize("kind", ["Deployment", "VirtualMachine", "VirtualMachineClusterFlavor"])
def test_kinds_of_others_are_passed_over(kind: str) -> None:
    assert told({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "a"}, "spec": {"x": 1}}) == []


@pytest.mark.parametrize("junk", [None, 1, "a", [], [None], {}, {"a": None}, {1: 2}, True, 0.5, [[{}]]])
def test_no_shape_of_user_data_breaks_the_check(junk: Any) -> None:
    for path in places(VM):
        if path not in (("apiVersion",), ("kind",)):
            flaws(changed(VM, path, junk))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path below a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, below in pairs:
        found += [(*path, key), *places(below, (*path, key))]
    return found


def test_removing_a_field_creates_no_flaw_but_that_it_is_missing() -> None:
    for path in places(VM):
        if path not in (("apiVersion",), ("kind",)) and isinstance(path[-1], str):
            assert [(flaw.kind, flaw.path) for flaw in flaws(without(VM, path))] in ([], [(MISSING, path)])


def test_removing_a_broken_field_removes_its_flaws_and_creates_none() -> None:
    broken = changed(VM, (*DOMAIN, "cpu"), {"cores": "2", "modle": "x", "features": [{"policy": 1}]})
    assert [kind for kind, _, _ in told(broken)] == [TYPE, UNKNOWN, TYPE, MISSING]
    assert told(without(broken, (*DOMAIN, "cpu"))) == []


FREE = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "template", "metadata", "labels"),
    (*SPEC, "nodeSelector"),
    (*DOMAIN, "resources", "requests"),
    ("spec", "dataVolumeTemplates", 0, "spec", "storage", "resources", "requests"),
)


def test_a_misspelt_key_gives_exactly_one_flaw_wherever_it_stands() -> None:
    for path in [(), *places(VM)]:
        if isinstance(get(VM, path), dict):
            found = [(flaw.kind, flaw.path) for flaw in flaws(changed(VM, (*path, "xyzzy"), "4"))]
            assert found == ([] if path in FREE else [(UNKNOWN, (*path, "xyzzy"))])


def test_the_object_is_left_as_it_was() -> None:
    given = changed(VM, (*DOMAIN, "cpu", "cores"), "2")
    before = copy.deepcopy(given)
    flaws(given)
    assert given == before
