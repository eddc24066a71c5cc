"""Quotas and LimitRanges, by the cases that are worked out by hand in fixtures/capacity."""

from __future__ import annotations

import jsonschema
import pytest
import yaml
from functions import resource_list, vm
from measured import FIXTURES

import krm_fn
from krm_fn.base.paths import put
from krm_fn.sizing.schema import schema

CASES = yaml.safe_load((FIXTURES / "capacity" / "cases.yaml").read_text(encoding="utf-8"))
TEAM = {"namespace": "team"}


def machine(given):
    found = vm(given["name"], **TEAM)
    template = found["spec"]["template"]
    template["metadata"] = {"labels": {"app": "fleet"}, "annotations": given.get("annotations", {})}
    domain = {"devices": {}, "memory": {"guest": "1Gi"}, "cpu": {"cores": 1}, **given.get("domain", {})}
    template["spec"] = {"domain": domain, **given.get("spec", {})}
    if "templates" in given:
        found["spec"]["dataVolumeTemplates"] = given["templates"]
    return pool(found, given["pool"]) if "pool" in given else found


def pool(found, replicas):
    inside = {"metadata": {"labels": {"app": "fleet"}}, "spec": found["spec"]}
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": found["metadata"],
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "fleet"}}, "virtualMachineTemplate": inside},
    }


def quota(case):
    kind = case.get("kind", "ResourceQuota")
    version = "v1" if kind == "ResourceQuota" else "aaq.kubevirt.io/v1alpha1"
    spec = {"hard": case["hard"], **case.get("scopes", {})}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "quota", **TEAM}, "spec": spec}


def objects(case):
    found = [machine(each) for each in case["vms"]] + case.get("items", [])
    if "hard" in case:
        found.append(quota(case))
    if "limits" in case:
        limits = {"metadata": {"name": "limits", **TEAM}, "spec": {"limits": case["limits"]}}
        found.append({"apiVersion": "v1", "kind": "LimitRange", **limits})
    if "calculator" in case:
        operator = {"apiVersion": "aaq.kubevirt.io/v1alpha1", "kind": "AAQ", "metadata": {"name": "aaq"}}
        put(operator, ("spec", "configuration", "vmiCalculatorConfiguration", "configName"), case["calculator"])
        found.append(operator)
    return found


def capacity(*items, **spec):
    found = krm_fn.capacity(resource_list(*items, **spec))
    jsonschema.validate(found, schema())
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_worked_cases(case) -> None:
    found = capacity(*objects(case), configuration=case.get("configuration", {}))
    if "hard" in case:
        (judged,) = found["quotas"]
        shown = {key: judged[key] for key in ("used", "free", "exceeded")}
        shown["stops"] = {each["name"]: each["why"] for each in judged["stops"]}
        shown["migrations"] = [each["name"] for each in judged["blocksMigration"]]
        assert {key: value for key, value in shown.items() if key in case} == {key: case[key] for key in shown if key in case}
    if "limitRange" in case:
        limited = found["vms"][0]["limitRange"]
        for key, value in case["limitRange"].items():
            given = limited[key]
            assert (given if key == "refused" else {name: given[name] for name in value}) == value


def test_every_case_cites_a_rule() -> None:
    assert [case["name"] for case in CASES if not case["rule"]] == []


def test_an_aware_quota_shows_the_use_with_each_calculator() -> None:
    case = {"vms": [{"name": "a", "pool": 2}], "kind": "ApplicationAwareResourceQuota", "hard": {"cpu/vmi": "4"}}
    (judged,) = capacity(*objects(case))["quotas"]
    assert judged["calculator"] == "DedicatedVirtualResources"
    assert {
        name: (counts.get("requests.cpu"), counts.get("requests.cpu/vmi")) for name, counts in judged["counts"].items()
    } == {
        "VmiPodUsage": ("210m", None),
        "VirtualResources": ("2", None),
        "DedicatedVirtualResources": (None, "2"),
        "GuestEffectiveResources": ("200m", None),
        "IgnoreVmiCalculator": ("210m", None),
    }


@pytest.mark.parametrize(
    ("selector", "used"),
    [
        ({"labels": {"matchLabels": {"tenant": "x"}}}, "2"),
        ({"labels": {"matchLabels": {"tenant": "x"}}, "annotations": {"a": "b"}}, "1"),
        ({"labels": {"matchLabels": {"kubernetes.io/metadata.name": "team"}}}, "1"),
        ({"labels": {"matchExpressions": [{"key": "tenant", "operator": "Wrong"}]}}, "0"),
    ],
)
def test_a_quota_of_the_cluster_takes_namespaces_by_labels_and_annotations(selector, used) -> None:
    one, other = machine({"name": "a"}), machine({"name": "b"})
    other["metadata"]["namespace"] = "second"
    first = {"name": "team", "labels": {"tenant": "x"}, "annotations": {"a": "b"}}
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": each}
        for each in (first, {**first, "name": "second", "annotations": {}})
    ]
    quota = {
        "apiVersion": "aaq.kubevirt.io/v1alpha1",
        "kind": "ApplicationAwareClusterResourceQuota",
        "metadata": {"name": "tenant"},
        "spec": {"quota": {"hard": {"instances/vmi": "1"}}, "selector": selector},
    }
    (judged,) = capacity(one, other, *spaces, quota)["quotas"]
    assert judged["used"] == {"instances/vmi": used}
    assert len(judged["namespaces"]) == int(used)


def test_quotas_of_other_namespaces_do_not_count() -> None:
    elsewhere = quota({"hard": {"pods": "1"}})
    elsewhere["metadata"]["namespace"] = "other"
    (judged,) = capacity(machine({"name": "a"}), elsewhere)["quotas"]
    assert judged["used"] == {"pods": "0"}
