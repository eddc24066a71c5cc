"""KubeVirt's measured answers, compared with the complete function."""

import json
import re

import measured
import pytest
from measured import files

import krm_fn

RELEASES = files("fuzz")
WITH_EXPANSION = files("matrix", "fuzz", "inference", "revisions", "hand")
WITH_INSTANCES = ("matrix-v1.9.0", "fuzz-v1.9.0", "fuzz-v1.8.4", "fuzz-v1.7.4")


def resource_list(case, **spec):
    config = {
        "kubevirtVersion": case["kubevirt"].removeprefix("v"),
        "catalogue": "none",
        "configuration": case.get("config", {}),
        **spec,
    }
    return {
        "items": case["items"],
        "functionConfig": {
            "apiVersion": "kubevirt-render.dev/v1alpha1",
            "kind": "RenderVirtualMachines",
            "spec": config,
        },
    }


def key(item):
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


def of_kind(kind, items):
    return {key(item): item for item in items if item["kind"] == kind}


def expected_vm(answer, given):
    """KubeVirt's VM; a namespace that the bundle leaves out is never added."""
    metadata = {name: value for name, value in answer["metadata"].items() if name != "namespace" or name in given["metadata"]}
    return {**answer, "metadata": metadata}


def error_paths(results, name):
    namespace, _, name = name.partition("/")
    return {
        result["tags"].get("upstreamPath") or result.get("field", {}).get("path", "")
        for result in results
        if result["severity"] == "error"
        and result.get("resourceRef", {}).get("kind") == "VirtualMachine"
        and result["resourceRef"]["name"] == name
        and result["resourceRef"].get("namespace", "default") == namespace
    }


def conflict_paths(message):
    found = re.search(r"VM field(?:\(s\)|s) (.*) conflicts? with", message)
    return set(found.group(1).split(", ")) if found else set()


@pytest.mark.parametrize("name", WITH_EXPANSION)
def test_expansion_agrees(name, cases):
    wrong = []
    count = 0
    for case in cases(name):
        before = json.dumps(case["items"])
        out = krm_fn.process(resource_list(case))
        given, left = of_kind("VirtualMachine", case["items"]), of_kind("VirtualMachine", out["items"])
        if json.dumps(case["items"]) != before:
            wrong.append((case["id"], "the argument was changed"))
        for vm, answer in case["expect"].items():
            count += 1
            if answer.get("upstreamCrashes"):
                continue  # no exception was raised, and that is all there is to agree on
            if "expanded" in answer:
                agrees = left[vm] == expected_vm(answer["expanded"], given[vm])
            else:
                paths = error_paths(out["results"], vm)
                agrees = bool(paths) and left[vm] is given[vm] and conflict_paths(answer.get("expandError", "")) <= paths
            if not agrees:
                wrong.append((case["id"], vm))
    assert not wrong, f"{len(wrong)} of {count} disagree"
    assert count


@pytest.mark.parametrize("name", WITH_INSTANCES)
def test_instances_agree(name, cases):
    wrong = []
    count = 0
    for case in cases(name):
        out = krm_fn.process(resource_list(case, instances="include"))
        instances = of_kind("VirtualMachineInstance", out["items"])
        for vm, answer in case["expect"].items():
            if "instance" in answer:
                count += 1
                if vm not in instances or not same_instance(instances[vm], answer["instance"]):
                    wrong.append((case["id"], vm))
    assert not wrong, f"{len(wrong)} of {count} disagree"
    assert count


def same_instance(instance, answer):
    notes = instance["metadata"]["annotations"].items()
    theirs = {
        name: value for name, value in notes if "config.kubernetes.io/" not in name and "kubevirt-render.dev/" not in name
    }
    labels = instance["metadata"].get("labels", {})
    return instance["spec"] == answer["spec"] and theirs == answer["annotations"] and labels == answer["labels"]


def test_every_pair_of_the_builtin_catalogue_renders_as_with_its_objects_in_the_bundle(cases):
    wrong = []
    for case in cases("matrix-v1.9.0"):
        (given,) = of_kind("VirtualMachine", case["items"]).values()
        out = krm_fn.process(resource_list({**case, "items": [given]}, catalogue="builtin"))
        (answer,) = case["expect"].values()
        if out["items"] != [expected_vm(answer["expanded"], given)]:
            wrong.append(case["id"])
    assert wrong == []


def change_side(case, items):
    """One side of a change, with the KubeVirt object that the case describes; without one its defaults hold."""
    spec = {"configuration": case["config"]} if case.get("config") else {}
    if case.get("workloadUpdateMethods"):
        spec["workloadUpdateStrategy"] = {"workloadUpdateMethods": case["workloadUpdateMethods"]}
    cluster = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": spec}
    side = resource_list({**case, "items": [*items, cluster] if spec else items})
    del side["functionConfig"]["spec"]["configuration"]
    return side


def change_keys(answer):
    """The keys of a change that are compared."""
    return {
        "effect": set(answer["effect"]),
        "allowed": answer["update"]["allowed"],
        "restartRequired": answer.get("restartRequired"),
        "live": set(answer.get("live", ())),
        "atRestart": set(answer.get("atRestart", ())),
        "migration": answer.get("migration", {}).get("by"),
        "power": answer.get("power"),
        "revisionsChanged": set(answer.get("revisionsChanged", ())),
        "creates": set(answer.get("creates", ())),
    }


def refused_fields(answer):
    return {cause["field"] for cause in answer["update"].get("causes") or () if cause.get("field")}


@pytest.mark.parametrize("name", files("changes"))
def test_changes_agree(name, cases):
    wrong = []
    count = 0
    for case in cases(name):
        migratable = case.get("assume", {}).get("migratable", True)
        old, new = change_side(case, case["old"]), change_side(case, case["new"])
        out = krm_fn.diff(old, new, apply=case["manner"] == "apply", migratable=migratable)
        json.dumps(out)
        records = {f"{record['namespace']}/{record['name']}": record for record in out["vms"]}
        for vm, answer in case["expect"].items():
            count += 1
            if not change_agrees(records.get(vm), answer):
                wrong.append((case["id"], vm))
    assert not wrong, f"{len(wrong)} of {count} disagree"
    assert count


def change_agrees(record, answer):
    if record is None:
        return answer["effect"] == ["nothing"]
    return change_keys(record) == change_keys(answer) and refused_fields(answer) <= refused_fields(record)


OF_MIGRATIONS = ("effect", "restartRequired", "live", "atRestart", "migration")


# The answers for an instance that can't be migrated are of one whose volumes can be: it has no condition StorageLiveMigratable.
# upstream: pkg/virt-controller/watch/volume-migration/volume-migration.go:ValidateVolumesUpdateMigration
IMMOVABLE = "cannot migrate the volumes as the VMI isn't migratable"


@pytest.mark.parametrize("name", files("changes"))
def test_what_is_known_of_an_instance_counts_as_if_it_were_given_and_else_both_cases_are_told(name):
    wrong, told, seen = [], 0, set()
    for case in measured.cases(name, every=6):
        sides = change_side(case, case["old"]), change_side(case, case["new"])
        found = {key: records_of(krm_fn.diff(*sides, migratable=key)["vms"]) for key in ("auto", True, False)}
        statuses = {vm: statuses_of(record) for vm, record in records_of(krm_fn.capacity(sides[0])["vms"]).items()}
        for vm, record in found["auto"].items():
            others = {key: value for key, value in record.items() if key not in OF_MIGRATIONS}
            otherwise = {**others, **record["ifNotMigratable"]} if "ifNotMigratable" in record else record
            for status in statuses.get(vm, ()):
                seen.add(status)
                if IMMOVABLE in record.get("restartRequired", ""):
                    assert not status
                    continue
                expected = found[status].get(vm)
                told += "ifNotMigratable" in record
                if expected is None or change_keys(record if status else otherwise) != change_keys(expected):
                    wrong.append((case["id"], vm, status))
    assert not wrong
    assert seen == {True, False}
    assert told


def records_of(records):
    return {f"{record['namespace']}/{record['name']}": record for record in records}


def statuses_of(record):
    """Whether the machine of a record can be migrated: one answer, or two where that is not known."""
    answer = record.get("migratable")
    answers = [] if answer is None else [answer["best"], answer["worst"]] if "unknown" in answer else [answer]
    return {each["liveMigratable"]["status"] == "True" for each in answers}


@pytest.mark.parametrize("name", files("migratable"))
def test_a_drain_that_hangs_is_told_of_every_instance_that_surely_cannot_migrate(name):
    wrong, told = [], 0
    for case in measured.cases(name, every=3):
        out = krm_fn.process(resource_list({"config": {}, **case}, mode="validate"))
        hanging = {key({"metadata": each["resourceRef"]}) for each in of_rule("blocked-drain", out)}
        for vm, answer in case["expect"].items():
            best = answer.get("best", answer)
            if "eviction" in best:
                told += best["eviction"]["effect"] == "refused"
                if (best["eviction"]["effect"] == "refused") != (vm in hanging):
                    wrong.append((case["id"], vm))
    assert wrong == []
    assert told


def of_rule(rule, out):
    return [each for each in out["results"] if each["tags"]["rule"] == rule]
