"""What was read: texts, their objects, and the file and the index of each."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.objects import ORIGIN, annotations_of, place_of, text
from krm_fn.base.value import Value
from krm_fn.yamlio import ListText

if TYPE_CHECKING:
    from krm_fn.rules.facts.inputs import SkippedFile
    from krm_fn.sources.files import Stamp
    from krm_fn.yamlio import StreamText


class Source(Value):
    """One text and the numbers of its documents that are objects.

    `file` is "" if the text is not from a file. Then the files that the objects' annotations name are below `folder`. Otherwise
    `stamp` identifies the file. `origins` are the files of a build's documents, "" if one is not known; then the annotations
    are not used. `placed` are the documents as they are applied, where the text does not say that.
    """

    text: StreamText | ListText
    data: bytes
    file: str = ""
    folder: str = ""
    stamp: Stamp | None = None
    objects: tuple[int, ...] = ()
    origins: tuple[str, ...] = ()
    placed: Sequence[Any] | None = None

    @property
    def items(self) -> Sequence[Any]:
        """The objects, in order."""
        items = self.text.items if self.placed is None else self.placed
        return [items[number] for number in self.objects]

    @property
    def places(self) -> list[tuple[str, int]]:
        """File and index of each object. The annotations of an object give them if it is not from a file."""
        if self.file:
            return [(self.file, number) for number in self.objects]
        if self.origins:
            return [(self.origins[number], 0) for number in self.objects]
        return [_annotated(item, self.folder) for item in self.items]


def _annotated(item: Any, folder: str) -> tuple[str, int]:
    """The place that an item's annotations name: as a path from here if the file exists, otherwise as it is written."""
    file, index = place_of(item)
    if not file:
        return file, index
    here = os.path.normpath(os.path.join(folder, file)).replace(os.sep, "/")  # noqa: PTH118
    remote = "\nrepo:" in "\n" + text(annotations_of(item).get(ORIGIN))
    return (here if not remote and os.path.isfile(here) else file), index  # noqa: PTH113


ANY = "*"  # a kind


class Sources(Value):
    """Everything that was read.

    `function_config` is that of a ResourceList that the user names, or None. `powerless` are files with a functionConfig that
    has no effect: a file in a folder must not configure how the folder is judged. `skipped` are skipped files of folders.
    `separate`: the files of different folders may be for different clusters. `kustomized` are folders with kustomizations;
    `named` are the files that the user names. `in_part`: what applies the objects adds others to them, or changes them;
    `patched` are the kinds that it changes, with ANY for those that are not known.
    """

    sources: tuple[Source, ...]
    function_config: object = None
    powerless: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    separate: bool = False
    kustomized: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    in_part: bool = False
    patched: frozenset[str] = frozenset()

    @property
    def items(self) -> list[Any]:
        """The objects of all sources, in order."""
        return [item for source in self.sources for item in source.items]

    @cached_property
    def places(self) -> list[tuple[str, int]]:
        """File and index within the file of each of `items`."""
        return [place for source in self.sources for place in source.places]

    @property
    def units(self) -> list[frozenset[str]]:
        """For each of `items`, what applies it: the kustomizations that build its file; empty if that is not known."""
        return [units for source in self.sources for units in [self._units(source.file)] * len(source.objects)]

    def _units(self, file: str) -> frozenset[str]:
        """What applies the objects of a file: its folder, or the file alone if the kustomization there does not use it."""
        if not (self.separate and self.is_found(file)):
            return frozenset()
        folder = os.path.dirname(file)  # noqa: PTH120
        return frozenset((file if self.is_left_out(file) else folder + os.sep,))

    def is_left_out(self, file: str) -> bool:
        """True for a file that was found in a folder whose kustomization does not use it."""
        return self.is_found(file) and (os.path.dirname(file) or os.curdir) in self.kustomized  # noqa: PTH120

    def is_found(self, file: str) -> bool:
        """True for a file that was found in a folder."""
        return bool(file) and file not in self.named

    @property
    def is_built(self) -> bool:
        """True if all objects come from builds."""
        return all(source.folder for source in self.sources)

    def refuse_skipped(self) -> None:
        """Raises: InputError if a file was skipped, for callers that must not miss an object."""
        for each in self.skipped:
            raise InputError(each.why or "this symbolic link points outside the folders that may be read", file=each.file)


def text_with(source: Source, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The text of a source with other items; further ones come last, or where `before` says."""
    mark = BOM_UTF8 if source.data.startswith(BOM_UTF8) else b""  # reading leaves it out
    if isinstance(source.text, ListText):
        text = yamlio.write_resource_list(source.text, items, source.text.head.get("results") or [], before)
    else:
        text = yamlio.write_stream(source.text, items, before)
    return mark + yamlio.ended_as(source.data, text)
