"""The cells of a row, for people; and where machines run: the part of `capacity --nodes` in each format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from krm_fn.base.console import one_line, printable
from krm_fn.base.objects import Object
from krm_fn.base.wording import listed
from krm_fn.cli.formats import counted
from krm_fn.sizing.fitting import AFFINITY, LABEL, TAINT
from krm_fn.sizing.nodes import NodeShape
from krm_fn.sizing.placement import Misfit, NodeUse, Placement, amount_of
from krm_fn.sizing.prices import rounded, unpriced
from krm_fn.sizing.rows import Row, Sized, amount, in_bytes, in_cpus, is_shown, reasons
from krm_fn.sizing.usage import HUGE_PAGES

if TYPE_CHECKING:
    from krm_fn.cli.sizes import SizesReport


def plain(text: str) -> str:
    """Text of users on one line, in printable characters."""
    return printable(one_line(text))


def figures(row: Row, *, priced: bool = False) -> tuple[str, ...]:
    """The figures, in the order of their heads."""
    cost = (rounded(Fraction(row.cost)),) if priced else ()
    return (
        str(row.machines),
        str(row.vcpus),
        in_bytes(row.guest),
        in_cpus(row.cpu),
        in_bytes(row.memory),
        in_bytes(row.storage),
        *cost,
    )


def devices(row: Row) -> str:
    """The devices and huge pages: `nvidia.com/A100 2, hugepages-2Mi 4Gi`."""
    found = []
    for name in sorted(row.devices):
        amount = row.devices[name]
        found.append(f"{name} {in_bytes(amount) if name.startswith(HUGE_PAGES) else amount}")
    return plain(", ".join(found))


def note(row: Row) -> str:
    """Why machines get no pod, or how many."""
    if not row.notes:
        return f"{row.without_pod} without a pod" if row.without_pod else ""
    more = f" (and {len(row.notes) - 1} more)" if len(row.notes) > 1 else ""
    what = "no pod" if row.without_pod == row.machines else f"{row.without_pod} without a pod" if row.without_pod else "refused"
    return plain(f"{what}: {row.notes[0]}{more}")


def costs(report: SizesReport) -> list[str]:
    """What has no price, as a sentence."""
    lacking = unpriced(report.sized, report.prices) if report.prices else []
    return [plain(f"no price, counted as 0: {', '.join(lacking)}")] if lacking else []


def without_pod(sized: Iterable[Sized]) -> list[str]:
    """Which VMs get no pod, or one that the API server refuses, as sentences."""
    found = []
    for each in sized:
        record, why = each.demand.record, reasons(each.demand.record)
        if why:
            place = "/".join(filter(None, (each.target, record["namespace"], record["name"])))
            what = "its pod is refused" if "pod" in record else "no pod"
            found.append(plain(f"{place}: {what}: {'; '.join(why)}"))
    return found


def about(quota: Object) -> str:
    """The name of a quota, with the target that has it."""
    return plain("/".join(filter(None, (quota.get("target"), quota.get("namespace"), quota["name"]))))


def quota_rows(quotas: Iterable[Object]) -> Iterator[tuple[str, ...]]:
    """A row for each resource of a quota: its name, used, hard and free, and by how much it is over."""
    for quota in quotas:
        for resource in quota["used"]:
            over = quota["exceeded"].get(resource)
            amounts = (amount(resource, quota[key][resource]) for key in ("used", "hard", "free"))
            yield about(quota), plain(resource), *amounts, f"over by {amount(resource, over)}" if over else ""


def _machine(each: Object, quota: Object) -> str:
    """The name of a machine in the namespaces of a quota, with their target."""
    return "/".join(filter(None, (quota.get("target"), each["namespace"], each["name"])))


def stopped(quota: Object) -> list[str]:
    """What a quota stops, as sentences."""
    found = [
        plain(f"{_machine(each, quota)} never starts: {'; '.join(each['why'])} (quota {about(quota)})")
        for each in quota["stops"]
    ]
    blocked = [_machine(each, quota) for each in quota["blocksMigration"]]
    if blocked:
        shown = ", ".join(blocked[:5]) + (f" and {len(blocked) - 5} more" if len(blocked) > 5 else "")
        found.append(plain(f"quota {about(quota)} has no room for a second pod while these migrate: {shown}"))
    return found


ESTIMATE = (
    "An estimate: first fit, beside other pods of the file. Not counted: pod affinity, topology spread, zones of volumes."
)
HEADS = ("NODES", "COUNT", "NEEDED", "VMS", "CPU LEFT", "MEMORY LEFT", "DEVICES LEFT")
NUMBERS = frozenset((1, 2, 3, 4, 5))
ANY = "any"
# The kinds of obstacles, in words; the rest is a resource.
WORDS = {LABEL: "label {} is missing", AFFINITY: "node affinity does not match{}", TAINT: "taint {} is not tolerated"}


def lines(placement: Placement) -> list[tuple[str, ...]]:
    """The nodes of each name as rows below HEADS."""
    return [_line(use) for use in placement.uses]


def _line(use: NodeUse) -> tuple[str, ...]:
    left = {name: str(amount_of(name, nanos)) for name, nanos in use.free.items()}
    devices = ", ".join(f"{name} {amount(name, left[name])}" for name in sorted(left) if is_shown(name))
    count = ANY if use.nodes is None else str(use.nodes)
    used = [amount(name, left[name]) if name in left else "" for name in ("cpu", "memory")]
    return plain(use.name), count, str(use.needed), str(use.machines), *used, plain(devices)


def sentences(placement: Placement, shapes: Sequence[NodeShape]) -> list[str]:
    """Which machines fit on no node, and which find no room."""
    found = [f"{_name(each.sized)} fits on no node: {'; '.join(why(each, shapes))}" for each in placement.misfits]
    for sized, number in placement.without_room:
        copies = sized.demand.copies
        which = f" ({number} of {copies})" if copies > 1 else ""
        found.append(f"{_name(sized)}{which} finds no room: the nodes on which it fits are full")
    return [plain(sentence) for sentence in (*found, *_loss(placement))]


def _loss(placement: Placement) -> list[str]:
    """What the loss of any one node comes to."""
    if not placement.lost:
        counted_ones = any(use.machines and use.nodes is not None for use in placement.uses)
        return ["with any one node gone, all VMs find room on the others"] if counted_ones else []
    count = counted(sum(number for _, number in placement.lost), "VM")
    names = listed([_name(sized) for sized, _ in placement.lost], "and")
    return [f"with any one node gone, room is lacking for up to {count}: {names} ({placement.worst} is the worst)"]


def _name(sized: Sized) -> str:
    record = sized.demand.record
    return "/".join(filter(None, (sized.target, record["namespace"], record["name"])))


def why(misfit: Misfit, shapes: Sequence[NodeShape]) -> list[str]:
    """What keeps a machine from all nodes, and from how many of those in the file."""
    many = len(shapes) > 1
    return [_because(misfit, *each, shapes) + (f" ({n} of {len(shapes)})" if many else "") for each, n in misfit.why]


def _because(misfit: Misfit, kind: str, name: str, shapes: Sequence[NodeShape]) -> str:
    if kind in WORDS:
        return WORDS[kind].format(name)
    most, need = max(shape.allocatable.get(name, 0) for shape in shapes), misfit.needs.amounts[name]
    needed, found = (amount(name, str(amount_of(name, nanos))) for nanos in (need, most))
    has = f"at most {found}" if most else "none"
    return f"needs {needed} of {name}" + (f", a node has {has}" if most < need else "")


def as_data(placement: Placement, shapes: Sequence[NodeShape]) -> Object:
    """The placement as plain data, as `kubevirt-render schema capacity` describes it."""
    return {
        "estimate": ESTIMATE,
        "shapes": [_use(use) for use in placement.uses],
        "fitNowhere": [{**_identity(each.sized), "why": why(each, shapes)} for each in placement.misfits],
        "withoutRoom": _counted(placement.without_room),
        "loss": {"node": placement.worst, "withoutRoom": _counted(placement.lost)},
    }


def _counted(machines: Iterable[tuple[Sized, int]]) -> list[Object]:
    return [{**_identity(sized), "machines": number} for sized, number in machines]


def _use(use: NodeUse) -> Object:
    count = {} if use.nodes is None else {"nodes": use.nodes}
    free = {name: str(amount_of(name, use.free[name])) for name in sorted(use.free)}
    return {"name": use.name, **count, "needed": use.needed, "machines": use.machines, "free": free}


def _identity(sized: Sized) -> Object:
    record = sized.demand.record
    target = {"target": sized.target} if sized.target else {}
    return {"kind": record["kind"], "namespace": record["namespace"], "name": record["name"], **target}
