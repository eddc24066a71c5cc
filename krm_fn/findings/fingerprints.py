"""Fingerprints: they identify the findings of different runs that are the same, also if the object has moved.

Findings of several targets that are the same are reported once, with all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Ref
from krm_fn.base.paths import dotted
from krm_fn.findings import results
from krm_fn.findings.finding import Finding, Suppressed

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


# SARIF's name for the method by which the fingerprints are made.
NAME = "kubevirtRender/v1"
LENGTH = 32


def printed(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with their fingerprints: hexadecimal and unique.

    A fingerprint is made from rule, object, field path, value, and the other objects that the finding names. File, line and
    wording do not matter, except for the file of a finding about no object. Findings that are equal in all of these are
    numbered by their messages, so that the order of the items does not matter, and then by their order.
    """
    import hashlib  # this loads OpenSSL, which takes as long as to judge a small file

    found = list(findings)
    made = [
        hashlib.sha256(json.dumps(_parts(each), sort_keys=True, ensure_ascii=False).encode(errors="replace")) for each in found
    ]
    seen: dict[bytes, int] = {}
    for place in sorted(range(len(found)), key=lambda place: found[place].message):
        digest = made[place].digest()
        seen[digest] = times = seen.get(digest, 0) + 1
        if times > 1:
            made[place].update(str(times).encode())
    return [each.but(fingerprint=digest.hexdigest()[:LENGTH]) for each, digest in zip(found, made, strict=True)]


def _parts(finding: Finding) -> list[Any]:
    field = results.to_krm(finding).get("field") or {"path": dotted(finding.path)}
    others = sorted([*_named(each.ref), dotted(each.path)] for each in finding.related)
    return [finding.rule, _named(finding.ref) or [finding.file], field["path"], field.get("currentValue"), others]


def _named(ref: Ref | None) -> list[str]:
    """The parts of an object's name. A change of its API version does not change them."""
    return [ref.api_version.rpartition("/")[0], ref.kind, ref.namespace, ref.name] if ref else []


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, in the order of the first of each; its targets are those of all that are the same."""
    return [_with(each, targets) for each, targets in _alike((key(each), each, each.targets) for each in findings)]


def merged_suppressed(suppressed: Iterable[Suppressed]) -> list[Suppressed]:
    """The same of findings that do not count: only those are the same that are silenced by the same for the same reason."""
    found = _alike(((each.by, each.reason, *key(each.finding)), each, each.finding.targets) for each in suppressed)
    return [each.but(finding=_with(each.finding, targets)) for each, targets in found]


def _alike(found: Iterable[tuple[Any, T, Iterable[str]]]) -> Iterable[tuple[T, set[str]]]:
    """The first with each key, and the targets of all with this key."""
    groups: dict[Any, tuple[T, set[str]]] = {}
    for same, each, targets in found:
        groups.setdefault(same, (each, set()))[1].update(targets)
    return groups.values()


def key(finding: Finding) -> tuple[Any, ...]:
    """What two findings have to have in common to be the same. A cluster may have its own severity of a rule.

    Overlays give an object of a base another namespace: where the place in the text is known, namespaces tell nothing apart.
    """
    place = finding.file, finding.line, finding.column, finding.path, finding.deeper
    ref = finding.ref.but(namespace="") if finding.ref and finding.line else finding.ref
    return finding.rule, finding.severity, finding.message, ref, finding.more, place


def _with(finding: Finding, targets: set[str]) -> Finding:
    return finding if targets == set(finding.targets) else finding.but(targets=tuple(sorted(targets)))
