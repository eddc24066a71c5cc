"""Make `krm_fn/catalogue/builtin.txt` and `krm_fn/builtin.py` from the facts about each release's catalogue.

    python scripts/make_catalogue.py FACTS.json

FACTS.json holds `releases`, {KubeVirt release: version of common-instancetypes}, and `kinds`,
{kind: {name: [{releases: [first, last], spec, deprecated}, …]}}. `krm_fn/catalogue/__init__.py` tells the form that is written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "krm_fn"
FILE, NAMES_FILE = PACKAGE / "catalogue" / "builtin.txt", PACKAGE / "builtin.py"
HEAD = "# What each KubeVirt release deploys. Made by scripts/make_catalogue.py; __init__.py tells the form. Do not edit."

NAMES_HEAD = '''\
"""The names that any release's builtin catalogue has, apart from the catalogue: few runs have to look into that.

Made by `scripts/make_catalogue.py`. Do not edit.
"""

from __future__ import annotations

NAMES = frozenset(
    ('''

# A top-level field with fewer leaves is written out in each line that has it, so that it can be read and searched for there.
LEAVES_OF_A_PART = 3

Section = dict[str, str]


def make(facts: dict[str, Any]) -> str:
    """The text of the file."""
    order = list(facts["releases"])
    parts = number_parts(facts["kinds"], order)
    lines = [HEAD, "[releases]", *(f"{plain(release)} {plain(facts['releases'][release])}" for release in order)]
    lines += ["[parts]", *sorted((f"{name} {text}" for text, name in parts.items()), key=in_order)]
    for kind, names in facts["kinds"].items():
        lines += [f"[{kind}]", *(run_line(name, run, order[-1], parts) for name in sorted(names) for run in names[name])]
    return "\n".join(lines) + "\n"


def make_names(facts: dict[str, Any]) -> str:
    """The text of the module with the names."""
    names = sorted({name for names in facts["kinds"].values() for name in names})
    return "\n".join([NAMES_HEAD, *(f'        "{name}",' for name in names), "    )", ")\n"])


def run_line(name: str, run: dict[str, Any], newest: str, parts: Section) -> str:
    first, last = run["releases"]
    mark = ["deprecated"] if run.get("deprecated") else []
    form = [parts.get(text, text) for text in fields(run["spec"])]
    return " ".join([name, plain(first), "-" if last == newest else plain(last), *mark, *form])


def number_parts(kinds: dict[str, Any], order: list[str]) -> Section:
    """{leaves: name} of the fields that are parts, numbered from the oldest release on: a new release adds numbers only."""
    runs = [run for names in kinds.values() for runs in names.values() for run in runs]
    runs.sort(key=lambda run: order.index(run["releases"][0]))
    found: Section = {}
    count: dict[str, int] = {}
    for run in runs:
        for text in fields(run["spec"]):
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
    """A value as `krm_fn.catalogue` reads it. Raises: ValueError for what the form can't hold."""
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


def plain(release: str) -> str:
    return release.removeprefix("v")


def in_order(line: str) -> tuple[str, int]:
    field, _, number = line.partition(" ")[0].partition(".")
    return field, int(number)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the builtin catalogue's file.")
    parser.add_argument("facts", type=Path)
    facts = json.loads(parser.parse_args().facts.read_text(encoding="utf-8"))
    FILE.write_text(make(facts), encoding="utf-8")
    NAMES_FILE.write_text(make_names(facts), encoding="utf-8")


if __name__ == "__main__":
    main()
