"""What a matcher may say, and which object it finds by name."""

import pytest
from resolving import Shelf, cluster_instancetype, instancetype, reasons, resolve, thing, vm

from krm_fn.base.bundle import Bundle
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.resolve.matcher import Lookup

K = "VirtualMachineInstancetype"
C = "VirtualMachineClusterInstancetype"
PREVIOUS = "internal.config.kubernetes.io/previousNames"


def test_a_vm_without_matchers_is_the_very_same_and_has_nothing():
    machine = vm()
    resolution = resolve(machine)
    assert resolution.vm is machine
    assert (resolution.instancetype, resolution.preference, resolution.errors) == (None, None, ())


@pytest.mark.parametrize(
    "kind", [K, "virtualmachineinstancetype", "virtualmachineinstancetypes", "VIRTUALMACHINEINSTANCETYPES"]
)
def test_a_namespaced_kind_is_known_in_any_case_singular_or_plural(kind):
    resolution = resolve(vm({"name": "small", "kind": kind}), cluster_instancetype(), instancetype())
    assert resolution.instancetype.ref.kind == K


@pytest.mark.parametrize("kind", [None, "", C, "virtualmachineclusterinstancetypes"])
def test_no_kind_means_the_cluster_kind(kind):
    resolution = resolve(vm({"name": "small", "kind": kind}), instancetype(), cluster_instancetype())
    assert resolution.instancetype.ref.kind == C


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1"])
def test_an_object_of_any_version_is_read_field_for_field(version):
    spec = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, "nodeSelector": {"a": "b"}}
    resolution = resolve(vm({"name": "small"}), cluster_instancetype(spec=spec, version=version))
    assert resolution.instancetype.spec == spec


def test_an_object_of_another_group_is_none():
    foreign = thing("VirtualMachinePreference", "web", {}, group="example.com", version="v1alpha1")
    own = thing("VirtualMachinePreference", "web", {"cpu": {}})
    matcher = {"name": "web", "kind": "VirtualMachinePreference"}
    assert resolve(vm(preference=matcher), foreign, own).preference.spec == {"cpu": {}}
    assert reasons(resolve(vm(preference=matcher), foreign)) == [("preference", "unknown-name")]


def test_beside_namesakes_of_another_group_present_names_still_go_before_former_ones():
    foreign = [thing("DataSource", name, group="example.com", version="v1") for name in ("a", "b")]
    renamed = thing("DataSource", "c", group="cdi.kubevirt.io", annotations={PREVIOUS: "a,b"})
    present = thing("DataSource", "a", group="cdi.kubevirt.io")
    lookup = Lookup(Bundle([*foreign, renamed, present]))
    assert lookup.find("DataSource", "default", "a").obj is present
    assert lookup.find("DataSource", "default", "b").obj is renamed
    assert lookup.find("DataSource", "", "a") is None


def test_suggestions_end_where_they_would_make_a_run_slow():
    lookup = Lookup(Bundle([]))
    assert lookup.nearest("nmae", ["name"]) == ("name",)
    assert lookup.nearest("nmae", [f"name-{number}" for number in range(700_000)]) == ()
    assert lookup.nearest("nmae", ["name"]) == ()


def test_a_name_that_kustomize_has_since_prefixed_is_found():
    renamed = cluster_instancetype("dev-small", annotations={PREVIOUS: "small"})
    resolution = resolve(vm({"name": "small"}), renamed)
    assert resolution.instancetype.ref.name == "dev-small"


def test_the_bundle_goes_before_the_catalogue():
    shelf = Shelf({(C, "small"): {"cpu": {"guest": 9}}, (C, "big"): {"cpu": {"guest": 8}}})
    assert resolve(vm({"name": "small"}), cluster_instancetype(), catalogue=shelf).instancetype.origin == "bundle"
    found = resolve(vm({"name": "big"}), catalogue=shelf).instancetype
    assert (found.origin, found.spec, found.entry) == ("catalogue", {"cpu": {"guest": 8}}, None)


def test_the_catalogue_holds_no_namespaced_kinds():
    shelf = Shelf({(C, "small"): {}})
    (error,) = resolve(vm({"name": "small", "kind": K}), catalogue=shelf).errors
    assert (error.reason, error.path, error.candidates) == ("wrong-kind", ("spec", "instancetype", "kind"), (C,))


def test_an_object_in_another_namespace_does_not_count():
    (error,) = resolve(vm({"name": "small", "kind": K}, namespace="a"), instancetype(namespace="b")).errors
    assert (error.reason, error.candidates) == ("wrong-namespace", ("b",))


def test_the_nearest_name_of_bundle_and_catalogue_is_a_candidate():
    shelf = Shelf({(C, "u1.medium"): {}, (C, "cx1.4xlarge1gi"): {}})
    (error,) = resolve(vm({"name": "u1.medum"}), cluster_instancetype("u1.mediums"), catalogue=shelf).errors
    assert (error.reason, error.current, error.candidates) == ("unknown-name", "u1.medum", ("u1.medium",))


def test_a_candidate_has_the_name_before_an_overlays_prefix_if_the_vm_uses_such_names():
    renamed = cluster_instancetype("dev-windows-medium", annotations={PREVIOUS: "windows-medium"})
    (error,) = resolve(vm({"name": "windows-mediun"}), renamed).errors
    assert error.candidates == ("windows-medium",)
    (error,) = resolve(vm({"name": "dev-windows-mediun"}), renamed).errors
    assert error.candidates == ("dev-windows-medium",)


def test_a_missing_kind_is_not_reported_as_an_unknown_name():
    (error,) = resolve(vm({"name": "small"}), instancetype()).errors
    assert (error.reason, error.current, error.candidates) == ("wrong-kind", UNSET, (K,))


def test_an_invalid_kind_is_reported():
    (error,) = resolve(vm({"name": "small", "kind": "VirtualMachineFlavor"}), instancetype()).errors
    assert (error.reason, error.candidates) == ("unexpected-kind", (K,))


@pytest.mark.parametrize(
    ("release", "stage"), [("1.4", "admission"), ("1.5", "admission"), ("1.6", "expand"), ("1.9", "expand")]
)
def test_an_unknown_name_is_refused_by_admission_until_1_5_and_by_the_expander_since(release, stage):
    errors = resolve(vm({"name": "a"}, {"name": "b"}), release=release).errors
    assert [error.upstream for error in errors] == [stage, stage]


def test_one_failed_matcher_does_not_hide_the_other():
    resolution = resolve(vm({}, {"name": "nowhere"}))
    assert reasons(resolution) == [("instancetype", "no-name"), ("preference", "unknown-name")]


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        ({}, [("no-name", ())]),
        ({"name": ""}, [("no-name", ())]),
        ({"kind": K}, [("no-name", ())]),
        ("small", [("bad-shape", ())]),
        (["small"], [("bad-shape", ())]),
        (False, [("bad-shape", ())]),
        ({"name": 5}, [("bad-shape", ("name",))]),
        ({"name": "a", "kind": {}}, [("bad-shape", ("kind",))]),
        ({"name": "a", "revisionName": []}, [("bad-shape", ("revisionName",))]),
        ({"name": "a", "inferFromVolume": "v"}, [("name-and-inference", ("name",))]),
        ({"kind": K, "inferFromVolume": "v"}, [("kind-and-inference", ("kind",))]),
        ({"name": "a", "inferFromVolumeFailurePolicy": ""}, [("bad-policy", ("inferFromVolumeFailurePolicy",))]),
        ({"name": "a", "inferFromVolumeFailurePolicy": "ignore"}, [("bad-policy", ("inferFromVolumeFailurePolicy",))]),
    ],
)
def test_a_matcher_that_contradicts_itself_is_refused(matcher, expected):
    errors = resolve(vm(matcher), cluster_instancetype("a")).errors
    assert [(error.reason, error.path) for error in errors] == [
        (why, ("spec", "instancetype", *path)) for why, path in expected
    ]
    assert {error.upstream for error in errors} == {"admission"}


@pytest.mark.parametrize("spec", [5, "spec", None, [], {}, {"instancetype": None}])
def test_a_vm_of_any_shape_resolves_to_nothing(spec):
    machine = {"kind": "VirtualMachine", "spec": spec}
    assert resolve(machine).vm is machine


def test_an_instancetype_whose_spec_is_no_map_has_an_empty_one():
    assert resolve(vm({"name": "small"}), cluster_instancetype(spec="big")).instancetype.spec == {}
