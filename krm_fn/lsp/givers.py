"""Who gives the value of a field of a machine, and who had no say: what `explain` says of it, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import RenderError
from krm_fn.base.objects import kind_of, name_of
from krm_fn.base.paths import dotted, steps
from krm_fn.base.wording import show
from krm_fn.explaining.answers import records
from krm_fn.findings.finding import Finding
from krm_fn.lsp import sizes
from krm_fn.lsp.markdown import code, plain
from krm_fn.sources.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.settings import Config
    from krm_fn.lsp.sizes import Key
    from krm_fn.sources.reading import Sources

OWN, DEFAULT = "vm", "default"
# The last keys of quantities that people read as sizes.
SIZES = ("guest", "maxGuest", "memory", "storage", "capacity")


def explained(found: Sources, config: Config, key: Key) -> dict[str, Object]:
    """What `explain` says of each value of a machine, by its path; empty for one that is not there or can't be rendered.

    Places of sources have the line at which they are written, if the file is read as it is.
    """
    kind, _, name = key
    bundle = Bundle(found.items, found.places)
    try:
        answer = next(records(bundle, config, wanted=lambda each: (kind_of(each.obj), name_of(each.obj)) == (kind, name)), {})
    except RenderError:
        return {}
    places = Places(found)
    return {field["path"]: _placed(field, found, places) for field in answer.get("fields", ())}


def about(fields: dict[str, Object], path: Path) -> Iterator[str]:
    """The lines about the value at a path; none for maps, lists, and what is not in the rendered machine."""
    field = fields.get(dotted(path))
    if field is None:
        return
    yield f"Value: {code(_sized(field['value'], path))}, from {_source(field['source'])}"
    if field.get("how"):
        yield plain(field["how"])
    lines = [f"- also decided by {_source(each)}" for each in field.get("beside", ())]
    lines += [f"- no say: {_source(each)} wants {code(_sized(each['wanted'], path))}" for each in field.get("lost", ())]
    if lines:
        yield "\n".join(lines)


def _sized(value: object, path: Path) -> str:
    shown = show(value)
    words = sizes.memory(value) if path[-1] in SIZES and isinstance(value, str) else ""
    return f"{shown} ({words})" if words and words != value else shown


def _source(source: Object) -> str:
    if source["from"] == OWN:
        words = ["the VM itself"]
    elif source["from"] == DEFAULT:
        words = [f"the defaults of KubeVirt {source['release']}"]
    else:
        words = [f"the {source['from']}", *([code(source["name"])] if source.get("name") else [])]
        words += [code(source["field"])] if source.get("field") else []
    if source.get("catalogue"):
        words.append(f"of the catalogue of KubeVirt {source['catalogue']}")
    elif source.get("line"):
        words.append(f"({plain(source['file'])}:{source['line']})")
    return " ".join(words)


def _placed(field: Object, found: Sources, places: Places) -> Object:
    lists: Object = {key: [_at(each, found, places) for each in field[key]] for key in ("beside", "lost") if key in field}
    return {**field, "source": _at(field["source"], found, places), **lists}


def _at(source: Object, found: Sources, places: Places) -> Object:
    """A source with its file and line."""
    item = source.get("item", -1)
    if not (0 <= item < len(found.items) and source.get("field")):
        return source
    file, index = found.places[item]
    spot = Finding(rule="", severity="info", message="", path=steps(source["field"]), item=item, file=file, index=index)
    (spot,) = places.located([spot])
    return {**source, "file": spot.file, "line": spot.line}
