"""The functions of Kubernetes' own libraries for addresses and versions."""

from __future__ import annotations

import ipaddress
import re

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.expressions import expression
from krm_fn.base.quantity import wrapped
from krm_fn.policies.errors import EvaluationError, no_overload
from krm_fn.policies.values import Opaque

VERSION = expression(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?",
    re.ASCII,
)


def _of(kind: str, value: Any) -> Any:
    if not isinstance(value, Opaque) or value.kind != kind:
        raise no_overload()
    return value.key


def _address(text: Any) -> Any:
    if not isinstance(text, str):
        raise no_overload()
    if "%" in text:
        return None
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return None if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped else found


def _ip(value: Any) -> Opaque:
    if isinstance(value, Opaque) and value.kind == "cidr":
        return Opaque(kind="ip", key=value.key[0])
    found = _address(value)
    if found is None:
        raise EvaluationError("no IP address")
    return Opaque(kind="ip", key=found)


def _is_canonical(text: Any) -> bool:
    found = _address(text)
    if found is None:
        raise EvaluationError("no IP address")
    return bool(str(found) == text)


def _network(text: Any) -> tuple[Any, int] | None:
    if not isinstance(text, str):
        raise no_overload()
    host, slash, length = text.partition("/")
    found = _address(host) if slash else None
    if found is None or not re.fullmatch(r"0|[1-9][0-9]{0,2}", length) or int(length) > found.max_prefixlen:
        return None
    return found, int(length)


def _cidr(text: Any) -> Opaque:
    found = _network(text)
    if found is None:
        raise EvaluationError("no CIDR")
    return Opaque(kind="cidr", key=found)


def _whole(key: tuple[Any, int]) -> Any:
    return ipaddress.ip_network(f"{key[0]}/{key[1]}", strict=False)


def _contains_ip(value: Any, of: Any) -> bool:
    key = _of("cidr", value)
    found = _ip(of).key if isinstance(of, str) else _of("ip", of)
    return bool(found.version == key[0].version and found in _whole(key))


def _contains_cidr(value: Any, of: Any) -> bool:
    key = _of("cidr", value)
    other = _cidr(of).key if isinstance(of, str) else _of("cidr", of)
    return key[0].version == other[0].version and other[1] >= key[1] and other[0] in _whole(key)


def _masked(value: Any) -> Opaque:
    key = _of("cidr", value)
    return Opaque(kind="cidr", key=(_whole(key).network_address, key[1]))


def text(value: Opaque) -> str:
    """An address or a network as text."""
    return str(value.key) if value.kind == "ip" else f"{value.key[0]}/{value.key[1]}"


def _about(read: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: bool(read(_of("ip", value)))


def _is_global(found: Any) -> bool:
    if found.version == 4 and int(found) == 2**32 - 1:
        return False
    return not (found.is_unspecified or found.is_loopback or found.is_multicast or _is_local(found))


def _is_local(found: Any) -> bool:
    return found in ipaddress.ip_network("169.254.0.0/16" if found.version == 4 else "fe80::/10")


def _is_local_multicast(found: Any) -> bool:
    return found in ipaddress.ip_network("224.0.0.0/24") if found.version == 4 else (int(found) >> 112) & 0xFF0F == 0xFF02


def _normalized(value: str) -> str:
    """A version with three numbers, without `v` and without zeros in front of numbers.

    upstream: k8s.io/apiserver/pkg/cel/library/semverlib.go:normalizeAndParse
    """
    parts = value.removeprefix("v").split(".", 2)
    if len(parts) < 3:
        if re.search(r"[+-]", parts[-1]):
            return ""
        parts += ["0"] * (3 - len(parts))
    for number, part in enumerate(parts):
        if len(part) > 1:
            part = part.lstrip("0")  # noqa: PLW2901
            parts[number] = part if part[:1].isdigit() else f"0{part}"
    return ".".join(parts)


def _version(value: Any, normalize: Any = False) -> Opaque | None:
    if not isinstance(value, str) or not isinstance(normalize, bool):
        raise no_overload()
    if normalize:
        value = _normalized(value)
    found = VERSION.fullmatch(value)
    if not found:
        return None
    numbers = tuple(map(int, found.groups()[:3]))
    parts = [int(part) for part in (found[4] or "").split(".") if part.isdigit()]
    if any(number >= 2**64 for number in (*numbers, *parts)):
        return None
    before = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".") if part)
    return Opaque(kind="semver", key=(*numbers, not before, before))


def _semver(value: Any, normalize: Any = False) -> Opaque:
    found = _version(value, normalize)
    if found is None:
        raise EvaluationError("no version")
    return found


def _number(place: int) -> Callable[[Any], int]:
    return lambda value: wrapped(_of("semver", value)[place])


RUN: dict[str, Callable[..., Any]] = {
    "ip": _ip,
    "isIP": lambda value: _address(value) is not None,
    "ip.isCanonical": _is_canonical,
    "family": lambda value: int(_of("ip", value).version),
    "isUnspecified": _about(lambda found: found.is_unspecified),
    "isLoopback": _about(lambda found: found.is_loopback),
    "isLinkLocalMulticast": _about(_is_local_multicast),
    "isLinkLocalUnicast": _about(_is_local),
    "isGlobalUnicast": _about(_is_global),
    "cidr": _cidr,
    "isCIDR": lambda value: _network(value) is not None,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "masked": _masked,
    "prefixLength": lambda value: int(_of("cidr", value)[1]),
    "semver": _semver,
    "isSemver": lambda *values: _version(*values) is not None,
    "major": _number(0),
    "minor": _number(1),
    "patch": _number(2),
}
