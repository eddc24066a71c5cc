"""How a VM starts, how a running VM may change, and the conditions that KubeVirt 1.0 to 1.2 have for that.

Before 1.2, a VM asks for changes with `liveUpdateFeatures`. Since then, the rollout strategy of the cluster decides.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, dotted, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import examine, number, shut, use
from krm_fn.kubevirt.admission.formats import quantity
from krm_fn.kubevirt.admission.scope import NOT_SUPPORTED, Cause, Scope
from krm_fn.kubevirt.releases import Version

VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"
FEATURES = VMS + "validateLiveUpdateFeatures"
MEMORY = VMS + "validateLiveUpdateMemory"  # until 1.3

KEY, GATE = "liveUpdateFeatures", "VMLiveUpdateFeatures"
KEY_UNTIL: Version = (1, 2)
# Since this release, each of the live updates excludes an instancetype, and memory is one of them.
MEMORY_SINCE: Version = (1, 1)
# The first release with a rollout strategy did not roll out VMs with an instancetype.
WITH_INSTANCETYPE: tuple[Version, Version] = ((1, 2), (1, 2, 1))

BLOCK = 2 * 2**20

# What memory hotplug excludes: the place in the domain, and the word for it.
EXCLUDED: tuple[tuple[Path, str], ...] = (
    (("cpu", "realtime"), "realtime"),
    (("cpu", "numa", "guestMappingPassthrough"), "guestMappingPassthrough"),
    (("launchSecurity",), "launchSecurity"),
    (("cpu", "dedicatedCpuPlacement"), "dedicatedCpuPlacement"),
    (("memory", "hugepages"), "hugepages"),
)


def live_update_features(spec: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """The conditions of `liveUpdateFeatures`; `spec` is the VM's spec with its place, `scope` the template with defaults."""
    wanted = spec.get(KEY)
    if wanted is None or not scope.release.within(until=KEY_UNTIL):
        return
    place, features = (*at, KEY), as_map(wanted)
    if not scope.gate(GATE):
        yield Cause(path=place, message=shut(KEY, GATE), upstream=FEATURES, gate=GATE)
    knows_memory = scope.release.within(since=MEMORY_SINCE)
    if spec.get("instancetype") is not None and (knows_memory or features.get("cpu") is not None):
        message = f"{KEY} cannot be combined with an instancetype; remove one of them"
        yield Cause(path=place, message=message, reason=NOT_SUPPORTED, upstream=FEATURES)
    if features.get("cpu") is not None:
        yield from _cpu(as_map(features["cpu"]), place, scope)
    most = get(features, ("memory", "maxGuest"))
    if most is not None and knows_memory:
        yield from _memory(most, place, scope)


def _cpu(wanted: Object, place: Path, scope: Scope) -> Iterator[Cause]:
    most, path = wanted.get("maxSockets"), (*place, "cpu")
    if most is not None and number(scope.cpu.get("sockets")) > number(most):
        message = "the VM has more sockets than maxSockets; raise maxSockets or lower cpu.sockets"
        yield Cause(path=(*path, "maxSockets"), message=message, upstream_path=dotted(place), upstream=FEATURES)
    if _states_cpu(scope):
        message = "live updates of CPUs cannot be combined with resources for the CPU; remove these or liveUpdateFeatures.cpu"
        yield Cause(path=path, message=message, upstream_path=dotted(place), upstream=FEATURES)


def _states_cpu(scope: Scope) -> bool:
    return "cpu" in scope.requests or "cpu" in scope.limits


def _memory(most: object, place: Path, scope: Scope) -> Iterator[Cause]:
    path = (*place, "memory", "maxGuest")
    if "memory" in scope.limits:
        message = "live updates of memory cannot be combined with a memory limit; remove the limit, or maxGuest"
        yield Cause(path=path, message=message, upstream_path=dotted(place), upstream=FEATURES)
    yield from _conditions(most, scope)
    if _is_uneven(most):
        named = dotted((*place, "MaxGuest"))
        yield Cause(path=path, message="maxGuest must be a multiple of 2Mi; round it", upstream_path=named, upstream=FEATURES)


def _is_uneven(amount: object) -> bool:
    found = quantity(amount)
    return found is not None and found.value() % BLOCK != 0


def _conditions(most: object, scope: Scope) -> Iterator[Cause]:
    """All conditions of memory hotplug that the VM itself does not meet. Later releases report only the first one."""
    for place, word in EXCLUDED:
        if get(scope.domain, place) not in (None, False):
            message = f"memory hotplug cannot be combined with {word}; remove one of them"
            yield scope.cause(("domain", *place), message).but(upstream=MEMORY)
    own, greatest = scope.memory.get("guest"), quantity(most)
    guest, wrong = quantity(own), ""
    if guest is None:
        wrong = "memory hotplug needs memory.guest; set it"
    elif greatest is not None and guest.nanos > greatest.nanos:
        wrong = "memory.guest must be at most maxGuest; lower guest or raise maxGuest"
    elif _is_uneven(own):
        wrong = "memory hotplug needs memory.guest to be a multiple of 2Mi; round it"
    if wrong:
        yield scope.cause(("domain", "memory", "guest"), wrong).but(upstream=MEMORY)
    if scope.spec.get("architecture") != "amd64":
        yield scope.cause(("architecture",), "memory hotplug works only on amd64; remove maxGuest").but(upstream=MEMORY)


def rollout(spec: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """A VM with an instancetype, on a cluster that rolls out changes live. upstream: validateLiveUpdateFeatures"""
    since, until = WITH_INSTANCETYPE
    if spec.get("instancetype") is not None and scope.release.within(since=since, until=until) and scope.rolls_out_live():
        message = "an instancetype cannot be used while the cluster rolls out changes live; remove it or use Stage"
        yield Cause(path=(*at, "instancetype"), message=message, reason=NOT_SUPPORTED, upstream=FEATURES)


@examine("domain", "resources", upstream=FEATURES, since=(1, 2), until=(1, 2, 2))
def stated_cpu(scope: Scope) -> Iterator[Cause]:
    if scope.rolls_out_live() and _states_cpu(scope):
        message = "resources for the CPU cannot be set while the cluster rolls out changes live; remove them"
        yield scope.cause(("domain", "resources"), message)


@examine("domain", "memory", "maxGuest", upstream=MEMORY, since=(1, 2), until=(1, 2, 1))
def limited_memory(scope: Scope) -> Iterator[Cause]:
    if scope.rolls_out_live() and "memory" in scope.limits:
        message = "a memory limit cannot be combined with memory hotplug; remove the limit, or memory.maxGuest"
        yield scope.cause(("domain", "resources"), message)


@examine("domain", "memory", "maxGuest", upstream=MEMORY, since=(1, 2), until=(1, 3))
def memory_hotplug(scope: Scope) -> Iterator[Cause]:
    """The conditions of memory hotplug, on clusters that roll out changes live."""
    most = scope.memory.get("maxGuest")
    if scope.rolls_out_live():
        yield from _conditions(most, scope)
        if _is_uneven(most):
            yield scope.cause(("domain", "memory", "maxGuest"), "maxGuest must be a multiple of 2Mi; round it")


VM_EXAMINATIONS = (stated_cpu, limited_memory, memory_hotplug)


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
