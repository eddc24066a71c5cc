"""The table of types, `krm_fn/schema/api.txt`, taken apart into what each release says, and put together again.

What a release says is {section: {key: line}}. A section is a type where its name has a dot, its keys are fields. A line is that
of the table without its span of releases: the key (followed by `!` where the field is required), for a field the word of its
type, and anything else that doesn't start with a digit. `scripts/make_schema.py` words the lines, `krm_fn/schema/table.py`
reads them; here only keys and types are looked at.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from upstream import text_of, version_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from upstream import Version

    Lines = dict[str, dict[str, str]]
    Releases = Mapping[Version, Lines]

HEAD = "# The API's types and fields, by release. Made by scripts/make_schema.py; table.py tells the form. Do not edit."
STRANGE = "strange"


def encode(releases: Releases) -> str:
    """The text of the table of these patch releases."""
    minors = sorted({version[:2] for version in releases})
    strange = [" ".join([text_of(minor), *sorted(strange_names(minor, releases))]) for minor in minors]
    used = {type_of(line) for lines in releases.values() for _, fields in _types(lines) for line in fields.values()}
    parts = []
    for name in sorted({name for lines in releases.values() for name in lines}, key=lambda name: ("." in name, name)):
        section = list(_section(name, releases))
        if section or name in used:
            parts.append("\n".join([f"[{name}]", *section]) + "\n")
    return "\n".join([HEAD, "", f"[{STRANGE}]", *strange, "", *parts])


def decode(text: str, versions: Collection[Version]) -> dict[Version, Lines]:
    """What the table says of each of `versions`, which are all patch releases that it knows."""
    found: dict[Version, Lines] = {version: {} for version in versions}
    for part in text.split("\n\n[")[1:]:
        name, _, body = part.partition("]")
        if name == STRANGE:
            continue
        for lines in found.values():
            lines[name] = {}
        for line in body.strip("\n").splitlines():
            head, *words = line.split(" ")
            span = words.pop(0) if words[0][0].isdigit() else "-"
            for version in versions:
                if _within(version, span):
                    found[version][name][head.removesuffix("!")] = " ".join([head, *words])
    return found


def type_of(line: str) -> str:
    """The name of the type that a line of a field leads to: `v1.Volume` of `volumes [v1.Volume]`."""
    return line.split(" ")[1].strip("[]{}?")


def strange_names(minor: Version, releases: Releases) -> set[str]:
    """The names by which alone an object can hold a field that this minor release, or a patch of it, lacks and another has."""
    here = [lines for version, lines in releases.items() if version[:2] == minor]
    every = _fields(releases)
    found: set[str] = set()
    for name in {name for lines in here for name, fields in _types(lines) if fields}:
        found |= every[name] - set.intersection(*(set(lines[name]) for lines in here if lines.get(name)))
        for field, line in here[-1].get(name, {}).items():
            for other in {type_of(lines.get(name, {}).get(field, line)) for lines in releases.values()}:
                found |= every.get(other, set()) - every.get(type_of(line), set())
    return found


def _types(lines: Lines) -> Iterator[tuple[str, dict[str, str]]]:
    return ((name, fields) for name, fields in lines.items() if "." in name)


def _fields(releases: Releases) -> dict[str, set[str]]:
    """The names of the fields that a type has in any release."""
    found: dict[str, set[str]] = {}
    for lines in releases.values():
        for name, fields in _types(lines):
            found.setdefault(name, set()).update(fields)
    return found


def _section(name: str, releases: Releases) -> Iterator[str]:
    """The lines of a section: for each key, the line that it has in each run of releases."""
    versions = sorted(releases)
    for key in sorted({key for lines in releases.values() for key in lines.get(name, ())}):
        said = [(releases[version].get(name, {}).get(key), version) for version in versions]
        for line, run in groupby(said, itemgetter(0)):
            if line is not None:
                head, _, rest = line.partition(" ")
                yield " ".join(filter(None, (head, _span([version for _, version in run], versions), rest)))


def _span(run: list[Version], versions: list[Version]) -> str:
    """`1.6-1.8`; `1.6.4-1.6`, since a patch release; `1.6-1.6.3`, up to one; `1.6-`, up to the newest; "" for all."""
    before = [version for version in versions if version < run[0]]
    after = [version for version in versions if version > run[-1]]
    if not (before or after):
        return ""
    first = run[0] if before and before[-1][:2] == run[0][:2] else run[0][:2]
    last = run[-1] if after and after[0][:2] == run[-1][:2] else run[-1][:2]
    return f"{text_of(first)}-{text_of(last) if after else ''}"


def _within(version: Version, span: str) -> bool:
    first, last = (version_of(end) if end else () for end in span.split("-"))
    return first <= version and version[: len(last)] <= last
