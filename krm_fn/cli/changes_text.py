"""The answer of `diff` as text for people: a block for each VM, the most severe first, and a line of figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.console import one_line, printable
from krm_fn.changes.policies import REFUSED
from krm_fn.changes.summary import LEVELS, level_of, severity
from krm_fn.cli.changes_sizes import pod_lines, quota_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.objects import Object

RESET = "\x1b[0m"
RED, YELLOW, CYAN, GREEN, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[1m"
COLORS = {"refused": RED, "recreate": RED, "restart": YELLOW, "migration": CYAN, "live": GREEN}

# What an effect says to people.
SENTENCES = {
    "refused": "KubeVirt refuses the update",
    "refusedByPolicy": "a policy refuses it",
    "removed": "the VM is removed",
    "added": "the VM is new",
    "stopped": "the VM is stopped",
    "started": "the VM is started",
    "error": "KubeVirt reports an error and does nothing else for the VM",
    "restartRequired": "needs a restart",
    "live": "changes while it runs",
    "migration:LiveMigrate": "KubeVirt migrates it to finish the change",
    "migration:Evict": "KubeVirt shuts it down to finish the change",
    "migration:nobody": "needs a migration to finish the change, and nobody starts one",
    "atNextStart": "something waits for the next start",
    "nothing": "stays as it is",
}
WHEN = {
    "live": "at once",
    "migration": "after the migration",
    "restart": "after a restart",
    "nextStart": "at the next start",
}
GUEST = {"vcpus": "vCPUs", "memory": "memory"}
# Instead of the sentence about the next start, where no VM exists yet.
OF_NEW = "new VMs start with other values"
LONGEST = 80
# What the effects say of a VM that is created anew after a step of an upgrade.
OF_ANEW = {**SENTENCES, "atNextStart": OF_NEW, "refused": "KubeVirt refuses it"}
# What becomes of names of the catalogue in a step of an upgrade.
CATALOGUE = {"gone": "gone", "added": "new", "changed": "changed"}


def text_of(answer: Object, *, color: bool) -> str:
    """The answer as text."""
    records, sentences = ordered(answer), sentences_of(answer)
    texts = ["\n".join(map(_safe, block(record, sentences))) for record in records]
    texts = [_coloured(each, record) for each, record in zip(texts, records, strict=True)] if color else texts
    used = "\n".join(map(_safe, quota_lines(answer)))
    steps = ["\n".join(map(_safe, step_lines(step, sentences))) for step in answer.get("steps", ())]
    return "\n\n".join(filter(None, [*texts, used, figures(answer["summary"]), *steps])) + "\n"


def ordered(answer: Object) -> list[Object]:
    """The records, the most severe first."""
    return sorted(answer["vms"], key=_order)


def _order(record: Object) -> tuple[Any, ...]:
    return severity(record), record.get("target", ""), record["namespace"], record["name"]


def sentences_of(answer: Object) -> dict[str, str]:
    """What the effects of an answer say."""
    return {**SENTENCES, "atNextStart": OF_NEW} if answer["assumptions"]["new"] else SENTENCES


def figures(summary: Object) -> str:
    """The figures in one line: `3 of 48 VMs change: 1 refused, 1 restart, 1 live; 12 keep a stored revision`."""
    counts = [f"{summary['levels'][level.word]} {level.called}" for level in LEVELS if level.word in summary["levels"]]
    changed, total = summary["changed"], summary["total"]
    line = f"{changed or 'none'} of {total} VM{'s' * (total != 1)} change{'s' * (changed == 1 or total == 1)}"
    line += f": {', '.join(counts)}" if counts else ""
    kept = summary["keeps"]
    return f"{line}; {kept} keep{'s' * (kept == 1)} a stored revision" if kept else line


def _safe(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + printable(one_line(line))


def _coloured(text: str, record: Object) -> str:
    level = level_of(record)
    head, newline, rest = text.partition("\n")
    code = COLORS.get(level.word if level else "", PLAIN)
    return f"{code}{head}{RESET}{newline}{rest}"


def block(record: Object, sentences: dict[str, str]) -> Iterator[str]:
    """The lines about a VM: what happens, then, indented, why, and what differs."""
    yield headline(record, sentences)
    yield from _judgements(record)
    for key in ("restartRequired", "error", "startError"):
        if key in record:
            yield f"  {_LABELS[key]}: {record[key]}"
    for key, word in GUEST.items():
        if key in record.get("guest", {}):
            yield f"  {word}: {_values(record['guest'][key])}"
    yield from pod_lines(record)
    for change in record.get("changes", ()):
        yield from _change(change)
    for name in record.get("creates", ()):
        yield f"  creates {name}"
    for kept in record.get("keeps", ()):
        yield from _kept(kept)


def _judgements(record: Object) -> Iterator[str]:
    for cause in record.get("update", {}).get("causes", ()):
        yield f"  refused: {cause['path']}{': ' if cause['path'] else ''}{cause['message']}"
    for policy in record.get("policies", ()):
        if record["effect"] != [REFUSED] or policy["severity"] != "error":
            yield f"  {policy['severity']}: {policy['message']} ({policy['rule']})"


def headline(record: Object, sentences: dict[str, str]) -> str:
    """The line that says what happens to a VM."""
    effects = [sentences[effect] for effect in record["effect"]]
    where = f" in {record['target']}" if "target" in record else ""
    return f"{record['kind']} {record['namespace']}/{record['name']}{where}: {'; '.join(effects)}"


def step_lines(step: Object, sentences: dict[str, str]) -> Iterator[str]:
    """The lines about a step of an upgrade: the first one has the figures, the indented ones what happens."""
    yield f"KubeVirt {step['from']} → {step['to']}: {figures(step['summary'])}"
    for record in step["vms"]:
        yield f"  {headline(record, sentences)}"
    for record in step["newVms"]:
        yield f"  if created anew: {headline(record, OF_ANEW)}"
    for key, word in CATALOGUE.items():
        if names := step["catalogue"][key]:
            yield f"  {len(names)} {word} in the catalogue: {', '.join(names)}"
    for key in ("new", "gone"):
        for finding in step["findings"][key]:
            where = f" in {finding['target']}" if "target" in finding else ""
            yield f"  {key} finding{where}: {finding['line']} ({finding['rule']})"


_LABELS = {"restartRequired": "restart required", "error": "error", "startError": "does not start"}


def _change(change: Object) -> Iterator[str]:
    yield f"  {change['part']}: {change['path']}: {_values(change)}, {WHEN[change['when']]}"
    for cause in change["causes"]:
        yield f"    because of {_cause(cause)}"


def _cause(cause: Object) -> str:
    if cause["source"] == "release":
        return f"the release: {cause['old']} → {cause['new']}"
    name = "/".join(cause[key] for key in ("namespace", "name") if key in cause)
    origin = " in the catalogue of the release" if cause["source"] == "catalogue" else ""
    return f"{' '.join(filter(None, (cause['kind'], name)))}: {cause['field']}{origin}"


def _kept(kept: Object) -> Iterator[str]:
    yield f"  {kept['message']}"
    for field in kept.get("fields", ()):
        yield f"    {field['field']}: {_short(field.get('kept'))} kept, {_short(field.get('new'))} in the new one"


def _values(change: Object) -> str:
    """Old and new value, with an arrow between them."""
    return f"{_short(change.get('old'))} → {_short(change.get('new'))}"


def _short(value: Any) -> str:
    """A value as people read it, in so few letters that it fits into a line."""
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
