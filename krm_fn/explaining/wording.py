"""Sources as people read them."""

from __future__ import annotations

import json

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.redaction import HIDDEN
from krm_fn.base.wording import show

SAME = {"default": " (KubeVirt's default is the same)", "another": " (another field gives the same)"}
LONGEST = 60
UNITS = ("Ki", "Mi", "Gi", "Ti", "m")  # of numbers that are no numbers for YAML
WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@+")


def notes_of(field: Object) -> Iterator[str]:
    """How a value was worked out, who else decides it, and who wanted another one."""
    if "how" in field:
        yield field["how"]
    for each in field.get("beside", ()):
        yield f"with {source_text(each)}"
    for each in field.get("lost", ()):
        yield f"wanted {written(each['wanted'])}: {source_text(each)}"


def source_text(source: Object) -> str:
    """What gives a value, with its field and its place. The object is named where the head of the record does not."""
    kind = source["from"]
    if kind == "default":
        return f"default of KubeVirt {source['release']}"
    if kind == "step":
        return f"step of {source['name']}{place_of(source)}"
    if kind == "vm":
        return f"VM{place_of(source)}" if source.get("file") else "VM"
    of = f" {named(source)}" if kind not in ("instancetype", "preference") and source.get("name") else ""
    inside = f" ({source['decoded']})" if source.get("decoded") else ""
    return f"{kind}{of} {source['field']}{inside}{place_of(source)}{SAME.get(source.get('same', ''), '')}"


def named(of: Object) -> str:
    """Namespace and name of an object."""
    return "/".join(each for each in (of.get("namespace"), of.get("name")) if each)


def place_of(of: Object) -> str:
    """The place of an object or a field in a file, after two blanks."""
    if not of.get("file"):
        return "  catalogue" if of.get("catalogue") and "field" in of else ""
    numbers = [str(of[key]) for key in ("line", "column") if of.get(key)]
    return f"  {':'.join((of['file'], *numbers))}"


def written(value: object) -> str:
    """A value in one line, as YAML writes it."""
    if isinstance(value, str) and (value == HIDDEN or _is_plain(value)):
        return value
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, dict | list) or not value else show(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _is_plain(text: str) -> bool:
    """True for a text that needs no quotes in YAML. Some that need none get them."""
    if not text or not text[0].isalnum() or set(text) - PLAIN or text.casefold() in WORDS:
        return False
    return text[0].isalpha() or text.endswith(UNITS)
