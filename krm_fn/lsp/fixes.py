"""Quick fixes: the values that findings propose, as changes of lines."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from krm_fn.base.errors import RenderError
from krm_fn.findings.finding import UNSET
from krm_fn.lsp.answers import Action, Edit
from krm_fn.repositories.fixed_texts import fixed
from krm_fn.repositories.fixes import is_certain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krm_fn.findings.finding import Finding
    from krm_fn.repositories.fixes import Fix

LONGEST = 60  # characters of a value in a title


def actions(findings: Iterable[Finding], fixes: Mapping[str, Fix], text: str) -> Iterator[Action]:
    """The quick fixes for findings of one file; `fixes` are the values to write, by the findings' fingerprints."""
    for finding in findings:
        fix = fixes.get(finding.fingerprint)
        edits = tuple(edits_of(text, fix)) if fix and finding.proposed is not UNSET else ()
        if edits:
            title = f"Change to {_shown(finding.proposed)} ({finding.rule})"
            yield Action(title=title, edits=edits, fingerprint=finding.fingerprint, certain=is_certain(finding))


def edits_of(text: str, fix: Fix) -> Iterator[Edit]:
    """The lines that a fix changes; none where the text does not have the wrong value any more."""
    try:
        data, made = fixed(text.encode(errors="surrogatepass"), [fix])
    except RenderError:
        return
    if not made:
        return
    before, after = text.splitlines(keepends=True), data.decode().splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal":
            yield Edit(first=first, last=last, text="".join(after[start:end]))


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
