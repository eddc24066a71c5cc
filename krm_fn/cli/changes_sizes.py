"""What a change does to pods, quotas and disks, as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from krm_fn.base.objects import Object
from krm_fn.changes.data import DELETED
from krm_fn.cli.sizes.cells import about
from krm_fn.kubevirt.updates.data_volumes import REFUSED
from krm_fn.sizing.rows import amount, is_shown

if TYPE_CHECKING:
    from krm_fn.cli.output_files import Pen


# What is said of every pod that is new or gone.
ALWAYS = {"cpu": "CPU", "memory": "memory"}
QOS = "QoS class"
MOST_FIELDS = 3  # of an edit, that are named


def pod_lines(record: Object) -> Iterator[str]:
    """What the pods of both sides request, as far as it differs: `pod requests CPU 0.205 → 0.405, memory 2.3Gi → 4.3Gi`."""
    if "pod" not in record:
        return
    sides = [record["pod"].get(side, {}) for side in ("before", "after")]
    for word, side in zip(("before", "after"), sides, strict=True):
        if "error" in side and side["error"] != record.get("startError"):
            yield f"  no pod {word}: {side['error']}"
    both = all("requests" in side for side in sides)
    said = list(_differing(*sides)) if both else list(_only(sides[0] if "requests" in sides[0] else sides[1]))
    if said:
        yield f"  {_head(sides)}: {', '.join(said)}"


def _head(sides: list[Object]) -> str:
    before, after = ("requests" in side for side in sides)
    return "pod requests" if before and after else "pod that is gone requests" if before else "new pod requests"


def _differing(before: Object, after: Object) -> Iterator[str]:
    old, new = before["requests"], after["requests"]
    for name in sorted(old | new, key=lambda name: (name not in ALWAYS, name)):
        if (before_it := _amount(name, old)) != (after_it := _amount(name, new)):
            yield f"{ALWAYS.get(name, name)} {before_it} → {after_it}"
    if before["qosClass"] != after["qosClass"]:
        yield f"{QOS} {before['qosClass']} → {after['qosClass']}"


def _only(side: Object) -> Iterator[str]:
    requests = side.get("requests", {})
    for name in requests:
        if name in ALWAYS or is_shown(name):
            yield f"{ALWAYS.get(name, name)} {_amount(name, requests)}"


def _amount(name: str, amounts: Object) -> str:
    return amount(name, amounts[name]) if name in amounts else "none"


def quota_lines(answer: Object) -> Iterator[str]:
    """One line for each resource of a quota whose use or bound changes."""
    for quota in answer["quotas"]:
        for row in quota["resources"]:
            yield f"quota {about(quota)}: {_use(row)}"


def _use(row: Object) -> str:
    """`requests.cpu 48 → 64 of 60: over by 4`."""
    name = row["name"]
    before, after, hard = (amount(name, row[key]) for key in ("before", "after", "hard"))
    former = f" (before: {amount(name, row['hardBefore'])})" if "hardBefore" in row else ""
    over = f": over by {amount(name, row['exceeded'])}" if "exceeded" in row else ""
    used = f"{before} → {after}" if before != after else after
    return f"{name} {used} of {hard}{former}{over}"


def data_lines(record: Object, pen: Pen, shown: Callable[[str], str] = str) -> Iterator[str]:
    """What happens to the objects that hold the machine's data; what is refused first. `shown`: how names are written."""
    for each in sorted(record.get("data", ()), key=lambda each: each["effect"] != REFUSED):
        name = pen.name(f"{each['kind']}/{shown(each['name'])}")
        message = pen.prose(each.get("message", ""))
        if each["effect"] == DELETED:
            size = f" ({pen.prose(each['size'])})" if "size" in each else ""
            yield f"deletes {name}, with its data{size}" + (f"; {message}" if message else "")
        else:
            fields = [pen.name(field) for field in each.get("fields", ())]
            some = ", ".join(fields[:MOST_FIELDS]) + (
                f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
            )
            refused = "refused: " if each["effect"] == REFUSED else ""
            yield f"{refused}{name}" + (f": {some}{_sizes(each)}: {message}" if fields else f" {message}")


def _sizes(each: Object) -> str:
    return f" {each['size']} → {each['newSize']}" if "newSize" in each else ""
