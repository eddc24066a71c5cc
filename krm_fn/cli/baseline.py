"""Baselines: a file of known findings, which `check` reports as suppressed and doesn't count.

version: 1
findings:
- fingerprint: 0f3c…
  rule: instancetype-conflict
  object: VirtualMachine shop/web
  path: spec.template.spec.domain.cpu.cores
  reason: moves to u1.large with the next release   # optional, written by people
  expires: "2026-12-31"                             # optional: the last day on which it counts as known
"""

from __future__ import annotations

import datetime as dt
import pathlib
from collections.abc import Iterable
from typing import Any

from krm_fn import yamlio
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.paths import Path, dotted
from krm_fn.base.value import Value
from krm_fn.cli.output_files import json_text
from krm_fn.config.keys import child, hint, unlike
from krm_fn.config.places import located
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.kubevirt.releases import Release
from krm_fn.rules.facts.ignores import BaselineFacts, Known
from krm_fn.sources.files import refuse_links_out

VERSION = 1
HEAD = "# Known findings of `kubevirt-render check`. --update-baseline rewrites this file and keeps each reason and expires.\n"


class Baseline(Value):
    """The entries of a file, in order. `data` is its text, b"" where there is no file yet."""

    file: str
    data: bytes = b""
    entries: tuple[Known, ...] = ()

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column of a place in the file."""
        return yamlio.read_stream(self.data, file=self.file).place(0, path)


class Split(Value):
    """The findings that are new, those that are known, and the facts of the baseline itself."""

    new: tuple[Finding, ...]
    known: tuple[Suppressed, ...]
    facts: BaselineFacts


def read(file: str, *, may_lack: bool = False) -> Baseline:
    """The baseline in a file; an empty one where there is none and `may_lack` allows this.

    Raises: ConfigError, which names the file and the place in it.
    """
    refuse_links_out([file])
    try:
        data = pathlib.Path(file).read_bytes()
    except FileNotFoundError:
        if may_lack:
            return Baseline(file=file)
        raise ConfigError("the baseline does not exist; create it with --update-baseline", file=file) from None
    except OSError as error:
        raise ConfigError(error.strerror or "can't be read", file=file) from None
    try:
        text = yamlio.read_stream(data, file=file)
    except InputError as error:
        raise ConfigError(error.message, file=file, line=error.line, column=error.column) from None
    try:
        return Baseline(file=file, data=data, entries=entries(text.items[0] if len(text.items) == 1 else None))
    except ConfigError as error:
        raise located(error, file, lambda path: text.place(0, path, key=True)) from None


def entries(value: Any) -> tuple[Known, ...]:
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        raise ConfigError(f"not a baseline; expected one map with version: {VERSION} and a list of findings")
    if value.get("version") != VERSION:
        raise unlike(value.get("version"), str(VERSION), "version")
    return tuple(_entry(entry, dotted(("findings", number))) for number, entry in enumerate(value["findings"]))


def _entry(value: Any, path: str) -> Known:
    if not isinstance(value, dict):
        raise unlike(value, "a map", path)
    given = {key: "" if text is None else text for key, text in value.items()}
    for key, text in given.items():
        if key not in Known._fields:
            raise ConfigError(
                f"unknown key; expected one of {', '.join(Known._fields)}{hint(key, Known._fields)}", path=child(path, key)
            )
        if not isinstance(text, str):
            raise unlike(text, "a string; put it in quotes", child(path, key))
    for key in ("fingerprint", "rule"):
        if not given.get(key):
            raise ConfigError("the key is missing; add it", path=child(path, key))
    if given.get("expires") and day(given["expires"]) is None:
        raise unlike(given["expires"], "a date YYYY-MM-DD", child(path, "expires"))
    return Known(**given)


def day(text: str) -> str | None:
    """The date where the text is one of the form YYYY-MM-DD, else None."""
    try:
        return text if dt.date.fromisoformat(text).isoformat() == text else None
    except ValueError:
        return None


def split(findings: Iterable[Finding], baseline: Baseline, *, today: str, release: Release) -> Split:
    """The findings, which have fingerprints, compared with a baseline. What stands for findings not reported is never known."""
    numbered = list(enumerate(baseline.entries))
    by_print = {known.fingerprint: known for _, known in reversed(numbered)}
    found = list(findings)
    met = {finding.fingerprint for finding in found}
    cut = {finding.rule for finding in found if finding.more}
    valid = {mark: known for mark, known in by_print.items() if not known.expires or known.expires >= today}
    return Split(
        new=tuple(finding for finding in found if finding.more or finding.fingerprint not in valid),
        known=tuple(
            Suppressed(finding=finding, by="baseline", reason=valid[finding.fingerprint].reason)
            for finding in found
            if finding.fingerprint in valid and not finding.more
        ),
        facts=BaselineFacts(
            release=release,
            today=today,
            expired=tuple((n, known) for n, known in numbered if known.fingerprint in met and known.fingerprint not in valid),
            unused=tuple(
                (n, known)
                for n, known in numbered
                if (known.fingerprint not in met and known.rule not in cut) or by_print[known.fingerprint] is not known
            ),
        ),
    )


def updated(baseline: Baseline, findings: Iterable[Finding]) -> Baseline:
    """The baseline of exactly these findings, sorted; reason and expiry of entries that remain stay."""
    before = {known.fingerprint: known for known in reversed(baseline.entries)}
    entries = [
        before.get(finding.fingerprint, Known(fingerprint=finding.fingerprint, rule=finding.rule)).but(
            rule=finding.rule, object=str(finding.ref) if finding.ref else "", path=dotted(finding.path)
        )
        for finding in findings
        if not finding.more
    ]
    entries.sort(key=lambda known: (known.object, known.path, known.rule, known.fingerprint))
    return Baseline(file=baseline.file, data=_text(baseline.file, entries).encode(), entries=tuple(entries))


def _text(file: str, entries: list[Known]) -> str:
    """YAML, or JSON where the file's name says so."""
    listed = [{key: getattr(known, key) for key in Known._fields if getattr(known, key)} for known in entries]
    value = {"version": VERSION, "findings": listed}
    return json_text(value) if file.endswith(".json") else HEAD + yamlio.dump(value)
