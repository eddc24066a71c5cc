"""The instance that a VM starts as, and why it does not start."""

from __future__ import annotations

from krm_fn.base.objects import LOCAL_CONFIG, Object
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.instance import start
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates.machine import Machine, Running, World, by_name, entries, is_hotpluggable, volumes_of
from krm_fn.kubevirt.updates.references import find
from krm_fn.kubevirt.updates.stored_form import stored_spec
from krm_fn.kubevirt.updates.volume_migration import unshared


class Start(Value):
    """The instance that a VM starts as; None where it does not start, then `error` says why. `found` is what it is made of."""

    running: Running | None
    error: str = ""
    found: Resolution | None = None


def instance_of(machine: Machine, world: World) -> Start:
    """What the VM of a machine starts as now."""
    found = find(machine, world)
    if found.errors:
        return Start(running=None, error=f"the {found.errors[0].matcher} is not found")
    made = _made(found, machine, world)
    if made is None:
        return Start(running=None, error="the VM conflicts with its instancetype, or the cluster forbids its network")
    causes = [cause for cause in start_causes(made, cluster=world.cluster, release=world.release) if cause.sure]
    if causes:
        return Start(running=None, error=causes[0].message)
    running = running_of(made)
    return Start(running=running.but(unshared=unshared(running.spec, machine.namespace, world)), found=found)


def made_of(found: Resolution, machine: Machine, world: World) -> Running | None:
    """The instance that would be made of a VM and what it refers to, None where conflicts forbid it."""
    made = _made(found, machine, world)
    return running_of(made) if made is not None else None


def _made(found: Resolution, machine: Machine, world: World) -> Object | None:
    made = start(
        found,
        owner=machine.vm,
        namespace=machine.namespace,
        bundle=world.bundle,
        cluster=world.cluster,
        release=world.release,
        presets=world.presets,
    )
    return made.instance


def running_of(instance: Object) -> Running:
    """An instance as the API server has it, which has just started."""
    spec, meta = stored_spec(as_map(instance.get("spec"))), as_map(instance.get("metadata"))
    guest = get(spec, ("domain", "memory", "guest"))
    return Running(
        spec=spec,
        labels=as_map(meta.get("labels")),
        annotations={key: value for key, value in as_map(meta.get("annotations")).items() if key != LOCAL_CONFIG},
        boot=guest,
        guest=guest,
        volumes=frozenset(by_name(volumes_of(spec))),
        plugged=frozenset(name for name, volume in by_name(volumes_of(spec)).items() if is_hotpluggable(volume)),
        interfaces=interfaces_of(spec),
    )


def interfaces_of(spec: Object) -> Object:
    """The interfaces of a guest that has taken over what its instance says: names, each with the network it is attached to."""
    networks = by_name(entries(spec, "networks"))
    return {
        name: get(networks.get(name), ("multus", "networkName"))
        for name, interface in by_name(entries(spec, "domain", "devices", "interfaces")).items()
        if interface.get("state") != "absent"
    }


def started_spec(machine: Machine) -> Object:
    """The VM's spec as it is remembered at a start: its matchers name the revisions in use.

    upstream: pkg/virt-controller/watch/vm/vm.go:patchVMRevision
    """
    spec = {**machine.vm["spec"]}
    for matcher in MATCHERS:
        pin = machine.pins.get(matcher.field)
        if isinstance(spec.get(matcher.field), dict) and pin and pin.revision:
            spec[matcher.field] = {**spec[matcher.field], "revisionName": pin.revision}
    return spec
