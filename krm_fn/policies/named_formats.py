"""The named formats of Kubernetes: `format.dns1123Label().validate(name)`.

upstream: k8s.io/apiserver/pkg/cel/library/format.go, k8s.io/apimachinery/pkg/util/validation/validation.go
"""

from __future__ import annotations

import datetime as dt
import re

from krm_fn.policies.errors import Unknown, no_overload
from krm_fn.policies.urls import is_url
from krm_fn.policies.values import NONE, Opaque, Optional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LEAP_YEAR = 2000  # stands for the year 0, which has 366 days, too
LABEL, LABEL_1035 = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", r"[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
# By name: the expression, and the greatest length.
FORMS = {
    "dns1123Label": (LABEL, 63),
    "dns1123Subdomain": (SUBDOMAIN, 253),
    "dns1035Label": (LABEL_1035, 63),
    "labelValue": (rf"({NAME})?", 63),
}
PREFIX = "Prefix"
PREFIXES = tuple(f"{name}{PREFIX}" for name in ("dns1123Label", "dns1123Subdomain", "dns1035Label"))
UUID = r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"
BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
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


def _is_valid(name: str, text: str) -> bool:
    if name in OTHERS:
        return OTHERS[name](text)
    if name == "qualifiedName":
        prefix, slash, rest = text.rpartition("/")
        if slash and not _is_valid("dns1123Subdomain", prefix):
            return False
        return len(rest) <= FORMS["labelValue"][1] and re.fullmatch(NAME, rest) is not None
    if name.endswith(PREFIX):
        name = name.removesuffix(PREFIX)
        text = f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text
    form, most = FORMS[name]
    return len(text) <= most and re.fullmatch(form, text) is not None


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


OTHERS: dict[str, Callable[[str], bool]] = {
    "uri": is_url,
    "uuid": lambda text: re.fullmatch(UUID, text) is not None,
    "byte": lambda text: re.fullmatch(BASE64, text) is not None,
    "date": _is_date,
    "datetime": _is_datetime,
}


def _validate(form: Any, text: Any) -> Optional:
    if not isinstance(form, Opaque) or form.kind != "format" or not isinstance(text, str):
        raise no_overload()
    return NONE if _is_valid(form.key, text) else Optional(held=(Unknown("the messages of a format are not known here"),))


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
