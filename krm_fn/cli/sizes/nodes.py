"""Where machines run, as sentences and rows: the part of `capacity --nodes` in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.cli.sizes.cells import plain
from krm_fn.sizing.fitting import AFFINITY, LABEL, TAINT
from krm_fn.sizing.placement import amount_of
from krm_fn.sizing.rows import is_shown
from krm_fn.sizing.texts import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.base.objects import Object
    from krm_fn.sizing.nodes import Shape
    from krm_fn.sizing.placement import Misfit, Placement, Use
    from krm_fn.sizing.rows import Sized

ESTIMATE = (
    "An estimate: machines are placed on empty nodes, first fit. Other pods, pod affinity and topology spread are not counted."
)
HEADS = ("NODES", "COUNT", "NEEDED", "VMS", "CPU LEFT", "MEMORY LEFT", "DEVICES LEFT")
NUMBERS = frozenset((1, 2, 3, 4, 5))
ANY = "any"
# The kinds of obstacles, in words; the rest is a resource.
WORDS = {LABEL: "label {} is missing", AFFINITY: "node affinity does not match{}", TAINT: "taint {} is not tolerated"}


def lines(placement: Placement) -> list[tuple[str, ...]]:
    """The nodes of each name as rows below HEADS."""
    return [_line(use) for use in placement.uses]


def _line(use: Use) -> tuple[str, ...]:
    left = {name: str(amount_of(name, nanos)) for name, nanos in use.free.items()}
    devices = ", ".join(f"{name} {amount(name, left[name])}" for name in sorted(left) if is_shown(name))
    count = ANY if use.nodes is None else str(use.nodes)
    used = [amount(name, left[name]) if name in left else "" for name in ("cpu", "memory")]
    return plain(use.name), count, str(use.needed), str(use.machines), *used, plain(devices)


def sentences(placement: Placement, shapes: Sequence[Shape]) -> list[str]:
    """Which machines fit on no node, and which find no room."""
    found = [f"{_name(each.sized)} fits on no node: {'; '.join(why(each, shapes))}" for each in placement.misfits]
    for sized, number in placement.without_room:
        copies = sized.demand.copies
        which = f" ({number} of {copies})" if copies > 1 else ""
        found.append(f"{_name(sized)}{which} finds no room: the nodes on which it fits are full")
    return [plain(sentence) for sentence in found]


def _name(sized: Sized) -> str:
    record = sized.demand.record
    return "/".join(filter(None, (sized.target, record["namespace"], record["name"])))


def why(misfit: Misfit, shapes: Sequence[Shape]) -> list[str]:
    """What keeps a machine from all nodes, and from how many of those in the file."""
    many = len(shapes) > 1
    return [_because(misfit, *each, shapes) + (f" ({n} of {len(shapes)})" if many else "") for each, n in misfit.why]


def _because(misfit: Misfit, kind: str, name: str, shapes: Sequence[Shape]) -> str:
    if kind in WORDS:
        return WORDS[kind].format(name)
    most, need = max(shape.allocatable.get(name, 0) for shape in shapes), misfit.needs.amounts[name]
    needed, found = (amount(name, str(amount_of(name, nanos))) for nanos in (need, most))
    has = f"at most {found}" if most else "none"
    return f"needs {needed} of {name}" + (f", a node has {has}" if most < need else "")


def as_data(placement: Placement, shapes: Sequence[Shape]) -> Object:
    """The placement as plain data, as `kubevirt-render schema capacity` describes it."""
    return {
        "estimate": ESTIMATE,
        "shapes": [_use(use) for use in placement.uses],
        "fitNowhere": [{**_identity(each.sized), "why": why(each, shapes)} for each in placement.misfits],
        "withoutRoom": [{**_identity(sized), "machines": number} for sized, number in placement.without_room],
    }


def _use(use: Use) -> Object:
    count = {} if use.nodes is None else {"nodes": use.nodes}
    free = {name: str(amount_of(name, use.free[name])) for name in sorted(use.free)}
    return {"name": use.name, **count, "needed": use.needed, "machines": use.machines, "free": free}


def _identity(sized: Sized) -> Object:
    record = sized.demand.record
    target = {"target": sized.target} if sized.target else {}
    return {"kind": record["kind"], "namespace": record["namespace"], "name": record["name"], **target}
