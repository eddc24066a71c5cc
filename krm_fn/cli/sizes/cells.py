"""The cells of a row, for people."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from krm_fn.base.console import one_line, printable
from krm_fn.sizing.prices import rounded, unpriced
from krm_fn.sizing.rows import in_bytes, in_cpus, reasons
from krm_fn.sizing.usage import HUGE_PAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krm_fn.base.objects import Object
    from krm_fn.cli.sizes import Report
    from krm_fn.sizing.rows import Row, Sized


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


def costs(report: Report) -> list[str]:
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
