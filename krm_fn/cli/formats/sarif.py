"""Findings as a SARIF 2.1.0 log, for code scanning: rules with their help, places with line and column, suppressions."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import PurePath
from typing import Any

from krm_fn import __version__
from krm_fn.base.console import NAME, REPOSITORY, one_line
from krm_fn.base.paths import dotted
from krm_fn.cli.formats import BASE, CheckReport, relative
from krm_fn.cli.output_files import json_text
from krm_fn.cli.rules import documentation, parts
from krm_fn.findings import results
from krm_fn.findings.finding import Finding, Related, Suppressed
from krm_fn.findings.fingerprints import NAME as FINGERPRINT
from krm_fn.rules.registry import Rule, all_rules, declared

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
SUPPRESSIONS = {"ignore": "inSource", "baseline": "external"}
ROOT = "%SRCROOT%"


def write(report: CheckReport) -> str:
    """One log with one run, which has the rules that found something."""
    silent = [(each.finding, each) for each in report.suppressed]
    reported = [*((finding, None) for finding in report.findings), *silent]
    named = sorted({finding.rule for finding, _ in reported})
    known = all_rules()
    run = {
        "tool": {
            "driver": {
                "name": NAME,
                "semanticVersion": __version__,
                **({"informationUri": REPOSITORY} if REPOSITORY else {}),
                "rules": [_rule(known.get(rule) or declared(rule)) for rule in named],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder in which the command ran."}}},
        "results": [_result(finding, named.index(finding.rule)) | _suppressions(report, each) for finding, each in reported],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    texts = {name: text[:1].upper() + text[1:] for name, text in parts(rule).items()}
    markdown = "\n\n".join(f"## {name}\n\n{text}" for name, text in texts.items() if name)
    return {
        "id": rule.id,
        "name": rule.id.title().replace("-", ""),
        "shortDescription": {"text": texts[""]},
        "fullDescription": {"text": " ".join(texts.get("What it finds", texts[""]).split())},
        "help": {"text": documentation(rule), "markdown": markdown},
        **({"helpUri": page} if (page := results.link_to(rule.id)) else {}),
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": ["kubevirt", rule.family]},
    }


def _suppressions(report: CheckReport, suppressed: Suppressed | None) -> dict[str, Any]:
    """Why a result doesn't count; where one result says so all have to, those that count with an empty list.

    A finding that an earlier commit has, too, is not suppressed but unchanged. Code scanning closes those that are gone itself.
    """
    if suppressed is None:
        state = {"baselineState": "new"} if report.since else {}
        return {**state, "suppressions": []} if report.suppressed else state
    if suppressed.by == BASE:
        return {"baselineState": "unchanged", "suppressions": []}
    why = {"justification": suppressed.reason} if suppressed.reason else {}
    return {"suppressions": [{"kind": SUPPRESSIONS[suppressed.by], "status": "accepted", **why}]}


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": _plain(finding.message)},
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
    }
    if location := _location(finding):
        result["locations"] = [location]
    if related := [
        {"id": number, **_location(each), "message": {"text": _plain(one_line(_named(each)))}}
        for number, each in enumerate(finding.related, 1)
        if each.file
    ]:
        result["relatedLocations"] = related
    if properties := {key: value for key, value in _properties(finding).items() if value}:
        result["properties"] = properties
    return result


def _properties(finding: Finding) -> dict[str, Any]:
    field = results.to_krm(finding).get("field", {})
    own = {"upstream": finding.upstream, "targets": list(finding.targets)}
    return {**own, **{key: field[key] for key in ("currentValue", "proposedValue") if key in field}}


def _location(of: Finding | Related) -> dict[str, Any]:
    """File and region as far as they are known, and the place in the object."""
    location: dict[str, Any] = {}
    if of.file:
        location["physicalLocation"] = {"artifactLocation": _artifact(of.file)}
        if of.line:
            location["physicalLocation"]["region"] = {"startLine": of.line, "startColumn": of.column}
    if of.ref:
        location["logicalLocations"] = [{"fullyQualifiedName": _named(of), "kind": "resource"}]
    return location


def _artifact(file: str) -> dict[str, str]:
    path = PurePath(relative(file))
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": urllib.parse.quote(os.fsencode(path.as_posix())), "uriBaseId": ROOT}


def _named(of: Finding | Related) -> str:
    return f"{of.ref}{': ' + dotted(of.path) if of.path else ''}"


def _plain(text: str) -> str:
    """Text in which viewers see no links: SARIF reads `[...](...)` as one."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]") if "](" in text else text
