"""Who gives the value of a field of a machine, and who had no say: what `explain` says of it, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.errors import RenderError
from krm_fn.base.objects import name_of
from krm_fn.base.paths import dotted, get
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.lsp import sizes
from krm_fn.lsp.markdown import code, plain
from krm_fn.repositories.clusters import TargetSettings
from krm_fn.repositories.explained import explained as of_unit
from krm_fn.repositories.explained_places import with_places
from krm_fn.repositories.material import material_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.settings import Config
    from krm_fn.lsp.sizes import Key
    from krm_fn.repositories.types import Target
    from krm_fn.sources.reading import Sources

OWN, DEFAULT = "vm", "default"
# The last keys of quantities that people read as sizes.
SIZES = ("guest", "maxGuest", "memory", "storage", "capacity")


class Explained(Value):
    """A machine as it is rendered from: the object, and what `explain` says of each value, by its path. Empty where unknown."""

    obj: Object = {}  # noqa: RUF012  nobody writes into a Value
    fields: dict[str, Object] = {}  # noqa: RUF012


def explained(found: Sources, config: Config, key: Key, file: str, target: Target | None) -> Explained:
    """What is known of the machine that a file has under a key, in its target or among the files that nothing builds.

    Places of sources have the line at which they are written.
    """
    entry = _entry(Bundle(found.items, found.places), key, file)
    if entry is None:
        return Explained()
    material = material_of(found, TargetSettings(config=config), target=target)
    try:
        record = next(iter(with_places(list(of_unit(material, lambda each: each.obj is entry.obj)), [material])), {})
    except RenderError:
        return Explained()
    return Explained(obj=entry.obj, fields={field["path"]: field for field in record.get("fields", ())})


def _entry(bundle: Bundle, key: Key, file: str) -> Entry | None:
    """The machine that a file has under a key: a build may have given it another namespace, or a prefix."""
    kind, namespace, name = key
    found = bundle.of_kind(kind)
    here = [entry for entry in found if bundle.place(entry.item)[0] == file]
    named = [entry for entry in here or found if name_of(entry.obj) == name]
    fitting = [entry for entry in named if effective_namespace(entry.obj) == namespace] or named
    if not fitting and len(here) == 1:
        return here[0]
    return fitting[0] if fitting else None


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


def about(known: Explained, written: object, path: Path) -> Iterator[str]:
    """The lines about the value that a file has at a path; none for maps, lists, and what is not in the rendered machine.

    `written` is the machine as the file has it.
    """
    there = path_in(known.obj, written, path)
    field = known.fields.get(dotted(there)) if there else None
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
        at = f"{source['file']}:{source['line']}"
        words.append(f"({code(at)})")
    return " ".join(words)
