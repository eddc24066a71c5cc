"""Forms of text: those of `format` in a CustomResourceDefinition, and those that Go's decoders read.

upstream: k8s.io/kube-openapi/pkg/validation/strfmt, k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go
"""

from __future__ import annotations

import re  # loaded only to check objects

from krm_fn.base.annotations import Callable

Form = Callable[[str], bool]


HEX = "[0-9a-f]"
LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matcher(pattern: str, flags: int = 0) -> Form:
    found = re.compile(pattern, re.ASCII | flags)
    return lambda text: found.fullmatch(text) is not None


def _uuid(version: str = HEX, variant: str = HEX) -> Form:
    return _matcher(f"{HEX}{{8}}-?{HEX}{{4}}-?{version}{HEX}{{3}}-?{variant}{HEX}{{3}}-?{HEX}{{12}}", re.IGNORECASE)


def is_date(text: str) -> bool:
    """True for a day of the calendar such as `2024-05-01`."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    if not found:
        return False
    year, month, day = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def is_date_time(text: str) -> bool:
    """True for text that a CustomResourceDefinition accepts as a time. upstream: strfmt/time.go:IsDateTime"""
    day, _, time = text.lower().partition("t")
    # The text after a second "t" is not checked, and any character may precede the fraction.
    found = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[-+]\d\d:\d\d)", time.partition("t")[0], re.ASCII)
    return bool(found and is_date(day) and found[1] <= "23" and found[2] <= "59" and found[3] <= "59")


def is_go_time(text: str) -> bool:
    """True for a time that Go reads as RFC 3339."""
    zone = r"(Z|[-+]([01]\d|2[0-4]):([0-5]\d|60))"
    found = re.fullmatch(rf"(.{{10}})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?{zone}", text, re.ASCII)
    return bool(found and is_date(found[1]))


def _address(version: int) -> Form:
    def is_one(text: str) -> bool:
        from ipaddress import ip_address  # needed only for this format

        bare = ".".join(part.lstrip("0") or "0" for part in text.split(".")) if version == 4 else text
        try:
            return ip_address(bare).version == version and "%" not in text
        except ValueError:
            return False

    return is_one


def _is_network(text: str) -> bool:
    from ipaddress import ip_interface

    try:
        ip_interface(text)
    except ValueError:
        return False
    return "%" not in text and text.partition("/")[2].isdigit()


_is_label, _is_subdomain = _matcher(LABEL), _matcher(rf"{LABEL}(\.{LABEL})*")

# By name without dashes; other formats are not checked.
FORMATS: dict[str, Form] = {
    "byte": _matcher(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": _is_network,
    "date": is_date,
    "datetime": is_date_time,
    "hexcolor": _matcher(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "ipv4": _address(4),
    "ipv6": _address(6),
    "k8slongname": lambda text: len(text) <= 253 and _is_subdomain(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_label(text),
    "mac": _matcher(r"([0-9a-f]{2}([:-])([0-9a-f]{2}\2){4,18}[0-9a-f]{2})|([0-9a-f]{4}\.){2,9}[0-9a-f]{4}", re.IGNORECASE),
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
