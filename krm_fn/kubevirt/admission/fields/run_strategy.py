"""How a VM starts: `running`, and `runStrategy`, which replaces it."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, dotted
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.causes import Cause
from krm_fn.kubevirt.admission.checks import use
from krm_fn.kubevirt.admission.scope import Scope
from krm_fn.kubevirt.releases import Version

VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"

RUN_STRATEGIES = ("Halted", "Manual", "Always", "RerunOnFailure", "Once")
WAIT_AS_RECEIVER, RECEIVER_GATE = "WaitAsReceiver", "DecentralizedLiveMigration"
RECEIVER_SINCE: Version = (1, 6)


def run_strategy(spec: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """One field sets how the VM starts, to a known value; `at` is the path of the VM's spec. upstream: validateRunStrategy"""
    running, strategy = spec.get("running"), spec.get("runStrategy")
    place = (*at, "runStrategy")
    if running is not None and strategy is not None:
        yield _cause((*at, "running"), "running and runStrategy exclude each other; remove running", running)
    if running is None and strategy is None:
        yield _cause(place, "runStrategy is missing; set it", named=dotted((*at, "running")))
    if strategy is None or strategy in RUN_STRATEGIES:
        return
    if strategy != WAIT_AS_RECEIVER or not scope.release.within(since=RECEIVER_SINCE):
        message = f"runStrategy {show(strategy)} is not supported; {use(RUN_STRATEGIES)}"
        yield _cause(place, message, strategy).but(known=RUN_STRATEGIES)
    elif not scope.gate(RECEIVER_GATE):
        message = f"runStrategy {WAIT_AS_RECEIVER} needs the feature gate {RECEIVER_GATE}, which is not enabled; use another"
        yield _cause(place, message, strategy).but(gate=RECEIVER_GATE)


def _cause(at: Path, message: str, current: object = None, named: str = "") -> Cause:
    cause = Cause(path=at, message=message, upstream_path=named, upstream=VMS + "validateRunStrategy")
    return cause if current is None or isinstance(current, dict | list) else cause.but(current=current)
