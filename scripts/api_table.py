"""The table of types, `krm_fn/kubevirt/schema/api.txt`, taken apart into what each release says, and put together again.

What a release says is {type: {field: words}}. A required field has a `!` behind its name, and the first of the words is its
type. `scripts/schema_lines.py` makes the words, and `krm_fn/kubevirt/schema/table.py` reads them. Here only names and types
are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

from upstream import Version, text_of, version_of

Lines = dict[str, dict[str, str]]
Releases = Mapping[Version, Lines]

HEAD = "# The API's types and fields, by release. Made by scripts/make_schema.py; table.py tells the form. Do not edit."
STRANGE = "strange"


def encode(releases: Releases) -> str:
    """The text of the table of these patch releases."""
    minors = sorted({version[:2] for version in releases})
    strange = [" ".join([text_of(minor), *sorted(strange_names(minor, releases))]) for minor in minors]
    used = {type_of(words) for lines in releases.values() for fields in lines.values() for words in fields.values()}
    parts = []
    for name, fields in sorted(_fields(map(_bare, releases.values())).items()):
        section = list(_section(name, fields, releases))
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
            field, *words = line.split(" ")
            span = words.pop(0) if words[0][0].isdigit() else "-"
            for version in versions:
                if _within(version, span):
                    found[version][name][field] = " ".join(words)
    return found


def type_of(words: str) -> str:
    """The name of the type that the words of a field lead to: `v1.Volume` of `[v1.Volume]`."""
    return words.partition(" ")[0].strip("[]{}?")


def strange_names(minor: Version, releases: Releases) -> set[str]:
    """The names by which alone an object can hold a field that this minor release, or a patch of it, lacks and another has."""
    bare = {version: _bare(lines) for version, lines in releases.items()}
    here = [lines for version, lines in bare.items() if version[:2] == minor]
    every = _fields(bare.values())
    found: set[str] = set()
    for name in {name for lines in here for name, fields in lines.items() if fields}:
        found |= every[name].difference(set.intersection(*(set(lines[name]) for lines in here if lines.get(name))))
        for field, words in here[-1].get(name, {}).items():
            for other in {type_of(lines.get(name, {}).get(field, words)) for lines in bare.values()}:
                found |= every.get(other, set()) - every.get(type_of(words), set())
    return found


def _bare(lines: Lines) -> Lines:
    """The same with the names of the fields alone."""
    return {name: {field.removesuffix("!"): words for field, words in fields.items()} for name, fields in lines.items()}


def _fields(releases: Iterable[Lines]) -> dict[str, set[str]]:
    """The names of the fields that each type has in any of some releases."""
    found: dict[str, set[str]] = {}
    for lines in releases:
        for name, fields in lines.items():
            found.setdefault(name, set()).update(fields)
    return found


def _section(name: str, fields: set[str], releases: Releases) -> Iterator[str]:
    """The lines of a type: for each field, what is said of it in each run of releases."""
    versions = sorted(releases)
    for field in sorted(fields):
        said = [(_head_and_words(field, releases[version].get(name, {})), version) for version in versions]
        for found, run in groupby(said, itemgetter(0)):
            if found:
                head, words = found
                yield " ".join(filter(None, (head, _span([version for _, version in run], versions), words)))


def _head_and_words(field: str, fields: dict[str, str]) -> tuple[str, str] | None:
    return next(((head, fields[head]) for head in (field, f"{field}!") if head in fields), None)


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
