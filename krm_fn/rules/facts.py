"""Facts that are not of KubeVirt: of ignores, baselines, files and documents that were not read, and migrations."""

from __future__ import annotations

from krm_fn.base.objects import IGNORE, annotations_of
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.errors import InputError
    from krm_fn.base.paths import Path
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

    `families` maps the ids of all rules to their families. `unused` pairs an ignore with a rule that said nothing of its
    object; it is empty where not all rules were asked. `misshapen` are the objects whose annotation is no text, with its value.
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
    """What a run tells of a baseline: entries that are out of date, and those that no finding met, with their numbers."""

    release: Release
    today: str
    expired: tuple[tuple[int, Known], ...] = ()
    unused: tuple[tuple[int, Known], ...] = ()


class Unread(Value):
    """A file or folder that was found in a folder and is not read.

    `why` it can't be read, as the operating system says it; "" where it is a link that leads out of the paths.
    """

    file: str
    why: str = ""


class InputFacts(Value):
    """What couldn't be read: of documents an error each, and the files that were passed over."""

    release: Release
    errors: tuple[InputError, ...] = ()
    unread: tuple[Unread, ...] = ()


class Leftover(Value):
    """One thing that a migration leaves to the user; `path` runs from the root of the object.

    `reason` is a word that the rules of the family `migration` know; `detail` carries what else it needs, by name.
    """

    entry: Entry
    reason: str
    path: Path = ()
    current: Any = UNSET
    detail: tuple[tuple[str, Any], ...] = ()


class MigrationFacts(Value):
    """All that a migration left to the user."""

    release: Release
    leftovers: tuple[Leftover, ...] = ()
