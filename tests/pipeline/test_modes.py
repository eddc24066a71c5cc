"""What leaves in each mode."""

import copy

import pytest
from functions import instancetype, run, told, vm


def domain(item):
    return item["spec"]["template"]["spec"]["domain"]


def test_expand_applies_what_the_vm_refers_to_and_drops_the_reference():
    (_, rendered), results = run(instancetype(), vm(instancetype="small"))
    assert "instancetype" not in rendered["spec"]
    assert domain(rendered)["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}
    assert domain(rendered)["memory"] == {"guest": "2Gi"}
    assert results == []


def test_a_vm_without_references_is_the_same_object_as_before():
    given = vm()
    (left,), _ = run(given)
    assert left is given


def test_a_vm_that_cannot_be_rendered_does_not_change_and_hides_no_other():
    broken, sound = vm("broken", instancetype="smal"), vm("sound", instancetype="small")
    (_, left, rendered), results = run(instancetype(), broken, sound)
    assert left is broken
    assert "instancetype" not in rendered["spec"]
    assert told(results) == [("unresolved-instancetype", "error", "broken", "spec.instancetype.name")]
    assert results[0]["field"]["proposedValue"] == "small"


def test_validate_changes_no_item():
    items = [instancetype(), vm(instancetype="small"), vm("broken", instancetype="smal")]
    left, results = run(*items, mode="validate")
    assert all(mine is theirs for mine, theirs in zip(left, items, strict=True))
    assert [result["severity"] for result in results] == ["error"]


def test_annotate_keeps_the_reference_and_writes_sizes_and_names():
    given = vm(instancetype="small")
    (_, left), _ = run(instancetype(memory="1536Mi"), given, mode="annotate")
    assert left["spec"] == given["spec"]
    assert left["metadata"]["annotations"] == {
        "kubevirt-render.dev/instancetype": "VirtualMachineInstancetype/small",
        "kubevirt-render.dev/vcpus": "2",
        "kubevirt-render.dev/memory": "1536Mi",
    }


def test_annotating_twice_changes_nothing_more():
    once, _ = run(instancetype(), vm(instancetype="small"), mode="annotate")
    twice, _ = run(*once, mode="annotate")
    assert twice == once


def test_annotate_replaces_inference_by_what_it_leads_to():
    volume = {"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}
    given = vm()
    given["spec"]["instancetype"] = {"inferFromVolume": "root"}
    given["spec"]["template"]["spec"]["volumes"] = [volume]
    labels = {
        "instancetype.kubevirt.io/default-instancetype": "small",
        "instancetype.kubevirt.io/default-instancetype-kind": "VirtualMachineInstancetype",
    }
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk", "labels": labels}, "spec": {}}
    (*_, left), _ = run(instancetype(), claim, given, mode="annotate")
    assert left["spec"]["instancetype"] == {"name": "small", "kind": "VirtualMachineInstancetype"}


def test_provenance_names_what_a_vm_was_rendered_from():
    (_, rendered), _ = run(instancetype(), vm(instancetype="small"), provenance=True, kubevirtVersion="1.8.4")
    assert rendered["metadata"]["annotations"] == {
        "kubevirt-render.dev/instancetype": "VirtualMachineInstancetype/small",
        "kubevirt-render.dev/kubevirt-version": "1.8.4",
    }


@pytest.mark.parametrize("changed", [{"mode": "annotate"}, {"provenance": True}])
def test_annotations_name_the_revision_that_a_vm_is_pinned_to(changed):
    (_, revision, pinned), _ = run(instancetype(namespace="shop"), vm(instancetype="small", namespace="shop"), mode="snapshot")
    (_, left), _ = run(revision, pinned, **changed)
    notes = left["metadata"]["annotations"]
    assert notes["kubevirt-render.dev/instancetype"] == "VirtualMachineInstancetype/shop/small"
    assert notes["kubevirt-render.dev/instancetype-revision"] == revision["metadata"]["name"]
    assert "kubevirt-render.dev/preference-revision" not in notes


def test_snapshot_stores_what_is_referred_to_and_points_the_matcher_at_it():
    stored = instancetype(uid="11111111-2222-3333-4444-555555555555", generation=3, namespace="a", labels={"x": "y"})
    given = vm(instancetype="small", namespace="a", uid="66666666-2222-3333-4444-555555555555")
    (_, revision, left), _ = run(stored, given, mode="snapshot")
    name = "web-small-v1beta1-11111111-2222-3333-4444-555555555555-3"
    assert left["spec"]["instancetype"] == {"kind": "VirtualMachineInstancetype", "name": "small", "revisionName": name}
    assert revision == {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": "a",
            "labels": {
                "instancetype.kubevirt.io/object-generation": "3",
                "instancetype.kubevirt.io/object-kind": "VirtualMachineInstancetype",
                "instancetype.kubevirt.io/object-name": "small",
                "instancetype.kubevirt.io/object-uid": "11111111-2222-3333-4444-555555555555",
                "instancetype.kubevirt.io/object-version": "v1beta1",
            },
        },
        "data": {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": "VirtualMachineInstancetype",
            "metadata": {
                "name": "small",
                "namespace": "a",
                "uid": "11111111-2222-3333-4444-555555555555",
                "generation": 3,
            },
            "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
        },
        "revision": 0,
    }


@pytest.mark.parametrize("mode", ["annotate", "snapshot"])
@pytest.mark.parametrize("reference", [None, "small"])
@pytest.mark.parametrize(
    ("spec", "rule", "path"),
    [
        ({}, "missing-field", "spec.template.spec.domain"),
        ({"domain": None}, "missing-field", "spec.template.spec.domain"),
        ({"domain": "linux"}, "wrong-type", "spec.template.spec.domain"),
        ([], "wrong-type", "spec.template.spec"),
    ],
)
def test_a_vm_without_a_domain_is_not_handed_on_in_silence(mode, reference, spec, rule, path):
    given = vm(instancetype=reference)
    given["spec"]["template"]["spec"] = spec
    _, results = run(instancetype(), given, mode=mode)
    assert told(results) == [(rule, "error", "web", path)]
    assert results[0]["tags"]["upstream"] == "admission"


@pytest.mark.parametrize("mode", ["annotate", "snapshot"])
def test_a_pool_without_a_domain_is_not_handed_on_in_silence(mode):
    given = vm()
    template = {"spec": {**given["spec"], "template": {"spec": {}}}}
    pool = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "web"}}
    _, results = run({**pool, "spec": {"selector": {}, "virtualMachineTemplate": template}}, mode=mode)
    assert told(results) == [("missing-field", "error", "web", "spec.virtualMachineTemplate.spec.template.spec.domain")]


def test_expand_writes_the_domain_that_a_vm_with_a_reference_lacks():
    given = vm(instancetype="small")
    given["spec"]["template"]["spec"] = {}
    (_, rendered), results = run(instancetype(), given)
    assert domain(rendered)["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}
    assert results == []


def test_numbers_that_are_whole_are_read_as_integers():
    size, given = instancetype(cpu=4.0), vm(instancetype="small")
    size["spec"]["cpu"]["maxSockets"] = 8.0
    given["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = [{"name": "a", "bootOrder": 1.0}]
    before = copy.deepcopy([size, given])
    (_, rendered), results = run(size, given)
    assert domain(rendered)["cpu"] == {"sockets": 4, "cores": 1, "threads": 1, "maxSockets": 8}
    assert type(domain(rendered)["cpu"]["maxSockets"]) is int
    assert type(domain(rendered)["devices"]["disks"][0]["bootOrder"]) is int
    assert results == []
    assert repr([size, given]) == repr(before)


def test_without_a_uid_the_content_decides_the_name():
    first, _ = run(instancetype(), vm(instancetype="small"), mode="snapshot")
    again, _ = run(instancetype(), vm(instancetype="small"), mode="snapshot")
    other, _ = run(instancetype(cpu=4), vm(instancetype="small"), mode="snapshot")
    assert first == again
    assert first[1]["metadata"]["name"] != other[1]["metadata"]["name"]


def test_a_snapshot_of_a_snapshot_adds_nothing():
    once, _ = run(instancetype(), vm(instancetype="small"), mode="snapshot")
    twice, _ = run(*once, mode="snapshot")
    assert twice == once


def test_a_snapshotted_vm_renders_as_before_after_the_instancetype_changed_or_went():
    before, _ = run(instancetype(), vm(instancetype="small"))
    (_, revision, pinned), _ = run(instancetype(), vm(instancetype="small"), mode="snapshot")
    changed, _ = run(instancetype(cpu=8, memory="32Gi"), pinned, revision)
    gone, _ = run(pinned, revision)
    assert changed[1] == gone[0] == before[1]


def test_a_vm_pinned_to_an_older_form_is_reported_when_validating():
    (_, revision, pinned), _ = run(instancetype(), vm(instancetype="small"), mode="snapshot")
    _, results = run(instancetype(cpu=8), pinned, revision, mode="validate")
    assert told(results) == [("outdated-revision", "warning", "web", "spec.instancetype.revisionName")]


def test_no_secret_of_an_older_form_is_shown():
    def guarded(session):
        given = instancetype()
        given["spec"]["launchSecurity"] = {"sev": {"session": session}}
        return given

    (_, revision, pinned), _ = run(guarded("older"), vm(instancetype="small"), mode="snapshot")
    _, results = run(guarded("newer"), pinned, revision, mode="validate")
    (message,) = [result["message"] for result in results if result["tags"]["rule"] == "outdated-revision"]
    assert "launchSecurity.sev.session (hidden), now (hidden)" in message


def test_a_snapshot_takes_the_catalogue_too():
    given = vm()
    given["spec"]["instancetype"] = {"name": "u1.medium"}
    (revision, left), _ = run(given, mode="snapshot", catalogue="builtin")
    assert left["spec"]["instancetype"]["revisionName"] == revision["metadata"]["name"]
    assert revision["data"]["spec"] == {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}
    rendered, _ = run(left, revision)
    assert domain(rendered[0])["memory"] == {"guest": "4Gi"}


def test_the_template_of_a_pool_is_rendered_in_place():
    template = {key: copy.deepcopy(vm(instancetype="small")[key]) for key in ("metadata", "spec")}
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "pool"},
        "spec": {"replicas": 2, "virtualMachineTemplate": template},
    }
    (_, left), _ = run(instancetype(), pool)
    assert left["spec"]["replicas"] == 2
    assert domain(left["spec"]["virtualMachineTemplate"])["memory"] == {"guest": "2Gi"}
    assert "instancetype" not in left["spec"]["virtualMachineTemplate"]["spec"]


def test_findings_about_a_pool_have_the_path_from_its_root():
    template = {"spec": vm(instancetype="smal")["spec"]}
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "pool"},
        "spec": {"virtualMachineTemplate": template},
    }
    _, results = run(instancetype(), pool)
    path = "spec.virtualMachineTemplate.spec.instancetype.name"
    assert told(results) == [("unresolved-instancetype", "error", "pool", path)]


def test_vms_inside_a_list_are_rendered_where_they_are():
    bundle = {"apiVersion": "v1", "kind": "List", "items": [vm(instancetype="small"), instancetype()]}
    (left,), _ = run(bundle)
    assert left["kind"] == "List"
    assert domain(left["items"][0])["memory"] == {"guest": "2Gi"}
    assert left["items"][1] is bundle["items"][1]


def test_instances_are_added_at_the_end_and_marked_local():
    items, _ = run(
        instancetype(), vm("myvm", instancetype="small", namespace="a"), instancetype(namespace="a"), instances="include"
    )
    preview = items[3]
    assert (preview["kind"], preview["metadata"]["name"], preview["metadata"]["namespace"]) == (
        "VirtualMachineInstance",
        "myvm",
        "a",
    )
    assert preview["metadata"]["annotations"] == {
        "kubevirt.io/pci-topology-version": "v3",
        "config.kubernetes.io/local-config": "true",
        "kubevirt.io/instancetype-name": "small",
        "kubevirt-render.dev/instance-of": "VirtualMachine",
    }
    assert preview["spec"]["domain"]["firmware"] == {"uuid": "cdf77e9e-871b-5acb-a707-80ef3d4b9849"}


def test_previews_of_an_earlier_run_stay_as_they_are():
    once, _ = run(instancetype(), vm(instancetype="small"), instances="include")
    twice, _ = run(*once, instances="include")
    assert twice == once


PRESET = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstancePreset",
    "metadata": {"name": "four"},
    "spec": {"selector": {"matchLabels": {"size": "four"}}, "domain": {"cpu": {"cores": 4}}},
}


def labelled(given):
    given["spec"]["template"]["metadata"]["labels"] = {"size": "four"}
    return given


def test_presets_reach_bare_instances():
    bare = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "one", "labels": {"size": "four"}},
        "spec": {"domain": {"devices": {}}},
    }
    (_, left), _ = run(PRESET, bare)
    assert left["spec"]["domain"]["cpu"] == {"cores": 4}
    assert left["metadata"]["annotations"] == {"virtualmachinepreset.kubevirt.io/four": "kubevirt.io/v1"}


def test_presets_reach_a_vms_instance_and_not_the_vm():
    given = labelled(vm())
    (_, left, preview), _ = run(PRESET, given, instances="include")
    assert left is given
    assert preview["spec"]["domain"]["cpu"]["cores"] == 4


def test_folded_presets_stand_in_the_vms_template():
    (_, left), _ = run(PRESET, labelled(vm()), presets="fold")
    assert domain(left)["cpu"] == {"cores": 4}
    assert left["spec"]["template"]["metadata"]["annotations"] == {"virtualmachinepreset.kubevirt.io/four": "kubevirt.io/v1"}


def test_folding_comes_before_the_clusters_defaults():
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "linux"},
        "spec": {"preferredSubdomain": "x"},
    }
    (_, _, left), _ = run(PRESET, preference, labelled(vm(preference="linux")), presets="fold", defaults="cluster")
    assert domain(left)["cpu"] == {"cores": 4}
    assert domain(left)["machine"] == {"type": "q35"}


def test_ignored_presets_reach_nothing():
    given = labelled(vm())
    (_, left), results = run(PRESET, given, presets="ignore", instances="omit")
    assert left is given
    assert results == []
