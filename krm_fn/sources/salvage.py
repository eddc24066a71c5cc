"""Reads the other documents of a file in which a document can't be read, and reports the unreadable ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.findings.finding import Finding
from krm_fn.findings.limits import MOST
from krm_fn.kubevirt.api_versions import HOMES
from krm_fn.kubevirt.releases import Release
from krm_fn.rules import registry
from krm_fn.rules.facts.inputs import InputFacts, SkippedFile
from krm_fn.rules.shared.available_objects import GROUPS
from krm_fn.sources.files import read_found
from krm_fn.sources.reading import TemplateError, read_text
from krm_fn.sources.source import may_have

MARK = b"---"
KIND = expression(rb"""^["']?kind\b""", re.MULTILINE)
NAMES_KIND = expression(rb"""^[ \t-]*["']?kind["']?[ \t]*:[ \t]+["']?[A-Z]\w+["']?[ \t]*(?:#.*)?$""", re.MULTILINE)
GROUP = b"kubevirt.io"
# How the kinds begin that this program reads of other groups.
OF_OTHERS = (
    *("ControllerRevision", "CustomResourceDefinition", "Kustomization", "LimitRange", "List", "Namespace", "PriorityClass"),
    *("ResourceQuota", "Service", "StorageClass", "Template", "ValidatingAdmissionPolicy"),
)
OWN = expression(rb"\b(?:%b)" % "|".join((*HOMES, *GROUPS, *OF_OTHERS)).encode())
UNREADABLE_DOCUMENT = "unreadable-document"
WRONG = "errors"
WORD = expression(rb"[A-Za-z0-9._-]+")
# Rules about objects that are missing or unused. An unreadable document may contain the object or the reference.
UNCERTAIN = frozenset(
    (
        "ambiguous-reference",
        "failed-inference",
        "missing-object",
        "missing-revision",
        "service-without-vm",
        "unresolved-flavor",
        "unresolved-instancetype",
        "unresolved-preference",
        "unused-instancetype",
        "unused-preset",
        "unused-revision",
    )
)


class Lost(Value):
    """One document that can't be read: the error and its text; `found` if it was found in a folder."""

    error: InputError
    text: bytes
    found: bool = False

    @property
    def sort(self) -> str:
        """What the text is: "templates" or "foreign" where it was found among manifests, else "errors".

        A foreign one names a kind, and nothing of KubeVirt nor of what VMs use.
        """
        if self.found and isinstance(self.error, TemplateError):
            return "templates"
        is_foreign = self.found and NAMES_KIND.search(self.text) and not (OWN.search(self.text) or may_have(self.text, GROUP))
        return "foreign" if is_foreign else WRONG


def _is_object(text: bytes) -> bool:
    """True if a text has a word that every Kubernetes object has, and is no playbook."""
    return may_have(text, b"apiVersion") or bool(KIND.search(text))


def salvage(data: bytes, file: str, most: int = MOST) -> tuple[bytes, tuple[Lost, ...]]:
    """The text with unreadable documents emptied, so that lines keep their numbers; and those documents.

    After `most` of them, what follows is one unreadable document, if not all of it can be read.

    Documents are read in groups. After a readable group, the next group has twice its size. After an unreadable group, its
    first document is read alone. So the work grows only with the text, however many documents can be read.
    """
    lines = data.splitlines(keepends=True)
    documents = _documents(lines)
    lost: list[Lost] = []
    at, size = 0, 1
    while at < len(documents):
        group = documents[at : at + size]
        error = _error(lines, group[0][0], group[-1][1], file)
        if error is None:
            at, size = at + len(group), 2 * size
        elif len(lost) >= most:
            lost.append(_emptied(lines, group[0][0], len(lines), _too_many(error, group[0][0], most)))
            break
        elif len(group) > 1:
            size = 1
        else:
            lost.append(_emptied(lines, *group[0], error))
            at += 1
    return _readable(b"".join(lines), file, lost)


def repairing(lost: list[Lost], named: frozenset[str]) -> Callable[[bytes, str], bytes]:
    """What makes a text readable by emptying documents; it notes them in `lost`.

    A document in a folder that has neither apiVersion nor kind is no Kubernetes object (a playbook, say): it is left alone.
    """

    def repair(data: bytes, file: str) -> bytes:
        data, found = salvage(data, file, max(MOST - len(lost), 1))
        lost.extend(each.but(found=file not in named) for each in found if file in named or _is_object(each.text))
        return data

    return repair


def is_template(file: str) -> bool:
    """True for a file that can't be read because it is a template."""
    try:
        read_text(read_found(file)[0], file)
    except TemplateError:
        return True
    except (InputError, OSError):
        return False
    return False


def left_alone(note: Callable[[str], None], named: Container[str] = ()) -> Callable[[bytes, str], bytes]:
    """What gives an empty text in place of an unreadable one that stays as it is: a template, or one without objects.

    Such a text is, for example, the settings of an editor. `note` is called with each template. What the function gives
    Raises: InputError for a file in `named`, and for any other text that may have objects, since whoever writes files back
    must not lose them.
    """

    def instead(data: bytes, file: str) -> bytes:
        if file in named:
            return read_text(data, file).data
        if _is_object(data):
            try:
                read_text(data, file)
            except TemplateError as error:
                note(f"{file_name(file)}:{error.line}: left alone: this is a template, not YAML")
        return b""

    return instead


def findings(lost: Iterable[Lost], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """The findings about unreadable documents, with their places. Only the first template is reported."""
    lost = list(lost)
    for sort in (WRONG, "foreign", "templates"):
        for error in _with_one_template([each.error for each in lost if each.sort == sort]):
            for finding in registry.judge_bundle(InputFacts(release=release).but(**{sort: (error,)}), severity, "input"):
                yield finding.but(file=error.file, line=error.line, column=error.column)


def reported(lost: Iterable[Lost], severity: Mapping[str, str], release: Release) -> list[Finding]:
    """The findings about unreadable documents, for callers that must not miss an object.

    Raises: InputError for the first document that is wrong, if no finding about such documents is left.
    """
    lost = list(lost)
    found = list(findings(lost, severity, release))
    wrong = [each.error for each in lost if each.sort == WRONG]
    if wrong and all(finding.rule != UNREADABLE_DOCUMENT for finding in found):
        raise wrong[0]
    return found


def _with_one_template(errors: list[InputError]) -> Iterator[InputError]:
    files = list(dict.fromkeys(error.file for error in errors if isinstance(error, TemplateError)))
    for error in errors:
        if not isinstance(error, TemplateError):
            yield error
        elif files:
            more = f" ({len(files) - 1} more files are templates)" if len(files) > 1 else ""
            yield InputError(error.message + more, file=error.file, line=error.line, column=error.column)
            files.clear()


def passed_over(skipped: Iterable[SkippedFile], severity: Mapping[str, str], release: Release) -> Iterator[Finding]:
    """The findings about skipped files, in order."""
    for each in skipped:
        for finding in registry.judge_bundle(InputFacts(skipped=(each,), release=release), severity, "input"):
            yield finding.but(file=each.file)


class Doubts:
    """Names in unreadable documents. A finding that something is missing may be wrong if they contain its name."""

    def __init__(self, lost: Iterable[Lost]) -> None:
        self._words = {word for each in lost for word in _words(each.text)}

    def concern(self, finding: Finding) -> bool:
        """True if the finding may be wrong because of unreadable documents: they contain the name that it is about."""
        if not self._words or finding.rule not in UNCERTAIN:
            return False
        name = finding.current if isinstance(finding.current, str) else ""
        name = name.rpartition("/")[2] or dotted(finding.path[-1:])
        return self._words.issuperset(_words(name.encode(errors="replace")))


def _words(text: bytes) -> list[bytes]:
    return WORD.findall(text)


def _error(lines: list[bytes], start: int, end: int, file: str) -> InputError | None:
    """Why the lines from `start` to `end`, which are complete documents, can't be read; None if they can.

    The mark of the next document is read too: without it, an unclosed value would end with the text.
    """
    mark = [MARK + b"\n"] if end < len(lines) else []
    try:
        read_text(b"".join([*lines[start:end], *mark]), file)
    except InputError as error:
        line = error.line + start if error.line else 0
        return type(error)(error.message, file=error.file, line=line, column=error.column)  # without its traceback
    return None


def _too_many(error: InputError, start: int, most: int) -> InputError:
    """The error about all that follows, for a file in which too much is wrong; whoever corrects it sees the others then."""
    message = f"more than {most:,} documents can't be read; the file is not read from here on; correct those above first"
    return type(error)(message, file=error.file, line=start + 1, column=1)


def _emptied(lines: list[bytes], start: int, end: int, error: InputError) -> Lost:
    """Empty the document in these lines, except for its mark."""
    text = b"".join(lines[start:end])
    mark = MARK + b"\n" if lines[start].startswith(MARK) else b"\n"
    lines[start:end] = [mark, *[b"\n"] * (end - start - 1)]
    return Lost(error=error, text=text)


def _readable(data: bytes, file: str, lost: list[Lost]) -> tuple[bytes, tuple[Lost, ...]]:
    """The text and its unreadable documents; no text if the documents can be read one by one, but not together."""
    try:
        read_text(data, file)
    except InputError as error:
        return b"", (*lost, Lost(error=error, text=data))
    return data, tuple(lost)


def _documents(lines: list[bytes]) -> list[tuple[int, int]]:
    """First line and end of each document, from 0; the mark belongs to its document."""
    starts = [number for number, line in enumerate(lines) if line.startswith(MARK) and line[3:4].strip() == b""]
    if not starts or starts[0] != 0:
        starts = [0, *starts]
    return list(zip(starts, [*starts[1:], len(lines)], strict=True))
