"""Old kinds and forms as the function renders them: flavors, replica sets, OfflineVirtualMachines, and their findings."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt import releases
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages

FLAVOR = "flavor.kubevirt.io/v1alpha1"


def obj(api_version, kind, name, **more):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def flavor(name="small", *, kind="VirtualMachineFlavor", **more):
    return obj(FLAVOR, kind, name, **more)


def old_preference(spec, name="pref"):
    return obj(FLAVOR, "VirtualMachinePreference", name, spec=spec)


def vm(domain=None, **spec):
    template = {"spec": {"domain": {"devices": {}} if domain is None else domain}}
    return obj("kubevirt.io/v1", "VirtualMachine", "web", spec={**spec, "template": template})


SMALL = {"kind": "VirtualMachineFlavor", "name": "small"}
PREF = {"kind": "VirtualMachinePreference", "name": "pref"}
SPEC = {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}


def outcome(*items, release="1.9", **config):
    return stages.render(list(items), Config(release=releases.parse(release), **config))


def rendered(*items, **config):
    """The VM's spec as it leaves; it comes last."""
    return outcome(*items, **config).items[len(items) - 1]["spec"]


def domain(*items, **config):
    return rendered(*items, **config)["template"]["spec"]["domain"]


def errors(*items, **config):
    return [(f.rule, f.path, f.message) for f in outcome(*items, **config).findings if f.severity == "error"]


def test_a_flavor_of_0_54_is_written_into_the_vm_and_its_matcher_goes():
    found = rendered(flavor(spec=SPEC), vm(flavor=SMALL))
    assert "flavor" not in found
    assert found["template"]["spec"]["domain"]["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}
    assert found["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}


def test_all_parts_of_a_flavor_are_written():
    spec = {
        "cpu": {"guest": 1, "model": "host-model", "dedicatedCPUPlacement": True, "isolateEmulatorThread": True, "numa": {}},
        "memory": {"guest": "1024Mi", "hugepages": {"pageSize": "2Mi"}},
        "ioThreadsPolicy": "auto",
        "launchSecurity": {"sev": {}},
        "gpus": [{"name": "g", "deviceName": "d"}],
        "hostDevices": [{"name": "h", "deviceName": "d"}],
    }
    found = domain(flavor(spec=spec), vm(flavor=SMALL))
    assert found["cpu"] == {
        "sockets": 1,
        "cores": 1,
        "threads": 1,
        "model": "host-model",
        "dedicatedCpuPlacement": True,
        "isolateEmulatorThread": True,
        "numa": {},
    }
    assert found["memory"] == {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}
    assert (found["ioThreadsPolicy"], found["launchSecurity"]) == ("auto", {"sev": {}})
    assert found["devices"]["gpus"] == [{"name": "g", "deviceName": "d"}]
    assert found["devices"]["hostDevices"] == [{"name": "h", "deviceName": "d"}]


def test_huge_pages_without_memory_are_not_looked_at():
    spec = {"cpu": {"guest": 1}, "memory": {"hugepages": {"pageSize": "2Mi"}}}
    assert "hugepages" not in domain(flavor(spec=spec), vm(flavor=SMALL)).get("memory", {})


def test_a_flavor_of_0_53_is_a_domains_own_cpu():
    spec = {"cpu": {"cores": 2, "threads": 2, "features": [{"name": "vmx"}]}}
    assert domain(flavor(spec=spec), vm(flavor=SMALL))["cpu"] == spec["cpu"]


PROFILES = [{"name": "a", "cpu": {"cores": 1}}, {"name": "b", "default": True, "cpu": {"cores": 2}}, {"name": "c"}]


@pytest.mark.parametrize(("profile", "cores"), [("", 2), (None, 2), ("a", 1), ("b", 2)])
def test_of_profiles_the_named_one_or_the_default_counts(profile, cores):
    assert domain(flavor(profiles=PROFILES), vm(flavor={**SMALL, "profile": profile}))["cpu"] == {"cores": cores}


def test_a_profile_without_a_cpu_changes_nothing():
    assert domain(flavor(profiles=PROFILES), vm({"cpu": {"cores": 3}, "devices": {}}, flavor={**SMALL, "profile": "c"}))[
        "cpu"
    ] == {"cores": 3}


def test_an_unknown_profile_is_reported_with_the_existing_ones():
    assert errors(flavor(profiles=PROFILES), vm(flavor={**SMALL, "profile": "d"})) == [
        (
            "unresolved-flavor",
            ("spec", "flavor", "profile"),
            "VirtualMachineFlavor small has no profile d; use a, b or c",
        )
    ]


def test_profiles_without_a_default_ask_for_a_name():
    assert errors(flavor(profiles=PROFILES[:1]), vm(flavor=SMALL)) == [
        (
            "unresolved-flavor",
            ("spec", "flavor"),
            "VirtualMachineFlavor small has no default profile; set spec.flavor.profile to a",
        )
    ]


@pytest.mark.parametrize("kind", ["VirtualMachineFlavor", "virtualmachineflavor", "virtualmachineflavors"])
def test_a_namespaced_flavor_is_named_in_any_case(kind):
    wide = flavor(kind="VirtualMachineClusterFlavor", spec={"cpu": {"guest": 9}})
    assert domain(wide, flavor(spec=SPEC), vm(flavor={"name": "small", "kind": kind}))["cpu"]["sockets"] == 2


@pytest.mark.parametrize("kind", [None, "", "VirtualMachineClusterFlavor", "virtualmachineclusterflavors"])
def test_no_kind_is_the_cluster_flavor(kind):
    wide = flavor(kind="VirtualMachineClusterFlavor", spec={"cpu": {"guest": 9}})
    assert domain(flavor(spec=SPEC), wide, vm(flavor={"name": "small", "kind": kind}))["cpu"]["sockets"] == 9


def test_an_unknown_flavor_is_reported_with_the_nearest_name():
    assert errors(flavor(spec=SPEC), vm(flavor={**SMALL, "name": "smal"})) == [
        (
            "unresolved-flavor",
            ("spec", "flavor", "name"),
            "VirtualMachineFlavor default/smal is not found; use small, or add it to the bundle",
        )
    ]


def test_an_instancetype_is_no_flavor():
    other = obj("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype", "small", spec=SPEC)
    assert [rule for rule, _, _ in errors(other, vm(flavor=SMALL))] == ["unresolved-flavor"]


@pytest.mark.parametrize(
    "own", [{"cpu": {}}, {"cpu": {"model": "host-model"}}, {"memory": {}}, {"memory": {"maxGuest": "2Gi"}}]
)
def test_any_cpu_or_memory_of_the_vm_clashes_with_a_flavor(own):
    assert [path[-1] for _, path, _ in errors(flavor(spec=SPEC), vm({**own, "devices": {}}, flavor=SMALL))] == list(own)


def test_requests_and_limits_clash_with_no_flavor():
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    found = domain(flavor(spec=SPEC), vm({"devices": {}, "resources": resources}, flavor=SMALL))
    assert found["resources"] == resources
    assert found["memory"]["guest"] == "1Gi"


def test_memory_clashes_with_no_flavor_that_has_none():
    found = domain(flavor(spec={"cpu": {"guest": 2}}), vm({"devices": {}, "memory": {"guest": "3Gi"}}, flavor=SMALL))
    assert found["memory"]["guest"] == "3Gi"


def test_a_clash_names_the_place_in_the_profile_and_no_webhook():
    found = outcome(flavor(profiles=PROFILES), vm({"devices": {}, "cpu": {"cores": 4}}, flavor=SMALL)).findings[0]
    assert (found.rule, found.upstream) == ("instancetype-conflict", "")
    assert "profiles[1].cpu" in found.message


def test_the_topology_is_the_preferences():
    preference = old_preference({"cpu": {"preferredCPUTopology": "preferThreads"}})
    found = domain(preference, flavor(spec=SPEC), vm(flavor=SMALL, preference=PREF))
    assert found["cpu"] == {"sockets": 1, "cores": 1, "threads": 2}


def test_a_preference_beside_flavors_does_nothing_where_it_is_false():
    preference = old_preference({"devices": {"preferredAutoattachGraphicsDevice": False, "preferredDisableHotplug": False}})
    found = domain(preference, flavor(spec=SPEC), vm({"devices": {"disableHotplug": True}}, flavor=SMALL, preference=PREF))
    assert found["devices"]["disableHotplug"] is True
    assert "autoattachGraphicsDevice" not in found["devices"]


def test_a_preference_beside_flavors_is_found_without_a_flavor_too():
    preference = old_preference({"devices": {"preferredAutoattachGraphicsDevice": True}})
    assert domain(preference, vm(preference=PREF))["devices"]["autoattachGraphicsDevice"] is True


def test_with_a_flavor_the_preference_of_its_group_goes_first():
    now = obj("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", "pref", spec={"preferredSubdomain": "now"})
    then = old_preference({"devices": {"preferredRng": {}}})
    assert domain(now, then, flavor(spec=SPEC), vm(flavor=SMALL, preference=PREF))["devices"]["rng"] == {}
    assert rendered(now, then, vm(preference=PREF))["template"]["spec"]["subdomain"] == "now"


def test_beside_an_instancetype_the_flavor_means_nothing_and_goes():
    found = rendered(flavor(spec=SPEC), vm(flavor=SMALL, instancetype={"name": "u1.medium"}))
    assert "flavor" not in found
    assert found["template"]["spec"]["domain"]["memory"]["guest"] == "4Gi"


@pytest.mark.parametrize("release", ["1.6", "1.9"])
def test_what_0_55_stored_of_a_flavor_is_read_in_every_release(release):
    spec = "eyJjcHUiOnsiZ3Vlc3QiOjF9LCJtZW1vcnkiOnsiZ3Vlc3QiOiIxMjhNaSJ9fQ=="
    stored = obj("apps/v1", "ControllerRevision", "r", data={"apiVersion": FLAVOR, "spec": spec}, revision=0)
    assert domain(stored, vm(flavor={**SMALL, "revisionName": "r"}), release=release)["memory"]["guest"] == "128Mi"


def test_a_flavors_revision_may_hold_what_a_later_release_stored():
    payload = obj("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype", "small", spec=SPEC)
    stored = obj("apps/v1", "ControllerRevision", "r", data=payload, revision=0)
    assert domain(stored, vm(flavor={**SMALL, "revisionName": "r"}))["memory"]["guest"] == "1Gi"


def test_the_vm_template_of_a_pool_takes_its_flavor():
    template = {"spec": {"flavor": SMALL, "template": {"spec": {"domain": {"devices": {}}}}}}
    pool = obj("pool.kubevirt.io/v1alpha1", "VirtualMachinePool", "pool", spec={"virtualMachineTemplate": template})
    found = outcome(flavor(spec=SPEC), pool).items[1]["spec"]["virtualMachineTemplate"]["spec"]
    assert "flavor" not in found
    assert found["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}


def test_the_instance_of_a_vm_with_a_flavor_is_named_after_it():
    found = outcome(flavor(spec=SPEC), vm(flavor=SMALL), instances="include").items[2]
    assert found["metadata"]["annotations"]["kubevirt.io/flavor-name"] == "small"
    assert found["spec"]["domain"]["cpu"]["sockets"] == 2


def test_a_snapshot_leaves_flavors_alone():
    machine = vm(flavor=SMALL)
    assert outcome(flavor(spec=SPEC), machine, mode="snapshot").items[1:] == [machine]


@pytest.mark.parametrize("written", ["small", 7, [], ["small"], {}, {"name": 7}, {"name": ""}, {"name": {}, "profile": []}])
def test_a_flavor_matcher_of_any_shape_is_an_error_of_the_vm(written):
    assert [rule for rule, _, _ in errors(flavor(spec=SPEC), vm(flavor=written))] == ["bad-matcher"]


@pytest.mark.parametrize("spec", [None, "text", 7, [], {"cpu": "text"}, {"cpu": {"guest": "two"}, "memory": []}])
def test_flavors_of_any_shape_are_taken(spec):
    assert outcome(flavor(spec=spec), vm(flavor=SMALL)).items


@pytest.mark.parametrize("profiles", [None, "text", [], [None, "a", {"name": []}]])
def test_profiles_of_any_shape_are_taken(profiles):
    assert outcome(flavor(profiles=profiles), vm(flavor={**SMALL, "profile": "a"})).items


def preset(api_version="kubevirt.io/v1", kind="VirtualMachineInstancePreset", **parts):
    spec = {"selector": {"matchLabels": {"a": "b"}}, "domain": parts or {"cpu": {"cores": 4}, "firmware": {"serial": "s"}}}
    return obj(api_version, kind, "four", spec=spec)


def template_of(labels):
    return {"metadata": {"labels": labels}, "spec": {"domain": {"devices": {}}}}


def folded(preset, owner, key="template", **config):
    return outcome(preset, owner, presets="fold", **config).items[1]["spec"][key]


@pytest.mark.parametrize("version", ["v1", "v1alpha3"])
def test_a_replica_sets_template_takes_presets_with_their_firmware(version):
    owner = obj(
        f"kubevirt.io/{version}", "VirtualMachineInstanceReplicaSet", "many", spec={"template": template_of({"a": "b"})}
    )
    found = folded(preset(), owner)
    assert found["metadata"]["annotations"] == {"virtualmachinepreset.kubevirt.io/four": "kubevirt.io/v1"}
    assert found["spec"]["domain"] == {"devices": {}, "cpu": {"cores": 4}, "firmware": {"serial": "s"}}


def test_the_first_replica_sets_take_the_first_presets():
    owner = obj("kubevirt.io/v1alpha1", "VirtualMachineReplicaSet", "many", spec={"template": template_of({"a": "b"})})
    found = folded(preset("kubevirt.io/v1alpha1", "VirtualMachinePreset"), owner)
    assert found["metadata"]["annotations"] == {"virtualmachinepreset.kubevirt.io/four": "kubevirt.io/v1alpha1"}
    assert found["spec"]["domain"]["firmware"] == {"serial": "s"}


@pytest.mark.parametrize("key", ["template", "Template"])
def test_an_offline_vm_takes_presets_without_their_firmware(key):
    owner = obj("kubevirt.io/v1alpha1", "OfflineVirtualMachine", "off", spec={key: template_of({"a": "b"})})
    found = folded(preset("kubevirt.io/v1alpha1", "VirtualMachinePreset"), owner, key)
    assert found["spec"]["domain"] == {"devices": {}, "cpu": {"cores": 4}}


@pytest.mark.parametrize("presets", ["instance", "ignore"])
def test_owners_stay_where_presets_are_not_folded(presets):
    owner = obj("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", "many", spec={"template": template_of({"a": "b"})})
    assert outcome(preset(), owner, presets=presets).items[1] is owner


def test_an_owners_own_labels_do_not_count():
    owner = obj("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", "many", spec={"template": template_of({})})
    owner["metadata"]["labels"] = {"a": "b"}
    assert outcome(preset(), owner, presets="fold").items[1] is owner


def test_a_clash_with_a_replica_sets_template_names_the_place():
    own = template_of({"a": "b"})
    own["spec"]["domain"]["firmware"] = {"serial": "t"}
    owner = obj("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", "many", spec={"template": own})
    paths = [finding.path for finding in outcome(preset(), owner, presets="fold").findings]
    assert ("spec", "template", "spec", "domain", "firmware") in paths


def test_the_first_virtual_machine_is_an_instance_and_only_that_one():
    first = obj("kubevirt.io/v1alpha1", "VirtualMachine", "one", spec={"domain": {"devices": {}}})
    first["metadata"]["labels"] = {"a": "b"}
    later = {**first, "apiVersion": "kubevirt.io/v1alpha2"}
    old_preset = preset("kubevirt.io/v1alpha1", "VirtualMachinePreset")
    assert outcome(old_preset, first, defaults="none").items[1]["spec"]["domain"]["cpu"] == {"cores": 4}
    assert outcome(old_preset, preset("kubevirt.io/v1alpha2"), later).items[2] is later


def test_a_vm_of_v1alpha1_with_a_template_is_a_vm():
    machine = {**vm(instancetype={"name": "u1.medium"}), "apiVersion": "kubevirt.io/v1alpha1"}
    assert domain(machine)["memory"]["guest"] == "4Gi"


def messages(item, rule, release="1.9"):
    return [f.message for f in outcome(item, release=release).findings if f.rule == rule]


INSTANCETYPE = "instancetype.kubevirt.io"


@pytest.mark.parametrize(
    ("api_version", "kind", "release", "word"),
    [
        (f"{INSTANCETYPE}/v1alpha1", "VirtualMachineInstancetype", "1.6", f"{INSTANCETYPE}/v1beta1"),
        (f"{INSTANCETYPE}/v1alpha2", "VirtualMachineClusterPreference", "1.9", f"{INSTANCETYPE}/v1beta1"),
        ("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "1.6", "pool.kubevirt.io/v1alpha1"),
        ("kubevirt.io/v1alpha2", "VirtualMachine", "1.9", "kubevirt.io/v1"),
        ("kubevirt.io/v1alpha2", "VirtualMachineInstancePreset", "1.9", "kubevirt.io/v1"),
        ("kubevirt.io/v1alpha1", "OfflineVirtualMachine", "1.9", "VirtualMachine in kubevirt.io/v1"),
        ("kubevirt.io/v1alpha1", "VirtualMachineReplicaSet", "1.4", "VirtualMachineInstanceReplicaSet in kubevirt.io/v1"),
        ("kubevirt.io/v1alpha1", "VirtualMachinePreset", "1.9", "VirtualMachineInstancePreset in kubevirt.io/v1"),
        (FLAVOR, "VirtualMachineFlavor", "1.4", f"VirtualMachineInstancetype in {INSTANCETYPE}/v1beta1"),
        (FLAVOR, "VirtualMachineClusterPreference", "1.4", f"{INSTANCETYPE}/v1beta1"),
    ],
)
def test_a_kind_that_a_release_does_not_serve_is_reported_with_its_successor(api_version, kind, release, word):
    (message,) = messages(obj(api_version, kind, "a", spec={}), "unserved-api-version", release)
    assert message.endswith(f"does not serve {kind} in {api_version}; `kubevirt-render migrate` converts it to {word}")


def test_the_first_virtual_machine_became_an_instance():
    (message,) = messages(
        obj("kubevirt.io/v1alpha1", "VirtualMachine", "a", spec={"domain": {"devices": {}}}), "unserved-api-version"
    )
    assert message.endswith("converts it to VirtualMachineInstance in kubevirt.io/v1")


@pytest.mark.parametrize(
    ("api_version", "kind", "release"),
    [
        (f"{INSTANCETYPE}/v1alpha1", "VirtualMachineInstancetype", "1.5"),
        (f"{INSTANCETYPE}/v1beta1", "VirtualMachineInstancetype", "1.9"),
        ("pool.kubevirt.io/v1alpha1", "VirtualMachinePool", "1.9"),
        ("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "1.7"),
        ("kubevirt.io/v1alpha3", "VirtualMachine", "1.9"),
        ("kubevirt.io/v1", "KubeVirt", "1.9"),
        ("example.com/v1alpha1", "VirtualMachineFlavor", "1.9"),
        ("v1", "ConfigMap", "1.9"),
    ],
)
def test_a_kind_that_a_release_serves_is_not_reported(api_version, kind, release):
    assert messages(obj(api_version, kind, "a", spec={}), "unserved-api-version", release) == []


def test_removed_fields_are_reported_if_the_release_accepts_the_object():
    machine = vm({"devices": {"disks": [{"name": "a", "volumeName": "b"}, {"name": "c", "floppy": {}}]}}, flavor=SMALL)
    machine["spec"]["liveUpdateFeatures"] = {"cpu": {"maxSockets": 4}}
    machine["spec"]["template"]["spec"]["volumes"] = [{"name": "b", "registryDisk": {"image": "i"}}]
    machine["spec"]["template"]["spec"]["networks"] = [{"name": "n", "genie": {"networkName": "n"}}]
    found = [f.path for f in outcome(machine).findings if f.rule == "removed-field"]
    spec = ("spec", "template", "spec")
    assert found == [
        ("spec", "flavor"),
        ("spec", "liveUpdateFeatures"),
        (*spec, "domain", "devices", "disks", 0, "volumeName"),
        (*spec, "domain", "devices", "disks", 1, "floppy"),
        (*spec, "networks", 0, "genie"),
        (*spec, "volumes", 0, "registryDisk"),
    ]
    assert messages({**machine, "apiVersion": "kubevirt.io/v1alpha2"}, "removed-field") == []
