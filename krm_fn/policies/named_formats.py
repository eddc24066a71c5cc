"""The named formats of Kubernetes: `format.dns1123Label().validate(name)`.

upstream: k8s.io/apiserver/pkg/cel/library/format.go, k8s.io/apimachinery/pkg/util/validation/validation.go
"""

from __future__ import annotations

import datetime as dt
import re

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.policies.errors import Unknown, no_overload
from krm_fn.policies.urls import is_url
from krm_fn.policies.values import NONE, Opaque, Optional

LEAP_YEAR = 2000  # stands for the year 0, which has 366 days, too
LABEL, LABEL_1035 = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", r"[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
ALPHANUMERIC = "alphanumeric characters"
ENDS = f"must start and end with an {ALPHANUMERIC[:-1]}"
OF_NAMES = f"must consist of {ALPHANUMERIC}, '-', '_' or '.', and {ENDS}"


class NamedFormat(Value):
    """A format that is a regular expression: the greatest length in bytes, and what the server says of other texts."""

    pattern: str
    most: int
    words: str
    examples: tuple[str, ...]

    def errors(self, text: str) -> list[str]:
        """What is wrong with a text."""
        found = [f"must be no more than {self.most} characters"] if len(text.encode()) > self.most else []
        return found if re.fullmatch(self.pattern, text) else [*found, self.mismatch()]

    def mismatch(self) -> str:
        """What the server says of a text that does not match."""
        examples = " or ".join(f"'{each}', " for each in self.examples)
        return f"{self.words} (e.g. {examples}regex used for validation is '{self.pattern}')"


FORMS = {
    "dns1123Label": NamedFormat(
        pattern=LABEL,
        most=63,
        words=f"a lowercase RFC 1123 label must consist of lower case {ALPHANUMERIC} or '-', and {ENDS}",
        examples=("my-name", "123-abc"),
    ),
    "dns1123Subdomain": NamedFormat(
        pattern=SUBDOMAIN,
        most=253,
        words=f"a lowercase RFC 1123 subdomain must consist of lower case {ALPHANUMERIC}, '-' or '.', and {ENDS}",
        examples=("example.com",),
    ),
    "dns1035Label": NamedFormat(
        pattern=LABEL_1035,
        most=63,
        words=f"a DNS-1035 label must consist of lower case {ALPHANUMERIC} or '-', start with an alphabetic character, "
        f"and end with an {ALPHANUMERIC[:-1]}",
        examples=("my-name", "abc-123"),
    ),
    "labelValue": NamedFormat(
        pattern=rf"({NAME})?",
        most=63,
        words=f"a valid label must be an empty string or consist of {ALPHANUMERIC}, '-', '_' or '.', and {ENDS}",
        examples=("MyValue", "my_value", "12345"),
    ),
}
QUALIFIED = NamedFormat(pattern=NAME, most=63, words=OF_NAMES, examples=("MyName", "my.name", "123-abc"))
PREFIX = "Prefix"
LEAP_YEAR = 2000  # stands for the year 0, which has 366 days, too
UUID = r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"
BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
CLOCK = expression(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
# By name: the size of its regular expression, by which the API server counts the cost.
SIZES = {
    "dns1123Label": 30,
    "dns1123Subdomain": 60,
    "dns1035Label": 30,
    "qualifiedName": 60,
    "dns1123LabelPrefix": 30,
    "dns1123SubdomainPrefix": 60,
    "dns1035LabelPrefix": 30,
    "labelValue": 40,
    "uri": 1103,
    "uuid": 70,
    "byte": 84,
    "date": 71,
    "datetime": 71,
}
NAMES = tuple(SIZES)


def errors(name: str, text: str) -> list[str]:
    """What the server says of a text that has not the format; an empty list if it has it. Raises: Unknown."""
    if name in OTHERS:
        is_valid, message = OTHERS[name]
        return [] if is_valid(text) else [message]
    if name == "uri":
        if is_url(text):
            return []
        raise Unknown("the messages of the format uri are not known here")
    if name == "qualifiedName":
        return _of_qualified_name(text)
    if name.endswith(PREFIX):
        name = name.removesuffix(PREFIX)
        # Upstream replaces two characters, not only the dash.
        text = f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text
    found = FORMS[name].errors(text)
    if found and name == "dns1123Label" and re.fullmatch(SUBDOMAIN, text) and not re.fullmatch(LABEL, text):
        found[-1] = "must not contain dots"
    return found


def _of_qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.partition("/")
    if "/" in name:
        return [
            f"a qualified name {QUALIFIED.mismatch()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    name = name if slash else prefix
    found = []
    if slash:
        found = FORMS["dns1123Subdomain"].errors(prefix) if prefix else [NON_EMPTY]
    of_name = QUALIFIED.errors(name) if name else [NON_EMPTY, QUALIFIED.mismatch()]
    return [*(f"prefix part {each}" for each in found), *(f"name part {each}" for each in of_name)]


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        dt.date(year or LEAP_YEAR, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    date, *rest = text.lower().split("t")
    found = CLOCK.fullmatch(rest[0]) if len(text) > 3 and rest else None
    return found is not None and _is_date(date) and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


NON_EMPTY = "must be non-empty"
# What is no single regular expression, or has a message of its own.
OTHERS: dict[str, tuple[Callable[[str], bool], str]] = {
    "uuid": (lambda text: re.fullmatch(UUID, text) is not None, "does not match the UUID format"),
    "byte": (lambda text: re.fullmatch(BASE64, text) is not None, "invalid base64"),
    "date": (_is_date, "invalid date"),
    "datetime": (_is_datetime, "invalid datetime"),
}


def _validate(form: Any, text: Any) -> Any:
    if not isinstance(form, Opaque) or form.kind != "format" or not isinstance(text, str):
        raise no_overload()
    try:
        found = errors(form.key, text)
    except Unknown as error:
        return Optional(held=(error,))
    return Optional(held=(found,)) if found else NONE


def _named(name: Any) -> Optional:
    if not isinstance(name, str):
        raise no_overload()
    return Optional(held=(Opaque(kind="format", key=name),)) if name in NAMES else NONE


def _maker(name: str) -> Callable[[], Opaque]:
    return lambda: Opaque(kind="format", key=name)


RUN: dict[str, Callable[..., Any]] = {
    "validate": _validate,
    "format.named": _named,
    **{f"format.{name}": _maker(name) for name in NAMES},
}
