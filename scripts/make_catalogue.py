"""Make the builtin catalogue from the instancetypes and preferences that KubeVirt deploys.

It is `krm_fn/kubevirt/catalogue/builtin.txt`; the names alone are in `krm_fn/kubevirt/catalogue_names.py`.

    python scripts/make_catalogue.py --source CLONE [--release 1.6.6] [--check]

`upstream.py` tells what the arguments mean, and `krm_fn/kubevirt/catalogue/__init__.py` the form that is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import yaml
from upstream import ROOT, Source, Version, order, put, run_script, text_of

from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.releases import Release

# {kind: {name: (spec, True where it is deprecated)}} and the version of common-instancetypes
Deployed = tuple[dict[str, dict[str, tuple[dict[str, Any], bool]]], str]
Releases = dict[Version, Deployed]
Section = dict[str, str]

PACKAGE = ROOT / "krm_fn" / "kubevirt"
FILE, NAMES_FILE = PACKAGE / "catalogue" / "builtin.txt", PACKAGE / "catalogue_names.py"
HEAD = "# What each KubeVirt release deploys. Made by scripts/make_catalogue.py; __init__.py tells the form. Do not edit."

COMPONENTS = "pkg/virt-operator/resource/generate/components"
EMBEDDER = f"{COMPONENTS}/instancetypes.go"
EMBEDDED = re.compile(r"^//go:embed (\S+)$", re.MULTILINE)
LABELS = "instancetype.kubevirt.io/"

NAMES_HEAD = '''\
"""The names in the builtin catalogues of all releases, without the catalogue itself, which few runs need.

Made by `scripts/make_catalogue.py`. Do not edit.
"""

from __future__ import annotations

NAMES = frozenset(
    ('''

# A top-level field with fewer leaves is written out in each line that has it, so that it can be read and searched for there.
LEAVES_OF_A_PART = 3


class Run(NamedTuple):
    """Releases, one after the other, in which a name has one spec: `first` to `last`, both included."""

    first: Version
    last: Version
    spec: dict[str, Any]
    deprecated: bool


def read(source: Source, version: Version) -> Deployed:
    """What a release deploys. Raises: ValueError where that is not one version of common-instancetypes."""
    found: dict[str, dict[str, tuple[dict[str, Any], bool]]] = {kind: {} for kind in catalogue.KINDS}
    versions = set()
    for file in EMBEDDED.findall(source.text(version, EMBEDDER)):
        for each in yaml.load_all(source.text(version, f"{COMPONENTS}/{file}"), yaml.CSafeLoader):
            labels = each["metadata"]["labels"]
            deprecated = labels.get(f"{LABELS}deprecated") == "true"
            found[each["kind"]][each["metadata"]["name"]] = each["spec"], deprecated
            versions.add(labels[f"{LABELS}common-instancetypes-version"])
    if len(versions) != 1:
        raise ValueError(f"KubeVirt {text_of(version)} embeds common-instancetypes {sorted(versions)}; expected one version")
    return found, versions.pop().removeprefix("v")


def of_table(version: Version) -> Deployed:
    """What the table says that a release deploys."""
    major, minor, patch = version
    known = catalogue.of(Release(version=(major, minor, patch)))
    found = {
        kind: {name: (known.find(kind, name) or {}, known.deprecated(kind, name)) for name in known.names(kind)}
        for kind in catalogue.KINDS
    }
    lines = FILE.read_text(encoding="utf-8").partition("[releases]\n")[2].partition("[")[0].splitlines()
    return found, dict(line.split(" ") for line in lines)[text_of(version)]


def make(releases: Releases) -> str:
    """The text of the table."""
    versions = sorted(releases)
    runs = {kind: dict(runs_of(kind, releases)) for kind in catalogue.KINDS}
    parts = number_parts([run for names in runs.values() for of_name in names.values() for run in of_name])
    lines = [HEAD, "[releases]", *(f"{text_of(version)} {releases[version][1]}" for version in versions)]
    lines += ["[parts]", *sorted((f"{name} {text}" for text, name in parts.items()), key=in_order)]
    for kind, names in runs.items():
        lines += [
            f"[{kind}]",
            *(run_line(name, run, versions[-1], parts) for name, of_name in names.items() for run in of_name),
        ]
    return "\n".join(lines) + "\n"


def make_names(releases: Releases) -> str:
    """The text of the module with the names."""
    names = sorted({name for kinds, _ in releases.values() for names in kinds.values() for name in names})
    return "\n".join([NAMES_HEAD, *(f'        "{name}",' for name in names), "    )", ")\n"])


def runs_of(kind: str, releases: Releases) -> Iterator[tuple[str, list[Run]]]:
    """The names of a kind, sorted, with the runs of releases in which each has one spec."""
    versions = sorted(releases)
    for name in sorted({name for kinds, _ in releases.values() for name in kinds[kind]}):
        said = [(releases[version][0][kind].get(name), version) for version in versions]
        runs = [(deployed, [version for _, version in run]) for deployed, run in groupby(said, itemgetter(0))]
        yield name, [Run(known[0], known[-1], *deployed) for deployed, known in runs if deployed]


def run_line(name: str, run: Run, newest: Version, parts: Section) -> str:
    mark = ["deprecated"] if run.deprecated else []
    form = [parts.get(text, text) for text in fields(run.spec)]
    return " ".join([name, text_of(run.first), "-" if run.last == newest else text_of(run.last), *mark, *form])


def number_parts(runs: list[Run]) -> Section:
    """{leaves: name} of the fields that are parts, numbered from the oldest release on: a new release adds numbers only."""
    found: Section = {}
    count: dict[str, int] = {}
    for run in sorted(runs, key=lambda run: run.first):
        for text in fields(run.spec):
            if text not in found and text.count(" ") + 1 >= LEAVES_OF_A_PART:
                field = text.partition(":")[0]
                count[field] = count.get(field, 0) + 1
                found[text] = f"{field}.{count[field]}"
    return found


def fields(spec: dict[str, Any]) -> list[str]:
    """The leaves of a spec, those of one top-level field in one text."""
    return [" ".join(leaves(value, key)) for key, value in sorted(spec.items())]


def leaves(value: Any, path: str) -> Iterator[str]:
    below = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    if not below:
        yield f"{path}={scalar(value)}"
    for key, item in below:
        if isinstance(key, str) and (key.isdigit() or set(key) & set(" \t\n:=")):
            raise ValueError(f"the form can't hold the key {key!r} at {path}")
        yield from leaves(item, f"{path}:{key}")


def scalar(value: Any) -> str:
    """A value as `krm_fn.kubevirt.catalogue` reads it. Raises: ValueError for what the form can't hold."""
    match value:
        case bool():
            return str(value).lower()
        case int() if value >= 0:
            return str(value)
        case dict():
            return "{}"
        case str() if not set(value) & set(' "\t\n'):
            return f'"{value}"' if value in ("", "true", "false", "{}") or value.isdigit() else value
    raise ValueError(f"the form can't hold the value {value!r}")


def in_order(line: str) -> tuple[str, int]:
    field, _, number = line.partition(" ")[0].partition(".")
    return field, int(number)


def main() -> None:
    known = catalogue.releases()
    given = order("Make the builtin catalogue.", known)
    # KubeVirt 1.0 has no catalogue.
    fresh = {version: read(given.source, version) for version in given.versions if given.source.has(version, EMBEDDER)}
    releases = {version: of_table(version) for version in known} | fresh
    put({FILE: make(releases), NAMES_FILE: make_names(releases)}, check=given.check)


if __name__ == "__main__":
    run_script(main)
