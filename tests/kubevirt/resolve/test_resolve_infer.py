"""Instancetypes and preferences inferred from volumes."""

import pytest
from resolving import (
    GROUP,
    KIND,
    NAME,
    claim,
    cluster_instancetype,
    data_source,
    data_volume,
    instancetype,
    reasons,
    resolve,
    snapshot,
    vm,
)

ROOT = {"inferFromVolume": "root"}
IGNORE = {"inferFromVolume": "root", "inferFromVolumeFailurePolicy": "Ignore"}
SMALL = {NAME: "small"}
ON_CLAIM = [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]
ON_DATA_VOLUME = [{"name": "root", "dataVolume": {"name": "dv"}}]
FROM_CLAIM = {"source": {"pvc": {"name": "disk", "namespace": "default"}}}
FROM_SNAPSHOT = {"source": {"snapshot": {"name": "snap", "namespace": "default"}}}
FROM_DATA_SOURCE = {"sourceRef": {"kind": "DataSource", "name": "ds"}}
CHAINS = {
    "claim": (ON_CLAIM, [], [claim("disk", SMALL)]),
    "labels of the DataVolume": (ON_DATA_VOLUME, [], [data_volume("dv", {}, labels=SMALL)]),
    "source of the DataVolume": (ON_DATA_VOLUME, [], [data_volume("dv", FROM_CLAIM), claim("disk", SMALL)]),
    "claim that a DataVolume left": (ON_DATA_VOLUME, [], [claim("dv", SMALL)]),
    "template": (ON_DATA_VOLUME, [{"metadata": {"name": "dv"}, "spec": FROM_CLAIM}], [claim("disk", SMALL)]),
    "snapshot": (ON_DATA_VOLUME, [], [data_volume("dv", FROM_SNAPSHOT), snapshot("snap", SMALL)]),
    "labels of the DataSource": (
        ON_DATA_VOLUME,
        [],
        [data_volume("dv", FROM_DATA_SOURCE), data_source("ds", {}, labels=SMALL)],
    ),
    "claim of the DataSource": (
        ON_DATA_VOLUME,
        [],
        [data_volume("dv", FROM_DATA_SOURCE), data_source("ds", FROM_CLAIM["source"]), claim("disk", SMALL)],
    ),
    "snapshot of the DataSource": (
        ON_DATA_VOLUME,
        [],
        [data_volume("dv", FROM_DATA_SOURCE), data_source("ds", FROM_SNAPSHOT["source"]), snapshot("snap", SMALL)],
    ),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_every_chain_ends_in_the_labels_name(chain):
    volumes, templates, items = CHAINS[chain]
    resolution = resolve(vm(ROOT, volumes=volumes, templates=templates), cluster_instancetype(), *items)
    assert resolution.vm["spec"]["instancetype"] == {"name": "small"}
    assert resolution.instancetype.ref.name == "small"


def test_the_matcher_is_replaced_in_a_copy():
    machine = vm(ROOT, volumes=ON_CLAIM)
    resolution = resolve(machine, instancetype(), claim("disk", {NAME: "small", KIND: "VirtualMachineInstancetype"}))
    assert resolution.vm == vm({"name": "small", "kind": "VirtualMachineInstancetype"}, volumes=ON_CLAIM)
    assert machine == vm(ROOT, volumes=ON_CLAIM)


def test_until_1_6_admission_writes_the_kind_that_none_means():
    resolution = resolve(vm(ROOT, volumes=ON_CLAIM), cluster_instancetype(), claim("disk", SMALL), release="1.6")
    assert resolution.vm["spec"]["instancetype"] == {"name": "small", "kind": "virtualmachineclusterinstancetype"}


@pytest.mark.parametrize(
    ("release", "expected"), [("1.8", [("instancetype", "unsupported-source")]), ("1.8.5", []), ("1.9", [])]
)
def test_snapshots_are_followed_since_1_8_5_and_1_9(release, expected):
    volumes, templates, items = CHAINS["snapshot"]
    machine = vm(ROOT, volumes=volumes, templates=templates)
    assert reasons(resolve(machine, cluster_instancetype(), *items, release=release)) == expected


def test_the_labels_of_a_template_are_not_read():
    template = {"metadata": {"name": "dv", "labels": SMALL}, "spec": {"source": {"blank": {}}}}
    machine = vm(ROOT, volumes=ON_DATA_VOLUME, templates=[template])
    assert reasons(resolve(machine, cluster_instancetype())) == [("instancetype", "unsupported-source")]


def test_a_data_source_is_looked_for_where_the_reference_says_or_beside_the_vm():
    here = data_source("ds", {}, labels=SMALL, namespace="a")
    there = {"sourceRef": {"kind": "DataSource", "name": "ds", "namespace": "images"}}
    machine = vm(ROOT, volumes=ON_DATA_VOLUME, namespace="a")
    assert reasons(resolve(machine, cluster_instancetype(), data_volume("dv", FROM_DATA_SOURCE, namespace="a"), here)) == []
    (error,) = resolve(machine, cluster_instancetype(), data_volume("dv", there, namespace="a"), here).errors
    assert (error.reason, str(error.wanted)) == ("missing-source", "DataSource images/ds")


def test_the_kind_of_a_reference_is_compared_exactly():
    spec = {"sourceRef": {"kind": "datasource", "name": "ds"}}
    machine = vm(ROOT, volumes=ON_DATA_VOLUME)
    (error,) = resolve(machine, data_volume("dv", spec), data_source("ds", {}, labels=SMALL)).errors
    assert (error.reason, error.detail) == ("unsupported-source", (("kind", "datasource"),))


FAILURES = {
    "unknown-volume": ([], []),
    "unsupported-volume": ([{"name": "root", "containerDisk": {"image": "x"}}], []),
    "unsupported-source": (ON_DATA_VOLUME, [data_volume("dv", {"source": {"http": {"url": "x"}}})]),
    "missing-label": (ON_CLAIM, [claim("disk", {})]),
    "missing-source": (ON_CLAIM, []),
}


@pytest.mark.parametrize("reason", FAILURES)
def test_a_failed_inference_is_refused_by_admission_and_leaves_the_vm_alone(reason):
    volumes, items = FAILURES[reason]
    machine = vm(ROOT, volumes=volumes)
    resolution = resolve(machine, *items)
    (error,) = resolution.errors
    assert (error.reason, error.path, error.current) == (reason, ("spec", "instancetype", "inferFromVolume"), "root")
    assert error.upstream == "admission"
    assert resolution.vm is machine


@pytest.mark.parametrize("reason", ["unsupported-volume", "unsupported-source", "missing-label"])
def test_ignore_drops_the_matcher_if_the_volume_names_nothing(reason):
    volumes, items = FAILURES[reason]
    resolution = resolve(vm(IGNORE, volumes=volumes, domain={"memory": {"guest": "1Gi"}}), *items)
    assert resolution.vm == vm(volumes=volumes, domain={"memory": {"guest": "1Gi"}})
    assert resolution.errors == ()


@pytest.mark.parametrize("reason", ["unknown-volume", "missing-source"])
def test_ignore_does_not_cover_what_is_missing(reason):
    volumes, items = FAILURES[reason]
    assert reasons(resolve(vm(IGNORE, volumes=volumes), *items)) == [("instancetype", reason)]


def test_ignore_and_success_clear_the_memory_for_an_instancetype_only():
    domain = {"devices": {}, "memory": {"guest": "1Gi"}}
    labels = {NAME: "small", f"{GROUP}/default-preference": "nowhere"}
    items = cluster_instancetype(), claim("disk", labels)
    resolution = resolve(vm(IGNORE, volumes=ON_CLAIM, domain=domain), *items)
    assert resolution.vm == vm({"name": "small"}, volumes=ON_CLAIM)
    resolution = resolve(vm(preference=IGNORE, volumes=ON_CLAIM, domain=domain), *items)
    assert resolution.vm == vm(preference={"name": "nowhere"}, volumes=ON_CLAIM, domain=domain)


def test_an_inferred_name_without_an_object_is_reported_at_the_volume():
    (error,) = resolve(vm(ROOT, volumes=ON_CLAIM), claim("disk", SMALL)).errors
    assert (error.reason, error.path, error.current) == ("unknown-name", ("spec", "instancetype", "inferFromVolume"), "root")
    assert error.detail == (("inferred", "small"),)


def test_an_empty_label_counts_as_there():
    resolution = resolve(vm(IGNORE, volumes=ON_CLAIM), claim("disk", {NAME: ""}))
    assert reasons(resolution) == [("instancetype", "empty-label")]
    assert resolution.vm["spec"]["instancetype"] == {}


@pytest.mark.parametrize(
    "junk", [5, "x", [], [5], {"a": 1}, [{"name": "root", "dataVolume": "dv"}], [{"name": "root", "dataVolume": []}]]
)
def test_volumes_of_any_shape_fail_without_an_exception(junk):
    machine = vm(ROOT)
    machine["spec"]["template"]["spec"]["volumes"] = junk
    assert len(resolve(machine).errors) == 1
