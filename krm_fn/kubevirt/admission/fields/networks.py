"""Networks: their sources, their interfaces, and the DNS of the pod: policy, name servers, search paths, options.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validatePodDNSConfig
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Group, count, examine, one_of, shut
from krm_fn.kubevirt.admission.formats import is_ip, is_subdomain
from krm_fn.kubevirt.admission.scope import (
    DUPLICATE,
    INTERFACES,
    NOT_FOUND,
    NOT_SUPPORTED,
    REQUIRED,
    Cause,
    Scope,
    is_default_multus,
    maps,
    name_of,
)

SOURCE = "pkg/network/admitter/netsource.go:"
MATCH = "pkg/network/admitter/netiface.go:"
DRA = "pkg/network/admitter/dra.go:validateNetworkDevicesWithDRA"

SOURCES = ("pod", "multus", "resourceClaim")


@examine("networks", upstream=SOURCE + "validateSinglePodNetwork")
def one_default_network(scope: Scope) -> Iterator[Cause]:
    """At most one network is the pod's own: the pod network, or a Multus network that replaces it."""
    pods = [index for index, network in enumerate(scope.networks) if network.get("pod") is not None]
    multus = [index for index, network in enumerate(scope.networks) if is_default_multus(network)]
    if len(pods) > 1:
        message = "a VM can have only one pod network; remove the others"
        yield scope.cause(("networks", pods[1], "pod"), message, reason=DUPLICATE, named="interfaces")
    if len(multus) > 1:
        message = "a VM can have only one default Multus network; remove default from the others"
        yield scope.cause(("networks", multus[1], "multus", "default"), message, named="networks")
    if pods and multus:
        message = "a default Multus network replaces the pod network; remove one of them"
        yield scope.cause(("networks", multus[0], "multus", "default"), message, named="networks")


@examine("networks", upstream=SOURCE + "validateSingleNetworkSource")
def network_sources(scope: Scope) -> Iterator[Cause]:
    for index, network in enumerate(scope.networks):
        if count(network, SOURCES) != 1:
            message = "a network must have exactly one source; set one of pod, multus and resourceClaim"
            yield scope.cause(("networks", index), message, reason=REQUIRED)


@examine("networks", upstream=SOURCE + "validateMultusNetworkSource")
def unnamed_multus_network(scope: Scope) -> Iterator[Cause]:
    for index, network in enumerate(scope.networks):
        if network.get("multus") is not None and not is_set(as_map(network["multus"]).get("networkName")):
            message = "a Multus network needs a networkName; set it"
            yield scope.cause(
                ("networks", index, "multus", "networkName"), message, reason=REQUIRED, named=f"networks[{index}]"
            )


@examine("networks", upstream=MATCH + "validateNetworkNameUnique")
def network_named_twice(scope: Scope) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, network in enumerate(scope.networks):
        if name_of(network) in seen:
            message = f"network name {show(name_of(network))} is used by another network too; rename one"
            yield scope.cause(("networks", index, "name"), message, reason=DUPLICATE)
        seen.add(name_of(network))


@examine("networks", upstream=MATCH + "validateNetworksAssignedToInterfaces")
def network_without_interface(scope: Scope) -> Iterator[Cause]:
    known = {name_of(interface) for interface in scope.interfaces}
    for index, network in enumerate(scope.networks):
        if name_of(network) not in known:
            message = f"network {show(name_of(network))} has no interface with this name; add it to domain.devices.interfaces"
            yield scope.cause(("networks", index, "name"), message, reason=REQUIRED)


@examine(*INTERFACES, upstream=MATCH + "validateInterfaceNameUnique")
def interface_named_twice(scope: Scope) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, interface in enumerate(scope.interfaces):
        if name_of(interface) in seen:
            message = f"network {show(name_of(interface))} has another interface already; remove one of them"
            yield scope.cause((*INTERFACES, index, "name"), message, reason=DUPLICATE)
        seen.add(name_of(interface))


@examine(*INTERFACES, upstream=MATCH + "validateInterfacesAssignedToNetworks")
def interface_without_network(scope: Scope) -> Iterator[Cause]:
    known = {name_of(network) for network in scope.networks}
    for index, interface in enumerate(scope.interfaces):
        if name_of(interface) not in known:
            message = f"interface {show(name_of(interface))} has no network with this name; add it to networks"
            yield scope.cause((*INTERFACES, index, "name"), message)


@examine("networks", upstream=DRA, since=(1, 9))
def claimed_networks(scope: Scope) -> Iterator[Cause]:
    """Networks of dynamic resource allocation: feature gate, other networks, interfaces, claims."""
    claimed = [(i, as_map(n["resourceClaim"])) for i, n in enumerate(scope.networks) if n.get("resourceClaim") is not None]
    if not claimed:
        return
    first: Path = ("networks", claimed[0][0], "resourceClaim")
    gate = "NetworkDevicesWithDRA"
    if not scope.gate(gate):
        yield scope.cause(first, shut("networks[].resourceClaim", gate), named="networks", gate=gate)
    elif any(network.get("multus") is not None for network in scope.networks):
        yield scope.cause(
            first, "networks with claims cannot be combined with Multus networks; keep one kind", named="networks"
        )
    else:
        yield from _claims(scope, claimed)


def _claims(scope: Scope, claimed: list[tuple[int, Object]]) -> Iterator[Cause]:
    known = {name_of(claim) for claim in maps(scope.spec.get("resourceClaims"))}
    interfaces = {name_of(interface): i for i, interface in reversed(list(enumerate(scope.interfaces)))}
    seen: set[tuple[object, object]] = set()
    for index, source in claimed:
        yield from _claim_binding(scope, interfaces.get(name_of(scope.networks[index]), -1))
        at = ("networks", index, "resourceClaim")
        missing = [key for key in ("claimName", "requestName") if not is_set(source.get(key))]
        for key in missing:
            yield scope.cause((*at, key), f"{key} is missing; set it", reason=REQUIRED)
        if missing:
            continue
        claim, request = str(source["claimName"]), str(source["requestName"])
        if claim not in known:
            message = f"claimName {show(claim)} is not in resourceClaims; add it"
            yield scope.cause((*at, "claimName"), message, reason=NOT_FOUND)
        if (claim, request) in seen:
            message = f"request {show(request)} of claim {show(claim)} is used twice; use another request"
            yield scope.cause(at, message, reason=DUPLICATE, named=f"networks[{index}]")
        seen.add((claim, request))


def _claim_binding(scope: Scope, position: int) -> Iterator[Cause]:
    """The network's first interface, if there is one, uses SR-IOV or a plugin. `position` is -1 if there is none."""
    if position >= 0 and not count(scope.interfaces[position], ("sriov", "binding")):
        message = "an interface of a network with a claim must use SR-IOV or a binding plugin; set sriov or binding"
        yield scope.cause((*INTERFACES, position), message, named="domain.devices.interfaces")


EXAMINATIONS = (
    one_default_network,
    network_sources,
    unnamed_multus_network,
    network_named_twice,
    claimed_networks,
    network_without_interface,
    interface_named_twice,
    interface_without_network,
)


VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"

MOST_SERVERS, MOST_SEARCHES, LONGEST_SEARCH_LIST = 3, 6, 256

DNS_GROUPS = (
    Group(
        at=(),
        checks=(
            one_of(
                ("dnsPolicy",),
                ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
                reason=NOT_SUPPORTED,
                upstream=VMI + "validateDNSPolicy",
            ),
        ),
    ),
)


@examine("dnsPolicy", upstream=VMI + "validatePodDNSConfig")
def servers_of_policy_none(scope: Scope) -> Iterator[Cause]:
    if scope.spec.get("dnsPolicy") != "None":
        return
    config = scope.spec.get("dnsConfig")
    if config is None:
        yield scope.cause(("dnsConfig",), "dnsPolicy None needs name servers; set dnsConfig", reason=REQUIRED)
    elif not is_set(as_map(config).get("nameservers")):
        at, message = ("dnsConfig", "nameservers"), "dnsPolicy None needs name servers; set one"
        yield scope.cause(at, message, reason=REQUIRED, absolute="nameservers")


@examine("dnsConfig", upstream=VMI + "validatePodDNSConfig")
def dns_config(scope: Scope) -> Iterator[Cause]:
    """Upstream names these three lists without their path."""
    config = as_map(scope.spec.get("dnsConfig"))
    yield from _servers(scope, config)
    yield from _searches(scope, config)
    for index, option in enumerate(maps(config.get("options"))):
        if not is_set(option.get("name")):
            yield scope.cause(("dnsConfig", "options", index, "name"), "name is missing; set it", absolute="options")


def _servers(scope: Scope, config: Object) -> Iterator[Cause]:
    at, servers = ("dnsConfig", "nameservers"), as_list(config.get("nameservers"))
    if len(servers) > MOST_SERVERS:
        message = f"there are {len(servers)} name servers; at most {MOST_SERVERS} are allowed; remove the others"
        yield scope.cause(at, message, absolute="nameservers")
    for index, server in enumerate(servers):
        if not is_ip(server):
            message = f"name server {show(server)} is not an IP address; use one"
            yield scope.cause((*at, index), message, absolute="nameservers")


def _searches(scope: Scope, config: Object) -> Iterator[Cause]:
    at, searches = ("dnsConfig", "searches"), as_list(config.get("searches"))
    if len(searches) > MOST_SEARCHES:
        message = f"there are {len(searches)} search paths; at most {MOST_SEARCHES} are allowed; remove the others"
        yield scope.cause(at, message, absolute="searchDomains")
    if len(" ".join(map(str, searches)).encode(errors="replace")) > LONGEST_SEARCH_LIST:
        message = f"the search paths must have at most {LONGEST_SEARCH_LIST} characters in total; shorten them"
        yield scope.cause(at, message, absolute="searchDomains")
    for index, search in enumerate(searches):
        if not is_subdomain(search):
            message = f"search path {show(search)} is not a DNS subdomain; use DNS labels joined by dots"
            yield scope.cause((*at, index), message, absolute="searchDomains")


DNS_EXAMINATIONS = (servers_of_policy_none, dns_config)
