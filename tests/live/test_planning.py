"""What waits in a cluster and what draining a node comes to: tables that are worked out by hand from upstream's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from krm_fn.kubevirt.releases import NEWEST, parse
from krm_fn.live.planning import plan
from krm_fn.sizing import nodes
from krm_fn.sizing.draining import Drain, drains, read

Object = dict[str, Any]

REQUIRED = {
    "required": "requiredDuringSchedulingIgnoredDuringExecution",
    "preferred": "preferredDuringSchedulingIgnoredDuringExecution",
}


def table(name: str) -> list[Any]:
    found = yaml.safe_load((Path(__file__).parent / name).read_text())
    return [pytest.param(row, id=f"{place.rpartition('/')[2]}: {row['it']}") for place, rows in found.items() for row in rows]


def named(kind: str, name: str, namespace: str | None = "shop", **parts: Any) -> Object:
    about = {"name": name, **({"namespace": namespace} if namespace else {}), **parts.pop("metadata", {})}
    return {"kind": kind, "metadata": about, **parts}


def launcher(name: str, node: str, requests: Object, spec: Object, labels: Object) -> Object:
    return named(
        "Pod",
        f"virt-launcher-{name}",
        metadata={"labels": {"kubevirt.io": "virt-launcher", **labels}, "annotations": {"kubevirt.io/domain": name}},
        spec={"nodeName": node, "containers": [{"resources": {"requests": requests}}], **spec},
        status={"phase": "Running"},
    )


def plan_objects(row: Object) -> list[Object]:
    strategy = {"workloadUpdateMethods": row.get("methods", [])}
    spec = {"workloadUpdateStrategy": strategy, "configuration": {"migrations": row.get("limits", {})}}
    found = [named("KubeVirt", "kubevirt", "kubevirt", spec=spec)]
    for name, given in row.get("vms", {}).items():
        running = {key: given.get(key, "Always" if key == "runStrategy" else None) for key in ("runStrategy", "running")}
        found.append(named("VirtualMachine", name, spec=running, status={"conditions": conditions(given)}))
    for name, given in row.get("instances", {}).items():
        found += instance(name, given)
    for name, phase in row.get("migrations", {}).items():
        found.append(named("VirtualMachineInstanceMigration", "m", spec={"vmiName": name}, status={"phase": phase}))
    return found + revisions(row)


def conditions(given: Object) -> list[Object]:
    return [{"type": sort, "status": status, "message": "why"} for sort, status in given.get("conditions", {}).items()]


def instance(name: str, given: Object) -> list[Object]:
    about: Object = {"annotations": given.get("annotations", {}), "labels": {}}
    about["ownerReferences"] = [{"kind": given.get("owner", "VirtualMachine")}]
    if given.get("outdated"):
        about["labels"]["kubevirt.io/outdatedLauncherImage"] = ""
    if given.get("deleted"):
        about["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    migratable = {"type": "LiveMigratable", "status": str(given.get("migratable", True))}
    state = {"startTimestamp": "2026-01-01T00:00:00Z"} if given.get("moving") else {}
    status = {"phase": given.get("phase", "Running"), "migrationState": state, "conditions": [migratable, *conditions(given)]}
    pods = [launcher(name, given.get("node", "a"), {"memory": given["memory"]}, {}, {})] if "memory" in given else []
    return [named("VirtualMachineInstance", name, metadata=about, spec={}, status=status), *pods]


def revisions(row: Object) -> list[Object]:
    if "revision" not in row:
        return []
    sort = row.get("sort", "Instancetype")
    data = named(f"VirtualMachine{sort}", "small", None, apiVersion="instancetype.kubevirt.io/v1beta1", spec=row["revision"])
    labels = {"instancetype.kubevirt.io/object-version": row.get("version", "v1beta1")}
    matcher, key = {"kind": f"VirtualMachine{sort}", "name": "small"}, sort.lower()
    pinned = {"revisionName": "rev"} if row.get("by") == "spec" else {}
    status = {} if pinned else {f"{key}Ref": {"controllerRevisionRef": {"name": "rev"}}}
    found = [
        named("ControllerRevision", "rev", metadata={"labels": labels}, data=data),
        named("VirtualMachine", "web", spec={key: {**matcher, **pinned}}, status=status),
    ]
    today = {**data, "metadata": {"name": "small", "namespace": "shop"}, "spec": row.get("today")}
    return [*found, today] if "today" in row else found


@pytest.mark.parametrize("row", table("plan.yaml"))
def test_what_waits_is_what_kubevirt_says(row: Object) -> None:
    changed = (
        [{"namespace": "shop", "name": "web", "effect": row["applied"], "restartRequired": "why"}] if "applied" in row else []
    )
    upgrade = [{"from": "1.8", "to": "1.9", "vms": []}] if row.get("upgrade") else []
    found = plan(plan_objects(row), NEWEST, changed=changed, upgrade=upgrade)["steps"]
    if "cost" in row:
        assert [step["cost"] for step in found] == [row["cost"]]
        return
    machines = [(step["sort"], each) for step in found for each in step["machines"]]
    words = [(sort, each["name"], each["does"], each.get("command") or each.get("by", "")) for sort, each in machines]
    assert [" ".join(filter(None, each)) for each in words] == row["steps"]


def fit_objects(row: Object) -> list[Object]:
    found = []
    for name, given in row["nodes"].items():
        labels, taints = {"host": name, **given.get("labels", {})}, given.get("taints", [])
        amounts = {key: each for key, each in given.items() if key not in ("labels", "taints", "cordoned")}
        allocatable = {"cpu": 8, "memory": "8Gi", "pods": 110, **amounts}
        spec = {"taints": taints, "unschedulable": given.get("cordoned", False)}
        found.append(named("Node", name, None, metadata={"labels": labels}, spec=spec, status={"allocatable": allocatable}))
    for name, given in row["pods"].items():
        found += pod(name, given)
    for name, given in row.get("volumes", {}).items():
        found.append(named("PersistentVolumeClaim", name, spec={"volumeName": name} if given.get("bound", True) else {}))
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": given["terms"]}}} if "terms" in given else {}
        found.append(named("PersistentVolume", name, None, metadata={"labels": given.get("labels", {})}, spec=affinity))
    if "budget" in row:
        status = {"disruptionsAllowed": row.get("allowed", 0)}
        found.append(named("PodDisruptionBudget", "x", spec={"selector": row["budget"]}, status=status))
    return found


ABOUT = ("app", "at", "phase", "spec", "labels", "claims", "evict", "migratable", "model", "namespace", "deleted", "owner")


def pod(name: str, given: Object) -> list[Object]:
    requests = {"memory": "1Gi", **{key: each for key, each in given.items() if key not in ABOUT}}
    spec = spelled({**given.get("spec", {})})
    spec["volumes"] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in given.get("claims", [])]
    made = launcher(name, given.get("at", "a"), requests, spec, given.get("labels", {}))
    made["metadata"] |= {"namespace": given.get("namespace", "shop"), "name": name}
    made["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if given.get("deleted") else {}
    made["metadata"] |= {"ownerReferences": [{"kind": given["owner"]}]} if "owner" in given else {}
    made["status"] = {"phase": given.get("phase", "Running")}
    if given.get("app"):
        del made["metadata"]["labels"]["kubevirt.io"]
        return [made]
    strategy = {"evictionStrategy": given.get("evict", "LiveMigrate")} if given.get("evict", "x") else {}
    cpu = {"domain": {"cpu": {"model": given.get("model", "")}}}
    status = {"phase": "Running", "conditions": [{"type": "LiveMigratable", "status": str(given.get("migratable", True))}]}
    return [made, named("VirtualMachineInstance", name, spec={**strategy, **cpu}, status=status)]


def spelled(value: Any) -> Any:
    """The value with the long names of what is required and what is preferred."""
    if isinstance(value, dict):
        return {REQUIRED.get(key, key): spelled(each) for key, each in value.items()}
    return [spelled(each) for each in value] if isinstance(value, list) else value


def drained(objects: list[Object], strategy: str = "", release: str = "1.9") -> Drain:
    shapes = nodes.read([each for each in objects if each["kind"] == "Node"])
    return next(each for each in drains(shapes, objects, strategy, parse(release)) if each.node == "a")


@pytest.mark.parametrize("row", table("fit.yaml"))
def test_what_fits_elsewhere_is_what_the_filters_of_the_scheduler_say(row: Object) -> None:
    found = drained(fit_objects(row), row.get("cluster", ""))
    without = row.get("without", [])
    assert {
        "without": [name.removeprefix("shop/") for name in found.without_room],
        "lost": [name.removeprefix("shop/") for name in found.lost],
        "held": [name.removeprefix("shop/") for name in found.held],
        "stays": not found.succeeds,
        "does": [*found.machines],
    } == {
        "without": without,
        "lost": row.get("lost", without),
        "held": row.get("held", []),
        "stays": row.get("stays", False),
        "does": [row["does"]] if "does" in row else [*found.machines],
    }


def test_the_vendor_of_the_cpu_counts_since_1_8() -> None:
    """upstream: pkg/virt-controller/watch/migration/migration.go:getCPUVendorLabelKey"""
    labels = [{f"cpu-vendor.node.kubevirt.io/{vendor}": "true"} for vendor in ("Intel", "AMD")]
    objects = fit_objects({"nodes": {"a": {"labels": labels[0]}, "b": {"labels": labels[1]}}, "pods": {"web": {}}})
    assert [drained(objects, release=release).succeeds for release in ("1.7", "1.8")] == [True, False]


def test_what_a_dump_has_no_objects_for_is_not_known() -> None:
    assert plan([named("VirtualMachine", "web", spec={})], NEWEST)["unknown"] == [
        "the dump has no VirtualMachineInstance: not known whether VMs have outdated launchers or wait for a migration",
        "the dump has no ControllerRevision: not known whether the revisions of VMs are old",
        "the dump has no Pod: not known how much memory migrations take",
        "the dump has no Node: not known which drains succeed",
    ]


def test_volumes_are_not_known_where_a_machine_has_one_and_the_dump_none() -> None:
    found = plan(fit_objects({"nodes": {"a": {}}, "pods": {"web": {"claims": ["disk"]}}}), NEWEST)
    assert found["unknown"][-2:] == [
        "the dump has no PersistentVolumeClaim: not known which volumes keep machines on some nodes",
        "the dump has no PersistentVolume: not known which volumes keep machines on some nodes",
    ]


def test_the_loss_of_the_node_with_the_most_machines_without_room_is_named() -> None:
    pods = {"x": {}, "y": {"at": "b", "memory": "2Gi"}, "z": {"at": "b", "memory": "2Gi"}}
    objects = fit_objects({"nodes": {"a": {"memory": "2Gi"}, "b": {}, "c": {"memory": "1Gi"}}, "pods": pods})
    shapes = nodes.read([each for each in objects if each["kind"] == "Node"])
    found = plan(objects, NEWEST, drained=drains(shapes, objects))
    assert found["loss"] == {"node": "b", "withoutRoom": ["shop/y", "shop/z"]}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ({"containers": ["1Gi", "2Gi"]}, 3),
        ({"containers": ["1Gi"], "initContainers": ["2Gi"]}, 2),
        ({"containers": ["2Gi"], "initContainers": ["1Gi", "1Gi"]}, 2),
    ],
)
def test_a_dump_of_nodes_and_pods_has_what_other_pods_leave_free(containers: Object, expected: int) -> None:
    """The launchers are of the machines that are placed. upstream: k8s.io/component-helpers/resource/helpers.go:PodRequests"""
    spec = {key: [{"resources": {"requests": {"memory": each}}} for each in given] for key, given in containers.items()}
    node, other, web, _ = fit_objects({"nodes": {"a": {}}, "pods": {"x": {"app": True}, "web": {"memory": "4Gi"}}})
    other["spec"] = {"nodeName": "a", **spec}
    (shape,) = read({"kind": "List", "items": [node, other, web]})
    assert shape.allocatable["memory"] == (8 - expected) * 2**30 * 10**9
