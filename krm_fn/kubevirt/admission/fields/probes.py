"""Probes, and the spec's fields for start, eviction and names."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path
from krm_fn.base.wording import listed, show
from krm_fn.kubevirt.admission.checks import Check, Group, count, dns_label, dns_subdomain, examine, exclusive, use
from krm_fn.kubevirt.admission.scope import REQUIRED, Cause, Scope, name_of
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"

HANDLERS = ("httpGet", "tcpSocket", "exec", "guestAgentPing")
EVICTIONS = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")

# Before this release, a pod network counted only if an interface had its name.
NETWORK_ENOUGH_SINCE: Version = (1, 5)


def _on_pod_network(scope: Scope) -> bool:
    pods = {name_of(network) for network in scope.networks if network.get("pod") is not None}
    if scope.release.within(since=NETWORK_ENOUGH_SINCE):
        return bool(pods)
    return any(name_of(interface) in pods for interface in scope.interfaces)


PROBE = (
    exclusive(
        HANDLERS,
        message=f"a probe can have only one kind; keep one of {listed(HANDLERS, 'and')}",
        upstream=VMI + "validateProbe",
    ),
    Check(
        at=(),
        refuses=lambda _value, probe, _scope: not count(probe, HANDLERS),
        message=f"the probe has no kind; set one of {listed(HANDLERS, 'and')}",
        reason=REQUIRED,
        upstream=VMI + "validateProbe",
    ),
    *(
        Check(
            at=(key,),
            refuses=lambda _value, _probe, scope: not _on_pod_network(scope),
            message=f"{key} needs the pod network; add it, or use exec or guestAgentPing",
            upstream=VMI + "appendStatusCauseForProbeNotAllowedWithNoPodNetworkPresent",
        )
        for key in ("httpGet", "tcpSocket")
    ),
)

GROUPS = (
    Group(at=("readinessProbe",), checks=PROBE),
    Group(at=("livenessProbe",), checks=PROBE),
    Group(
        at=(),
        checks=(
            dns_label(("hostname",), upstream=VMI + "validateHostNameNotConformingToDNSLabelRules"),
            dns_subdomain(("subdomain",), upstream=VMI + "validateSubdomainDNSSubdomainRules"),
            Check(
                at=("startStrategy",),
                refuses=lambda value, _spec, _scope: value != "Paused",
                message="startStrategy {value} is not supported; use Paused or remove it",
                upstream=VMI + "validateStartStrategy",
            ),
            Check(
                at=("startStrategy",),
                refuses=lambda value, spec, _scope: value == "Paused" and spec.get("livenessProbe") is not None,
                message="a guest that starts paused fails its livenessProbe; remove startStrategy or livenessProbe",
                upstream=VMI + "validateStartStrategy",
            ),
        ),
    ),
)


@examine(upstream=VMI + "validateLiveMigration")
def eviction_strategy(scope: Scope) -> Iterator[Cause]:
    """The VM's eviction strategy, or else the cluster's, is a known one."""
    own = scope.spec.get("evictionStrategy")
    strategy = own if own is not None else scope.cluster.pointer("evictionStrategy")
    if strategy is not None and strategy not in EVICTIONS:
        at: Path = ("evictionStrategy",)
        yield scope.cause(at, f"evictionStrategy {show(strategy)} is not supported; {use(EVICTIONS)}").but(known=EVICTIONS)


EXAMINATIONS = (eviction_strategy,)
