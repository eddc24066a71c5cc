"""How messages show a value, and how they list words."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.paths import Path
from krm_fn.base.redaction import HIDDEN, redact

# A message must stay on one line, so a value is cut to this length. `currentValue` has the full value.
LONGEST_SHOWN, LONGEST_BRIEF = 60, 80
MOST_KEYS = 20  # of a map
MOST_LISTED = 5


def show(value: object, path: Path | None = None) -> str:
    """The value as text on one line, shortened. Texts are in quotes, secrets are redacted.

    Maps and lists may hold secrets, which only their place shows. So they are shown only if `path` gives the place.
    """
    if path is None and isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    text = _flow(redact(_beginning(value, iter(range(LONGEST_SHOWN))), path or ()))
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _beginning(value: Any, left: Iterator[int]) -> Any:
    """The value with at most as many entries as `left` has; its kind is kept, because it identifies Secrets."""
    if isinstance(value, dict):
        kept = {key: _beginning(below, left) for (key, below), _ in zip(value.items(), left, strict=False)}
        return {**kept, "kind": value["kind"]} if isinstance(value.get("kind"), str) else kept
    if isinstance(value, list):
        return [_beginning(below, left) for below, _ in zip(value, left, strict=False)]
    return value


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value == HIDDEN:
        return HIDDEN
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return " ".join(str(value).split()) if not isinstance(value, str) else repr(value)


def brief(value: object) -> str:
    """The value as a part of a sentence: scalars without quotes, the keys of a map, the length of a list."""
    if isinstance(value, dict):
        keys = [str(key) for key, _ in zip(value, range(MOST_KEYS), strict=False)]
        return f"{{{', '.join(keys)}{', ...' if len(value) > MOST_KEYS else ''}}}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    text = " ".join(str(value).split(None, LONGEST_BRIEF)[:LONGEST_BRIEF])  # reads no more than it shows
    return text if len(text) <= LONGEST_BRIEF else f"{text[: LONGEST_BRIEF - 3]}..."


def listed(words: Sequence[str], last: str = "or", *, most: int = MOST_LISTED) -> str:
    """`a`, `a or b`, `a, b or c`. Of more words than `most`, the number of the others comes last. No words give ""."""
    shown = [*words[:most], *([f"{len(words) - most} more"] if len(words) > most else ())]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if len(shown) > 1 else "".join(shown)
