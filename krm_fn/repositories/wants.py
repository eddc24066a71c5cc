"""The names of objects that a unit uses and does not have: other units of its cluster may offer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.objects import kind_of, name_of, text
from krm_fn.base.paths import get
from krm_fn.repositories import sharing
from krm_fn.sources.places import MATCHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding

# Rules that report what is not in the bundle: another target may have it.
ABOUT_ABSENT = frozenset(
    ("missing-object", "missing-revision", "unresolved-instancetype", "unresolved-preference", "failed-inference")
)


def wanted(findings: Iterable[Finding], objects: Sequence[Object]) -> Iterator[str]:
    """The names of what the findings miss, and of the instancetypes and preferences of VMs that stand elsewhere."""
    for finding in findings:
        if finding.rule in ABOUT_ABSENT and isinstance(finding.current, str):
            yield finding.current.rpartition("/")[2]
    own = {name_of(obj) for obj in objects if kind_of(obj) in sharing.KINDS}
    for obj in objects:
        for matcher in MATCHERS:
            name = text(get(obj, (*matcher, "name")))
            if name and name not in own:
                yield name
