"""The functions of Kubernetes' own libraries: quantities, addresses, versions."""

from __future__ import annotations

import ipaddress
import re

from krm_fn.kubevirt import quantity as quantities
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.values import Opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NANO = 10**9
VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)


def _read_quantity(text: Any) -> Opaque | None:
    if not isinstance(text, str):
        raise no_overload()
    found = quantities.parse(text)
    return None if found is None else Opaque(kind="quantity", key=found.nanos, data=_is_whole(text.strip()))


def _quantity(text: Any) -> Opaque:
    found = _read_quantity(text)
    if found is None:
        raise EvaluationError("no quantity")
    return found


def _of(kind: str, value: Any) -> Any:
    if not isinstance(value, Opaque) or value.kind != kind:
        raise no_overload()
    return value.key


def _is_whole(text: str) -> bool | None:
    """True if Kubernetes keeps a quantity as a whole number; None if that is not certain.

    A fraction with a binary suffix, and a suffix below one, are kept in another form even where the amount is whole.
    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ParseQuantity, amount.go:AsInt64
    """
    found = re.fullmatch(r"[+-]?(\d+)(?:\.(\d*))?(m|u|n|[KMGTPE]i|[kMGTPE]|[eE][+-]?\d+)?", text)
    if not found or len(found[1]) > 15 or text.endswith(("P", "E", "Pi", "Ei")):
        return None
    fraction, suffix = found[2], found[3] or ""
    if suffix in ("m", "u", "n"):
        return False
    if fraction is None:
        return None if suffix[:1] in ("e", "E") and suffix not in {"E", "Ei"} else True
    if suffix.endswith("i"):
        return False if fraction.strip("0") else None
    return False if not suffix and fraction.strip("0") else None


def _is_integer(value: Any) -> bool:
    nanos = _of("quantity", value)
    if value.data is None:
        raise Unsupported("a quantity of which it is not certain how Kubernetes keeps it")
    return bool(value.data and nanos % NANO == 0 and -(2**63) <= nanos // NANO < 2**63)


def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise EvaluationError("no integer")
    return int(value.key // NANO)


def _sign(value: Any) -> int:
    nanos = _of("quantity", value)
    return int(nanos > 0) - int(nanos < 0)


def _moved(sign: int) -> Callable[[Any, Any], Opaque]:
    def run(value: Any, by: Any) -> Opaque:
        nanos = _of("quantity", value)
        if isinstance(by, int) and not isinstance(by, bool):
            return Opaque(kind="quantity", key=nanos + sign * by * NANO, data=value.data or None)
        other = _of("quantity", by)
        return Opaque(kind="quantity", key=nanos + sign * other, data=(value.data and by.data) or None)

    return run


def _address(text: Any) -> Any:
    if not isinstance(text, str):
        raise no_overload()
    if "%" in text or re.search(r"(?:^|\.)0\d", text):
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
    if found is None or not re.fullmatch(r"0|[1-9]\d{0,2}", length) or int(length) > found.max_prefixlen:
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
    parts = value.strip().removeprefix("v").split(".", 2)
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
    if any(number >= 2**63 for number in numbers):
        raise Unsupported("a version with large numbers")
    before = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".") if part)
    return Opaque(kind="semver", key=(*numbers, not before, before))


def _semver(value: Any, normalize: Any = False) -> Opaque:
    found = _version(value, normalize)
    if found is None:
        raise EvaluationError("no version")
    return found


def _number(place: int) -> Callable[[Any], int]:
    return lambda value: int(_of("semver", value)[place])


RUN: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": lambda value: _read_quantity(value) is not None,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda value: _of("quantity", value) / NANO,
    "sign": _sign,
    "add": _moved(1),
    "sub": _moved(-1),
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
