"""Mode `snapshot`: what it stores, under which names, and where it leaves a VM alone."""

import copy
import io
import re

import pytest
from functions import instancetype, resource_list, run, told, vm

import krm_fn
from krm_fn.hosts import function
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.stored_revisions import revision_of

UID = "11111111-2222-3333-4444-555555555555"
PREFIX = "instancetype.kubevirt.io"
API_VERSION = f"{PREFIX}/v1beta1"


def preference(name="fedora", **spec):
    return {"apiVersion": API_VERSION, "kind": "VirtualMachinePreference", "metadata": {"name": name}, "spec": spec}


def revision(name, data, *, version="v1beta1", **metadata):
    labels = {f"{PREFIX}/object-version": version} if version else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": name, "labels": labels} | metadata,
        "data": data,
        "revision": 0,
    }


def pinned_to(name, **more):
    given = vm(instancetype="small", **more)
    given["spec"]["instancetype"]["revisionName"] = name
    return given


def in_status(machine, **names):
    """The VM whose status names revisions: `instancetype="some-revision"`."""
    refs = {
        f"{field}Ref": {
            "name": machine["spec"][field]["name"],
            "kind": machine["spec"][field]["kind"],
            "controllerRevisionRef": {"name": name},
        }
        for field, name in names.items()
    }
    return {**machine, "status": refs}


def snapshot(*items, **spec):
    return run(*items, mode="snapshot", **spec)


def of_kind(items, kind):
    return [item for item in items if item["kind"] == kind]


def pins(machine):
    return [machine["spec"].get(field, {}).get("revisionName") for field in ("instancetype", "preference")]


# ---- the name


def test_a_revision_of_that_name_with_another_spec_is_an_error_and_the_vm_is_left_alone():
    stored = instancetype(cpu=4, uid=UID, generation=1)
    given = vm(instancetype="small", uid="22222222-2222-3333-4444-555555555555")
    other = revision(f"web-small-v1beta1-{UID}-1", {**instancetype(cpu=1), "metadata": {"name": "small"}})
    left, results = snapshot(stored, other, given)
    assert left == [stored, other, given]
    assert told(results) == [("failed-snapshot", "error", "web", "spec.instancetype")]


def test_a_revision_of_that_name_that_holds_a_preference_is_an_error():
    stored = instancetype(uid=UID, generation=1)
    given = vm(instancetype="small", uid=UID)
    other = revision(f"web-small-v1beta1-{UID}-1", preference("small"))
    left, results = snapshot(stored, other, given)
    assert left == [stored, other, given]
    assert told(results) == [("failed-snapshot", "error", "web", "spec.instancetype")]


@pytest.mark.parametrize(
    "spec",
    [
        {"cpu": {"guest": 2}, "memory": {"guest": "2048Mi"}},
        {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, "gpus": [], "nodeSelector": {}, "schedulerName": ""},
    ],
)
def test_a_revision_of_that_name_with_the_same_spec_in_other_words_is_taken(spec):
    stored = instancetype(uid=UID, generation=1)
    given = vm(instancetype="small", uid=UID)
    other = revision(f"web-small-v1beta1-{UID}-1", {**instancetype(), "spec": spec})
    left, results = snapshot(stored, other, given)
    assert (left[:2], results) == ([stored, other], [])
    assert pins(left[2]) == [f"web-small-v1beta1-{UID}-1", None]


def test_the_name_changes_with_the_content_beside_a_uid_that_git_carries():
    names = set()
    for cpu in (2, 4):
        left, _ = snapshot(instancetype(cpu=cpu, uid=UID, generation=3), vm(instancetype="small"))
        (stored,) = of_kind(left, "ControllerRevision")
        names.add(stored["metadata"]["name"])
        assert UID not in str(stored)
    assert len(names) == 2


def test_objects_of_which_the_vm_has_a_uid_too_are_named_as_their_cluster_names_them():
    left, _ = snapshot(instancetype(uid=UID, generation=3), vm(instancetype="small", uid="2" * 8))
    (stored,) = of_kind(left, "ControllerRevision")
    assert stored["metadata"]["name"] == f"web-small-v1beta1-{UID}-3"


def test_the_name_changes_with_every_byte_of_the_data():
    names = []
    for more in ({}, {"generateName": "s-"}, {"generation": 2}, {"creationTimestamp": "2026-01-01T00:00:00Z"}):
        left, _ = snapshot(instancetype(**more), vm(instancetype="small"))
        names.append(of_kind(left, "ControllerRevision")[0]["metadata"]["name"])
    assert len(set(names)) == 4


def test_a_vm_whose_name_the_cluster_makes_up_is_pinned_to_a_revision_with_a_valid_name():
    given = vm(instancetype="small")
    given["metadata"] = {"generateName": "web-"}
    left, _ = snapshot(instancetype(), given)
    (stored,) = of_kind(left, "ControllerRevision")
    assert stored["metadata"]["name"].startswith("web-small-v1beta1-")


@pytest.mark.parametrize(
    ("machine", "name", "fits"), [("web", 63, True), ("web", 64, False), ("w" * 142, 63, True), ("w" * 143, 63, False)]
)
def test_a_name_that_the_api_server_refuses_is_an_error(machine, name, fits):
    stored = instancetype("s" * name)
    given = vm(machine, instancetype="s" * name)
    left, results = snapshot(stored, given)
    if fits:
        (made,) = of_kind(left, "ControllerRevision")
        assert len(made["metadata"]["name"]) <= 253
        assert max(map(len, made["metadata"]["labels"].values())) <= 63
    else:
        assert left == [stored, given]
        assert told(results) == [("failed-snapshot", "error", machine, "spec.instancetype")]


# ---- older revisions


ALPHA = {
    "apiVersion": f"{PREFIX}/v1alpha2",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "small", "uid": "u-1", "generation": 3},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
}


@pytest.mark.parametrize("release", ["1.4", "1.6"])
def test_an_older_revision_is_stored_again_and_the_vm_points_there(release):
    old = revision("old", ALPHA, version="")
    left, results = snapshot(old, pinned_to("old"), kubevirtVersion=release)
    kept, made = of_kind(left, "ControllerRevision")
    assert kept is old
    assert made["metadata"] == {
        "name": "web-small-v1beta1-u-1-3",
        "labels": {
            f"{PREFIX}/object-generation": "3",
            f"{PREFIX}/object-kind": "VirtualMachineInstancetype",
            f"{PREFIX}/object-name": "small",
            f"{PREFIX}/object-uid": "u-1",
            f"{PREFIX}/object-version": "v1beta1",
        },
    }
    assert made["data"] == {
        "apiVersion": API_VERSION,
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small", "uid": "u-1", "generation": 3},
        "spec": {
            "cpu": {"guest": 2, "model": "", "dedicatedCPUPlacement": False, "isolateEmulatorThread": False},
            "memory": {"guest": "2Gi"},
        },
    }
    (machine,) = of_kind(left, "VirtualMachine")
    assert (pins(machine), results) == (["web-small-v1beta1-u-1-3", None], [])


def test_the_oldest_form_is_stored_under_the_name_that_kubevirt_gives_it():
    spec = "eyJjcHUiOiB7Imd1ZXN0IjogMn0sICJtZW1vcnkiOiB7Imd1ZXN0IjogIjJHaSJ9fQ=="  # {"cpu": {"guest": 2}, "memory": …}
    old = revision("old", {"apiVersion": f"{PREFIX}/v1alpha1", "spec": spec}, version="")
    left, _ = snapshot(old, pinned_to("old"), kubevirtVersion="1.6")
    made = of_kind(left, "ControllerRevision")[-1] if len(of_kind(left, "ControllerRevision")) > 1 else old
    assert made["metadata"]["name"] == "web-old-version-of-instancetype-object-v1beta1--0"
    assert made["data"]["metadata"] == {"name": "old-version-of-instancetype-object"}


def test_an_older_revision_that_has_the_new_name_is_an_error():
    old = revision("web-small-v1beta1-u-1-3", {**ALPHA, "apiVersion": API_VERSION}, version="")
    given = pinned_to("web-small-v1beta1-u-1-3")
    left, results = snapshot(old, given)
    assert left == [old, given]
    assert told(results) == [("failed-snapshot", "error", "web", "spec.instancetype")]


# ---- halves


def test_a_revision_of_the_status_is_pinned_too():
    held = revision("held", instancetype(), version="v1beta1")
    held["metadata"]["labels"][f"{PREFIX}/object-name"] = "small"
    given = in_status(vm(instancetype="small", preference="fedora"), instancetype="held")
    left, _ = snapshot(held, preference(), given)
    (machine,) = of_kind(left, "VirtualMachine")
    first, second = pins(machine)
    assert first == "held"
    assert second.startswith("web-fedora-v1beta1-")


def test_quantities_are_stored_as_kubevirt_writes_them():
    left, _ = snapshot(instancetype(memory="0.5Gi"), vm(instancetype="small"))
    (made,) = of_kind(left, "ControllerRevision")
    assert made["data"]["spec"]["memory"] == {"guest": "512Mi"}


def test_without_its_status_a_snapshotted_vm_renders_as_with_it():
    held = revision("held", instancetype(cpu=8))
    held["metadata"]["labels"][f"{PREFIX}/object-name"] = "small"
    given = in_status(vm(instancetype="small"), instancetype="held")
    expected = of_kind(run(instancetype(), held, given)[0], "VirtualMachine")[0]["spec"]
    left, _ = snapshot(instancetype(), held, given)
    for machine in of_kind(left, "VirtualMachine"):
        del machine["status"]
    assert of_kind(run(*left)[0], "VirtualMachine")[0]["spec"] == expected


def test_one_half_that_fails_leaves_the_other_pinned_and_is_an_error():
    name = "p" * 64
    given = vm(instancetype="small", preference=name)
    left, results = snapshot(instancetype(), preference(name), given)
    (machine,) = of_kind(left, "VirtualMachine")
    (made,) = of_kind(left, "ControllerRevision")
    assert pins(machine) == [made["metadata"]["name"], None]
    assert told(results) == [("failed-snapshot", "error", "web", "spec.preference")]


@pytest.mark.parametrize("reference", [{}, {"name": "of-another"}])
def test_with_an_unresolved_reference_in_the_status_nothing_is_stored_as_in_a_cluster(reference):
    other = revision("of-another", instancetype("medium", cpu=8))
    given = vm(instancetype="small")
    matcher = given["spec"]["instancetype"]
    given["status"] = {"instancetypeRef": {**matcher, "controllerRevisionRef": reference}}
    left, results = snapshot(instancetype(), other, given)
    assert left[1:] == [other, given]
    assert told(results) == [("failed-snapshot", "warning", "web", "spec.instancetype")]


def test_to_1_4_a_reference_of_the_status_counts_for_nothing():
    given = in_status(vm(instancetype="small"), instancetype="")
    left, results = snapshot(instancetype(), given, kubevirtVersion="1.4")
    assert len(of_kind(left, "ControllerRevision")) == 1
    assert "failed-snapshot" not in [result["tags"]["rule"] for result in results]


@pytest.mark.parametrize("release", ["1.6", "1.7"])
def test_an_older_revision_that_the_status_names_and_kubevirt_cannot_upgrade_is_an_error(release):
    held = revision("web-small-v1beta1-u-1-3", ALPHA, version="")
    given = in_status(vm(instancetype="small"), instancetype="web-small-v1beta1-u-1-3")
    left, results = snapshot(instancetype(), held, given, kubevirtVersion=release)
    assert left[1:] == [held, given]
    assert told(results) == [("failed-snapshot", "error", "web", "spec.instancetype")]


@pytest.mark.parametrize("turn", [1, -1])
def test_a_shared_older_revision_is_stored_again_for_the_vm_whose_name_it_has(turn):
    name = "web-b-small-u-1-3"
    machines = [{**pinned_to(name), "metadata": {"name": each}} for each in ("web", "web-b", "a")]
    _, results = snapshot(*[revision(name, ALPHA, version=""), *machines][::turn], kubevirtVersion="1.6")
    assert sorted(each["resourceRef"]["name"] for each in results) == ["a", "web"]


def test_an_older_revision_is_stored_again_for_one_vm_and_is_missing_for_the_next_as_in_a_cluster():
    items = [revision("old", ALPHA, version=""), pinned_to("old"), {**pinned_to("old"), "metadata": {"name": "xeno"}}]
    left, results = snapshot(*items, kubevirtVersion="1.6")
    assert [pins(machine)[0] for machine in of_kind(left, "VirtualMachine")] == ["web-small-v1beta1-u-1-3", "old"]
    assert told(results) == [("failed-snapshot", "error", "xeno", "spec.instancetype")]


# ---- owners


def test_a_revision_has_no_owner_though_the_vm_has_a_uid():
    left, _ = snapshot(instancetype(), vm(instancetype="small", uid=UID))
    (made,) = of_kind(left, "ControllerRevision")
    assert "ownerReferences" not in made["metadata"]


def test_a_revision_that_a_vm_is_pinned_to_loses_only_its_owner():
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": UID, "controller": True}
    owned = revision("held", instancetype(), ownerReferences=[owner])
    before = copy.deepcopy(owned)
    left, _ = snapshot(owned, pinned_to("held"))
    del before["metadata"]["ownerReferences"]
    assert left == [before, pinned_to("held")]


def test_what_a_snapshot_writes_is_no_copied_revision():
    left, _ = snapshot(instancetype(), vm(instancetype="small", uid=UID))
    _, results = run(*left, mode="validate")
    assert [result["tags"]["rule"] for result in results if result["tags"]["rule"] == "copied-revision"] == []


@pytest.mark.parametrize(
    "copied", [{"ownerReferences": [{"kind": "VirtualMachine", "name": "web", "uid": UID}]}, {"labels": {}}]
)
def test_a_snapshot_is_the_fix_that_copied_revision_names(copied):
    items = [revision("held", instancetype(), **copied), pinned_to("held")]
    rules = [result["tags"]["rule"] for result in run(*items, mode="validate")[1]]
    left, _ = snapshot(*items)
    after = [result["tags"]["rule"] for result in run(*left, mode="validate")[1]]
    assert ("copied-revision" in rules, "copied-revision" in after) == (True, False)


# ---- policy, conflicts


@pytest.mark.parametrize(
    ("release", "gates", "expands"), [("1.9", [], True), ("1.5", [], False), ("1.5", ["InstancetypeReferencePolicy"], True)]
)
def test_under_a_policy_that_expands_nothing_is_stored_and_a_warning_says_so(release, gates, expands):
    configuration = {"instancetype": {"referencePolicy": "expand"}, "developerConfiguration": {"featureGates": gates}}
    items = [instancetype(), vm(instancetype="small")]
    left, results = snapshot(*items, configuration=configuration, kubevirtVersion=release)
    assert (left == items) is expands
    assert [result["tags"]["rule"] for result in results] == ["expanding-reference-policy"] * expands
    assert [result["severity"] for result in results] == ["warning"] * expands


def test_a_vm_that_conflicts_with_its_instancetype_is_left_alone():
    given = vm(instancetype="small", preference="fedora")
    given["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 2}
    items = [instancetype(), preference(), given]
    left, results = snapshot(*items)
    assert left == items
    assert [result["tags"]["rule"] for result in results] == ["instancetype-conflict"]


def test_a_vm_that_cannot_be_rendered_keeps_what_it_infers_from():
    given = vm(preference="fedora")
    given["spec"]["instancetype"] = {"inferFromVolume": "root"}
    given["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 2}
    given["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]
    labels = {f"{PREFIX}/default-instancetype": "small", f"{PREFIX}/default-instancetype-kind": "VirtualMachineInstancetype"}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk", "labels": labels}, "spec": {}}
    items = [instancetype(), preference(), claim, given]
    assert snapshot(*items)[0] == items


# ---- order


def test_revisions_stand_before_the_vm_that_needs_them():
    pinned = vm("web", instancetype="small", preference="fedora")
    left, _ = snapshot(vm("first"), pinned, instancetype(), preference(), vm("last", instancetype="small"))
    assert [(item["kind"], item["metadata"]["name"].split("-v1beta1-")[0]) for item in left] == [
        ("VirtualMachine", "first"),
        ("ControllerRevision", "web-small"),
        ("ControllerRevision", "web-fedora"),
        ("VirtualMachine", "web"),
        ("VirtualMachineInstancetype", "small"),
        ("VirtualMachinePreference", "fedora"),
        ("ControllerRevision", "last-small"),
        ("VirtualMachine", "last"),
    ]


def test_a_revision_stands_before_the_list_that_holds_the_vm():
    held = {"apiVersion": "v1", "kind": "List", "items": [vm("web", instancetype="small")]}
    left, _ = snapshot(instancetype(), held)
    assert [item["kind"] for item in left] == ["VirtualMachineInstancetype", "ControllerRevision", "List"]


def test_the_template_of_a_pool_is_pinned_to_a_revision_with_the_pools_name():
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "farm", "namespace": "a"},
        "spec": {"virtualMachineTemplate": {"spec": vm(instancetype="small")["spec"]}},
    }
    left, _ = snapshot(instancetype(namespace="a"), pool)
    _, made, machines = left
    assert made["metadata"]["name"].startswith("farm-small-v1beta1-")
    assert made["metadata"]["namespace"] == "a"
    assert pins(machines["spec"]["virtualMachineTemplate"]) == [made["metadata"]["name"], None]


LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineInstancetype # sizes
  metadata: {name: small}
  spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata: {name: web}
  spec:
    runStrategy: Always # as long as the shop is open
    instancetype:
      kind: VirtualMachineInstancetype
      name: small
    template: {spec: {domain: {devices: {}}}}
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata: {name: render}
  spec: {mode: snapshot}
"""


def test_the_function_keeps_every_line_and_adds_the_revision_before_the_vm():
    out = io.BytesIO()
    assert function.run(LIST.encode(), out, io.StringIO()) == 0
    written = out.getvalue().decode()
    before, _, behind = written.partition("- apiVersion: apps/v1\n")
    machine = behind.index("- apiVersion: kubevirt.io/v1\n")
    assert before + re.sub(r"      revisionName: web-small-v1beta1-.*\n", "", behind[machine:]) == LIST
    assert behind[:machine].startswith("  kind: ControllerRevision\n")


def test_the_argument_is_left_as_it_was():
    given = resource_list(revision("old", ALPHA, version=""), pinned_to("old"), mode="snapshot", kubevirtVersion="1.6")
    before = copy.deepcopy(given)
    krm_fn.process(given)
    assert given == before


def test_a_flavor_whose_revision_holds_an_instancetype_stays():
    stored = revision("old", {k: v for k, v in instancetype().items() if k != "metadata"})
    given = vm()
    given["spec"]["flavor"] = {"name": "small", "revisionName": "old"}
    left, _ = run(stored, given, mode="snapshot")
    assert left == [stored, given]


@pytest.mark.parametrize(("release", "version"), [("1.2", ""), ("1.3", "v1beta1-")])
def test_the_name_of_a_revision_has_the_api_version_since_1_3(release, version):
    data, owner = {"kind": "K", "metadata": {"name": "o", "uid": "u"}}, {"metadata": {"name": "vm"}}
    assert revision_of(data, owner=owner, release=parse(release))["metadata"]["name"] == f"vm-o-{version}u-0"
