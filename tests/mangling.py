"""Random damage to YAML text and random changes of values, for holding two readers against each other."""

from __future__ import annotations

from random import Random
from typing import Any

from yamlio_styled import value

ODD_CHARACTERS = " -:#'\"|>&*!%@`{}[],?\\\n\t\r~=<.0aé\u00a0\u2028\x85\ufeff\x01"


def mangled(rng: Random, text: str) -> str:
    """The text with a few characters or lines changed, doubled, moved or gone."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        line = lines[at]
        where = rng.randint(0, len(line))
        choice = rng.random()
        if choice < 0.5:
            lines[at] = line[:where] + rng.choice(ODD_CHARACTERS) + line[where + rng.randint(0, 1) :]
        elif choice < 0.6:
            lines[at] = " " * rng.randint(0, 3) + line
        elif choice < 0.7:
            lines[at] = line[rng.randint(0, 3) :]
        elif choice < 0.8:
            lines.insert(rng.randrange(len(lines)), line)
        elif choice < 0.9:
            del lines[at]
        else:
            lines[at] = line + rng.choice(
                [":", ": x", " #c", " ", "|", " |", " |-", " >", " {}", " []", " ''", ' "', " - a", " *a"]
            )
        lines = lines or [""]
    return "\n".join(lines)


def changed(rng: Random, old: Any) -> Any:
    """The value with a change somewhere inside."""
    if isinstance(old, dict) and old and rng.random() < 0.9:
        key = rng.choice(list(old))
        choice = rng.random()
        if choice < 0.1:
            return {name: item for name, item in old.items() if name != key}
        if choice < 0.3:
            return {**old, "added": value(rng, 3)}
        return {**old, key: changed(rng, old[key])}
    if isinstance(old, list) and old and rng.random() < 0.8:
        at = rng.randrange(len(old))
        new = rng.choice([[], [changed(rng, old[at])], [old[at], value(rng, 2)]])
        return [*old[:at], *new, *old[at + 1 :]]
    return value(rng, 2)
