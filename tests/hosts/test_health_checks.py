"""The health checks of kustomization-examples/health-checks, run in Lua as Argo CD does, and in CEL as Flux does."""

from pathlib import Path

import pytest
from lupa.lua51 import LuaRuntime

from krm_fn import yamlio
from krm_fn.base.work import WORK
from krm_fn.policies.evaluation import planned
from krm_fn.policies.running import evaluated
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked

EXAMPLES = Path(__file__).resolve().parents[2] / "kustomization-examples" / "health-checks"
LUA = yamlio.read_value((EXAMPLES / "argocd-cm.yaml").read_text())["data"]
CEL = {each["kind"]: each for each in yamlio.read_value((EXAMPLES / "flux.yaml").read_text())["spec"]["healthCheckExprs"]}
NAMES = dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "status"), "dyn")
STATES = {"Healthy": "current", "Suspended": "current", "Degraded": "failed", "Progressing": "in progress"}
GROUPS = {"VirtualMachine": "kubevirt.io", "VirtualMachinePool": "pool.kubevirt.io", "DataVolume": "cdi.kubevirt.io"}

READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "reason": "GuestNotRunning", "message": "Guest VM is not reported as running"}
RESTART = {"type": "RestartRequired", "status": "True"}
ALWAYS, HALTED = {"runStrategy": "Always"}, {"runStrategy": "Halted"}


def vm(state, *conditions, **spec):
    return {"kind": "VirtualMachine", "spec": spec or ALWAYS, "status": {"printableStatus": state, "conditions": [*conditions]}}


def pool(replicas, ready, *conditions, wanted=2, **spec):
    template = {"spec": {**(spec or ALWAYS), "template": {}}}
    status = {"replicas": replicas, "readyReplicas": ready, "conditions": [*conditions]}
    counted = {key: value for key, value in status.items() if value}
    own = {"virtualMachineTemplate": template} | ({} if wanted is None else {"replicas": wanted})
    return {"kind": "VirtualMachinePool", "spec": own, "status": counted}


def volume(phase, *conditions):
    return {"kind": "DataVolume", "spec": {}, "status": {"phase": phase, "conditions": [*conditions]}}


ROWS = {
    "runs": (vm("Running", READY), "Healthy"),
    "runs and waits for a restart": (vm("Running", READY, RESTART), "Healthy"),
    "runs, the guest does not answer": (vm("Running", UNREADY), "Progressing"),
    "migrates": (vm("Migrating", READY), "Healthy"),
    "starts": (vm("Starting", UNREADY), "Progressing"),
    "is paused": (vm("Paused", UNREADY), "Suspended"),
    "is stopped by git": (vm("Stopped", UNREADY, **HALTED), "Healthy"),
    "is stopped by git, in the older form": (vm("Stopped", UNREADY, running=False), "Healthy"),
    "is stopped by hand": (vm("Stopped", UNREADY, runStrategy="Manual"), "Healthy"),
    "ended": (vm("Stopped", UNREADY, runStrategy="RerunOnFailure"), "Healthy"),
    "is stopped and will start": (vm("Stopped", UNREADY), "Progressing"),
    "is stopped and will start, in the older form": (vm("Stopped", UNREADY, running=True), "Progressing"),
    "has no claim": (vm("ErrorPvcNotFound", UNREADY), "Degraded"),
    "has no node": (vm("ErrorUnschedulable", UNREADY), "Degraded"),
    "crashes": (vm("CrashLoopBackOff", UNREADY), "Degraded"),
    "is refused": (vm("Stopped", {"type": "Failure", "status": "True", "message": "no"}, **HALTED), "Degraded"),
    "waits for a volume": (vm("WaitingForVolumeBinding", UNREADY), "Progressing"),
    "is new": ({"kind": "VirtualMachine", "spec": ALWAYS}, "Progressing"),
    "pool is ready": (pool(2, 2), "Healthy"),
    "pool of one": (pool(1, 1, wanted=None), "Healthy"),
    "pool of none": (pool(0, 0, wanted=0), "Healthy"),
    "pool starts": (pool(2, 1), "Progressing"),
    "pool grows": (pool(1, 1), "Progressing"),
    "pool shrinks": (pool(3, 2), "Progressing"),
    "pool is stopped": (pool(2, 0, **HALTED), "Healthy"),
    "pool is stopped, in the older form": (pool(2, 0, running=False), "Healthy"),
    "pool can't make VMs": (pool(1, 1, {"type": "ReplicaFailure", "status": "True", "message": "no"}), "Degraded"),
    "pool is new": ({"kind": "VirtualMachinePool", "spec": pool(0, 0)["spec"]}, "Progressing"),
    "volume is filled": (volume("Succeeded"), "Healthy"),
    "volume waits for its VM": (volume("WaitForFirstConsumer"), "Healthy"),
    "volume is filled by its VM": (volume("PendingPopulation"), "Healthy"),
    "volume is imported": (volume("ImportInProgress", {"type": "Running", "status": "True"}), "Progressing"),
    "volume starts": (volume("ImportScheduled", {"type": "Running", "status": "False", "reason": "Pending"}), "Progressing"),
    "volume can't be filled": (
        volume("ImportInProgress", {"type": "Running", "status": "False", "reason": "Error", "message": "404"}),
        "Degraded",
    ),
    "volume failed": (volume("Failed"), "Degraded"),
    "volume is new": ({"kind": "DataVolume", "spec": {}}, "Progressing"),
}


@pytest.mark.parametrize("row", ROWS)
def test_argo_cd_is_told_the_health(row: str) -> None:
    obj, health = ROWS[row]
    script = LUA[f"resource.customizations.health.{GROUPS[obj['kind']]}_{obj['kind']}"]
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.globals().obj = lua.table_from(obj, recursive=True)
    found = dict(lua.execute(script))
    assert (found["status"], isinstance(found["message"], str)) == (health, True)


@pytest.mark.parametrize("row", ROWS)
def test_flux_is_told_the_health(row: str) -> None:
    obj, health = ROWS[row]
    checks = CEL[obj["kind"]]
    found = next((state for state in ("failed", "current") if holds(checks[state], obj)), "in progress")
    assert found == STATES["Progressing" if health == "Suspended" and obj["kind"] != "VirtualMachine" else health]


def holds(expression: str, obj: dict) -> bool:
    """Whether an expression is true of an object; Flux waits where it can't be evaluated."""
    WORK.begin(0)
    names = {name: kind for name, kind in NAMES.items() if name in obj}
    return evaluated(planned(checked(parse(expression), NAMES), names).step, obj)[0] is True
