"""Interfaces and networks of a running instance: what needs a restart, what is plugged in and out, what needs a migration.

upstream: pkg/network/vmliveupdate/restart.go:IsRestartRequired, pkg/network/controllers/vm.go:syncVMIInterfaces,
pkg/network/migration/evaluator.go:Evaluate
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, get, put
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Version
from krm_fn.kubevirt.updates.machine import Running, World, by_name, entries

INTERFACES = ("domain", "devices", "interfaces")
ABSENT = "absent"
# The bindings of interfaces that can be plugged in.
PLUGGED = ("bridge", "sriov")
IMMEDIATE, PENDING = "immediate", "pending"

# From when on an interface may be attached to another network while it runs; the gate is open for good since 1.9.
MOVES_SINCE: Version = (1, 8)
MOVES_GATE = "LiveUpdateNADRef"
# From when on a migration that interfaces need is asked for.
MIGRATION_SINCE: Version = (1, 6)
# From when on a first pod network needs a restart.
POD_NETWORK_SINCE: Version = (1, 8)
# From when on only an instance that can be migrated is attached to another network while it runs.
BY_MIGRATION_SINCE: Version = (1, 10)


class Lists(Value):
    """The interfaces and the networks of a spec."""

    interfaces: list[Object]
    networks: list[Object]


def lists_of(spec: Object) -> Lists:
    return Lists(interfaces=entries(spec, *INTERFACES), networks=entries(spec, "networks"))


def moves(world: World, *, migratable: bool = True) -> bool:
    """True where an interface of a running instance can be attached to another network."""
    possible = migratable or not world.release.within(since=BY_MIGRATION_SINCE)
    return possible and world.release.within(since=MOVES_SINCE) and world.gate(MOVES_GATE)


def restart_required(now: Object, running: Object, world: World, *, migratable: bool) -> bool:
    """True where the expanded template needs a restart for its network."""
    wanted, current = lists_of(now), lists_of(running)
    first_pod = world.release.within(since=POD_NETWORK_SINCE) and _has_pod(wanted) and not _has_pod(current)
    return (
        first_pod
        or _differ(wanted.interfaces, current.interfaces, _without_state)
        or _differ(wanted.networks, current.networks, _without_network_name if moves(world, migratable=migratable) else copy)
    )


def _has_pod(lists: Lists) -> bool:
    return any(network.get("pod") is not None for network in lists.networks)


def _differ(wanted: list[Object], current: list[Object], normal: object) -> bool:
    """True where an entry of the running instance is gone or has changed; new ones don't count."""
    named = by_name(wanted)
    return any(name not in named or normal(named[name]) != normal(entry) for name, entry in by_name(current).items())  # type: ignore[operator]


def _without_state(interface: Object) -> Object:
    return {key: value for key, value in interface.items() if key != "state"}


def _without_network_name(network: Object) -> Object:
    if get(network, ("multus",)) is None:
        return network
    return {**network, "multus": {key: value for key, value in network["multus"].items() if key != "networkName"}}


def plugged(template: Object, running: Running, world: World, *, migratable: bool) -> Object:
    """The spec of the running instance with the interfaces of the template plugged in and out.

    The template is not expanded: a new interface has nothing of the preference.
    """
    wanted, lists = lists_of(template), lists_of(running.spec)
    interfaces, networks = _with_requests(wanted, lists)
    kept = [each for each in interfaces if each.get("state") != ABSENT or each.get("name") in running.interfaces]
    networks = _of_interfaces(networks, kept)
    if moves(world, migratable=migratable):
        networks = _renamed(wanted.networks, networks)
    if kept == lists.interfaces and (networks == lists.networks or not moves_networks(world)):
        return running.spec
    return with_lists(running.spec, Lists(interfaces=kept, networks=networks))


def moves_networks(world: World) -> bool:
    """True where the networks of an instance are looked at by themselves; before, its interfaces alone."""
    return world.release.within(since=MOVES_SINCE)


def _with_requests(wanted: Lists, lists: Lists) -> tuple[list[Object], list[Object]]:
    interfaces, networks = [{**each} for each in lists.interfaces], [*lists.networks]
    here, named = by_name(interfaces), by_name(wanted.networks)
    for interface in wanted.interfaces:
        present = here.get(interface.get("name", ""))
        if present is not None:
            _set_state(present, interface)
        elif interface.get("state") != ABSENT and any(interface.get(key) is not None for key in PLUGGED):
            networks.append(named.get(interface.get("name", ""), {}))
            interfaces.append(copy(interface))
    return interfaces, networks


def _set_state(present: Object, interface: Object) -> None:
    """Give an interface the state that the template wants; one that is leaving stays so."""
    if present.get("state") == interface.get("state") or present.get("state") == ABSENT:
        return
    present.pop("state", None)
    if interface.get("state"):
        present["state"] = interface["state"]


def _of_interfaces(networks: list[Object], interfaces: list[Object]) -> list[Object]:
    """The networks of these interfaces, in their order. upstream: pkg/network/vmispec/network.go:FilterNetworksByInterfaces"""
    named = by_name(networks)
    return [named[name] for each in interfaces if (name := each.get("name", "")) in named]


def _renamed(wanted: list[Object], networks: list[Object]) -> list[Object]:
    named = by_name(wanted)
    return [_with_name_of(network, as_map(named.get(network.get("name", "")))) for network in networks]


def _with_name_of(network: Object, wanted: Object) -> Object:
    if get(network, ("multus",)) is None or get(wanted, ("multus",)) is None:
        return network
    return {**network, "multus": {**network["multus"], "networkName": get(wanted, ("multus", "networkName"))}}


def with_lists(spec: Object, lists: Lists) -> Object:
    """A copy of a spec with other interfaces and networks; an empty list is left out."""
    changed: Object = copy(spec)
    for path, value in ((INTERFACES, lists.interfaces), (("networks",), lists.networks)):
        if value:
            put(changed, path, value)
        else:
            as_map(get(changed, path[:-1])).pop(path[-1], None)
    return changed


def cleared(template: Object, running: Running | None) -> Object:
    """The template without the interfaces that were to be absent, and are.

    upstream: pkg/network/controllers/vm.go:clearDetachedIfacesFromVM
    """
    lists = lists_of(template)
    if not lists.interfaces and not lists.networks:
        return template
    present = {*by_name(lists_of(running.spec).interfaces), *running.interfaces} if running else set()
    kept = [each for each in lists.interfaces if each.get("state") != ABSENT or each.get("name") in present]
    networks = _of_interfaces(lists.networks, kept)
    if kept == lists.interfaces and networks == lists.networks:
        return template
    return with_lists(template, Lists(interfaces=kept, networks=networks))


def migration(running: Running, world: World, namespace: str) -> str:
    """How the instance's networks need a migration: at once, after a time of grace (pending), or "" not at all.

    `namespace` is the one in which a network's name without one is looked for.
    """
    if not world.release.within(since=MIGRATION_SINCE):
        return ""
    lists = lists_of(running.spec)
    attached = {
        name: get(network, ("multus", "networkName"))
        for name, network in by_name(lists.networks).items()
        if get(network, ("multus",)) is not None and get(network, ("multus", "default")) is not True
    }
    for interface in lists.interfaces:
        name = interface.get("name", "")
        plugged_in = name in running.interfaces
        if name not in attached or (interface.get("state") == ABSENT and not plugged_in):
            continue
        if not plugged_in:
            return IMMEDIATE if interface.get("sriov") is not None else PENDING
        if moves(world) and _absolute(running.interfaces[name], namespace) != _absolute(attached[name], namespace):
            return IMMEDIATE
    return ""


def _absolute(name: object, namespace: str) -> str:
    return str(name) if "/" in str(name) else f"{namespace}/{name}"
