"""The answer of `diff` as Markdown for the comment of a pull request; a bot finds its comment by the mark in the first line.

First the edits that reach many VMs, then a table of all groups of VMs, then the details in folds. Each part has its share of
the length that a comment may have. What does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from itertools import chain

from krm_fn.base.console import NAME
from krm_fn.base.markdown import fitting, prose
from krm_fn.base.objects import Object
from krm_fn.changes.owners import VM
from krm_fn.cli.changes_groups import (
    AS_BEFORE,
    KEPT,
    WITHOUT_EFFECT,
    RecordGroup,
    counted,
    grouped,
    places,
    quota_lines,
    reach_line,
    reaches,
    word_of,
)
from krm_fn.cli.changes_text import (
    about,
    figures,
    gist,
    named,
    policy_lines,
    rename_lines,
    step_lines,
    uncompared_lines,
    unmanaged_lines,
    what,
    who,
)
from krm_fn.cli.formats.markdown import LONGEST
from krm_fn.cli.output_files import MARKDOWN

MARK = f"<!-- {NAME} diff -->"
# What a part may take of the length.
SHARED, USED, TABLE = LONGEST // 8, LONGEST // 10, LONGEST // 3
LONGEST_NAMES = 4_000  # of one group
IN_TABLE = 3  # names of a group
FEW = 3  # groups that are not folded

ICONS = {
    "refused": ":no_entry:",
    "refused by a policy": ":no_entry:",
    "error": ":no_entry:",
    "data refused": ":no_entry:",
    "data deleted": ":wastebasket:",
    "removed": ":wastebasket:",
    "restart": ":arrows_counterclockwise:",
    "stopped": ":arrows_counterclockwise:",
    "shut down": ":arrows_counterclockwise:",
    "migration": ":left_right_arrow:",
    "live": ":zap:",
    "data live": ":zap:",
    "disk grows": ":zap:",
    "new needs of the cluster": ":warning:",
    "started": ":zap:",
    "new": ":new:",
    "renamed": ":wastebasket:",
    "recreated": ":wastebasket:",
    "scaled in": ":wastebasket:",
    "released": ":wastebasket:",
    "restarted": ":arrows_counterclockwise:",
    "scaled out": ":new:",
    KEPT: ":pushpin:",
    WITHOUT_EFFECT: ":heavy_minus_sign:",
    AS_BEFORE: ":grey_exclamation:",
}
LATER = ":hourglass:"
# What the words mean, for a reader who sees them for the first time.
LEGEND = {
    "refused": "KubeVirt's admission does not let the update in; the VM stays as it is",
    "refused by a policy": "a ValidatingAdmissionPolicy does not let the update in; the VM stays as it is",
    "error": "KubeVirt's controller reports an error and does nothing else for the VM",
    "data refused": "a DataVolume, claim, ConfigMap or Secret that the VM uses is not edited, and the apply fails",
    "data deleted": "a disk of the VM is deleted with its data",
    "removed": "the VM is deleted from the cluster",
    "left in the cluster": "the VM is no longer in git, and a mark keeps what applies it from deleting it",
    "restart": "the VM runs on as it is until somebody restarts it",
    "stopped": "the run strategy stops the VM",
    "shut down": "KubeVirt stops the VM to finish the change",
    "migration": "the VM runs on; the change takes effect after a live migration",
    "live": "the running VM changes at once",
    "data live": "the running guest reads what is edited",
    "disk grows": "a claim of the VM gets larger",
    "new needs of the cluster": "the release opens a feature gate, and the VM's next start needs something of the cluster",
    "started": "the run strategy starts the VM",
    "new": "the VM is created",
    "renamed": "the VM of the old name is deleted, and a new one is created",
    "recreated": "the pool deletes its VMs and creates new ones",
    "scaled in": "the pool or the replica set removes machines",
    "released": "the replica set no longer owns its instances, and creates new ones",
    "restarted": "the pool restarts its VMs",
    "scaled out": "the pool or the replica set creates machines",
    "new ones only": "machines that exist stay as they are",
    "does not start again": "the VM runs on, but its next start fails",
    "at the next start": "the VM runs on; nothing in the cluster says that a change waits",
    "data missing": "the VM's next start waits for an object that is gone",
    "data at the next start": "the VM runs on; its guest gets what is edited at the next start",
    "data taken over": "a disk that stood by itself belongs to the VM, and is deleted with it",
    "data stays": "the manifest no longer has a disk, but the VM keeps it",
    KEPT: "the VM keeps the revision of its instancetype or preference that the cluster has stored",
    WITHOUT_EFFECT: "the manifest changes, but nothing happens to the VM, also not at a restart",
    AS_BEFORE: "KubeVirt refuses the VM, as it did before the change",
}


def markdown_of(answer: Object, *, together: bool = True) -> str:
    """The answer as Markdown, shorter than a comment may be. Not `together`: each VM by itself."""
    new = answer["assumptions"]["new"]
    groups = grouped(answer["vms"], partial(about, pen=MARKDOWN), together=together)
    lines = [MARK, f"### {NAME}: {figures(answer, new)}"]
    lines += _listed([f"- {reach_line(each, MARKDOWN)}" for each in reaches(answer["vms"])], SHARED)
    lines += _listed([f"- {line}" for line in uncompared_lines(answer, MARKDOWN)], USED)
    lines += _listed([f"- {line}" for line in unmanaged_lines(answer, MARKDOWN)], USED)
    lines += _table(groups, new)
    lines += _listed(list(map(_item, rename_lines(answer, MARKDOWN))), USED)
    lines += _listed([f"- {prose(line)}" for line in quota_lines(answer)], USED)
    lines += _listed([f"- {line}" for line in policy_lines(answer, MARKDOWN)], USED)
    left = LONGEST - sum(len(line) + 1 for line in lines)
    for fold in chain(_details(groups, new), (_step(step, new) for step in answer.get("steps", ()))):
        part = fold.fitting(left)
        left -= sum(len(line) + 1 for line in part)
        lines += ["", *part]
    return "\n".join([*lines, *_legend(groups)]) + "\n"


def _listed(items: list[str], limit: int) -> list[str]:
    return ["", *fitting(items, limit, "- and {:,} more")] if items else []


def _word(group: RecordGroup) -> str:
    return word_of(group.first)


def _table(groups: Sequence[RecordGroup], new: bool) -> list[str]:
    if not groups:
        return []
    rows = [f"| {_marked(group)} | {_some(group)} | {_gist(group, new)} |" for group in groups]
    head = ["", "| | VM | what changes |", "|---|---|---|"]
    if new:  # nothing is refused, moved or kept: there are no VMs yet
        rows = [f"| {_some(group)} | {_gist(group, new)} |" for group in groups]
        head = ["", "| VM | what changes |", "|---|---|"]
    return [*head, *fitting(rows, TABLE, "| and {:,} more |" + " |" * (not new) + " |")]


def _marked(group: RecordGroup) -> str:
    """The word of a group behind its icon, on one line."""
    word = _word(group)
    return f"{ICONS.get(word, LATER)} {word}".replace(" ", "&nbsp;")


def _gist(group: RecordGroup, new: bool) -> str:
    return gist(group.first, MARKDOWN) or what(group, new)


def _some(group: RecordGroup) -> str:
    """A few names of a group, and how many others there are."""
    if len(group.records) == 1:
        return named(group.first, MARKDOWN)
    some = ", ".join(named(record, MARKDOWN) for record in group.records[:IN_TABLE])
    others = len(group.records) - IN_TABLE
    return f"**{counted(len(group.records))}**: {some}" + (f" and {others:,} more" if others > 0 else "")


class _Fold:
    """A part that a reader opens: the head, and the entries below it."""

    def __init__(self, head: str, entries: Sequence[str], *, is_open: bool = False) -> None:
        self.head, self.entries, self.is_open = head, entries, is_open

    def fitting(self, limit: int) -> list[str]:
        """The lines, of which the entries take at most `limit` letters."""
        opened = " open" if self.is_open else ""
        head = f"<details{opened}><summary>{escape(self.head)}</summary>"
        return [head, "", *fitting(self.entries, limit, "- and {:,} more"), "", "</details>"]


def _details(groups: Sequence[RecordGroup], new: bool) -> Iterator[_Fold]:
    """A fold for each sort of change, the most severe first."""
    sorts: dict[str, list[RecordGroup]] = {}
    for group in groups:
        sorts.setdefault(_word(group), []).append(group)
    for word, several in sorts.items():
        number = sum(len(group.records) for group in several)
        noun = "VM" if all(group.first["kind"] == VM for group in several) else "object"
        yield _Fold(f"{counted(number, noun)}: {word}", [_entry(group, new) for group in several], is_open=len(groups) <= FEW)


def _entry(group: RecordGroup, new: bool) -> str:
    """A list item for a group of VMs: their names, and what is to say of them."""
    lines = [f"- {who(group, MARKDOWN)}: {what(group, new)}", *_names(group), *map(_item, group.lines)]
    return "\n".join(lines)


def _item(line: str) -> str:
    text = line.lstrip(" ")
    return f"{' ' * (len(line) - len(text))}- {text}"


def _names(group: RecordGroup) -> Iterator[str]:
    """The names of several VMs by namespace, as many as fit."""
    left = LONGEST_NAMES
    for namespace, names, targets in places(group.records) if len(group.records) > 1 else ():
        shown = fitting([MARKDOWN.name(name) for name in names], left, "{:,} more")
        left -= sum(map(len, shown))
        where = f" (in {', '.join(fitting([MARKDOWN.name(each) for each in targets], left, '{:,} more'))})" if targets else ""
        left -= len(where)
        yield f"  - {MARKDOWN.name(namespace)}: {', '.join(shown)}{where}"


def _step(step: Object, new: bool) -> _Fold:
    from krm_fn.cli.output_files import TEXT

    head = next(iter(step_lines(step, new, TEXT)))
    items = [_item(line.removeprefix("  ")) for line in list(step_lines(step, new, MARKDOWN))[1:]]
    return _Fold(head, items or ["- nothing else changes"])


def _legend(groups: Iterable[RecordGroup]) -> list[str]:
    """What the words that occur mean."""
    found = {_word(group) for group in groups}
    items = [f"- **{word}**: {meaning}" for word, meaning in LEGEND.items() if word in found]
    return ["", "<details><summary>What this means</summary>", "", *items, "", "</details>"] if items else []
