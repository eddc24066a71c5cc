"""A Service sends to a port that a VM does not forward.

What it finds: a `targetPort` of a Service, a number or a name, that is not among the `ports` of the masquerade interface of a
VM, pool, replica set or instance that the Service selects. An interface without `ports` forwards all. Headless Services are
skipped, since they forward nothing, and VMs with an Istio sidecar, which has rules of its own.

Why it matters: masquerade then drops the connection: the pod has the port, but the guest never sees it. A name that no port of
the interface has gives the Service no endpoint. The guest itself listens, so the mistake is hard to find.

Fix: add the port to `ports` of the interface, with its protocol, or delete `ports`.

Example:

    apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {selector: {app: web}, ports: [{port: 22}]}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        metadata: {labels: {app: web}}
        spec:
          domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, masquerade: {}, ports: [{port: 80}]}]}}
          networks: [{name: default, pod: {}}]
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import xor

from krm_fn.base.annotations import Iterable, Iterator, Sequence
from krm_fn.base.objects import text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import MachineSpec
from krm_fn.rules.shared.services import Service, first_of, selection

Limited = tuple[MachineSpec, list["Ports"], str]  # the last is the ports in words


INTERFACES: Path = ("domain", "devices", "interfaces")
# The lists of an interface, each with the keys of the first and the last port of an entry.
FORWARDED = (("ports", "port", "port"), ("portRanges", "start", "end"))
TCP, MOST = "TCP", 65535
SIDECAR: Path = ("metadata", "annotations", "sidecar.istio.io/inject")


class Ports(Value):
    """A range of ports; of one port with its name, `first` is the number, 0 where only the name is known."""

    path: Path
    protocol: str
    name: str
    first: int
    last: int

    def __str__(self) -> str:
        number = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return (number if self.first else self.name) + ("" if self.protocol == TCP else f"/{self.protocol}")


@rule(severity="warning", upstream="pkg/network/setup/netpod/masquerade/masquerade.go:Setup")
def unforwarded_port(facts: BundleFacts) -> Iterator[Hit]:
    found = selection(facts.bundle)
    limits = Limits(found.machines)
    for service in found.services if limits.machines else ():
        selected = found.selected(service) & limits.machines
        for port in _asked(service) if selected else ():
            lacking = selected & ~limits.forwarding(port)
            if lacking:  # each port is told once, for all machines of the Service
                yield _hit(service, port, limits.of(first_of(lacking)))


class Limits:
    """The machines that forward only some ports. A set of machines is a number with a bit for the place of each.

    `machines` are all of them. Nothing is compared with each of them, and no port with each of their ports.
    """

    def __init__(self, found: Sequence[MachineSpec | None]) -> None:
        limits = ((place, machine, list(_forwarded(machine))) for place, machine in enumerate(found) if machine)
        self._of = {place: (machine, ports, listed([*map(str, ports)], "and")) for place, machine, ports in limits if ports}
        self.machines = sum(1 << place for place in self._of)
        self._named: dict[tuple[str, str], int] = {}
        edges: dict[str, dict[int, int]] = {}  # by protocol: where ranges begin or end, and for which machines
        for place, (_, ports, _) in self._of.items():
            for protocol, start, end in _joined(ports):
                for edge in (start, end + 1):
                    of_protocol = edges.setdefault(protocol, {})
                    of_protocol[edge] = of_protocol.get(edge, 0) ^ 1 << place
            for port in ports:
                key = port.protocol, port.name
                self._named[key] = self._named.get(key, 0) | 1 << place
        self._from = {protocol: sorted(each) for protocol, each in edges.items()}
        self._sets = {
            protocol: list(accumulate((edges[protocol][edge] for edge in of), xor)) for protocol, of in self._from.items()
        }

    def of(self, place: int) -> Limited:
        return self._of[place]

    def forwarding(self, port: Ports) -> int:
        """The machines that forward a port."""
        if not port.first:
            return self._named.get((port.protocol, port.name), 0)
        at = bisect_right(self._from.get(port.protocol, ()), port.first)
        return self._sets[port.protocol][at - 1] if at else 0


def _joined(ports: Iterable[Ports]) -> list[tuple[str, int, int]]:
    """The ranges of ports by protocol, those that meet as one."""
    joined: list[tuple[str, int, int]] = []
    for each in sorted((port.protocol, port.first, port.last) for port in ports if port.first <= port.last):
        protocol, start, end = joined[-1] if joined else ("", 0, 0)
        if each[0] == protocol and each[1] <= end + 1:
            joined[-1] = protocol, start, max(end, each[2])
        else:
            joined.append(each)
    return joined


def _asked(service: Service) -> Iterator[Ports]:
    """The ports of pods to which a Service sends; none of a headless one."""
    spec = as_map(service.entry.obj.get("spec"))
    for index, port in enumerate(as_list(spec.get("ports")) if spec.get("clusterIP") != "None" else ()):
        key = "targetPort" if get(port, ("targetPort",)) else "port"
        target = get(port, (key,))
        name = target if isinstance(target, str) and key == "targetPort" and not is_filled_in(target) else ""
        if name or type(target) is int:
            number = 0 if name else target
            path: Path = ("spec", "ports", index, key)
            yield Ports(path=path, protocol=_protocol(port), name=name, first=number, last=number)


def _forwarded(machine: MachineSpec) -> Iterator[Ports]:
    """The only ports that the masquerade interface of a machine forwards; none where it forwards all, or a sidecar decides."""
    if get(machine.entry.obj, (*machine.path[:-1], *SIDECAR)) is not None:
        return
    for index, interface in enumerate(as_list(get(machine.spec, INTERFACES))):
        for key, first, last in FORWARDED if get(interface, ("masquerade",)) is not None else ():
            for number, port in enumerate(as_list(interface.get(key))):
                start, end = get(port, (first,)), get(port, (last,))
                known = type(start) is int and type(end) is int
                path = (*machine.path, *INTERFACES, index, key, number)
                yield Ports(
                    path=path,
                    protocol=_protocol(port),
                    name=text(get(port, ("name",))),
                    first=start if known else 1,
                    last=end if known else MOST,
                )


def _protocol(port: object) -> str:
    return text(get(port, ("protocol",))).upper() or TCP


def _hit(service: Service, port: Ports, limit: Limited) -> Hit:
    machine, forwarded, shown = limit
    if port.first:
        fact = f"port {port} reaches no guest: the masquerade interface of {machine} forwards only {shown}"
        fix = f"add {port} to its ports"
    else:
        fact = f"no port of {machine} has the name {port}, so the Service has no endpoint"
        fix = "name one of the ports of its interface so"
    return Hit(
        message=f"{fact}; {fix}, or correct the Service",
        path=port.path,
        current=get(service.entry.obj, port.path),
        about=service.entry,
        related=also(machine.entry, forwarded[0].path[:-1]),
    )
