"""A case: a folder with an input, and with `expected.yaml`, which says what is expected of it.

input.yaml, input/ or kustomization.yaml    the input, unless expected.yaml names it
config.yaml                                 optional: the function config
expected.yaml                               the findings and the fields that are expected
rendered.yaml                               optional: what `render` prints

The author of a JSONPath may be a stranger, so each value that a path looks at is work that a run does (`base.work`). A path
can go through an object again for each of its values, and its regular expressions can be of any form. So the library gets the
object in a form that counts what is looked at, and its regular expressions are those of `base.regex`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonpath import JSONPathEnvironment
from jsonpath.function_extensions import Match, Search

from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.paths import dotted, number_of_values
from krm_fn.base.regex import searching
from krm_fn.base.regex_syntax import WrongPatternError
from krm_fn.base.value import Value
from krm_fn.base.work import WORK
from krm_fn.config.keys import child, hint, unlike
from krm_fn.config.places import located
from krm_fn.findings.finding import SEVERITIES
from krm_fn.repositories import config_files
from krm_fn.sources.files import KUSTOMIZATIONS, is_within

EXPECTED, RENDERED, CONFIG = "expected.yaml", "rendered.yaml", "config.yaml"
# What is the input of a case whose expected.yaml names none, the first that is there.
INPUTS = ("input.yaml", "input")
FINDING_KEYS = ("rule", "severity", "object", "path", "message")
MOST_GLOBS = 1_000  # more than there are rules
FIELD_KEYS = ("object", "path", "cel", "value", "values")


class ExpectedField(Value):
    """A field that is expected in the rendered objects.

    `object` is `Kind namespace/name` or `Kind name`, `path` a JSONPath, `values` are the values that it must select, in order.
    `single`: the file states them as one `value`. `is_cel`: `path` is an expression, which has one value.
    """

    object: str
    path: str
    values: tuple[Any, ...]
    single: bool = False
    is_cel: bool = False


class Case(Value):
    """A case as it was read. `folder` is its path as users see it, `tops` are the folders that its inputs may lie in.

    `rules` are globs of the ids of the rules whose findings count. `findings` are maps with some of FINDING_KEYS. It is None
    where the findings are not compared.
    """

    folder: str
    inputs: tuple[str, ...]
    config: str | None = None
    rules: tuple[str, ...] = ("*",)
    findings: tuple[dict[str, str], ...] | None = None
    fields: tuple[ExpectedField, ...] = ()
    rendered: bool = False

    @property
    def expects_nothing(self) -> bool:
        return self.findings is None and not self.fields and not self.rendered


def folders(top: str) -> list[str]:
    """The folders of the cases below a folder, sorted: those with expected.yaml, and those with an input but without it."""
    found = []
    for folder, below, files in os.walk(top):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "input")
        if EXPECTED in files or INPUTS[0] in files or os.path.isdir(os.path.join(folder, INPUTS[1])):  # noqa: PTH112, PTH118
            found.append(os.path.normpath(folder))
    return sorted(found)


def read(folder: str, tops: Sequence[str]) -> Case:
    """The case in a folder; without expected.yaml, one that expects nothing. `tops` are the folders that inputs may lie in.

    Raises: ConfigError, InputError: they name the file, and the place in it.
    """
    for each in (Path(folder, name) for name in (EXPECTED, RENDERED)):
        if each.exists() and not is_within(str(each), map(os.path.realpath, tops)):
            raise InputError("this is a link out of the folder that is tested; expected a file", file=file_name(str(each)))
    file = Path(folder, EXPECTED)
    fields: dict[str, Any] = {}
    if file.exists():
        text, value = config_files.read(str(file))
        try:
            fields = _checked({} if value is None else value)
        except ConfigError as error:
            raise located(error, str(file), lambda path: text.place(0, path, key=True)) from None
    return Case(
        folder=folder,
        config=_config(folder, tops),
        rendered=Path(folder, RENDERED).exists(),
        **{**fields, "inputs": tuple(_inputs(folder, fields.get("inputs", ()), tops))},
    )


def _config(folder: str, tops: Sequence[str]) -> str | None:
    """The config of a case: in its folder, or in the nearest one above it that is tested."""
    here = Path(folder)
    for above in (here, *here.parents):
        if (above / CONFIG).exists() and is_within(str(above / CONFIG), map(os.path.realpath, tops)):
            return str(above / CONFIG)
    return None


def _inputs(folder: str, named: Sequence[str], tops: Sequence[str]) -> Iterator[str]:
    """The files and folders of a case's input. Raises: InputError."""
    for name in named or (_usual_input(folder),):
        path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
        if not is_within(path, map(os.path.realpath, tops)):
            raise InputError(f"the input {name} lies outside of the folder that is tested", file=_expected(folder))
        if not os.path.exists(path):  # noqa: PTH110
            raise InputError(f"there is no {name}; inputs are paths relative to this file", file=_expected(folder))
        yield path


def _usual_input(folder: str) -> str:
    for name in INPUTS:
        if Path(folder, name).exists():
            return name
    if any(Path(folder, name).exists() for name in KUSTOMIZATIONS):
        return os.curdir
    raise InputError(
        f"there is no input; add {INPUTS[0]}, a folder {INPUTS[1]} or a kustomization, or name files below `inputs`",
        file=_expected(folder),
    )


def _expected(folder: str) -> str:
    return file_name(str(Path(folder, EXPECTED)))


def is_kustomization(path: str) -> bool:
    """True for a folder that is built."""
    return any(Path(path, name).exists() for name in KUSTOMIZATIONS)


def _checked(value: object) -> dict[str, Any]:
    """The fields of Case that expected.yaml states. Raises: ConfigError with the path in the file."""
    given = _map(value, KEYS, "")
    found: dict[str, Any] = {}
    for key, (field, check) in KEYS.items():
        if given.get(key) is not None:
            found[field] = check(given[key], key)
    found.pop("", None)
    return found


def _map(value: object, known: Sequence[str] | dict[str, Any], path: str) -> dict[str, Any]:
    names = tuple(known)
    if not isinstance(value, dict):
        raise unlike(value, f"a map with some of {', '.join(names)}", path)
    for key in value:
        if key not in names:
            raise ConfigError(
                f"unknown key; expected one of {', '.join(names)}{hint(key, names)}", path=child(path, key).removeprefix(".")
            )
    return value


def _list(value: object, what: str, path: str) -> Iterator[tuple[object, str]]:
    if not isinstance(value, list):
        raise unlike(value, f"a list of {what}", path)
    return ((item, path + dotted((number,))) for number, item in enumerate(value))


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise unlike(value, "text", path)
    return value


def _texts(value: object, path: str) -> tuple[str, ...]:
    return tuple(_text(item, at) for item, at in _list(value, "texts", path))


def _globs(value: object, path: str) -> tuple[str, ...]:
    found = _texts(value, path)
    if len(found) > MOST_GLOBS:
        raise ConfigError(f"found {len(found):,} rules; expected at most {MOST_GLOBS:,}, or globs for many", path=path)
    return found


def _findings(value: object, path: str) -> tuple[dict[str, str], ...]:
    return tuple(_finding(item, at) for item, at in _list(value, "findings; [] if none is expected", path))


def _finding(value: object, path: str) -> dict[str, str]:
    given = {key: _text(each, child(path, key)) for key, each in _map(value, FINDING_KEYS, path).items()}
    if "rule" not in given:
        raise ConfigError("each finding needs its rule; add it", path=child(path, "rule"))
    if given.get("severity", SEVERITIES[0]) not in SEVERITIES:
        known = f"one of {', '.join(SEVERITIES)}{hint(given['severity'], SEVERITIES)}"
        raise unlike(given["severity"], known, child(path, "severity"))
    return given


def _fields(value: object, path: str) -> tuple[ExpectedField, ...]:
    return tuple(_field(item, at) for item, at in _list(value, "fields, each with object, path and value", path))


def _field(value: object, path: str) -> ExpectedField:
    given = _map(value, FIELD_KEYS, path)
    key = "cel" if "cel" in given else "path"
    for each in ("object", key):
        _text(given.get(each), child(path, each))
    if key == "cel":
        return _expression(given, path)
    if ("value" in given) == ("values" in given):
        raise ConfigError("each field needs either `value`, or `values` with a list ([] if there is none)", path=path)
    if "values" in given and not isinstance(given["values"], list):
        raise unlike(given["values"], "a list of values", child(path, "values"))
    single = "value" in given
    values = (given["value"],) if single else tuple(given["values"])
    return ExpectedField(object=given["object"], path=given["path"], values=values, single=single)


def _expression(given: dict[str, Any], path: str) -> ExpectedField:
    """A field that an expression gives; without a value, it must be true."""
    for key in ("path", "values"):
        if key in given:
            raise ConfigError("a field with cel has one value, and no path; remove this key", path=child(path, key))
    value = given.get("value", True)
    return ExpectedField(object=given["object"], path=given["cel"], values=(value,), single=True, is_cel=True)


# Key of expected.yaml to the field of Case ("" for what is only read by people) and the check of its value.
KEYS: dict[str, tuple[str, Callable[[object, str], Any]]] = {
    "description": ("", _text),
    "inputs": ("inputs", _texts),
    "rules": ("rules", _globs),
    "findings": ("findings", _findings),
    "fields": ("fields", _fields),
}


OF_VALUE = 40  # units of work for each value that is looked at
FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))


def values_at(path: str, obj: Any) -> list[Any]:
    """The values that a JSONPath selects. Raises: JSONPathError; Unsupported, where it takes too much work; RecursionError."""
    return [each.plain if isinstance(each, _Counted) else each for each in _Environment().findall(path, _counted(obj))]


class _Counted:
    """A map or a list that counts how many of its values are looked at."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __len__(self) -> int:
        return len(self.plain)

    def __eq__(self, other: object) -> bool:
        WORK.spend(number_of_values(self.plain))
        return bool(self.plain == (other.plain if isinstance(other, _Counted) else other))

    __hash__ = None  # type: ignore[assignment]  # as of maps and lists

    def __iter__(self) -> Iterator[Any]:
        for each in self.plain:
            WORK.spend(OF_VALUE)
            yield _counted(each)

    def __getitem__(self, key: Any) -> Any:
        WORK.spend(OF_VALUE * (len(self.plain) if isinstance(key, slice) else 1))
        return _counted(self.plain[key])


class _Map(_Counted, Mapping[str, "Any"]):
    """A map."""


class _List(_Counted, Sequence["Any"]):
    """A list."""


def _counted(value: Any) -> Any:
    return _Map(value) if isinstance(value, dict) else _List(value) if isinstance(value, list) else value


def _finds(pattern: object, text: object) -> bool:
    """True if an expression is found in a text. A wrong one is not, as in JSONPath."""
    if not isinstance(pattern, str) or not isinstance(text, str):
        return False
    try:
        return searching(pattern, text, WORK.spend, ecma=True)(text, 0) is not None
    except WrongPatternError:
        return False


def _whole(pattern: object) -> object:
    return f"^(?:{pattern})$" if isinstance(pattern, str) else pattern


class _Search(Search):
    def __call__(self, value: object, pattern: object) -> bool:
        return _finds(pattern, value)


class _Match(Match):
    def __call__(self, value: object, pattern: object) -> bool:
        return _finds(_whole(pattern), value)


class _Environment(JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions |= {"search": _Search(), "match": _Match()}

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator != "=~" or not isinstance(right, re.Pattern):
            return super().compare(left, operator, right)
        flags = "".join(sign for flag, sign in FLAGS if right.flags & flag)
        return _finds(f"(?{flags}:{_whole(right.pattern)})" if flags else _whole(right.pattern), left)
