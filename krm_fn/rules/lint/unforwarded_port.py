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

from krm_fn.base.objects import text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.services import selection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.paths import Path
    from krm_fn.rules.facts.bundles import BundleFacts
    from krm_fn.rules.shared.machines import Machine
    from krm_fn.rules.shared.services import Selection, Service

    Limited = tuple[Machine, list["Ports"]]

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

    def has(self, port: Ports) -> bool:
        """True if the other port is in the range, or has the name."""
        found = self.first <= port.first <= self.last if port.first else self.name == port.name
        return found and self.protocol == port.protocol


@rule(severity="warning", upstream="pkg/network/setup/netpod/masquerade/masquerade.go:Setup")
def unforwarded_port(facts: BundleFacts) -> Iterator[Hit]:
    limits = Limits(selection(facts.bundle))
    for service in limits.found.services:
        asked = list(_asked(service))
        for machine, forwarded in limits.of(service) if asked else ():
            lost = [port for port in asked if not any(each.has(port) for each in forwarded)]
            asked = [port for port in asked if port not in lost]  # each is told once, for all VMs of the Service
            yield from (_hit(service, port, machine, forwarded) for port in lost)


class Limits:
    """The machines that a Service selects and that forward only some ports: of those that forward the same, one.

    Many Services may select the same machines, so what is found for a selector is kept.
    """

    def __init__(self, found: Selection) -> None:
        self.found = found
        self._kept: dict[object, list[Limited]] = {}

    def of(self, service: Service) -> list[Limited]:
        key = service if service in self.found.lost else service.key
        if key not in self._kept:
            distinct: dict[str, Limited] = {}
            for machine in self.found.machines(service):
                ports = list(_forwarded(machine))
                if ports:
                    distinct.setdefault(str([(str(port), port.name) for port in ports]), (machine, ports))
            self._kept[key] = list(distinct.values())
        return self._kept[key]


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


def _forwarded(machine: Machine) -> Iterator[Ports]:
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


def _hit(service: Service, port: Ports, machine: Machine, forwarded: list[Ports]) -> Hit:
    shown = listed([str(each) for each in forwarded], "and")
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
