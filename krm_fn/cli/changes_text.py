"""The answer of `diff` as text for people: a block for VMs that change in the same way, the most severe first, and figures."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.changes.summary import level_of
from krm_fn.cli.changes_groups import counted, counts, grouped, places, reach_line, reaches
from krm_fn.cli.changes_sizes import pod_lines, quota_lines
from krm_fn.cli.changes_words import cause, change, field, value, values
from krm_fn.cli.pens import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.cli.changes_groups import Group
    from krm_fn.cli.pens import Pen

RESET = "\x1b[0m"
RED, YELLOW, CYAN, GREEN, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[1m"
COLORS = {"refused": RED, "recreate": RED, "restart": YELLOW, "migration": CYAN, "live": GREEN}
WIDTH = 100

# What an effect says to people about one VM, and about several ones.
SENTENCES = {
    "refused": ("KubeVirt refuses the update", "KubeVirt refuses the update"),
    "error": (
        "KubeVirt reports an error and does nothing else for it",
        "KubeVirt reports an error and does nothing else for them",
    ),
    "removed": ("is removed", "are removed"),
    "restartRequired": ("needs a restart", "need a restart"),
    "stopped": ("is stopped", "are stopped"),
    "migration:Evict": ("KubeVirt shuts it down to finish the change", "KubeVirt shuts them down to finish the change"),
    "migration:LiveMigrate": (
        "KubeVirt live-migrates it to finish the change",
        "KubeVirt live-migrates them to finish the change",
    ),
    "migration:nobody": ("needs a live migration, and nobody starts it", "need a live migration, and nobody starts it"),
    "live": ("changes while it runs", "change while they run"),
    "started": ("is started", "are started"),
    "added": ("is new", "are new"),
    "startError": ("does not start again", "do not start again"),
    "atNextStart": ("changes at the next start", "change at the next start"),
    "nothing": ("stays as it is", "stay as they are"),
}
# What effects say where no VM exists yet.
OF_NEW = {
    "refused": ("KubeVirt refuses it", "KubeVirt refuses them"),
    "atNextStart": ("starts with other values", "start with other values"),
}
# What becomes of names of the catalogue in a step of an upgrade.
CATALOGUE = {"gone": "gone", "added": "new", "changed": "changed"}
SIZES = frozenset(
    (
        *(f"/spec/domain/cpu/{key}" for key in ("sockets", "cores", "threads", "maxSockets")),
        *("/spec/domain/memory/guest", "/spec/domain/memory/maxGuest"),
    )
)
LABELS = {"restartRequired": "restart required", "error": "error", "startError": "does not start"}


def text_of(answer: Object, *, color: bool, together: bool = True) -> str:
    """The answer as text. Not `together`: a block for each VM."""
    new = answer["assumptions"]["new"]
    shared = [reach_line(each, TEXT) for each in reaches(answer["vms"])] if together else []
    groups = grouped(answer["vms"], partial(about, pen=TEXT), together=together)
    blocks = ["\n".join([_coloured(_head(each, new), each, color), *_names(each), *each.lines]) for each in groups]
    used = "\n".join(map(TEXT.prose, quota_lines(answer)))
    steps = ["\n".join(step_lines(step, new, TEXT)) for step in answer.get("steps", ())]
    return "\n\n".join(filter(None, ["\n".join(shared), *blocks, used, figures(answer, new), *steps])) + "\n"


def figures(part: Object, new: bool = False) -> str:
    """The figures in one line: `3 of 48 VMs change: 1 refused, 1 restart, 1 live; 12 keep a stored revision`."""
    changed, total, kept = (part["summary"][key] for key in ("changed", "total", "keeps"))
    verb = "would start with other values" if new else f"change{'s' * (changed == 1 or total == 1)}"
    line = f"{f'{changed:,}' if changed else 'none'} of {counted(total)} {verb}"
    line += f": {counts(part['vms'])}" if changed and not new else ""
    return f"{line}; {kept:,} keep{'s' * (kept == 1)} a stored revision" if kept else line


def _coloured(head: str, group: Group, color: bool) -> str:
    level = level_of(group.first)
    return f"{COLORS.get(level.word if level else '', PLAIN)}{head}{RESET}" if color else head


def _head(group: Group, new: bool) -> str:
    return f"{who(group, TEXT)}: {what(group, new)}"


def who(group: Group, pen: Pen) -> str:
    """The VM of a group, or how many there are."""
    if len(group.records) > 1:
        return f"{len(group.records):,} {group.first['kind']}s"
    return f"{group.first['kind']} {named(group.first, pen)}"


def named(record: Object, pen: Pen) -> str:
    """The name of a VM and where it is."""
    where = f" in {pen.name(record['target'])}" if "target" in record else ""
    return f"{pen.name('/'.join((record['namespace'], record['name'])))}{where}"


def what(group: Group, new: bool = False) -> str:
    """What happens to the VMs of a group."""
    number = len(group.records) > 1
    sentences = {**SENTENCES, **OF_NEW} if new else SENTENCES
    return "; ".join(sentences[effect][number] for effect in told(group.first))


def told(record: Object) -> list[str]:
    """The effects that are worth a sentence, the most severe first."""
    effects = [effect for effect in SENTENCES if effect in record["effect"]]
    silent = {"atNextStart"} if "restartRequired" in effects else set()
    if "startError" in record:
        effects = [*(effect for effect in effects if effect != "atNextStart"), "startError"]
    if "changes" in record and not any(each["when"] == "live" for each in record["changes"]):
        silent.add("live")  # what changes is real only after the migration
    return [effect for effect in effects if effect not in silent] or effects


def _names(group: Group) -> Iterator[str]:
    """The names of several VMs, by namespace."""
    if len(group.records) == 1:
        return
    for namespace, names, targets in places(group.records):
        where = f" (in {', '.join(map(TEXT.name, targets))})" if targets else ""
        text = f"{TEXT.name(namespace)}: {', '.join(map(TEXT.name, names))}{where}"
        yield from textwrap.wrap(
            text,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def about(record: Object, pen: Pen) -> Iterator[str]:
    """The indented lines about a VM: why, and what differs. They do not name it."""
    for each in record.get("update", {}).get("causes", ()):
        yield f"  refused: {pen.name(each['path'])}: {pen.prose(each['message'])}"
    for key, label in LABELS.items():
        if key in record:
            yield f"  {label}: {pen.prose(record[key])}"
    if "guest" in record:
        yield f"  guest: {guest(record, pen)}"
    yield from (f"  {pen.prose(line)}" for line in pod_lines(record))
    yield from _changes(record.get("changes", ()), pen)
    for name in record.get("creates", ()):
        yield f"  creates {pen.name(name)}"
    for kept in record.get("keeps", ()):
        yield from _kept(kept, pen)


def guest(record: Object, pen: Pen) -> str:
    """How the size of the guest changes: `vCPUs 2 → 4, memory 2Gi → 4Gi`."""
    words = {"vcpus": "vCPUs", "memory": "memory"}
    return ", ".join(f"{word} {values(record['guest'][key], pen)}" for key, word in words.items() if key in record["guest"])


def _changes(changes: Sequence[Object], pen: Pen) -> Iterator[str]:
    """The changes by their causes. A single change of a cause has it in its own line."""
    by_cause: dict[tuple[str, ...], list[Object]] = {}
    for each in changes:
        by_cause.setdefault(tuple(cause(one, pen) for one in each["causes"]), []).append(each)
    for causes, several in by_cause.items():
        if len(several) > 1 and causes:
            yield f"  because of {' and '.join(causes)}:"
            yield from (f"    {change(each, pen)}" for each in several)
        else:
            yield from (f"  {change(each, pen)}{_because(each, pen)}" for each in several)


def _because(each: Object, pen: Pen) -> str:
    """The causes of one change. Values that it has itself are not repeated."""
    both = ("old", "new")
    told = (cause(one, pen, valued=[one.get(key) for key in both] != [each.get(key) for key in both]) for one in each["causes"])
    return f"; because of {' and '.join(told)}" if each["causes"] else ""


def _kept(kept: Object, pen: Pen) -> Iterator[str]:
    yield f"  {pen.prose(kept['message'])}"
    for each in kept.get("fields", ()):
        old, new = (value(each.get(key), pen) for key in ("kept", "new"))
        yield f"    {pen.name(each['field'])}: {old} kept, {new} in the new one"


def gist(record: Object, pen: Pen) -> str:
    """What changes, in a few words."""
    causes = record.get("update", {}).get("causes", ())
    if causes:
        return pen.prose(causes[0]["message"])
    for key in ("error", "startError"):
        if key in record:
            return pen.prose(record[key])
    parts = [guest(record, pen)] if "guest" in record else []
    others = [each for each in record.get("changes", ()) if not (parts and each["path"] in SIZES)]
    parts += [f"{field(each['path'], pen)} {values(each, pen)}" for each in others[:2]]
    parts += [f"{len(others) - 2} more"] if len(others) > 2 else []
    parts += [_kept_gist(kept, pen) for kept in record.get("keeps", ())]
    return "; ".join(parts or map(pen.prose, pod_lines(record)))


def _kept_gist(kept: Object, pen: Pen) -> str:
    fields = kept.get("fields", ())
    each = fields[0] if fields else None
    told = f": {pen.name(each['field'])} {value(each.get('kept'), pen)}, not {value(each.get('new'), pen)}" if each else ""
    more = f" and {len(fields) - 1} more" if len(fields) > 1 else ""
    return f"{pen.prose(kept['kind'])} {pen.name(kept['name'])} as stored{told}{more}"


def step_lines(step: Object, new: bool, pen: Pen) -> Iterator[str]:
    """The lines about a step of an upgrade: the first one has the figures, the indented ones what happens."""
    yield f"KubeVirt {pen.prose(step['from'])} → {pen.prose(step['to'])}: {figures(step)}"
    for prefix, records, of_new in (("", step["vms"], new), ("if created anew: ", step["newVms"], True)):
        for group in grouped(records, lambda _: ()):
            yield f"  {prefix}{who(group, pen)}: {what(group, of_new)}"
            if len(group.records) > 1:
                yield f"    {', '.join(named(record, pen) for record in group.records)}"
    for key, word in CATALOGUE.items():
        if names := step["catalogue"][key]:
            yield f"  {len(names)} {word} in the catalogue: {', '.join(names)}"
    for key in ("new", "gone"):
        for finding in step["findings"][key]:
            where = f" in {pen.name(finding['target'])}" if "target" in finding else ""
            yield f"  {key} finding{where}: {pen.prose(finding['line'])} ({finding['rule']})"
