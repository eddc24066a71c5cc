"""The API's own types, as each release knows them.

All of it stands in `api.txt`, made by `scripts/make_schema.py`. A type is decoded when an object first reaches it. A section
is a type, a line one form of one of its fields:

    [v1.CPU]
    cores uint32                        in all releases
    imagePullPolicy string enum=Always|IfNotPresent|Never
    deviceName! 1.4-1.5 string          required; the releases that know the field in this form, `1.6-` up to the newest
    diag288 1.5.1- v1.Diag288Watchdog   since a patch release; `1.6-1.6.3` up to one
    features [v1.CPUFeature]            a list
    accessModes [string] enum=A|B       a list whose items are constrained
    limits {quantity}                   a map of any keys
    status v1.VirtualMachineStatus?     may be null
    requests {bare-quantity}            a quantity that may be a number in releases, too, whose webhooks want text elsewhere
    * any                               all other keys
"""

from __future__ import annotations

from krm_fn.releases import NEWEST_PATCH
from krm_fn.schema import FILE
from krm_fn.schema.node import list_of, map_of, structure
from krm_fn.schema.scalars import every, matches, one_of, scalar, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.releases import Release, Version
    from krm_fn.schema.flaws import Span
    from krm_fn.schema.node import Judge, Node

    # The releases, the type and the constraints of one form of a field.
    Form = tuple[Version, Version, str, Sequence[str]]

_FIRST, _LAST = min(NEWEST_PATCH), max(NEWEST_PATCH)

# Words that meant something else until a release.
# upstream: pkg/util/openapi/openapi.go:LoadOpenAPISpec
EARLIER: dict[str, tuple[str, Version]] = {"quantity": ("quoted-quantity", (1, 5))}

_texts: dict[str, str] = {}
_forms: dict[str, dict[str, list[Form]]] = {}
_tables: dict[Version, Table] = {}


def of(release: Release) -> Table:
    """The types as a release knows them."""
    version = release.version
    if version not in _tables:
        _tables[version] = Table(version)
    return _tables[version]


def _section(name: str) -> str:
    """The lines of a type, "" for an empty one."""
    if not _texts:
        with open(FILE, encoding="utf-8") as file:  # noqa: PTH123  pathlib is too heavy here
            for part in file.read().split("\n\n["):
                head, _, body = part.partition("]")
                _texts[head] = body.strip("\n")
    return _texts[name]


def forms(name: str) -> dict[str, list[Form]]:
    """The fields of a type in all releases, `name!` where one is required, each with its forms. Nobody changes them."""
    if name not in _forms:
        _forms[name] = _read_forms(name)
    return _forms[name]


def _read_forms(name: str) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for line in _section(name).splitlines():
        field, *words = line.split(" ")
        first, last = _span(words.pop(0)) if words[0][0].isdigit() else (_FIRST, _LAST)
        found.setdefault(field, []).append((first, last, words[0], words[1:]))
    return found


def _span(word: str) -> Span:
    first, _, last = word.partition("-")
    return _version(first), _version(last) if last else _LAST


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def knows(version: Version, first: Version, last: Version) -> bool:
    """True where a release is between two, both included; a minor one as the last includes its patch releases."""
    return first <= version and version[: len(last)] <= last


class Table:
    """The types of one release."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._nodes: dict[str, Node] = {}

    def node(self, word: str, constraints: Sequence[str] = ()) -> Node:
        """The node of a type's word: a scalar, a structure's name, or one of them in `[]` or `{}`."""
        if constraints and word[0] == "[":
            return list_of(self.node(word[1:-1], constraints))
        if constraints:
            return scalar(word, every(map(_judge, constraints)))
        if word not in self._nodes:
            self._nodes[word] = self._made(word, ())
        return self._nodes[word]

    def spans(self, name: str, field: str) -> tuple[Span, ...]:
        """The releases in which a structure has a field, but for this one."""
        found = forms(name)
        known = (*found.get(field, ()), *found.get(field + "!", ()))
        return tuple((first, last) for first, last, _, _ in known if not knows(self.version, first, last))

    def _made(self, word: str, others: Sequence[Form]) -> Node:
        """The node of a word; `others` are forms that the same place has in other releases."""
        if word[0] == "[":
            inner = word[1:-1]
            others = [(first, last, other.strip("[]"), ()) for first, last, other, _ in others]
            return list_of(self._made(inner, others) if others else self.node(inner))
        if word[0] == "{":
            return map_of(self.node(word[1:-1]))
        if "." not in word:
            earlier, until = EARLIER.get(word, (word, ()))
            return scalar(earlier if self.version < until else word)
        name = word.removesuffix("?")

        def spans(field: str) -> tuple[Span, ...]:
            beside = tuple(form[:2] for form in others if form[2] in _texts and _has(form[2], field))
            return self.spans(name, field) or beside

        return structure(lambda: self._opened(name), nullable=word != name, spans=spans)

    def _opened(self, name: str) -> tuple[dict[str, Node], tuple[str, ...], Node | None]:
        fields, required = {}, []
        for marked, known in forms(name).items():
            field = marked.removesuffix("!")
            for first, last, word, constraints in known:
                if not knows(self.version, first, last):
                    continue
                others = [form for form in known if form[2] != word]
                fields[field] = self._made(word, others) if others else self.node(word, constraints)
                if field != marked:
                    required.append(field)
        return fields, tuple(required), fields.pop("*", None)


def _has(name: str, field: str) -> bool:
    found = forms(name)
    return field in found or field + "!" in found


def _judge(constraint: str) -> Judge | None:
    """What a constraint of a line asks. Raises: ValueError for one that is none."""
    key, _, value = constraint.partition("=")
    match key:
        case "enum":
            return one_of(value.split("|"))
        case "minimum":
            return within(int(value), None)
        case "maximum":
            return within(None, int(value))
        case "pattern":
            return matches(value)
    raise ValueError(f"{constraint!r} is no constraint")
