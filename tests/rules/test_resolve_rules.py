"""The rules about references: what they say, and the fix they propose."""

import pytest
from resolving import NAME, claim, cluster_instancetype, data_volume, instancetype, revision, vm

from krm_fn import process

RULES = (
    "bad-matcher",
    "failed-inference",
    "missing-revision",
    "unreadable-revision",
    "unresolved-instancetype",
    "unresolved-preference",
)


def findings(machine, *items, release="1.9"):
    spec = {"kubevirtVersion": release, "catalogue": "none", "mode": "validate"}
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    results = process({"items": [*items, machine], "functionConfig": config})["results"]
    return [result for result in results if result["tags"]["rule"] in RULES]


def said(machine, *items, release="1.9"):
    (result,) = findings(machine, *items, release=release)
    return result["tags"]["rule"], result["field"]["path"], result["message"], result["field"].get("proposedValue")


def test_an_unknown_instancetype_is_corrected_to_the_likest():
    assert said(vm({"name": "smal"}), cluster_instancetype()) == (
        "unresolved-instancetype",
        "spec.instancetype.name",
        "VirtualMachineClusterInstancetype smal is not found; use small, or add it to the bundle",
        "small",
    )


def test_what_has_the_name_in_another_api_group_is_not_proposed():
    other = cluster_instancetype() | {"apiVersion": "kubevirt.io/v1"}
    assert said(vm({"name": "small"}), other)[2] == (
        "VirtualMachineClusterInstancetype small is not found; add it to the bundle, or refer to one that exists"
    )


def test_a_message_stays_one_line_whatever_the_names_hold():
    _, _, message, _ = said(vm({"name": "no\nsuch"}))
    assert message.startswith("VirtualMachineClusterInstancetype no such is not found")


def test_a_forgotten_kind_is_proposed():
    assert said(vm({"name": "small"}), instancetype()) == (
        "unresolved-instancetype",
        "spec.instancetype.kind",
        (
            "VirtualMachineClusterInstancetype small (the default kind) is not found, but a "
            "VirtualMachineInstancetype of that name exists; set kind: VirtualMachineInstancetype"
        ),
        "VirtualMachineInstancetype",
    )


def test_a_preference_that_is_none_is_named_as_one():
    assert said(vm(preference={"name": "web", "kind": "Flavor"})) == (
        "unresolved-preference",
        "spec.preference.kind",
        "Flavor is not a kind of preference; use VirtualMachinePreference or VirtualMachineClusterPreference",
        None,
    )


def test_another_namespace_is_named():
    machine = vm({"name": "small", "kind": "VirtualMachineInstancetype"}, namespace="a")
    assert said(machine, instancetype(namespace="b"))[2] == (
        "VirtualMachineInstancetype a/small is not found: it is in namespace b, but a VM can use only its own "
        "namespace; move it to namespace a, or change it to a VirtualMachineClusterInstancetype"
    )


@pytest.mark.parametrize(
    ("matcher", "path", "message", "proposed"),
    [
        (
            {},
            "spec.instancetype",
            "the instancetype has neither name nor inferFromVolume; set one of them, or remove instancetype",
            None,
        ),
        ("small", "spec.instancetype", "instancetype is a string, expected a map; write instancetype: {name: NAME}", None),
        (
            {"name": 5},
            "spec.instancetype.name",
            "name is a number, expected a string; write a string, or remove it",
            None,
        ),
        (
            {"name": "small", "inferFromVolume": "root"},
            "spec.instancetype.name",
            "name and inferFromVolume: root are both set; remove one of them",
            None,
        ),
        (
            {"name": "small", "inferFromVolumeFailurePolicy": "ignore"},
            "spec.instancetype.inferFromVolumeFailurePolicy",
            "inferFromVolumeFailurePolicy is ignore; use Ignore",
            "Ignore",
        ),
    ],
)
def test_a_bad_matcher_is_named_at_its_field(matcher, path, message, proposed):
    assert said(vm(matcher), cluster_instancetype()) == ("bad-matcher", path, message, proposed)


def test_a_misspelt_volume_is_corrected():
    volumes = [{"name": "rootdisk", "containerDisk": {}}]
    assert said(vm({"inferFromVolume": "rootdsk"}, volumes=volumes)) == (
        "failed-inference",
        "spec.instancetype.inferFromVolume",
        (
            "the VM has no volume rootdsk to infer the instancetype from; use rootdisk, or set spec.instancetype.name "
            "instead of inferFromVolume"
        ),
        "rootdisk",
    )


def test_a_missing_claim_is_named():
    volumes = [{"name": "root", "dataVolume": {"name": "disk"}}]
    assert said(vm({"inferFromVolume": "root"}, volumes=volumes))[2] == (
        "PersistentVolumeClaim default/disk, the source of volume root, is not in the bundle, and neither is a DataVolume of "
        "that name; add it, or set spec.instancetype.name instead of inferFromVolume"
    )


def test_a_source_of_no_known_kind_is_told_of_by_its_keys():
    seeded = {"metadata": {"name": "disk"}, "spec": {"sourceRef": {"kind": {"userData": "x"}, "name": "fedora"}}}
    volumes = [{"name": "root", "dataVolume": {"name": "disk"}}]
    message = said(vm({"inferFromVolume": "root"}, volumes=volumes, templates=[seeded]))[2]
    assert "the kind of its sourceRef is {userData}, expected DataSource" in message


def test_a_missing_revision_is_named():
    assert said(vm({"name": "small", "revisionName": "r1"}), cluster_instancetype()) == (
        "missing-revision",
        "spec.instancetype.revisionName",
        (
            "ControllerRevision default/r1 is not found; add it to the bundle, or remove spec.instancetype.revisionName to "
            "use the name"
        ),
        None,
    )


def test_an_old_revision_is_told_from_a_broken_one():
    data = {"apiVersion": "instancetype.kubevirt.io/v1alpha2", "kind": "VirtualMachineInstancetype", "spec": {}}
    machine = vm({"name": "small", "revisionName": "r1"})
    assert said(machine, revision("r1", data))[2] == (
        "ControllerRevision r1 contains the instancetype in a form that KubeVirt 1.9.0 no longer reads; remove "
        "spec.instancetype.revisionName to use the name"
    )
    assert said(machine, revision("r1", {}))[2] == (
        "ControllerRevision r1 contains no instancetype or preference that can be read; remove "
        "spec.instancetype.revisionName to use the name"
    )


@pytest.mark.parametrize(("release", "upstream", "path"), [("1.5", "admission", "spec.instancetype"), ("1.9", "expand", "")])
def test_admission_names_only_the_matcher_of_an_unknown_name(release, upstream, path):
    (result,) = findings(vm({"name": "smal"}), release=release)
    assert (result["tags"]["upstream"], result["tags"].get("upstreamPath", "")) == (upstream, path)


def test_a_message_is_one_line_whatever_the_name():
    (result,) = findings(vm({"name": "a\nb"}))
    assert "\n" not in result["message"]


ON_CLAIM = [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]
ON_DATA_VOLUME = [{"name": "root", "dataVolume": {"name": "dv"}}]
INSTEAD = "set spec.instancetype.name instead of inferFromVolume"


LABEL = "instancetype.kubevirt.io/default-instancetype"
THROUGH = "no instancetype can be inferred from DataVolume dv"
DISK = "PersistentVolumeClaim default/disk, the source of volume root, is not in the bundle"


@pytest.mark.parametrize(
    ("volumes", "item", "fact", "fix"),
    [
        (
            [{"name": "root", "containerDisk": {}}],
            claim("disk"),
            "no instancetype can be inferred from volume root: its source is containerDisk",
            f"infer it from a persistentVolumeClaim or dataVolume, or {INSTEAD}",
        ),
        (
            ON_CLAIM,
            claim("disk"),
            f"PersistentVolumeClaim disk, the source of volume root, has no label {LABEL}",
            f"add it, or {INSTEAD}",
        ),
        (
            ON_CLAIM,
            claim("disk", {NAME: ""}),
            f"the label {LABEL} of the source of volume root is empty",
            f"set it to a name, or {INSTEAD}",
        ),
        (
            ON_CLAIM,
            claim("disk", {NAME: "big"}),
            "volume root names big: VirtualMachineClusterInstancetype big is not found",
            "add it to the bundle, or refer to one that exists",
        ),
        (ON_CLAIM, claim("disk", namespace="images"), f"{DISK} (namespace images has one)", f"add it, or {INSTEAD}"),
        (ON_CLAIM, claim("disks"), DISK, f"add it, or {INSTEAD}"),
        (
            ON_DATA_VOLUME,
            data_volume("dv", {"source": {"blank": {}}}),
            f"{THROUGH}: its source blank has no labels",
            INSTEAD,
        ),
        (
            ON_DATA_VOLUME,
            data_volume("dv", {"sourceRef": {"kind": "Image"}}),
            f"{THROUGH}: the kind of its sourceRef is Image, expected DataSource",
            INSTEAD,
        ),
    ],
)
def test_a_failed_inference_names_the_object_at_which_it_ended(volumes, item, fact, fix):
    assert said(vm({"inferFromVolume": "root"}, volumes=volumes), item)[2:] == (f"{fact}; {fix}", None)


def test_a_revision_of_the_other_kind_is_named_as_one():
    data = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachinePreference", "spec": {}}
    status = {"instancetypeRef": {"controllerRevisionRef": {"name": "r1"}}}
    held = revision("r1", data, labels={"instancetype.kubevirt.io/object-name": "small"})
    _, path, message, _ = said(vm({"name": "small"}, status=status), held)
    assert path == "status.instancetypeRef.controllerRevisionRef.name"
    assert message == (
        "ControllerRevision r1 contains a preference, expected the instancetype; remove the status to use the name"
    )
