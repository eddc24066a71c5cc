"""The answer of `diff` as Markdown for the comment of a pull request; a bot finds its comment by the mark in the first line."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from krm_fn.base.console import NAME
from krm_fn.changes.owners import VM
from krm_fn.changes.summary import LEVELS, level_of
from krm_fn.cli.changes_sizes import quota_lines
from krm_fn.cli.changes_text import block, figures, ordered, rename_lines, step_lines
from krm_fn.cli.changes_words import sentences_of
from krm_fn.cli.formats.markdown import LONGEST, prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.base.objects import Object

MARK = f"<!-- {NAME} diff -->"
KEPT = "unchanged"
# The groups of VMs that are not folded.
OPEN = ("refused", "recreate", "restart")


def markdown_of(answer: Object) -> str:
    """A heading with the figures, and a fold for each level; cut where it gets too long for a comment."""
    lines = [MARK, f"### {NAME}: {figures(answer['summary'])}"]
    for about in (rename_lines(answer), quota_lines(answer)):
        items = list(map(_item, about))
        lines += ["", *_fitting(items, LONGEST // 8)] if items else []
    left = LONGEST - sum(len(line) + 1 for line in lines)
    for word, records in _groups(ordered(answer)).items():
        entries = [_entry(record, sentences_of(answer)) for record in records]
        fold = [*_head(word, records), *_fitting(entries, left), "", "</details>"]
        left -= sum(len(line) + 1 for line in fold)
        lines += ["", *fold]
    for step in answer.get("steps", ()):
        head, *told = (line.strip() for line in step_lines(step, sentences_of(answer)))
        fold = [f"<details><summary>{escape(head)}</summary>", "", *_fitting(list(map(_item, told)), left), "", "</details>"]
        left -= sum(len(line) + 1 for line in fold)
        lines += ["", *fold]
    return "\n".join(lines) + "\n"


def _groups(records: Sequence[Object]) -> dict[str, list[Object]]:
    """The records by the words of their levels, in order."""
    words = {level.word: level.called for level in LEVELS}
    groups: dict[str, list[Object]] = {}
    for record in records:
        level = level_of(record)
        groups.setdefault(words[level.word] if level else KEPT, []).append(record)
    return groups


def _head(called: str, records: Sequence[Object]) -> list[str]:
    count, noun = len(records), "VM" if all(record["kind"] == VM for record in records) else "object"
    opened = " open" if called in {level.called for level in LEVELS if level.word in OPEN} else ""
    return [f"<details{opened}><summary>{count} {noun}{'s' * (count != 1)}: {called}</summary>", ""]


def _entry(record: Object, sentences: dict[str, str]) -> str:
    """A list item for a VM, its lines below it."""
    return "\n".join(map(_item, block(record, sentences)))


def _item(line: str) -> str:
    text = line.lstrip(" ")
    return f"{' ' * (len(line) - len(text))}- {prose(text.replace('→', 'to'))}"


def _fitting(entries: list[str], limit: int) -> list[str]:
    """As many entries as fit, and how many are left out."""
    kept: list[str] = []
    for entry in entries:
        limit -= len(entry) + 1
        if limit < 0:
            return [*kept, f"- and {len(entries) - len(kept)} more"]
        kept.append(entry)
    return kept
