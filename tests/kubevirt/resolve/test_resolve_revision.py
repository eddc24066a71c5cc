"""ControllerRevisions: which one counts, and what each historical form holds."""

import base64
import json

import pytest
from resolving import GROUP, SMALL, cluster_instancetype, reasons, resolve, revision, vm

from krm_fn.base.paths import copy, put
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.resolve import INSTANCETYPE, PREFERENCE, decode
from krm_fn.kubevirt.resolve.revision import FIELDS, is_plain
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.flaws import RANGE, TYPE

PINNED = {"name": "small", "revisionName": "vm-small-1"}
OBJECT_NAME = f"{GROUP}/object-name"
BIG = {"cpu": {"guest": 8}, "memory": {"guest": "8Gi"}}
READ_OF_ALPHA = {**BIG, "cpu": {"model": "", "dedicatedCPUPlacement": False, "isolateEmulatorThread": False, "guest": 8}}


def stored(version, spec=BIG, kind="VirtualMachineClusterInstancetype"):
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "small"}, "spec": spec}


def lone(spec, api_version=""):
    return {"apiVersion": api_version, "spec": base64.b64encode(json.dumps(spec).encode()).decode()}


def referring(name):
    return {"instancetypeRef": {"name": "small", "controllerRevisionRef": {"name": name}}}


def test_a_pinned_revision_goes_before_the_object_whatever_it_was_stored_for():
    held = revision("vm-small-1", stored("v1beta1"), labels={OBJECT_NAME: "other"})
    found = resolve(vm(PINNED), cluster_instancetype(), held).instancetype
    assert (found.spec, found.origin, found.ref.name, found.revision.name) == (BIG, "revision", "small", "vm-small-1")


def test_a_revision_that_another_vm_is_pinned_to_is_no_candidate():
    other = {**vm({"name": "small", "revisionName": "vm-smal-1"}), "metadata": {"name": "other"}}
    (error,) = resolve(vm(PINNED), other, cluster_instancetype(), revision("vm-smal-1", {})).errors
    assert (error.reason, error.candidates) == ("revision-missing", ())


def test_a_pinned_revision_that_is_missing_is_an_error_even_where_the_object_exists():
    (error,) = resolve(vm(PINNED), cluster_instancetype(), revision("vm-smal-1", {})).errors
    assert (error.reason, error.path) == ("revision-missing", ("spec", "instancetype", "revisionName"))
    assert error.candidates == ("vm-smal-1",)


@pytest.mark.parametrize(
    ("release", "label", "guest"),
    [
        ("1.4", "small", 1),
        ("1.5.0", "other", 8),
        ("1.5.2", "other", 1),
        ("1.5.2", "small", 8),
        ("1.9", "small", 8),
        ("1.9", "other", 1),
    ],
)
def test_the_status_counts_since_1_5_and_only_for_the_same_name_since_1_5_2(release, label, guest):
    held = revision("r", stored("v1beta1"), labels={OBJECT_NAME: label})
    resolution = resolve(vm({"name": "small"}, status=referring("r")), cluster_instancetype(), held, release=release)
    assert resolution.instancetype.spec["cpu"]["guest"] == guest


def test_a_revision_without_labels_does_not_count_from_the_status():
    held = revision("r", stored("v1beta1"))
    assert resolve(vm({"name": "small"}, status=referring("r")), cluster_instancetype(), held).instancetype.spec == SMALL


def test_a_revision_that_the_status_names_and_that_is_missing_is_an_error():
    (error,) = resolve(vm({"name": "small"}, status=referring("r")), cluster_instancetype()).errors
    assert (error.reason, error.path) == ("revision-missing", ("status", "instancetypeRef", "controllerRevisionRef", "name"))


FORMS = {
    "v1beta1": (stored("v1beta1"), BIG),
    "v1alpha2": (stored("v1alpha2"), READ_OF_ALPHA),
    "v1alpha1": (stored("v1alpha1"), READ_OF_ALPHA),
    "lone spec": (lone(BIG, f"{GROUP}/v1alpha1"), READ_OF_ALPHA),
    "lone spec without version": (lone(BIG), READ_OF_ALPHA),
    "flavor": (lone(BIG, "flavor.kubevirt.io/v1alpha1"), READ_OF_ALPHA),
}


@pytest.mark.parametrize("release", ["1.4", "1.5", "1.6"])
@pytest.mark.parametrize("form", FORMS)
def test_until_1_6_every_form_is_read_and_plain_values_become_set(form, release):
    data, spec = FORMS[form]
    resolution = resolve(vm(PINNED), revision("vm-small-1", data), release=release)
    assert (resolution.errors, resolution.instancetype.spec) == ((), spec)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "v1beta1"])
def test_since_1_7_only_v1beta1_is_read(form):
    resolution = resolve(vm(PINNED), revision("vm-small-1", FORMS[form][0]), release="1.7")
    assert reasons(resolution) == [("instancetype", "revision-form-unreadable")]


def test_old_versions_lose_the_fields_that_they_never_had():
    spec = {**BIG, "nodeSelector": {"a": "b"}, "memory": {"guest": "8Gi", "maxGuest": "9Gi"}, "gpus": [{"name": "g", "new": 1}]}
    expected = {**READ_OF_ALPHA, "gpus": [{"name": "g"}]}
    assert decode(stored("v1alpha2", spec), releases.parse("1.6")).spec == expected


@pytest.mark.parametrize(
    ("version", "kept"), [("v1alpha1", {}), ("v1alpha2", {"volumes": {"preferredStorageClassName": "fast"}})]
)
def test_the_storage_class_was_added_in_v1alpha2(version, kept):
    spec = {"volumes": {"preferredStorageClassName": "fast"}, "cpu": {"preferredCPUTopology": ""}}
    assert decode(stored(version, spec, "VirtualMachinePreference"), releases.parse("1.6")).spec == {**kept, "cpu": {}}


@pytest.mark.parametrize(("release", "claim"), [("1.5", {}), ("1.6", {"claimName": "c"})])
def test_devices_of_old_versions_have_the_fields_of_the_release(release, claim):
    spec = {**BIG, "gpus": [{"name": "g", "claimName": "c"}]}
    assert decode(stored("v1alpha1", spec), releases.parse(release)).spec["gpus"] == [{"name": "g", **claim}]


def test_a_lone_spec_is_identified_by_its_fields_and_an_empty_one_is_a_preference():
    read = {
        spec: decode(lone(json.loads(spec)), releases.parse("1.6")).matcher
        for spec in ("{}", '{"devices": {}}', '{"cpu": {"guest": 1}}')
    }
    assert read == {"{}": PREFERENCE, '{"devices": {}}': PREFERENCE, '{"cpu": {"guest": 1}}': INSTANCETYPE}


def test_a_preference_is_no_instancetype():
    held = revision("vm-small-1", stored("v1beta1", {}, "VirtualMachinePreference"))
    (error,) = resolve(vm(PINNED), held).errors
    assert (error.reason, error.detail) == ("revision-of-another-object", (("holds", "preference"),))


def test_a_number_of_old_versions_is_one_of_go():
    def kept(seconds):
        clock = {"preferredClockOffset": {"utc": {"offsetSeconds": seconds}}}
        decoded = decode(stored("v1alpha2", {"clock": clock}, "VirtualMachinePreference"), releases.parse("1.6"))
        return not isinstance(decoded, str) and decoded.spec == {"clock": clock}

    assert [kept(number) for number in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1)] == [True, False, True, False]


UNDECODABLE = {
    "nothing": None,
    "a text": "x",
    "a template of a VM": {"spec": {"template": {}}},
    "another kind": {**stored("v1beta1"), "kind": "VirtualMachine"},
    "a newer version": {**stored("v1beta1"), "apiVersion": f"{GROUP}/v1"},
    "a spec that is a list": stored("v1beta1", []),
    "a count that is text": stored("v1alpha1", {"cpu": {"guest": "8"}}),
    "a negative count": stored("v1alpha1", {"cpu": {"guest": -1}}),
    "a flag that is a count": stored("v1alpha2", {"devices": {"preferredBlockMultiQueue": 1}}, "VirtualMachinePreference"),
    "devices that are no list": stored("v1alpha1", {"gpus": {}}),
    "a spec that is text": stored("v1beta1", "x"),
    "a constant that JSON lacks": {"spec": base64.b64encode(b'{"cpu": {"guest": NaN}}').decode()},
    "no base64": {"spec": "%%%"},
    "no JSON": {"spec": base64.b64encode(b"{").decode()},
    "no text in it": {"spec": base64.b64encode(b"\xff").decode()},
    "a key twice": {"spec": base64.b64encode(b'{"cpu": {}, "cpu": {}}').decode()},
    "an unknown field": lone({"cpu": {"guest": 1, "sockets": 2}}),
    "an empty spec": {"apiVersion": "", "spec": ""},
    "a version that is a number": {**lone(BIG), "apiVersion": 1},
}


@pytest.mark.parametrize("what", UNDECODABLE)
def test_what_is_no_instancetype_is_undecodable(what):
    assert decode(UNDECODABLE[what], releases.parse("1.6")) == "revision-undecodable"


# upstream: runtime.Decode with the universal deserializer
@pytest.mark.parametrize("release", ["1.4.1", "1.6.6", "1.9.0"])
@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("VirtualMachineInstancetype", {"cpu": "two"}),
        ("VirtualMachineInstancetype", {"cpu": {"guest": "two"}}),
        ("VirtualMachineInstancetype", {"cpu": {"guest": 2**32}}),
        ("VirtualMachineClusterInstancetype", {"memory": {"guest": "x"}}),
        ("VirtualMachineInstancetype", {"gpus": {"name": "a"}}),
        ("VirtualMachinePreference", {"cpu": {"preferredCPUTopology": 1}}),
        ("VirtualMachineClusterPreference", {"devices": []}),
        ("VirtualMachinePreference", {"requirements": {"cpu": {"guest": -1}}}),
    ],
)
def test_what_go_cannot_decode_is_undecodable(kind, spec, release):
    assert decode(stored("v1beta1", spec, kind), releases.parse(release)) == "revision-undecodable"


def places(form, path=()):
    """The path of each field that a plain revision may have."""
    for key, below in form.items():
        yield (*path, key or "any")
        if isinstance(below, dict):
            yield from places(below, (*path, key or "any"))


@pytest.mark.parametrize("path", list(places(FIELDS)), ids=".".join)
@pytest.mark.parametrize("kind", [*INSTANCETYPE.kinds, *PREFERENCE.kinds])
def test_the_check_without_the_table_of_types_agrees_with_the_table(kind, path):
    for value in ("x", "1Gi", True, 1, -1, 2**32, 1.5, [], {}, {"a": "b"}, {"a": 1}, None):
        data = stored("v1beta1", copy(BIG), kind)
        put(data, path, value)
        if is_plain(data) and path[0] not in ("apiVersion", "kind"):
            flaws = [flaw for flaw in check(data, releases.NEWEST) if flaw.kind in (TYPE, RANGE)]
            assert flaws == []


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("VirtualMachineInstancetype", {**BIG, "unknown": 1}),
        ("VirtualMachineInstancetype", {**BIG, "memory": {"guest": 1073741824}}),
        ("VirtualMachineInstancetype", {**BIG, "gpus": None}),
        ("VirtualMachinePreference", {"cpu": {"preferredCPUTopology": "any word"}}),
    ],
)
def test_unknown_fields_words_and_nulls_are_decoded(kind, spec):
    assert decode(stored("v1beta1", spec, kind), releases.NEWEST).spec == spec


def test_revisions_of_the_vm_itself_are_no_candidates():
    (error,) = resolve(vm({"name": "small", "revisionName": "revision-start-vm-2"}), revision("revision-start-vm-1", {})).errors
    assert (error.reason, error.candidates) == ("revision-missing", ())


def test_a_revision_counts_in_the_vms_namespace_only():
    held = revision("vm-small-1", stored("v1beta1"), namespace="b")
    (error,) = resolve(vm(PINNED, namespace="a"), held).errors
    assert (error.reason, error.detail) == ("revision-missing", (("namespaces", ("b",)),))


def test_an_unknown_kind_does_not_matter_beside_a_pinned_revision():
    resolution = resolve(vm({**PINNED, "kind": "Bogus"}), revision("vm-small-1", lone(BIG)), release="1.6")
    assert resolution.instancetype.ref.kind == "VirtualMachineClusterInstancetype"


@pytest.mark.parametrize(
    ("spec", "read"),
    [
        (None, {"cpu": {"guest": 0}, "memory": {"guest": "0"}}),
        ({"cpu": {"model": "m"}}, {"cpu": {"model": "m", "guest": 0}, "memory": {"guest": "0"}}),
        ({"cpu": {"guest": 2}, "memory": {"guest": None}}, {"cpu": {"guest": 2}, "memory": {"guest": "0"}}),
    ],
)
def test_sizes_that_a_revision_lacks_are_zero(spec, read):
    assert decode(stored("v1beta1", spec), releases.NEWEST).spec == read


def test_a_preference_of_an_older_form_is_not_read_since_1_7_without_a_flavor():
    held = revision("p-1", stored("v1alpha2", {"cpu": {}}, kind="VirtualMachineClusterPreference"))
    asking = vm(preference={"name": "p", "revisionName": "p-1"})
    assert reasons(resolve(asking, held, release="1.6")) == []
    assert reasons(resolve(asking, held, release="1.7")) == [("preference", "revision-form-unreadable")]
