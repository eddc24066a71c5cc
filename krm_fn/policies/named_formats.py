"""The named formats of Kubernetes: `format.dns1123Label().validate(name)`.

upstream: k8s.io/apiserver/pkg/cel/library/format.go, k8s.io/apimachinery/pkg/util/validation/validation.go
"""

from __future__ import annotations

import re

from krm_fn.policies.errors import Unsupported, no_overload
from krm_fn.policies.values import NONE, Opaque, Optional, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
ELSEWHERE = ("uri", "uuid", "byte", "date", "datetime")
NAMES = (*FORMS, *PREFIXES, "qualifiedName", *ELSEWHERE)


def _is_valid(name: str, text: str) -> bool:
    if name in ELSEWHERE:
        raise Unsupported(f"the format {name}")
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


def _validate(form: Any, text: Any) -> Optional:
    if not isinstance(form, Opaque) or form.kind != "format" or not isinstance(text, str):
        raise no_overload()
    return NONE if _is_valid(form.key, text) else Optional(held=(Unknown("the messages of a format"),))


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
