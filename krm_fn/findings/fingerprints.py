"""Fingerprints: they identify the findings of different runs that are the same, also if the object has moved."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from krm_fn.base.paths import dotted
from krm_fn.findings import results

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.base.objects import Ref
    from krm_fn.findings.finding import Finding

# SARIF's name for the method by which the fingerprints are made.
NAME = "kubevirtRender/v1"
LENGTH = 32


def printed(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with their fingerprints: hexadecimal and unique.

    A fingerprint is made from rule, object, field path, value, and the other objects that the finding names. File, line and
    wording do not matter, except for the file of a finding about no object. Findings that are equal in all of these are
    numbered by their messages, so that the order of the items does not matter, and then by their order.
    """
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
