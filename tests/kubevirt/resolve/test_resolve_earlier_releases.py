"""What KubeVirt 1.0 to 1.3 read differently in matchers and stored revisions."""

from __future__ import annotations

import base64
import json

import pytest

from krm_fn.base.bundle import Bundle
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.resolve import Resolver

INSTANCETYPE = {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}
PREFERENCE = {"cpu": {"preferredCPUTopology": "preferCores"}}


def revision(spec, **rest):
    data = {"apiVersion": "", "spec": base64.b64encode(json.dumps(spec).encode()).decode(), **rest}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, "data": data}


def resolved(release, matcher, *items, volumes=()):
    spec = {matcher: {"name": "x", "revisionName": "r"}} if not volumes else {matcher: {"inferFromVolume": "root", **IGNORE}}
    template = {"spec": {"domain": {"devices": {}}, "volumes": list(volumes)}}
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}}
    vm["spec"] = {**spec, "template": template}
    resolver = Resolver(bundle=Bundle([vm, *items]), release=parse(release), catalogue=None)
    return resolver.resolve(vm, namespace="default")


IGNORE = {"inferFromVolumeFailurePolicy": "Ignore"}


def told(resolution, matcher):
    found = getattr(resolution, matcher)
    return found.spec if found else [error.reason for error in resolution.errors]


@pytest.mark.parametrize("release", ["1.0", "1.2.2"])
def test_the_matcher_decides_what_a_lone_spec_is_before_1_3(release):
    assert told(resolved(release, "preference", revision(INSTANCETYPE)), "preference") == {"cpu": {}}
    spec = told(resolved(release, "instancetype", revision(PREFERENCE)), "instancetype")
    assert (spec["cpu"]["guest"], spec["memory"]["guest"]) == (0, "0")


def test_the_fields_decide_since_1_3():
    wrong = ["revision-of-another-object"]
    assert told(resolved("1.3.0", "preference", revision(INSTANCETYPE)), "preference") == wrong
    assert told(resolved("1.3.0", "instancetype", revision(PREFERENCE)), "instancetype") == wrong


def test_unknown_fields_of_a_lone_spec_are_ignored_before_1_3():
    given = revision({**PREFERENCE, "unknown": 1}, extra="")
    assert told(resolved("1.2", "preference", given), "preference") == PREFERENCE
    assert told(resolved("1.3", "preference", given), "preference") == ["revision-undecodable"]


@pytest.mark.parametrize(
    "data",
    [
        {"spec": "no base64!"},
        {"spec": base64.b64encode(b"no json").decode()},
        {"apiVersion": 1, "spec": "e30="},
        {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachinePreference", "metadata": {"name": "p"}},
        {"spec": base64.b64encode(b'{"cpu": {"preferredCPUTopology": 1}}').decode()},
    ],
)
def test_a_broken_revision_is_undecodable_before_1_3(data):
    assert told(resolved("1.2", "preference", {**revision({}), "data": data}), "preference") == ["revision-undecodable"]


def test_a_key_that_stands_twice_counts_once_before_1_3():
    twice = base64.b64encode(b'{"cpu": {}, "cpu": {"preferredCPUTopology": "preferCores"}}').decode()
    given = {**revision({}), "data": {"apiVersion": "", "spec": twice}}
    assert told(resolved("1.2", "preference", given), "preference") == PREFERENCE
    assert told(resolved("1.3", "preference", given), "preference") == ["revision-undecodable"]


@pytest.mark.parametrize(("release", "reasons"), [("1.0", ["unsupported-volume"]), ("1.1", [])])
def test_1_0_has_no_failure_policy(release, reasons):
    found = resolved(release, "instancetype", volumes=[{"name": "root", "emptyDisk": {"capacity": "1Gi"}}])
    assert [error.reason for error in found.errors] == reasons
    assert ("instancetype" in found.vm["spec"]) == bool(reasons)
