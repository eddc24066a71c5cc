"""The sources of the command: files, folders, stdin, and the output of kustomize.

All sources give one list of objects, with the file and the index of each. Documents that are not Kubernetes objects, and
objects that only tools read (a Kustomization, our own config), are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base import workers
from krm_fn.base.console import file_name, read_in
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import kind_of
from krm_fn.base.value import Value
from krm_fn.rules.facts.inputs import SkippedFile
from krm_fn.sources.files import FOLLOW, Paths, Stamp, read_found, refuse_links_out
from krm_fn.sources.source import Source, Sources, about_folder, why_skipped

if TYPE_CHECKING:
    from krm_fn.sources.steps import Step
    from krm_fn.yamlio import ListText, StreamText
Note = Callable[[str], None]
Repair = Callable[[bytes, str], bytes]
Watch = Callable[[str, Iterable[Any], int], Iterable[Any]]


STDIN = "-"
LIST = b"ResourceList"
# Marks of texts from which a program makes manifests: those of Go, Jinja, FreeMarker and Terraform, names between two marks,
# and a variable that stands for lines, or for an entry of `[]`.
TEMPLATE = expression(
    rb"\{\{|\{%|<%|</?#(?=[a-z])|%\{(?=~? *(?:if|for|else|end))|%%(?=\w+%%)|@(?=[A-Za-z]\w*@)"
    rb"|^\s*\$\{ *\w+ *\}\s*$|[\[,]\s*\$\{ *\w+ *\}"
)
LEAST_SHARED = 1_000_000  # bytes to read; for less, a second process takes about as long as this one


class NothingFoundError(InputError):
    """Everything could be read, but there is no object."""


class TemplateError(InputError):
    """A text can't be read because it is a template."""


class Given(Value):
    """A text to read: from a file, which `stamp` identifies, or from a build of `folder`. For `origins`, see `Source`.

    `names` are those that the objects of a build have in their files, "" for an unknown one.
    """

    data: bytes
    file: str = ""
    folder: str = ""
    stamp: Stamp | None = None
    origins: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def unwatched(_: str, work: Iterable[Any], __: int) -> Iterable[Any]:
    """The work itself, without reports of its progress."""
    return work


class Texts(Value):
    """Texts that are to be parsed, and what was passed over on the way to them. It can be pickled.

    `asked` are the words of the user that led here. `is_single`: one file, or stdin, is all that the user names; a ResourceList
    there configures the run. `folders` are skipped folders. `steps` are this program's own in the kustomizations of
    which the texts were built, `affixes` the pairs of a prefix and a suffix that names have got. `unknown` are variables
    without a known value. For the rest, see `Sources`.
    """

    given: tuple[Given, ...]
    asked: tuple[str, ...] = ()
    is_single: bool = False
    folders: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    separate: bool = False
    kustomized: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    steps: tuple[Step, ...] = ()
    affixes: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()


def read(
    paths: Sequence[str],
    *,
    note: Note = lambda _: None,
    repair: Repair | None = None,
    reports: bool = False,
    watch: Watch = unwatched,
    **how: Any,
) -> Sources:
    """The objects of the paths: `texts`, which takes `how`, parsed. Raises: InputError as `texts` and `parsed` do."""
    return parsed(texts(paths, **how), note=note, repair=repair, reports=reports, watch=watch)


def texts(
    paths: Sequence[str],
    *,
    found: Sequence[str] = (),
    kustomized: frozenset[str] = frozenset(),
    built: Sequence[tuple[str, bytes]] = (),
    follow: bool = False,
    within: Sequence[str] = (),
    unbuilt: bool = True,
) -> Texts:
    """The texts of the paths: files, folders (all YAML and JSON files below them, sorted) or `-` for stdin.

    `found` are more files, which the caller found in folders; `kustomized` are those of the folders that have kustomizations.
    `built` are kustomizations with what was built of them. With `follow`, links in folders may lead to all places, otherwise
    only to the paths and the folders of `within`. Without `unbuilt`, templates of Helm charts in folders are skipped, and files
    of different folders may be for different clusters.
    Raises: InputError if a file can't be read, or is a link out of its repository.
    """
    refuse_links_out(() if follow else (path for path in paths if path != STDIN), FOLLOW)
    named = Paths(paths, follow=follow, within=within, templates=unbuilt)
    given = [*_texts(paths, named, found), *(Given(data=data, folder=folder) for folder, data in built)]
    return Texts(
        given=tuple(given),
        asked=(*paths, *found, *(folder for folder, _ in built)),
        is_single=len(paths) == 1 and not (built or found) and not os.path.isdir(paths[0]),  # noqa: PTH112
        folders=tuple(named.folders),
        skipped=tuple(named.skipped),
        separate=not unbuilt,
        kustomized=kustomized,
        named=frozenset(Path(path).as_posix() for path in paths),
    )


def parsed(
    gathered: Texts,
    *,
    note: Note = lambda _: None,
    repair: Repair | None = None,
    reports: bool = False,
    watch: Watch = unwatched,
) -> Sources:
    """The objects of texts.

    `note` is called with each skipped document. `repair` gets the text and the name of an unreadable file, and returns the text
    to read instead. `watch` gets the work, file after file, with its name and the number after which nearly all is done, and
    returns the work.
    Raises: InputError if a text can't be read, and if there is no object. A caller that `reports` skipped files itself gets no
    error for them.
    """
    repaired: list[str] = []
    found = list(_all_parsed(gathered.given, repair, repaired, watch))
    for source, _ in found:
        for text_of_note in _left_alone_in(source):
            note(text_of_note)
    for folder in gathered.folders:
        note(about_folder(folder))
    if not repaired and not any(source.objects for source, _ in found):
        _refuse_nothing(gathered.asked, gathered.skipped, reports=reports)
    return _configured(found, gathered)


def configuring(gathered: Texts) -> Sources:
    """Those of the texts that are ResourceLists: their functionConfig may configure a run. What can't be read is left out."""
    found = []
    for given in gathered.given:
        if LIST in given.data:
            with suppress(InputError):
                found.append(_parsed(given))
    return _configured(found, gathered)


def _configured(found: Sequence[tuple[Source, object]], gathered: Texts) -> Sources:
    """What was parsed, with the functionConfig that counts."""
    single = gathered.is_single
    configs = [(source, config) for source, config in found if config is not None]
    effective = [config for source, config in configs if single or not (source.file or source.folder)]
    return Sources(
        sources=tuple(source for source, _ in found),
        function_config=effective[0] if effective else None,
        powerless=tuple(each.file or each.folder for each, _ in configs if not single and (each.file or each.folder)),
        skipped=gathered.skipped,
        separate=gathered.separate,
        kustomized=gathered.kustomized,
        named=gathered.named,
    )


def _refuse_nothing(paths: Sequence[str], skipped: Sequence[SkippedFile], *, reports: bool) -> None:
    """Raises: InputError if there is no object, unless the caller `reports` unreadable files itself."""
    unreadable = [each for each in skipped if each.why]
    if unreadable and reports:
        return
    if unreadable:
        raise InputError(unreadable[0].why, file=unreadable[0].file)
    places = ", ".join("stdin" if path == STDIN else file_name(path) for path in paths)
    missing = "no Kubernetes object found" + (f" in {places}" if places else "")
    if skipped:
        raise InputError(
            f"{missing}; {skipped[0].file} is a link to a place outside of it; to follow links, use --follow-links"
        )
    raise NothingFoundError(f"{missing}; expected YAML or JSON with apiVersion and kind")


def _all_parsed(
    texts: Sequence[Given], repair: Repair | None, repaired: list[str], watch: Watch
) -> Iterable[tuple[Source, object]]:
    """The contents of the texts, in order; the names of repaired files go into `repaired`."""

    def parsed(number: int) -> tuple[Source, object]:
        return _parsed(texts[number])

    def parsed_or_repaired(number: int) -> tuple[Source, object]:
        text = texts[number]
        try:
            return _parsed(text)
        except InputError:
            if not (text.file and repair):
                raise
            repaired.append(text.file)
            found, config = _parsed(text.but(data=repair(text.data, text.file)))
            return found.but(data=text.data), config

    parts = workers.parted([len(text.data) for text in texts], LEAST_SHARED)
    return watch("Reading", workers.shared(parsed, parts, here=parsed_or_repaired), len(parts[0]))


def of_bytes(data: bytes) -> Sources:
    """Objects that are already built; there may be none. Raises: InputError."""
    found, config = _parsed(Given(data=data))
    return Sources(sources=(found,), function_config=config)


def of_built(given: Given) -> Sources:
    """The objects of a text that was built; there may be none. Raises: InputError."""
    found, _ = _parsed(given)
    return Sources(sources=(found,))


def _texts(paths: Sequence[str], named: Paths, found: Sequence[str]) -> Iterator[Given]:
    seen: set[str] = set()
    for path, file in _files(paths, named, found):
        if path == STDIN:
            data = read_in()
            if not data.strip():
                raise InputError("stdin is empty; pipe the manifests into the command")
            yield Given(data=data)
            continue
        if path and os.path.realpath(path) in seen:
            continue  # it may be a pipe, which is empty now
        text = named.read(path, file)
        if text and text[1].real not in seen:
            seen.add(text[1].real)
            yield Given(data=text[0], file=file, stamp=text[1])


def _files(paths: Sequence[str], named: Paths, found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files to read, each with the path where it was found: "" for files that the caller found in folders."""
    for path in paths:
        if path == STDIN:
            yield path, path
        else:
            for file in named.files(path):
                yield path, file
    for file in found:
        yield "", file


def stream(file: str) -> StreamText | None:
    """The text of a YAML file that was found in a folder, None where it can't be read."""
    with suppress(OSError, InputError):
        return yamlio.read_stream(read_found(file)[0], file=file)
    return None


def read_text(data: bytes, file: str) -> StreamText:
    """The text of a stream. Raises: InputError, and TemplateError if the mistake belongs to a template."""
    try:
        return yamlio.read_stream(data, file=file)
    except InputError as error:
        lines = data.splitlines()[max(error.line - 2, 0) : error.line]
        mark = next(filter(None, map(TEMPLATE.search, lines)), None)
        if not mark:
            raise
        shown = mark[0].decode().strip(" ,[")
        message = f"{error.message}; {shown} belongs to a template: render it first, for example with `helm template`"
        raise TemplateError(message, file=error.file, line=error.line, column=error.column) from None


def _parsed(given: Given) -> tuple[Source, object]:
    """The source, and the function config of a ResourceList."""
    data, file = given.data, given.file
    listing = _listed(data, file)
    found: StreamText | ListText = listing or read_text(data, file)
    if not listing and len(found.items) == 1 and isinstance(found.items[0], dict) and kind_of(found.items[0]) == "ResourceList":
        found = yamlio.read_resource_list(data, file=file)  # raises the error that says what is wrong
    config = listing.head.get("functionConfig") if listing else None
    # the function keeps all items of its list, and so do the commands
    objects = tuple(number for number, item in enumerate(found.items) if listing or not why_skipped(item, file))
    source = Source(
        text=found,
        data=data,
        file=file,
        folder=given.folder,
        stamp=given.stamp,
        objects=objects,
        origins=given.origins,
    )
    return source, config


@lru_cache(maxsize=1)  # it is read for its functionConfig first, then for its objects
def _listed(data: bytes, file: str) -> ListText | None:
    """The text of a ResourceList; None if it is another text, or wrong. Other texts must not be read twice."""
    if LIST not in data:
        return None
    try:
        return yamlio.read_resource_list(data, file=file)
    except InputError:
        return None


def _left_alone_in(source: Source) -> Iterator[str]:
    """The notes about documents that are skipped."""
    kept = frozenset(source.objects)
    for number, item in enumerate(source.text.items):
        if reason := "" if number in kept else why_skipped(item, source.file):
            yield f"{file_name(source.file) or 'stdin'}: document {number + 1} is skipped: {reason}"
