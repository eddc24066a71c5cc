"""What waits in a cluster, worked out by hand from KubeVirt's rules: steps, their cost, and what draining a node comes to."""

from __future__ import annotations

from typing import Any

import pytest

from krm_fn.kubevirt.releases import NEWEST
from krm_fn.live.planning import plan
from krm_fn.sizing import nodes
from krm_fn.sizing.draining import Drain, drains, read

Object = dict[str, Any]

MIGRATABLE = {"type": "LiveMigratable", "status": "True"}
STUCK = {"type": "LiveMigratable", "status": "False"}


def kubevirt(*methods: str, **migrations: Any) -> Object:
    spec = {"workloadUpdateStrategy": {"workloadUpdateMethods": [*methods]}, "configuration": {"migrations": migrations}}
    return {"kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": spec}


def vm(name: str = "web", *conditions: Object, **spec: Any) -> Object:
    status = {"conditions": [*conditions], **({"instancetypeRef": spec.pop("ref")} if "ref" in spec else {})}
    return {
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": spec,
        "status": status,
    }


def instance(name: str = "web", *conditions: Object, outdated: bool = False, phase: str = "Running", **spec: Any) -> Object:
    labels = {"kubevirt.io/outdatedLauncherImage": ""} if outdated else {}
    return {
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "shop", "labels": labels},
        "spec": spec,
        "status": {"phase": phase, "conditions": [*conditions]},
    }


def launcher(name: str, node: str, memory: str = "1Gi", **spec: Any) -> Object:
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{name}",
            "namespace": "shop",
            "labels": {"kubevirt.io": "virt-launcher"},
            "annotations": {"kubevirt.io/domain": name},
        },
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"memory": memory}}}], **spec},
        "status": {"phase": "Running"},
    }


def pod(name: str, node: str, memory: str, *, phase: str = "Running", **spec: Any) -> Object:
    found = launcher(name, node, memory, **spec)
    return {**found, "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}}, "status": {"phase": phase}}


def node(
    name: str, memory: str = "8Gi", *, taints: list[Object] | None = None, labels: Object | None = None, **amounts: str
) -> Object:
    allocatable = {"cpu": "8", "memory": memory, "pods": "110", **amounts}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": [*(taints or ())]},
        "status": {"allocatable": allocatable},
    }


def steps(*objects: Object) -> list[Object]:
    found: list[Object] = plan([*objects], NEWEST)["steps"]
    return found


def gist(*objects: Object) -> list[tuple[str, str, str]]:
    """The sort of each step, and what is done and by what, of its only machine."""
    found = [(step["sort"], machine) for step in steps(*objects) for machine in step["machines"]]
    return [(sort, each["does"], each.get("command") or each.get("by", "")) for sort, each in found]


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_a_vm_waits_for_a_restart_if_its_condition_is_true(status: str) -> None:
    """upstream: pkg/virt-controller/watch/vm/vm.go:addRestartRequiredIfNeeded"""
    waiting = [("restart-required", "restart", "virtctl restart web -n shop")] if status == "True" else []
    assert gist(vm("web", {"type": "RestartRequired", "status": status, "message": "why"})) == waiting


@pytest.mark.parametrize("condition", ["HotVCPUChange", "HotMemoryChange", "VolumesChange", "MigrationRequired"])
@pytest.mark.parametrize(
    ("methods", "migratable", "expected"),
    [
        ((), True, ("migrate", "virtctl migrate web -n shop")),
        (("LiveMigrate",), True, ("migrate", "KubeVirt")),
        (("Evict",), True, ("migrate", "virtctl migrate web -n shop")),
        (("LiveMigrate", "Evict"), False, ("restart", "KubeVirt")),
        (("LiveMigrate",), False, ("restart", "virtctl restart web -n shop")),
    ],
)
def test_a_change_that_waits_for_a_migration_is_done_by_kubevirt_or_by_hand(
    condition: str, methods: tuple[str, ...], migratable: bool, expected: tuple[str, str]
) -> None:
    """upstream: pkg/virt-controller/watch/workload-updater/workload-updater.go:getUpdateData"""
    conditions = {"type": condition, "status": "True"}, MIGRATABLE if migratable else STUCK
    assert gist(kubevirt(*methods), instance("web", *conditions)) == [("migration-required", *expected)]


@pytest.mark.parametrize(("phase", "waits"), [("Running", True), ("Succeeded", False), ("Failed", False)])
def test_an_outdated_launcher_waits_while_its_instance_runs(phase: str, waits: bool) -> None:
    """upstream: workload-updater.go:isOutdated"""
    found = gist(instance("web", MIGRATABLE, outdated=True, phase=phase))
    assert found == ([("outdated-launcher", "migrate", "virtctl migrate web -n shop")] if waits else [])


@pytest.mark.parametrize(
    ("limits", "memory"),
    [({}, "15Gi"), ({"parallelMigrationsPerCluster": 2}, "9Gi"), ({"parallelMigrationsPerCluster": 1}, "5Gi")],
)
def test_migrations_at_once_need_the_memory_of_the_largest_launchers(limits: Object, memory: str) -> None:
    """upstream: pkg/virt-config/virt-config.go:ParallelMigrationsPerClusterDefault is 5"""
    names = {f"vm{size}": size for size in (1, 1, 2, 3, 4, 5)}
    pods = [launcher(name, "a", f"{size}Gi") for name, size in names.items()]
    outdated = [instance(name, MIGRATABLE, outdated=True) for name in names]
    (step,) = steps(kubevirt(**limits), *outdated, *pods)
    assert step["cost"] == {"migrations": 5, "restarts": 0, "memory": memory}


def revision(spec: Object, version: str = "v1beta1") -> Object:
    data = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "small"},
        "spec": spec,
    }
    labels = {"instancetype.kubevirt.io/object-version": version}
    return {"kind": "ControllerRevision", "metadata": {"name": "rev", "namespace": "shop", "labels": labels}, "data": data}


def small(spec: Object) -> Object:
    return {**revision(spec)["data"], "metadata": {"name": "small", "namespace": "shop"}}


SPEC = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}


@pytest.mark.parametrize(
    ("today", "version", "sorts"),
    [
        (SPEC, "v1beta1", []),
        ({"cpu": {"guest": 2}, "memory": {"guest": "2048Mi"}}, "v1beta1", []),  # as Go compares
        ({"cpu": {"guest": 4}, "memory": {"guest": "2Gi"}}, "v1beta1", ["old-revision"]),
        (SPEC, "v1alpha2", ["old-form"]),
        ({"cpu": {"guest": 4}, "memory": {"guest": "2Gi"}}, "v1alpha2", ["old-revision", "old-form"]),
    ],
)
def test_a_revision_is_old_if_its_object_has_changed_or_its_form_is_of_an_older_release(
    today: Object, version: str, sorts: list[str]
) -> None:
    """upstream: pkg/instancetype/revision/compare.go:Compare, pkg/instancetype/upgrade/handler.go:IsObjectLatestVersion"""
    matcher = {"kind": "VirtualMachineInstancetype", "name": "small"}
    machine = vm("web", instancetype=matcher, ref={"controllerRevisionRef": {"name": "rev"}})
    assert [step["sort"] for step in steps(machine, revision(SPEC, version), small(today))] == sorts


def test_what_a_dump_has_no_objects_for_is_not_known() -> None:
    assert plan([vm()], NEWEST)["unknown"] == [
        "the dump has no VirtualMachineInstance: not known whether VMs have outdated launchers or wait for a migration",
        "the dump has no ControllerRevision: not known whether the revisions of VMs are old",
        "the dump has no Pod: not known how much memory migrations take",
        "the dump has no Node: not known which drains succeed",
    ]


def test_a_name_that_a_shell_would_run_is_quoted() -> None:
    restart = {"type": "RestartRequired", "status": "True"}
    assert gist(vm("a; rm -rf /", restart)) == [("restart-required", "restart", "virtctl restart 'a; rm -rf /' -n shop")]


def test_applying_git_comes_first() -> None:
    record = {"namespace": "shop", "name": "web", "effect": ["restartRequired"], "restartRequired": "why"}
    found = plan([], NEWEST, changed=[record])["steps"]
    assert [(step["sort"], step["cost"], step["machines"][0]["command"]) for step in found] == [
        ("apply", {"migrations": 0, "restarts": 1}, "virtctl restart web -n shop")
    ]


def drained(name: str, *objects: Object, strategy: str = "") -> Drain:
    shapes = nodes.read([each for each in objects if each["kind"] == "Node"])
    return next(each for each in drains(shapes, [*objects], strategy) if each.node == name)


@pytest.mark.parametrize(
    ("own", "of_cluster", "condition", "what", "succeeds"),
    [
        ("LiveMigrate", "", MIGRATABLE, "migrates", True),
        ("LiveMigrate", "", STUCK, "refused", False),
        ("LiveMigrateIfPossible", "", MIGRATABLE, "migrates", True),
        ("LiveMigrateIfPossible", "", STUCK, "shutDown", True),
        ("None", "LiveMigrate", STUCK, "shutDown", True),
        ("None", "", MIGRATABLE, "shutDown", True),
        ("External", "", MIGRATABLE, "external", True),
        ("", "LiveMigrate", MIGRATABLE, "migrates", True),
        ("", "LiveMigrate", STUCK, "refused", False),
        ("", "LiveMigrateIfPossible", STUCK, "shutDown", True),
        ("", "", MIGRATABLE, "shutDown", True),
    ],
)
def test_an_eviction_does_what_the_strategy_says(
    own: str, of_cluster: str, condition: Object, what: str, succeeds: bool
) -> None:
    """upstream: pod-eviction-admitter.go:admitLauncherPod"""
    spec = {"evictionStrategy": own} if own else {}
    found = drained("a", node("a"), node("b"), instance("web", condition, **spec), launcher("web", "a"), strategy=of_cluster)
    assert (found.machines, found.succeeds) == ({what: ("shop/web",)}, succeeds)


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("other", "pods", "spec", "has_room"),
    [
        (node("b"), [], {}, True),
        (node("b", "512Mi"), [], {}, False),
        (node("b", "2Gi"), [pod("x", "b", "1536Mi")], {}, False),  # NodeResourcesFit: what other pods request is taken
        (node("b", "2Gi"), [pod("x", "b", "1536Mi", phase="Succeeded")], {}, True),
        (node("b", "2Gi"), [pod("x", "a", "1536Mi")], {}, True),
        (node("b", pods="1"), [pod("x", "b", "1Mi")], {}, False),
        (node("b", taints=[TAINT]), [], {}, False),  # TaintToleration
        (node("b", taints=[TAINT]), [], {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, True),
        (node("b", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), [], {}, True),
        (node("b"), [], {"nodeSelector": {"zone": "x"}}, False),  # NodeAffinity
        (node("b", labels={"zone": "x"}), [], {"nodeSelector": {"zone": "x"}}, True),
        (node("b", **{"hugepages-2Mi": "1Gi"}), [], {"overhead": {"hugepages-2Mi": "512Mi"}}, True),
        (node("b"), [], {"overhead": {"hugepages-2Mi": "512Mi"}}, False),
        (node("b", **{"nvidia.com/gpu": "1"}), [], {"overhead": {"nvidia.com/gpu": "1"}}, True),
        (node("b"), [], {"overhead": {"nvidia.com/gpu": "1"}}, False),
    ],
)
def test_a_machine_fits_elsewhere_by_the_filters_of_the_scheduler(
    other: Object, pods: list[Object], spec: Object, has_room: bool
) -> None:
    """upstream: k8s.io/kubernetes/pkg/scheduler/framework/plugins/{noderesources,tainttoleration,nodeaffinity}"""
    machine = instance("web", MIGRATABLE, evictionStrategy="LiveMigrate")
    found = drained("a", node("a"), other, machine, launcher("web", "a", **spec), *pods)
    assert (found.without_room == (), found.succeeds) == (has_room, has_room)


def test_machines_that_fit_one_by_one_may_not_fit_together() -> None:
    machines = [instance(name, MIGRATABLE, evictionStrategy="LiveMigrate") for name in ("large", "small")]
    pods = [launcher("large", "a", "3Gi"), launcher("small", "a", "2Gi")]
    assert drained("a", node("a"), node("b", "4Gi"), *machines, *pods).without_room == ("shop/small",)


def test_a_pod_whose_budget_allows_no_disruption_holds_the_drain() -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "x", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": 0},
    }
    found = drained("a", node("a"), node("b"), pod("x", "a", "1Gi"), budget)
    assert (found.held, found.succeeds) == (("shop/x",), False)


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
    other = {**pod("x", "a", "1Gi"), "spec": {"nodeName": "a", **spec}}
    (shape,) = read({"kind": "List", "items": [node("a", "8Gi"), other, launcher("web", "a", "4Gi")]})
    assert shape.allocatable["memory"] == (8 - expected) * 2**30 * 10**9
