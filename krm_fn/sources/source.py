"""What was read: texts, their objects, and the file and the index of each.

And what is skipped, with the reasons: documents that are no Kubernetes objects, or that only tools read, and folders.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import ORIGIN, annotations_of, group_of, kind_of, place_of, text
from krm_fn.base.paths import is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.api_versions import is_stray
from krm_fn.sources.files import KUSTOMIZATIONS, TEMPLATES
from krm_fn.yamlio import ListText

if TYPE_CHECKING:
    from krm_fn.rules.facts.inputs import SkippedFile
    from krm_fn.sources.files import Stamp
    from krm_fn.yamlio import StreamText


TOOL_GROUPS = ("kustomize.config.k8s.io", "kpt.dev", "kubevirt-render.dev")


# What hides a word in a text: an escape of a letter, of a dot or of what escapes; base64; and UTF-16.
ESCAPED = expression(rb"\\(?:x|u00|U000000)(?:2[eEfF]|[46][1-9a-fA-F]|[57][0-9aA]|5[cC])")
TAGGED, WIDE = expression(rb"!(?:![bB%]|<)|%TAG"), expression(rb"(?:\A|[\s-])(?:\xff\xfe|\xfe\xff)")
# The end of a line that is left out between two letters.
CONTINUED = rb"(?:\\(?:\r\n?|\n|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*)*"


def may_have(text: bytes, word: bytes) -> bool:
    """True where a YAML or JSON text has a word, or may have it in another form."""
    return word in text or may_hide(text, word)


def may_hide(text: bytes, word: bytes) -> bool:
    """True where a YAML or JSON text may have a word in a form that only readers of manifests know."""
    if WIDE.search(text) or (b"!" in text and TAGGED.search(text)):
        return True
    return b"\\" in text and bool(ESCAPED.search(text) or _continued(word).search(text))


@lru_cache(maxsize=4)
def _continued(word: bytes) -> re.Pattern[bytes]:
    return re.compile(CONTINUED.join(re.escape(bytes((each,))) for each in word))


def about_folder(folder: str) -> str:
    """The note about a skipped folder: of other projects, or with the templates of a Helm chart."""
    if folder.rpartition("/")[2] != TEMPLATES:
        return f"{file_name(folder)} is skipped: it contains other projects; to read them, name the folder"
    return f"{file_name(folder)} is skipped: it contains templates of a Helm chart; to render them, use `helm template`"


def why_skipped(item: object, file: str) -> str:
    """The reason to skip a document; "" for an object. The keys may have any type, and an object of KubeVirt may lack one."""
    unnamed = not isinstance(item, dict) or not (
        (is_set(item.get("apiVersion")) and is_set(item.get("kind"))) or is_stray(item)
    )
    tool = isinstance(item, dict) and group_of(item) in TOOL_GROUPS
    if file.rpartition("/")[2] in KUSTOMIZATIONS and (unnamed or tool):
        return "it is a kustomization; to build it, use `-k` with its folder"
    if unnamed:
        return "it has no apiVersion and kind"
    return f"only tools use a {kind_of(item)}" if isinstance(item, dict) and tool else ""


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
