"""What the rules say of builtin instancetypes and preferences in use."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Ref
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.facts import gather
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import judge_bundle

API = "instancetype.kubevirt.io/v1beta1"
U1_MEDIUM = {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}


def release(text):
    major, minor, patch = map(int, text.split("."))
    return Release(version=(major, minor, patch))


def vm_facts(text, name, *, matcher="instancetype", kind=INSTANCETYPE, origin="catalogue", given=None, prefix=()):
    vm = {"spec": {matcher: {"name": name} if given is None else given}}
    found = Found(spec={}, ref=Ref(api_version=API, kind=kind, name=name), origin=origin)
    entry = Entry(obj={"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}}, item=0)
    resolution = Resolution(vm=vm, **{matcher: found})
    return VmFacts(entry=entry, vm=vm, admitted=vm, release=release(text), cluster=None, resolution=resolution, prefix=prefix)


def judged(rule, text="1.9.0", *, vms=(), items=(), **config):
    settings = Config(release=release(text), **config)
    facts = gather(Bundle(items), settings).but(vms=tuple(vms))
    return [finding for finding in judge_bundle(facts, {}) if finding.rule == rule]


def cluster_object(name, spec, kind=INSTANCETYPE, api=API):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def kubevirt(*, enabled):
    configuration = {"commonInstancetypesDeployment": {"enabled": enabled}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": configuration},
    }


def test_a_deprecated_instancetype_is_a_warning_at_its_name():
    (finding,) = judged("deprecated-instancetype", "1.4.1", vms=[vm_facts("1.4.1", "gn1.xlarge")])
    assert (finding.severity, finding.path, finding.current) == ("warning", ("spec", "instancetype", "name"), "gn1.xlarge")
    assert finding.message.startswith("the builtin instancetype gn1.xlarge is deprecated in KubeVirt 1.4.1; ")


def test_a_deprecated_preference_is_a_warning_too():
    facts_of_vm = vm_facts("1.4.0", "centos.7", matcher="preference", kind=PREFERENCE)
    (finding,) = judged("deprecated-instancetype", "1.4.0", vms=[facts_of_vm])
    assert finding.path == ("spec", "preference", "name")


@pytest.mark.parametrize(("text", "name", "origin"), [("1.9.0", "u1.medium", "catalogue"), ("1.4.1", "gn1.xlarge", "bundle")])
def test_what_is_not_deprecated_or_not_builtin_is_passed_over(text, name, origin):
    vms = [vm_facts(text, name, origin=origin)]
    assert judged("deprecated-instancetype", text, vms=vms) == []
    assert judged("removed-in-later-release", text, vms=vms) == []


def test_an_inferred_name_is_blamed_on_its_volume():
    vms = [vm_facts("1.4.1", "gn1.xlarge", given={"inferFromVolume": "root"})]
    (finding,) = judged("deprecated-instancetype", "1.4.1", vms=vms)
    assert (finding.path, finding.current) == (("spec", "instancetype", "inferFromVolume"), "root")


@pytest.mark.parametrize("given", [[], "gn1.xlarge", {}])
def test_a_matcher_of_another_shape_is_blamed_as_a_whole(given):
    vms = [vm_facts("1.4.1", "gn1.xlarge", given=given)]
    (finding,) = judged("deprecated-instancetype", "1.4.1", vms=vms)
    assert finding.path == ("spec", "instancetype")


def test_in_a_pool_the_path_runs_from_the_pools_root():
    vms = [vm_facts("1.4.1", "gn1.xlarge", prefix=("spec", "virtualMachineTemplate"))]
    (finding,) = judged("removed-in-later-release", "1.4.1", vms=vms)
    assert finding.path == ("spec", "virtualMachineTemplate", "spec", "instancetype", "name")


def test_removal_in_a_later_release_is_told():
    (finding,) = judged("removed-in-later-release", "1.4.1", vms=[vm_facts("1.4.1", "gn1.xlarge")])
    assert finding.severity == "info"
    assert finding.message.startswith("KubeVirt 1.5.0 no longer deploys the builtin instancetype gn1.xlarge; ")


def test_every_vm_that_uses_the_name_is_told():
    assert len(judged("removed-in-later-release", "1.4.1", vms=[vm_facts("1.4.1", "gn1.xlarge")] * 3)) == 3


def test_a_builtin_name_with_another_spec_is_a_warning_that_names_the_paths():
    own = cluster_object("u1.medium", {"cpu": {"guest": 2, "model": "host-model"}, "memory": {"guest": "4Gi"}})
    (finding,) = judged("differing-catalogue-name", items=[own])
    assert (finding.severity, finding.path, finding.current, finding.item) == ("warning", ("metadata", "name"), "u1.medium", 0)
    assert "this name in KubeVirt 1.9.0 differs in spec.cpu.guest, spec.cpu.model; rename" in finding.message


def test_many_differing_paths_are_counted():
    own = cluster_object("fedora", {}, kind=PREFERENCE)
    own["spec"] = {"annotations": {"a": "b", "c": "d", "e": "f", "g": "h", "i": "j"}}
    (finding,) = judged("differing-catalogue-name", items=[own])
    assert finding.message.count("spec.") == 5
    assert " and 6 more; " in finding.message


@pytest.mark.parametrize(
    "own",
    [
        cluster_object("u1.medium", U1_MEDIUM),
        cluster_object("u1.medium", {"cpu": {"guest": 1, "model": None}, "memory": {"guest": "4096Mi"}, "gpus": []}),
        cluster_object("my.medium", {"cpu": {"guest": 2}}),
        cluster_object("u1.medium", {"cpu": {"guest": 2}}, kind="VirtualMachineInstancetype"),
        cluster_object("u1.medium", {"cpu": {"guest": 2}}, api="example.com/v1"),
    ],
)
def test_the_same_spec_another_name_or_another_kind_is_fine(own):
    assert judged("differing-catalogue-name", items=[own]) == []


@pytest.mark.parametrize("spec", [None, "text", [], {"cpu": "text"}, {"cpu": {"guest": True}, "memory": {"guest": "lots"}}])
def test_a_spec_of_any_shape_differs(spec):
    assert len(judged("differing-catalogue-name", items=[cluster_object("u1.medium", spec)])) == 1


def test_without_a_catalogue_nothing_differs():
    own = cluster_object("u1.medium", {"cpu": {"guest": 2}})
    assert judged("differing-catalogue-name", items=[own], catalogue="none") == []
    assert judged("differing-catalogue-name", items=[own, kubevirt(enabled=False)]) == []
    assert len(judged("differing-catalogue-name", items=[own, kubevirt(enabled=True)])) == 1
