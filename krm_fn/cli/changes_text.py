"""The answer of `diff` as text for people: a block for each VM, the most severe first, and a line of figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.console import one_line, printable
from krm_fn.changes import renames
from krm_fn.changes.policies import REFUSED
from krm_fn.changes.summary import LEVELS, level_of, severity
from krm_fn.cli.changes_sizes import pod_lines, quota_lines
from krm_fn.cli.changes_words import OF_ANEW, ROLLOUTS, SHOWN_BY, sentence, sentences_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object

RESET = "\x1b[0m"
RED, YELLOW, CYAN, GREEN, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1;32m", "\x1b[1m"
COLORS = {"refused": RED, "recreate": RED, "restart": YELLOW, "migration": CYAN, "live": GREEN}

WHEN = {
    "live": "at once",
    "migration": "after the migration",
    "restart": "after a restart",
    "nextStart": "at the next start",
    "new": "in new ones",
}
GUEST = {"vcpus": "vCPUs", "memory": "memory"}
LONGEST = 80
MOST_USERS = 5
# What becomes of names of the catalogue in a step of an upgrade.
CATALOGUE = {"gone": "gone", "added": "new", "changed": "changed"}


def text_of(answer: Object, *, color: bool) -> str:
    """The answer as text."""
    records, sentences = ordered(answer), sentences_of(answer)
    texts = ["\n".join(map(_safe, block(record, sentences))) for record in records]
    texts = [_coloured(each, record) for each, record in zip(texts, records, strict=True)] if color else texts
    moved = "\n".join(map(_safe, rename_lines(answer)))
    used = "\n".join(map(_safe, quota_lines(answer)))
    steps = ["\n".join(map(_safe, step_lines(step, sentences))) for step in answer.get("steps", ())]
    return "\n\n".join(filter(None, [*texts, moved, used, figures(answer["summary"]), *steps])) + "\n"


def ordered(answer: Object) -> list[Object]:
    """The records, the most severe first."""
    return sorted(answer["vms"], key=_order)


def _order(record: Object) -> tuple[Any, ...]:
    return severity(record), record.get("target", ""), record["namespace"], record["name"]


def figures(summary: Object) -> str:
    """The figures in one line: `3 of 48 VMs change: 1 refused, 1 restart, 1 live; 12 keep a stored revision`."""
    counts = [f"{summary['levels'][level.word]} {level.called}" for level in LEVELS if level.word in summary["levels"]]
    changed, total = summary["changed"], summary["total"]
    noun = "object" if "others" in summary else "VM"
    line = f"{changed or 'none'} of {total} {noun}{'s' * (total != 1)} change{'s' * (changed == 1 or total == 1)}"
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
    yield from _renamed(record)
    yield from _judgements(record)
    for key in ("restartRequired", "error", "startError"):
        if key in record:
            yield f"  {_LABELS[key]}: {record[key]}"
    yield from _of_pool(record)
    for key, word in GUEST.items():
        if key in record.get("guest", {}):
            yield f"  {word}: {_values(record['guest'][key])}"
    yield from pod_lines(record)
    for change in record.get("changes", ()):
        yield from _change(change)
    for path in record.get("manifest", ()):
        yield f"  only in the manifest: {path}"
    for name in record.get("creates", ()):
        yield f"  creates {name}"
    for kept in record.get("keeps", ()):
        yield from _kept(kept)


def _renamed(record: Object) -> Iterator[str]:
    """The lines about the former name."""
    if "from" in record:
        yield f"  before: {_place(record['from'])} ({SHOWN_BY[record['shownBy']]})"
    for name in record.get("deletes", ()):
        yield f"  deletes {name}, with its data"


def _of_pool(record: Object) -> Iterator[str]:
    """The lines about the machines that a pool or a replica set creates."""
    if "replicas" in record:
        yield f"  replicas: {_values(record['replicas'])}"
    if "atOnce" in record:
        yield f"  at most {record['atOnce']} at once"
    if record.get("rollout") in ROLLOUTS:
        yield f"  {ROLLOUTS[record['rollout']]}"


def _judgements(record: Object) -> Iterator[str]:
    for cause in record.get("update", {}).get("causes", ()):
        yield f"  refused: {cause['path']}{': ' if cause['path'] else ''}{cause['message']}"
    for policy in record.get("policies", ()):
        if record["effect"] != [REFUSED] or policy["severity"] != "error":
            yield f"  {policy['severity']}: {policy['message']} ({policy['rule']})"


def headline(record: Object, sentences: dict[str, str]) -> str:
    """The line that says what happens to a VM."""
    effects = [sentence(effect, record["kind"], sentences) for effect in record["effect"]]
    where = f" in {record['target']}" if "target" in record else ""
    known = ", as before the change" if "asBefore" in record else ""
    return f"{record['kind']} {record['namespace']}/{record['name']}{where}: {'; '.join(effects)}{known}"


def rename_lines(answer: Object) -> Iterator[str]:
    """The lines about what VMs refer to and has another name."""
    for rename in answer["renames"]:
        where = f" in {rename['target']}" if "target" in rename else ""
        yield f"{rename['kind']} {_place(rename['from'])} is renamed to {_place(rename)}{where} ({SHOWN_BY[rename['shownBy']]})"
        stores = "; KubeVirt stores a revision of it for each VM" if rename["kind"] in renames.SIZES else ""
        yield from _referring(rename["users"], "new", stores)
        yield from _referring(rename.get("left", ()), "old", "")


def _referring(users: Sequence[Object], word: str, more: str) -> Iterator[str]:
    """The line that counts what refers to a name and shows the first ones."""
    if users:
        shown = [f"{user['kind']} {_place(user)}" for user in users[:MOST_USERS]]
        rest = [f"{len(users) - MOST_USERS} more"] if len(users) > MOST_USERS else []
        yield f"  {len(users)} refer{'s' * (len(users) == 1)} to the {word} name: {', '.join(shown + rest)}{more}"


def _place(named: Object) -> str:
    return "/".join(named[key] for key in ("namespace", "name") if key in named)


def step_lines(step: Object, sentences: dict[str, str]) -> Iterator[str]:
    """The lines about a step of an upgrade: the first one has the figures, the indented ones what happens."""
    yield f"KubeVirt {step['from']} → {step['to']}: {figures(step['summary'])}"
    yield from _in_step(step["vms"], "", sentences)
    yield from _in_step(step["newVms"], "if created anew: ", OF_ANEW)
    for key, word in CATALOGUE.items():
        if names := step["catalogue"][key]:
            yield f"  {len(names)} {word} in the catalogue: {', '.join(names)}"
    for key in ("new", "gone"):
        for finding in step["findings"][key]:
            where = f" in {finding['target']}" if "target" in finding else ""
            yield f"  {key} finding{where}: {finding['line']} ({finding['rule']})"


def _in_step(records: Sequence[Object], before: str, sentences: dict[str, str]) -> Iterator[str]:
    """The headlines of records. Machines of which only the pod changes are counted."""
    resized = [record for record in records if record["effect"] == ["nothing"] and "pod" in record and "keeps" not in record]
    for record in records:
        if record not in resized:
            yield f"  {before}{headline(record, sentences)}"
    if resized:
        yield f"  {before}{len(resized)} start{'s' * (len(resized) == 1)} with other pods, and else as before"


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
