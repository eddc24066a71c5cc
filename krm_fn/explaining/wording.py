"""Sources as people read them."""

from __future__ import annotations

from krm_fn.base.wording import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.objects import Object


def notes_of(field: Object) -> Iterator[str]:
    """How the value of a field was worked out, what else decides it, and what had no say."""
    if "how" in field:
        yield field["how"]
    for each in field.get("beside", ()):
        yield f"also decided by {source_text(each)}"
    for each in field.get("lost", ()):
        yield f"no say: {source_text(each)} wants {show(each['wanted'])}"


def source_text(source: Object) -> str:
    """What gives a value, with its place."""
    if source["from"] == "default":
        return f"default of KubeVirt {source['release']}"
    named = "/".join(each for each in (source.get("namespace"), source.get("name")) if each)
    words = [source["from"], named, source.get("field", "")]
    if source.get("revision"):
        words.append(f"in revision {source['revision']}")
    if source.get("catalogue"):
        words.append("in the catalogue")
    if source.get("line"):
        words.append(f"({source['file']}:{source['line']}:{source['column']})")
    elif source.get("file"):
        words.append(f"({source['file']})")
    return " ".join(word for word in words if word)
