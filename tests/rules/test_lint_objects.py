"""The rules about objects that nothing uses, labels that name nothing, and what clusters change or drop."""

import pytest
from functions import instancetype, vm
from linting import GROUP, about, claim, machine, pool, said, thing

NAME, KIND = f"{GROUP}/default-instancetype", f"{GROUP}/default-instancetype-kind"


def unused(*items, **spec):
    return about("unused-instancetype", *items, **spec)


def test_what_no_vm_of_the_namespace_uses_is_told():
    assert unused(instancetype("small"), instancetype("big"), vm(instancetype="small")) == [("info", "big")]


def test_where_no_vm_could_use_it_nothing_is_told():
    assert unused(instancetype("small")) == []
    assert unused(instancetype("small", namespace="lab"), vm()) == []


def test_a_cluster_instancetype_is_for_all_namespaces():
    kind = "VirtualMachineClusterInstancetype"
    assert unused(instancetype("small", kind=kind), vm(namespace="lab")) == [("info", "small")]


def test_a_pool_a_label_and_a_revision_use_it():
    labels = {NAME: "b", KIND: "virtualmachineinstancetypes"}
    stored = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "data": instancetype("c")}
    items = (instancetype("a"), instancetype("b"), instancetype("c"), claim("root", labels=labels), stored)
    assert unused(*items, pool(vm(instancetype="a"))) == []


def test_nothing_is_unused_where_vms_are_expected_to_be_rendered():
    revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "data": instancetype("c")}
    items = (instancetype("small"), revision, vm())
    for level in ("error", "info"):
        assert unused(*items, severity={"unexpanded-vm": level}) == []
        assert about("unused-revision", *items, severity={"unexpanded-vm": level}) == []
    assert unused(*items, severity={"unexpanded-vm": "off"}) == [("info", "small")]
    assert about("unused-revision", *items) == [("info", "r")]


def test_a_vm_that_can_not_be_rendered_uses_what_it_names():
    conflicting = vm(instancetype="small")
    conflicting["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 2}
    assert unused(instancetype("small"), conflicting) == []


def test_what_is_not_applied_or_published_by_a_vendor_may_be_unused():
    local = instancetype("a", annotations={"config.kubernetes.io/local-config": "true"})
    assert unused(local, instancetype("b", labels={f"{GROUP}/vendor": "example.com"}), vm()) == []


def labelled(name, kind="", **labels):
    given = {NAME: name, **({KIND: kind} if kind else {}), **labels}
    return thing("cdi.kubevirt.io/v1beta1", "DataSource", "image", {"source": {}}, labels=given)


def unknown(*items, **spec):
    return said("unknown-default-label", *items, **spec)


def test_a_label_is_corrected_to_the_likest_builtin_name():
    assert unknown(labelled("u1.mediun"), catalogue="builtin") == [
        (
            "warning",
            "image",
            f'metadata.labels["{NAME}"]',
            "VirtualMachineClusterInstancetype u1.mediun is not found; use u1.medium, or add it to the bundle",
        )
    ]


def test_without_a_catalogue_the_cluster_may_have_it():
    assert [found[0] for found in unknown(labelled("u1.mediun"))] == ["info"]
    cluster = instancetype("big", kind="VirtualMachineClusterInstancetype")
    assert [found[0] for found in unknown(cluster, labelled("u1.mediun"))] == ["warning"]


@pytest.mark.parametrize("kind", ["VirtualMachineInstancetype", "virtualmachineinstancetypes"])
def test_a_namespaced_kind_counts_in_any_namespace(kind):
    assert unknown(instancetype("small", namespace="lab"), labelled("small", kind)) == []


def test_a_kind_that_is_none_is_told_at_its_own_label():
    assert unknown(labelled("small", "Instancetyp")) == [
        (
            "warning",
            "image",
            f'metadata.labels["{KIND}"]',
            "Instancetyp is not a kind of instancetype; use VirtualMachineInstancetype or VirtualMachineClusterInstancetype",
        )
    ]


def test_an_empty_label_names_nothing():
    assert [found[3] for found in unknown(labelled(""))] == ["the label is empty; set a name, or remove it"]


def preset(name="p", selector=None, domain=None, **metadata):
    spec = {"selector": selector or {}, "domain": domain or {"cpu": {"cores": 2}, "devices": {}}}
    return thing("kubevirt.io/v1", "VirtualMachineInstancePreset", name, spec, **metadata)


def with_labels(template, **labels):
    template["spec"]["template"]["metadata"] = {"labels": labels}
    return template


SMALL = {"matchLabels": {"size": "small"}}


def test_labels_of_the_vm_itself_are_none_of_its_instance():
    assert [found[2:] for found in said("unused-preset", preset(selector=SMALL), machine(labels={"size": "small"}))] == [
        (
            "spec.selector",
            "this selector matches the labels of no instance in the bundle; correct it, or delete the preset",
        )
    ]


@pytest.mark.parametrize(
    "instance",
    [
        with_labels(machine(), size="small"),
        pool(with_labels(machine(), size="small")),
        thing("kubevirt.io/v1", "VirtualMachineInstance", "i", {"domain": {"devices": {}}}, labels={"size": "small"}),
        thing(
            "kubevirt.io/v1",
            "VirtualMachineInstanceReplicaSet",
            "r",
            {"template": {"metadata": {"labels": {"size": "small"}}, "spec": {"domain": {"devices": {}}}}},
        ),
    ],
)
def test_a_preset_that_some_instance_takes_is_used(instance):
    assert about("unused-preset", preset(selector=SMALL), instance) == []


@pytest.mark.parametrize(("operator", "found"), [("Exists", []), ("DoesNotExist", [("info", "p")])])
def test_expressions_of_a_selector_count(operator, found):
    selector = {"matchExpressions": [{"key": "size", "operator": operator}]}
    assert about("unused-preset", preset(selector=selector), with_labels(machine(), size="small")) == found


def test_a_preset_that_changes_none_is_not():
    given = with_labels(machine(), size="small")
    idle = preset(selector=SMALL, domain={"memory": {"guest": "1Gi"}, "devices": {}})
    assert [found[2] for found in said("unused-preset", idle, given)] == ["spec.domain"]
    assert about("unused-preset", idle, given, presets="ignore") == []


def test_a_namespace_without_instances_is_passed_over():
    assert about("unused-preset", preset(selector=SMALL), machine(namespace="lab")) == []


def test_a_selector_of_no_form_is_passed_over():
    assert about("unused-preset", preset(selector={"matchExpressions": [{"key": "a"}]}), machine()) == []


def revision(owner=False, labelled=True):
    metadata = {"name": "r"}
    metadata |= {"labels": {f"{GROUP}/object-version": "v1beta1"}} if labelled else {}
    metadata |= {"ownerReferences": [{"kind": "VirtualMachine", "name": "web", "uid": "u"}]} if owner else {}
    data = instancetype("small")
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": data, "revision": 0}


def pinned():
    given = vm(instancetype="small")
    given["spec"]["instancetype"]["revisionName"] = "r"
    return given


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (revision(), []),
        (revision(owner=True), [("warning", "web")]),
        (revision(labelled=False), [("warning", "web")]),
    ],
)
def test_a_pin_to_a_revision_of_a_cluster_is_told(stored, found):
    assert about("copied-revision", stored, pinned()) == found


def test_up_to_1_4_the_cluster_itself_wrote_the_pin():
    assert about("copied-revision", revision(owner=True), pinned(), kubevirtVersion="1.4") == []


def test_a_revision_that_the_status_names_is_as_it_should_be():
    given = vm(instancetype="small")
    given["status"] = {"instancetypeRef": {"name": "small", "controllerRevisionRef": {"name": "r"}}}
    assert about("copied-revision", revision(owner=True), given) == []


def policy(value, *gates):
    return {"instancetype": {"referencePolicy": value}, "developerConfiguration": {"featureGates": list(gates)}}


def expanding(configuration, *vms, release="1.9"):
    items = (instancetype("small"), *vms)
    return said("expanding-reference-policy", *items, configuration=configuration, kubevirtVersion=release)


@pytest.mark.parametrize("value", ["expand", "expandAll"])
def test_a_policy_that_expands_is_told_once(value):
    fact = "2 VMs refer to instancetypes or preferences, which the cluster replaces"
    message = f"{fact}; apply rendered VMs, or set the policy to reference"
    given = vm(instancetype="small"), vm("db", instancetype="small")
    assert [(severity, text) for severity, *_, text in expanding(policy(value), *given)] == [("warning", message)]


@pytest.mark.parametrize(
    ("release", "gates", "count"),
    [("1.4", (), 0), ("1.5", (), 0), ("1.5", ("InstancetypeReferencePolicy",), 1), ("1.6", (), 1)],
)
def test_up_to_1_5_the_policy_needs_its_gate(release, gates, count):
    assert len(expanding(policy("expandAll", *gates), vm(instancetype="small"), release=release)) == count


def test_references_that_stay_or_are_none_are_fine():
    assert expanding(policy("reference"), vm(instancetype="small")) == []
    assert expanding(policy("expandAll"), vm()) == []


def deprecated(*items, **spec):
    return [found[3] for found in said("deprecated-field", *items, **spec)]


def test_running_is_deprecated_in_vms_and_pools():
    given = vm()
    given["spec"]["running"] = given["spec"].pop("runStrategy") == "Always"
    message = "running is deprecated; write runStrategy: Always for true, Halted for false instead"
    assert deprecated(given, pool(given)) == [message, message]


def test_a_value_that_is_deprecated_is_told_with_what_it_becomes():
    kind = "VirtualMachinePreference"
    given = thing(f"{GROUP}/v1beta1", kind, "p", {"cpu": {"preferredCPUTopology": "preferSpread"}})
    assert deprecated(given) == ["preferredCPUTopology 'preferSpread' is deprecated; write spread instead"]
    assert deprecated(thing(f"{GROUP}/v1beta1", kind, "p", {"cpu": {"preferredCPUTopology": "spread"}})) == []


def test_what_1_4_deprecates_is_not_deprecated_before():
    given = vm()
    given["spec"]["running"] = given["spec"].pop("runStrategy") == "Always"
    spread = thing(f"{GROUP}/v1beta1", "VirtualMachinePreference", "p", {"cpu": {"preferredCPUTopology": "preferSpread"}})
    assert {release: len(deprecated(given, spread, kubevirtVersion=release)) for release in ("1.0", "1.3", "1.4")} == {
        "1.0": 0,
        "1.3": 0,
        "1.4": 2,
    }


@pytest.mark.parametrize(("release", "paths"), [("1.1", 2), ("1.2", 4), ("1.3", 5)])
def test_settings_are_deprecated_from_their_release_on(release, paths):
    machines = {"emulatedMachines": ["q35*"], "machineType": "q35", "ovmfPath": "/x"}
    others = {"supportedGuestAgentVersions": ["4"], "network": {"permitSlirpInterface": True}}
    given = thing("kubevirt.io/v1", "KubeVirt", "kubevirt", {"configuration": {**machines, **others}})
    assert len(deprecated(given, kubevirtVersion=release)) == paths


@pytest.mark.parametrize(("release", "count"), [("1.8", 0), ("1.9", 1)])
def test_launch_security_of_an_instancetype_is_deprecated_from_1_9_on(release, count):
    given = instancetype()
    given["spec"]["launchSecurity"] = {"sev": {}}
    assert len(deprecated(given, kubevirtVersion=release)) == count


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
@pytest.mark.parametrize("kind", ["VirtualMachineInstancetype", "VirtualMachineClusterPreference"])
def test_the_alpha_versions_are_deprecated_while_they_are_served(version, kind):
    given = thing(f"{GROUP}/{version}", kind, "p", {})
    message = f"{GROUP}/{version} is deprecated and removed in KubeVirt 1.6; write {GROUP}/v1beta1 instead"
    assert {release: deprecated(given, kubevirtVersion=release) for release in ("1.4", "1.5", "1.6")} == {
        "1.4": [message],
        "1.5": [message],
        "1.6": [],
    }
    assert deprecated(thing(f"{GROUP}/v1beta1", kind, "p", {}), kubevirtVersion="1.4") == []


@pytest.mark.parametrize(("release", "count"), [("1.4", 0), ("1.5", 2)])
def test_the_flat_switches_of_efi_are_deprecated_from_1_5_on(release, count):
    firmware = {"preferredUseEfi": True, "preferredUseSecureBoot": False}
    given = thing(f"{GROUP}/v1beta1", "VirtualMachinePreference", "p", {"firmware": firmware})
    assert len(deprecated(given, kubevirtVersion=release)) == count


@pytest.mark.parametrize("binding", ["macvtap", "passt"])
def test_bindings_are_deprecated_in_1_2_and_refused_from_1_3_on(binding):
    interfaces = [{"name": "a", "bridge": {}}, {"name": "b", binding: {}}]
    given = machine(interfaces=interfaces, networks=[{"name": name, "pod": {}} for name in "ab"])
    found = {release: said("deprecated-field", given, kubevirtVersion=release) for release in ("1.1", "1.2", "1.3")}
    path = f"spec.template.spec.domain.devices.interfaces[1].{binding}"
    message = f"{binding} is deprecated and removed in KubeVirt 1.3; write binding with a network binding plugin instead"
    assert found == {"1.1": [], "1.2": [("warning", "web", path, message)], "1.3": []}


def test_every_item_of_a_list_is_looked_at():
    nodes = [{"mediatedDevicesTypes": ["a"]}, {"mediatedDeviceTypes": ["b"]}, {"mediatedDevicesTypes": ["c"]}]
    configuration = {"mediatedDevicesConfiguration": {"nodeMediatedDeviceTypes": nodes}}
    given = thing("kubevirt.io/v1", "KubeVirt", "kubevirt", {"configuration": configuration})
    place = "spec.configuration.mediatedDevicesConfiguration.nodeMediatedDeviceTypes"
    assert [found[2] for found in said("deprecated-field", given)] == [
        f"{place}[0].mediatedDevicesTypes",
        f"{place}[2].mediatedDevicesTypes",
    ]


@pytest.mark.parametrize(
    ("name", "rule", "since"),
    [("e" * 64, "name-too-long", "1.4"), ("e" * 53, "name-too-long", "1.7"), ("web.friday", "invalid-name", "1.5.3")],
)
def test_an_export_stays_pending_by_its_name_up_to_a_release(name, rule, since):
    export = thing(
        "export.kubevirt.io/v1beta1", "VirtualMachineExport", name, {"source": {"kind": "VirtualMachine", "name": "a"}}
    )
    releases = ("1.0", "1.3", "1.4", "1.5.2", "1.5.3", "1.6", "1.7", "1.9")
    found = [release for release in releases if about(rule, export, kubevirtVersion=release)]
    assert found == list(releases[: releases.index(since)])
    assert about(rule, export, kubevirtVersion="1.0") == [("error", name)]


@pytest.mark.parametrize("name", ["e" * 63, "e" * 52, "e" * 54, "w." + "e" * 60, "web"])
def test_other_names_of_exports_are_fine_in_every_release(name):
    export = thing(
        "export.kubevirt.io/v1beta1", "VirtualMachineExport", name, {"source": {"kind": "VirtualMachine", "name": "a"}}
    )
    assert [about(rule, export, kubevirtVersion="1.0") for rule in ("name-too-long", "invalid-name")] == [[], []]
