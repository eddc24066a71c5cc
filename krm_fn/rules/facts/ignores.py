"""The facts of ignores and of baselines."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import IGNORE, annotations_of
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.releases import Release

LONGEST = 1_000  # letters of an annotation that findings repeat


class Ignore(Value):
    """One line of an object's annotation: the rules it names, as they are written, and why; "" where it gives no reason."""

    entry: Entry
    rules: tuple[str, ...]
    reason: str

    @property
    def annotation(self) -> Any:
        """The annotation as findings repeat it; UNSET where it is long, since there may be hundreds about it."""
        value = annotations_of(self.entry.obj)[IGNORE]
        return value if len(value) <= LONGEST else UNSET


class IgnoreFacts(Value):
    """All that is known of the ignores of a bundle.

    `families` maps the ids of all rules to their families. `unused` pairs an ignore with a rule that found nothing in its
    object; it is empty if not all rules ran. `misshapen` are the objects whose annotation is no text, with its value.
    """

    release: Release
    families: dict[str, str]
    ignores: tuple[Ignore, ...]
    unused: tuple[tuple[Ignore, str], ...] = ()
    misshapen: tuple[tuple[Entry, Any], ...] = ()


class Known(Value):
    """One entry: which finding, why it may stay, and the last day (YYYY-MM-DD) on which it may; "" for neither."""

    fingerprint: str
    rule: str
    object: str = ""
    path: str = ""
    reason: str = ""
    expires: str = ""


class BaselineFacts(Value):
    """The facts of a baseline after a run: entries that are out of date, and those that no finding met, with their numbers."""

    release: Release
    today: str
    expired: tuple[tuple[int, Known], ...] = ()
    unused: tuple[tuple[int, Known], ...] = ()
