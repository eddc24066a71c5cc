"""How machines differ from the last commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn.base.errors import RenderError
from krm_fn.base.markdown import code
from krm_fn.base.objects import Object
from krm_fn.changes.diffing import compare
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side
from krm_fn.changes.summary import called
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import commits

if TYPE_CHECKING:
    from krm_fn.lsp.sizes import Key
    from krm_fn.lsp.workspace import EditorWorkspace


MOST_CHANGES = 8


def before(workspace: EditorWorkspace, file: str) -> Sequence[Any] | None:
    """The objects of the target of a file as the last commit has them; None where there is none, or no program may start."""
    texts = committed(workspace.inputs(file)) if workspace.may_build else None
    return None if texts is None else workspace.objects_with(file, texts)


def committed(names: Iterable[str]) -> dict[str, bytes] | None:
    """The texts of files in the last commit, by their resolved names; empty for new ones. None where there is no commit."""
    try:
        repository = commits.repository_of(".")
        commit = repository.commit("HEAD")
        files = {str(Path(repository.root, entry.path)): entry for entry in repository.entries(commit)}
        wanted = {str(Path(each).resolve()) for each in names}
        texts = {
            str(Path(repository.root, entry.path)): data
            for entry, data in repository.contents(entry for path, entry in files.items() if path in wanted)
        }
    except RenderError:
        return None
    return {path: texts.get(path, b"") for path in wanted}


def change(old: Sequence[Any], new: Sequence[Any], config: Config, key: Key) -> str:
    """What became of one machine, in Markdown; "" where nothing did."""
    answer = compare(side([*old], config), side([*new], config), Assumptions())
    found = next((each for each in answer["vms"] if (each["kind"], each["namespace"], each["name"]) == key), None)
    if found is None:
        return ""
    lines = [f"Against the last commit: **{called(found) or found['change']}**"]
    lines += [f"- {_change(each)}" for each in found.get("changes", ())[:MOST_CHANGES]]
    return "\n".join(lines)


def _change(each: Object) -> str:
    values = [code(str(each[side])) for side in ("old", "new") if each.get(side) is not None]
    return f"{each['part']}: {' → '.join(values)}" if values else str(each["part"])
