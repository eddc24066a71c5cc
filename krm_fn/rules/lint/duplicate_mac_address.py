"""Two machines have the same MAC address.

What it finds: a `macAddress` that two interfaces in the bundle share and that others on the network see: bridges, SR-IOV and
binding plugins on one network. It is only an info on two networks, which may still be one segment; on the pod network, which
most network plugins route; and if the cluster does not start one of the machines. The machines of one template, in a pool or
a replica set, share its address. Masquerade hides the address from the network, so it is skipped.

Why it matters: switches send the frames of both machines to the one that sent last, and DHCP gives both the same address.
KubeVirt checks one VM at a time and admits both.

Fix: give each interface its own address, or delete `macAddress`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {interfaces: [{name: lan, bridge: {}, macAddress: "02:00:00:00:00:01"}]}}
          networks: [{name: lan, multus: {networkName: lan}}]
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: db}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {interfaces: [{name: lan, bridge: {}, macAddress: "02:00:00:00:00:01"}]}}
          networks: [{name: lan, multus: {networkName: lan}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import MachineSpec, holders_named, machines

# Bindings that hide the guest's own address from the network.
HIDING = ("masquerade", "passtBinding", "passt", "slirp")
POD = "the pod network"
SEPARATORS = str.maketrans("", "", ":-.")


class Interface(Value):
    """An interface whose address others see: `network` is its network, by namespace and name."""

    machine: MachineSpec
    index: int
    mac: str
    network: str

    @property
    def path(self) -> Path:
        return (*self.machine.path, "domain", "devices", "interfaces", self.index, "macAddress")


@rule(severity="warning")
def duplicate_mac_address(facts: BundleFacts) -> Iterator[Hit]:
    anywhere: dict[str, Interface] = {}
    on_network: dict[tuple[str, str], Interface] = {}
    for interface in _interfaces(facts):
        mac = interface.mac.translate(SEPARATORS).lower()
        first = anywhere.setdefault(mac, interface)
        other = on_network.setdefault((mac, interface.network), interface) if interface.network else interface
        if other is not interface or interface.machine.copies > 1:
            yield _on_one_network(interface, other)
        elif first.machine is not interface.machine:  # bonds of one machine have one address on two networks
            yield _on_two_networks(interface, first)


def _interfaces(facts: BundleFacts) -> Iterator[Interface]:
    for machine in machines(facts.bundle):
        given = as_list(get(machine.spec, ("domain", "devices", "interfaces")))
        networks: dict[str, str] | None = None
        for index, interface in enumerate(given):
            mac = get(interface, ("macAddress",))
            if isinstance(mac, str) and mac and all(interface.get(key) is None for key in HIDING):
                networks = _networks(machine) if networks is None else networks
                name = get(interface, ("name",))
                network = networks.get(name, "") if isinstance(name, str) else ""
                yield Interface(machine=machine, index=index, mac=mac, network=network)


def _networks(machine: MachineSpec) -> dict[str, str]:
    """The networks of a machine by their names in it."""
    found = {}
    for network in as_list(machine.spec.get("networks")):
        name, multus = as_map(network).get("name"), get(network, ("multus", "networkName"))
        if isinstance(name, str):
            qualified = f"{'' if '/' in multus else machine.namespace + '/'}{multus}" if isinstance(multus, str) else POD
            found[name] = qualified
    return found


def _on_one_network(interface: Interface, other: Interface) -> Hit:
    certain = interface.machine.starts and other.machine.starts and interface.network != POD
    network = f" on {interface.network}" if interface.network else ""
    fix = "delete macAddress" if other is interface else "give each its own, or delete macAddress"
    twice = other is not interface and other.machine is interface.machine
    fact = (
        "another interface of this machine has the same MAC address"
        if twice
        else holders_named(interface.machine, other.machine, "MAC address")
    )
    return _hit(interface, other, f"{fact}{network}; {fix}", "" if certain else "info")


def _on_two_networks(interface: Interface, other: Interface) -> Hit:
    fact = holders_named(interface.machine, other.machine, "MAC address")
    where = f" on {other.network}" if other.network else ""
    return _hit(interface, other, f"{fact}{where}; change one, unless the two networks are separate segments", "info")


def _hit(interface: Interface, other: Interface, message: str, severity: str) -> Hit:
    related = () if other is interface else also(other.machine.entry, other.path)
    return Hit(
        message=message,
        path=interface.path,
        current=interface.mac,
        about=interface.machine.entry,
        severity=severity,
        related=related,
    )
