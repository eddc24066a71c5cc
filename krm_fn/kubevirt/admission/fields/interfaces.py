"""Interfaces: bindings, state, names and addresses, ports, DHCP options."""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_list, as_map, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import (
    Check,
    Group,
    bounded,
    exactly_one,
    examine,
    gated,
    new_since,
    number,
    one_of,
    well_formed,
)
from krm_fn.kubevirt.admission.formats import (
    bare_mac_length,
    is_interface_name,
    is_ipv4_or_mapped,
    is_pci_address,
    is_port_name,
    mac_length,
)
from krm_fn.kubevirt.admission.scope import (
    DUPLICATE,
    INTERFACES,
    NOT_SUPPORTED,
    REQUIRED,
    Cause,
    Scope,
    is_default_multus,
    maps,
    name_of,
)
from krm_fn.kubevirt.releases import Version

BINDING = "pkg/network/admitter/binding.go:"
STATE = "pkg/network/admitter/admit.go:validateInterfaceStateValue"
FIELDS = "pkg/network/admitter/netiface.go:"

BINDINGS = ("bridge", "masquerade", "sriov", "passtBinding", "binding")
MODELS = ("e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio")
FIRST_MODELS, IGB_SINCE = tuple(model for model in MODELS if model != "igb"), (1, 4)
RESERVED_MAC = "02:00:00:00:00:00"  # the address of the bridge inside the pod
MAC_BYTES = 6
BARE_MAC_SINCE: Version = (1, 9)  # the first release that is built with Go 1.26
PORTS = 65536
MOST_PORT_RANGES = 10
PORT_NAMED_SINCE: Version = (1, 9)
PRIVATE_OPTIONS = (224, 254)
# Before this release, every network that is not an additional Multus network can be the default, also without a source.
DEFAULT_HAS_SOURCE_SINCE: Version = (1, 9)

# If a binding misses something, upstream names the path of `name`.
NAME = "domain.devices.interfaces[{0}].name"


def _mac_address(*lengths: Callable[[object], int]) -> Check:
    """The address has six bytes, in a form that one of `lengths` accepts."""
    return well_formed(
        ("macAddress",),
        lambda value: any(length(value) == MAC_BYTES for length in lengths),
        "six bytes such as 02:00:00:00:00:01",
        upstream=FIELDS + "validateMacAddress",
    )


def _model(models: tuple[str, ...]) -> Check:
    return one_of(("model",), models, reason=NOT_SUPPORTED, upstream=FIELDS + "validateInterfaceModel")


CHECKS = (
    one_of(("state",), ("absent", "down", "up"), since=(1, 5), upstream=STATE),
    Check(
        at=("state",),
        refuses=lambda value, interface, _scope: value in ("down", "up") and interface.get("sriov") is not None,
        message="an SR-IOV interface cannot have a link state; remove state",
        upstream=STATE,
    ),
    Check(
        at=("state",),
        refuses=lambda value, interface, _scope: value == "absent" and interface.get("bridge") is None,
        message="only an interface with the bridge binding can be absent; remove state",
        upstream=STATE,
    ),
    exactly_one(
        BINDINGS,
        message="an interface must have exactly one binding; set one of bridge, masquerade, sriov, passtBinding and binding",
        since=((1, 8, 5), (1, 9)),
        is_new=True,
        upstream=BINDING + "validateInterfaceBindingExists",
    ),
    Check(
        at=("macAddress",),
        refuses=lambda value, interface, _scope: value == RESERVED_MAC and interface.get("masquerade") is not None,
        message="macAddress {value} is used by the bridge in the pod; use another address",
        upstream=BINDING + "validateMasqueradeBinding",
    ),
    gated(
        ("passtBinding",),
        "PasstBinding",
        since=(1, 8),
        upstream="pkg/network/admitter/passt.go:validatePasstBinding",
        named=NAME,
    ),
    Check(
        at=("name",),
        refuses=lambda value, _interface, _scope: not is_interface_name(value),
        message="interface name {value} is malformed; use letters, digits, '-' and '_'",
        lazy=False,
        upstream=FIELDS + "validateInterfaceNameFormat",
    ),
    _model(FIRST_MODELS).but(until=IGB_SINCE),
    _model(MODELS).but(since=IGB_SINCE),
    _mac_address(mac_length).but(until=BARE_MAC_SINCE),
    _mac_address(mac_length, bare_mac_length).but(since=BARE_MAC_SINCE),
    well_formed(("pciAddress",), is_pci_address, "a form such as 0000:81:01.0", upstream=FIELDS + "validatePciAddress"),
    gated(("portRanges",), "PortRangesSpec", since=(1, 9), upstream=FIELDS + "validatePortRangesConfiguration", named=NAME),
)

GROUPS = (
    Group(at=(*INTERFACES, EACH), checks=CHECKS),
    Group(
        at=(*INTERFACES, EACH, "dhcpOptions", "privateOptions", EACH),
        checks=(
            bounded(
                ("option",),
                low=PRIVATE_OPTIONS[0],
                high=PRIVATE_OPTIONS[1],
                upstream=FIELDS + "validateDHCPPrivateOptionsWithinRange",
                named=".",
            ),
        ),
    ),
)


@examine(*INTERFACES, upstream=BINDING + "validateInterfaceBinding")
def bindings_off_pod_network(scope: Scope) -> Iterator[Cause]:
    """Masquerade and passt need the pod network; a bridge may be forbidden on it."""
    networks = {name_of(network): network for network in scope.networks}
    for index, interface in enumerate(scope.interfaces):
        on_pod = networks.get(name_of(interface), {}).get("pod") is not None
        at, named = (*INTERFACES, index), NAME.format(index)
        for key in ("masquerade", "passtBinding"):
            if interface.get(key) is not None and not on_pod:
                yield scope.cause(
                    (*at, key), f"{key} works only with the pod network; use bridge, or the pod network", named=named
                )
        if interface.get("bridge") is not None and on_pod and not scope.cluster.permits_bridge_on_pod_network:
            message = "the cluster does not permit bridge on the pod network; use masquerade"
            yield scope.cause((*at, "bridge"), message, named=named)


def _is_default(network: Object, scope: Scope) -> bool:
    """upstream: pkg/network/vmispec/network.go:LookUpDefaultNetwork"""
    if is_default_multus(network):
        return True
    if scope.release.within(since=DEFAULT_HAS_SOURCE_SINCE):
        return network.get("pod") is not None
    return network.get("multus") is None


@examine(*INTERFACES, upstream=STATE)
def absent_default_interface(scope: Scope) -> Iterator[Cause]:
    default = next((network for network in scope.networks if _is_default(network, scope)), None)
    for index, interface in enumerate(scope.interfaces):
        if interface.get("state") == "absent" and default is not None and name_of(interface) == name_of(default):
            yield scope.cause(
                (*INTERFACES, index, "state"), "the interface of the default network cannot be absent; remove state"
            )


@examine(*INTERFACES, upstream=FIELDS + "validatePortConfiguration")
def ports(scope: Scope) -> Iterator[Cause]:
    """Forwarded ports. Only interfaces on the pod network are checked."""
    networks = {name_of(network): network for network in scope.networks}
    for index, interface in enumerate(scope.interfaces):
        if networks.get(name_of(interface), {}).get("pod") is None:
            continue
        seen: set[str] = set()
        for position, port in enumerate(maps(interface.get("ports"))):
            yield from _port(scope, port, (*INTERFACES, index, "ports", position), seen)
        if interface.get("portRanges") is not None and scope.gate("PortRangesSpec"):
            yield from _port_ranges(scope, interface, (*INTERFACES, index))


def _port(scope: Scope, port: Object, at: Path, seen: set[str]) -> Iterator[Cause]:
    name, forwarded = name_of(port), number(port.get("port"))
    if name in seen:
        yield scope.cause((*at, "name"), f"port name {show(name)} is used by another port too; rename one", reason=DUPLICATE)
    if name and not is_port_name(name):
        message = f"port name {show(name)} is malformed; use at most 15 of a-z, 0-9 and single '-', with a letter"
        yield scope.cause((*at, "name"), message)
    if name:
        seen.add(name)
    exact = scope.release.within(since=PORT_NAMED_SINCE)
    named = "" if exact else f"domain.devices.interfaces[{at[3]}].ports[{at[-1]}]"
    if forwarded == 0:
        yield scope.cause((*at, "port"), "port is missing; set it", reason=REQUIRED, named=named)
    elif not 0 < forwarded < PORTS + (not exact):  # upstream accepts 65536
        message = f"port {forwarded} is out of range; use 1 to 65535"
        new = forwarded == PORTS
        yield scope.cause((*at, "port"), new_since(PORT_NAMED_SINCE, message) if new else message, named=named)
    if port.get("protocol") not in ("TCP", "UDP", "", None):
        yield scope.cause((*at, "protocol"), f"protocol {show(port['protocol'])} is not supported; use TCP or UDP")


def _port_ranges(scope: Scope, interface: Object, at: Path) -> Iterator[Cause]:
    ranges, named = maps(interface["portRanges"]), NAME.format(at[-1])
    if is_set(interface.get("ports")):
        yield scope.cause((*at, "portRanges"), "ports and portRanges exclude each other; keep one of them", named=named)
    if interface.get("masquerade") is None:
        yield scope.cause(
            (*at, "portRanges"), "portRanges work only with masquerade; use masquerade, or use ports", named=named
        )
    if len(ranges) > MOST_PORT_RANGES:
        yield scope.cause(
            (*at, "portRanges"),
            f"there are {len(ranges)} portRanges; at most {MOST_PORT_RANGES} are allowed; remove the others",
        )
        return
    sound: dict[str, list[tuple[int, int]]] = {}
    for position, item in enumerate(ranges):
        key, wrong = _range_trouble(item)
        if wrong:
            yield scope.cause((*at, "portRanges", position, key), wrong)
        else:
            sound.setdefault(item["protocol"], []).append((item["start"], item["end"]))
    yield from _overlaps(scope, sound, (*at, "portRanges"))


def _range_trouble(item: Object) -> tuple[str, str]:
    """The wrong key of a port range, and the reason; two empty strings if the range is valid."""
    start, end = number(item.get("start")), number(item.get("end"))
    if item.get("protocol") not in ("TCP", "UDP"):
        return "protocol", f"protocol {show(item.get('protocol'))} is not supported; use TCP or UDP"
    if not 0 < start < PORTS:
        return "start", f"start {start} is out of range; use 1 to 65535"
    if not 0 < end < PORTS:
        return "end", f"end {end} is out of range; use 1 to 65535"
    return ("start", f"start {start} is after end {end}; swap them") if start > end else ("", "")


def _overlaps(scope: Scope, sound: dict[str, list[tuple[int, int]]], at: Path) -> Iterator[Cause]:
    for protocol, intervals in sound.items():
        intervals.sort()
        for position in range(1, len(intervals)):
            (low, high), (start, end) = intervals[position - 1 : position + 1]
            if start <= high:
                yield scope.cause(at, f"{protocol} ranges {low}-{high} and {start}-{end} overlap; merge them")


@examine(*INTERFACES, upstream=FIELDS + "validateDHCPOptions")
def dhcp_options(scope: Scope) -> Iterator[Cause]:
    for index, interface in enumerate(scope.interfaces):
        at, options = (*INTERFACES, index, "dhcpOptions"), as_map(interface.get("dhcpOptions"))
        private = [number(item.get("option")) for item in maps(options.get("privateOptions"))]
        if len(set(private)) < len(private):
            message = "a private DHCP option is set twice; remove one"
            yield scope.cause((*at, "privateOptions"), message, named=".")
        for position, server in enumerate(as_list(options.get("ntpServers"))):
            if not is_ipv4_or_mapped(server):
                message = f"NTP server {show(server)} is not an IPv4 address; use one"
                yield scope.cause((*at, "ntpServers", position), message)


# Bindings that were removed, and the release since which a new VM must not have them.
DISCONTINUED: tuple[tuple[str, Version], ...] = (("slirp", (1, 3)), ("passt", (1, 8)), ("macvtap", (1, 8)))


@examine(*INTERFACES, upstream="pkg/network/admitter/discontinued.go:validateDiscontinuedBindings")
def discontinued_bindings(scope: Scope) -> Iterator[Cause]:
    for index, interface in enumerate(scope.interfaces):
        for key, since in DISCONTINUED:
            if interface.get(key) is not None and scope.release.within(since=since):
                message = f"the {key} binding was removed in KubeVirt 1.3; use masquerade, or a binding plugin"
                absolute = f"spec.domain.devices.interfaces[{index}].{key}"  # upstream leaves out the template
                yield scope.cause((*INTERFACES, index, key), message, absolute=absolute)


EXAMINATIONS = (bindings_off_pod_network, absent_default_interface, ports, dhcp_options)
VM_EXAMINATIONS = (discontinued_bindings,)
