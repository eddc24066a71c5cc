"""The API's own types in each release.

`api.txt` has all of them; `scripts/make_schema.py` makes it. A type is decoded when an object first needs it. A section
is a type, and a line is one form of one of its fields:

    [v1.CPU]
    cores uint32                        in all releases; as Go has it
    deviceName! 1.4-1.5 string          required; the releases that know the field in this form, `1.6-` up to the newest
    memoryOvercommit 1.4-1.6.3 int      up to a patch release, or since one: `1.5.1-`
    features [v1.CPUFeature]            a list
    limits {quantity}                   a map of any keys
    status v1.VirtualMachineStatus?     may be null
    * any                               all other keys

After the type come the other constraints of the release's CustomResourceDefinition, with their names there:

    rebootPolicy string enum=Reboot|Terminate
        users [string] set                  each entry once
        resourceClaims [core.PodResourceClaim] keys=name         each combination of these keys once
        disks [v1.Disk] maxItems=256        about the list; other constraints are about its items
        checksum uint32 format=int64        a number's format that does not follow from Go's type; `format=` is none
    path! string rule=self.startsWith('/')                   a CEL rule, without blanks
        metadata meta.ObjectMeta? free      only the webhooks check the map; `open`: only they refuse other keys in it
    imagePullPolicy string webhooks:enum=Always|Never        a constraint of the webhooks only
        tdx v1.TDXConfiguration? webhooks:nonnull                the webhooks refuse null, though the API server accepts it

A `bare-quantity` may be a number in all releases. The webhooks of some releases require other quantities to be text.
"""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.kubevirt.releases import NEWEST_PATCH, UNMEASURED, Release, Version
from krm_fn.kubevirt.schema import FILE, strange_names
from krm_fn.kubevirt.schema.constraints import JUDGES, Check, keyed, numbered, unique
from krm_fn.kubevirt.schema.flaws import Judge, Span
from krm_fn.kubevirt.schema.node import SchemaNode, list_of, map_of, structure
from krm_fn.kubevirt.schema.scalars import FORMATS, INTEGERS, integer, scalar

# The releases, the type and the constraints of one form of a field.
Form = tuple[Version, Version, str, Sequence[str]]


_FIRST, _LAST = min(NEWEST_PATCH), max({*NEWEST_PATCH, *(version[:2] for version in UNMEASURED)})

# Words that had another meaning before a release.
# upstream: pkg/util/openapi/openapi.go:LoadOpenAPISpec
EARLIER: dict[str, tuple[str, Version]] = {"quantity": ("quoted-quantity", (1, 5))}

# The prefix of a constraint that only the webhooks have.
WEBHOOKS = "webhooks:"
NONNULL = "webhooks:nonnull"

_texts: dict[str, str] = {}
_forms: dict[str, dict[str, list[Form]]] = {}
_tables: dict[Version, Table] = {}


def of(release: Release) -> Table:
    """The types in a release. Raises: ConfigError if the file does not have it."""
    version = release.version
    if version not in _tables:
        strange_names(release)  # fields without a release count for all, those that nobody has read included
        _tables[version] = Table(version)
    return _tables[version]


def _section(name: str) -> str:
    """The lines of a type; "" for an empty one."""
    if not _texts:
        with open(FILE, encoding="utf-8") as file:  # noqa: PTH123  pathlib is too heavy here
            for part in file.read().split("\n\n["):
                head, _, body = part.partition("]")
                _texts[head] = body.strip("\n")
    return _texts[name]


def forms(name: str) -> dict[str, list[Form]]:
    """The fields of a type in all releases, `name!` for a required one, each with its forms. Callers must not change them."""
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
    """True if a release is between two, both included; the last may be a minor one, with all its patch releases."""
    return first <= version and version[: len(last)] <= last


class Table:
    """The types of one release."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._nodes: dict[str, SchemaNode] = {}

    def node(self, word: str) -> SchemaNode:
        """The node of a type's word: a scalar, a structure's name, or one of them in `[]` or `{}`."""
        if word not in self._nodes:
            self._nodes[word] = self._made(word, (), ())
        return self._nodes[word]

    def spans(self, name: str, field: str) -> tuple[Span, ...]:
        """The other releases in which a structure has a field."""
        found = forms(name)
        known = (*found.get(field, ()), *found.get(field + "!", ()))
        return tuple((first, last) for first, last, _, _ in known if not knows(self.version, first, last))

    def _made(self, word: str, constraints: Sequence[str], others: Sequence[Form]) -> SchemaNode:
        """The node of a word with constraints; `others` are forms of the same place in other releases."""
        name, nonnull = word.removesuffix("?"), NONNULL in constraints
        constraints = [each for each in constraints if each != NONNULL or name[0] in "[{"]
        if name[0] == "[":
            node = self._list(name[1:-1], constraints, others)
        elif name[0] == "{":
            node = map_of(self._inner(name[1:-1], constraints, ()))
        elif "." in name:
            node = self._structure(name, constraints, others)
        else:
            node = self._scalar(name, constraints)
        node.nullable, node.nonnull = name != word, name != word and nonnull
        return node

    def _inner(self, word: str, constraints: Sequence[str], others: Sequence[Form]) -> SchemaNode:
        return self._made(word, constraints, others) if constraints or others else self.node(word)

    def _list(self, inner: str, constraints: Sequence[str], others: Sequence[Form]) -> SchemaNode:
        checks = [_check(each) for each in constraints]
        others = [(first, last, other.strip("[]"), ()) for first, last, other, _ in others]
        below = [each for each, check in zip(constraints, checks, strict=True) if check is None]
        node = list_of(self._inner(inner, below, others), [check for check in checks if check])
        named = next((each for each in constraints if each == "set" or each.startswith("keys=")), None)
        node.keys = tuple(named[5:].split(",")) if named and named != "set" else () if named else None
        return node

    def _structure(self, name: str, constraints: Sequence[str], others: Sequence[Form]) -> SchemaNode:
        def spans(field: str) -> tuple[Span, ...]:
            beside = tuple(form[:2] for form in others if form[2] in _texts and _has(form[2], field))
            return self.spans(name, field) or beside

        node = structure(lambda: self._opened(name), spans=spans)
        node.lax = constraints[0] if constraints else ""
        return node

    def _scalar(self, word: str, constraints: Sequence[str]) -> SchemaNode:
        if word in INTEGERS:
            return _integer(word, dict(each.split("=") for each in constraints))
        earlier, until = EARLIER.get(word, (word, ()))
        here = [each for each in constraints if not each.startswith(WEBHOOKS)]
        webhooks = [each.removeprefix(WEBHOOKS) for each in constraints if each.startswith(WEBHOOKS)]
        node = scalar(earlier if self.version < until else word, map(_judge, here), map(_judge, webhooks))
        node.listed = next((tuple(each[5:].split("|")) for each in here if each.startswith("enum=")), ())
        return node

    def _opened(self, name: str) -> tuple[dict[str, SchemaNode], tuple[str, ...], SchemaNode | None]:
        fields, required = {}, []
        for marked, known in forms(name).items():
            field = marked.removesuffix("!")
            for first, last, word, constraints in known:
                if not knows(self.version, first, last):
                    continue
                others = [form for form in known if form[2] != word]
                fields[field] = self._inner(word, constraints, others)
                if field != marked:
                    required.append(field)
        return fields, tuple(required), fields.pop("*", None)


def _has(name: str, field: str) -> bool:
    found = forms(name)
    return field in found or field + "!" in found


def _check(constraint: str) -> Check | None:
    """The check of a constraint on a list; None if the constraint is about its items."""
    key, _, value = constraint.partition("=")
    match key:
        case "maxItems":
            return numbered(0, int(value))
        case "minItems":
            return numbered(int(value), None)
        case "set":
            return unique
        case "keys":
            return keyed(value.split(","))
    return None


def _integer(word: str, constraints: dict[str, str]) -> SchemaNode:
    low, high = (int(constraints[key]) if key in constraints else None for key in ("minimum", "maximum"))
    return integer(word, constraints.get("format", FORMATS.get(word, "")), low, high)


def _judge(constraint: str) -> Judge | None:
    """The judge of a constraint on a scalar. Raises: KeyError for an unknown word."""
    key, _, value = constraint.partition("=")
    if key in ("pattern", "rule"):
        return JUDGES[key](value)
    return JUDGES[key](value.split("|") if key == "enum" else int(value))
