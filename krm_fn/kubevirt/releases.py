"""KubeVirt releases as values. Differences between releases are rows with `since` and `until`, never branches."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.errors import ConfigError
from krm_fn.base.value import Value

# The minor releases that are measured, each with the patch release that "1.9" alone means. The newest is the default.
NEWEST_PATCH = {(1, 0): 1, (1, 1): 1, (1, 2): 2, (1, 3): 1, (1, 4): 1, (1, 5): 3, (1, 6): 6, (1, 7): 4, (1, 8): 4, (1, 9): 0}
# The same as text, oldest first.
MINORS = tuple(f"{major}.{minor}" for major, minor in sorted(NEWEST_PATCH))
# Releases whose own code has not answered yet, each with the commit or tag that its tables are made of. They count only where a
# config names them, and a run says once that they are not measured.
UNMEASURED: dict[tuple[int, int, int], str] = {(1, 8, 5): "8c261340ebde", (1, 10, 0): "d923fdb815cd"}
# What only later releases were measured for, and the first of these. Earlier ones are refused rather than guessed.
MEASURED_SINCE = {"pods": (1, 4), "instances": (1, 4)}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    class Dated(Protocol):
        """A row of a table, with the releases that have it."""

        @property
        def since(self) -> Bound: ...
        @property
        def until(self) -> Bound: ...

    Row = TypeVar("Row", bound=Dated)
Version = tuple[int, ...]
# The first release of something, or of each series that got it: ((1, 8, 5), (1, 9)) is 1.8.5 of 1.8, and all from 1.9 on.
Bound = Version | tuple[Version, ...]


def bound_text(bound: Bound) -> str:
    """`1.8.5 and 1.9` of ((1, 8, 5), (1, 9)), `1.9` of (1, 9)."""
    each = bound if bound and isinstance(bound[0], tuple) else (bound,)
    return " and ".join(".".join(map(str, version)) for version in each)


class Release(Value):
    """One KubeVirt release: `version` is (major, minor, patch)."""

    version: tuple[int, int, int]

    def __str__(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def is_measured(self) -> bool:
        """False where KubeVirt's own code has not answered for the release yet."""
        return self.version not in UNMEASURED

    def within(self, *, since: Bound = (), until: Bound = ()) -> bool:
        """True from `since` on (included) and before `until` (excluded); `()` is no limit. Both are (1, 7) or several."""
        return (not since or self._reaches(since)) and not (until and self._reaches(until))

    def _reaches(self, bound: Bound) -> bool:
        """All versions but the last one count in their own series alone."""
        if not isinstance(bound[0], tuple):
            return self.version >= bound
        return any(self.version >= each and (each is bound[-1] or self.version[:2] == each[:2]) for each in bound)

    def rows(self, table: Iterable[Row]) -> list[Row]:
        """The rows of a table that the release has. Tables are constants, so that each is gone through once."""
        key = self.version, id(table)
        if key not in _ROWS:
            _ROWS[key] = table, [row for row in table if self.within(since=row.since, until=row.until)]
        return _ROWS[key][1]


# By release and number of a table, which is kept, so that no other gets its number; filled by `Release.rows`.
_ROWS: dict[tuple[Version, int], tuple[Any, list[Any]]] = {}


def parse(text: str) -> Release:
    """The release of `1.9`, `1.6.3` or `v1.6.3`.

    Raises: ConfigError for text of another form and for a minor release that is not in the table.
    """
    parts = text.removeprefix("v").split(".")
    known = ", ".join(MINORS)
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise ConfigError(
            f"unknown KubeVirt release {text!r}; expected one of {known}, or a patch release of one such as 1.6.3"
        )
    major, minor = int(parts[0]), int(parts[1])
    newest = NEWEST_PATCH.get((major, minor), max((each[2] for each in UNMEASURED if each[:2] == (major, minor)), default=None))
    if newest is None:
        raise ConfigError(f"unknown KubeVirt release {text}; expected one of {known}, or a patch release of one")
    patch = int(parts[2]) if len(parts) == 3 else newest
    if patch > newest and (major, minor, patch) not in UNMEASURED:
        raise ConfigError(
            f"unknown KubeVirt release {text}; the newest known {major}.{minor} release is {major}.{minor}.{newest}"
        )
    return Release(version=(major, minor, patch))


def is_measured(what: str, release: Release) -> bool:
    """True if answers of the release's own code show what `what`, a key of `MEASURED_SINCE`, is there."""
    return release.within(since=MEASURED_SINCE[what])


def require_measured(what: str, release: Release, path: str = "") -> None:
    """Raises: ConfigError with the place of the setting if the release is earlier than those with answers."""
    if not is_measured(what, release):
        first = ".".join(map(str, MEASURED_SINCE[what]))
        raise ConfigError(f"the {what} of KubeVirt {release} are not known; set kubevirtVersion to {first} or later", path=path)


def not_measured(release: Release) -> str:
    """What a front end says once of an unmeasured release."""
    source = UNMEASURED[release.version]
    return f"KubeVirt {release} is a preview, made of commit {source}: it is not measured, and its answers may be wrong"


def lacks(table: str, release: Release) -> ConfigError:
    """The error for a release that is in `NEWEST_PATCH`, and not in a table; `table` says what of KubeVirt is in that."""
    return ConfigError(
        f"the {table} of KubeVirt {release} are not known: its table has not been made; "
        "make it as CONTRIBUTING.md says under 'Adding a KubeVirt release', or choose another kubevirtVersion"
    )


NEWEST = parse(MINORS[-1])
