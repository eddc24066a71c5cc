"""Who gives the value of a field of a machine, and who had no say: what `explain` says of it, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krm_fn.base.errors import RenderError
from krm_fn.base.markdown import code, prose
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, dotted, get
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.lsp import sizes
from krm_fn.repositories.explained import explained as of_unit
from krm_fn.repositories.explained import with_places

if TYPE_CHECKING:
    from krm_fn.repositories.homes import Material


OWN, DEFAULT = "vm", "default"
# The last keys of quantities that people read as sizes.
SIZES = ("guest", "maxGuest", "memory", "storage", "capacity")


class ExplainedMachine(Value):
    """A machine as it is rendered from: the object, and what `explain` says of each value, by its path. Empty where unknown."""

    obj: Object = {}  # noqa: RUF012  nobody writes into a Value
    fields: dict[str, Object] = {}  # noqa: RUF012


def explained(material: Material, obj: Object) -> ExplainedMachine:
    """What is known of a machine of a unit. Places of sources in its files have the line at which they are written."""
    try:
        record = next(iter(with_places(of_unit(material, lambda each: each.obj is obj), [material])), {})
    except RenderError:
        return ExplainedMachine()
    return ExplainedMachine(obj=obj, fields={field["path"]: field for field in record.get("fields", ())})


def path_in(obj: object, written: object, path: Path) -> Path | None:
    """The path in a machine of what a file has at a path; elements of lists are found by their names. None: it is not there.

    `written` is the object as the file has it: a base or a patch has other lists than what is built of them.
    """
    found: list[str | int] = []
    for step in path:
        if isinstance(step, int):
            name = get(written, (step, "name"))
            names = [get(each, ("name",)) for each in obj] if isinstance(obj, list) else []
            at = names.index(name) if name is not None and name in names else None
            if at is None:
                return None
            found.append(at)
            obj, written = get(obj, (at,)), get(written, (step,))
        else:
            found.append(step)
            obj, written = get(obj, (step,)), get(written, (step,))
    return tuple(found)


def about(known: ExplainedMachine, written: object, path: Path) -> Iterator[str]:
    """The lines about the value that a file has at a path; none for maps, lists, and what is not in the rendered machine.

    `written` is the machine as the file has it.
    """
    there = path_in(known.obj, written, path)
    field = known.fields.get(dotted(there)) if there else None
    if field is None:
        return
    yield f"Value: {code(_sized(field['value'], path))}, from {_source(field['source'])}"
    if field.get("how"):
        yield prose(field["how"])
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
    elif source.get("file"):
        at = f"{source['file']}:{source['line']}" if source.get("line") else source["file"]
        words.append(f"({code(at)})")
    return " ".join(words)
