"""Forms of text in Kubernetes and KubeVirt: names, labels, addresses, base64, paths. They do not use `re`, to load faster.

Predicates accept any value; they are false for values that are not strings.

Quantities are read as Go does: whole units and thousandths, rounded away from zero, zero if there is none.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.encoding import from_base64
from krm_fn.base.quantity import BINARY_SI, INT64, INT64_DIGITS, Quantity, parse, wrapped

Step = str | Callable[[str], bool]


LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
HEX = frozenset("0123456789abcdefABCDEF")
DIGITS = frozenset("0123456789")
SPECIAL = frozenset("*?[\\")
MAC_LENGTHS = (6, 8, 20)
BASE64 = LETTERS | frozenset("+/")

_NAME = LETTERS | frozenset("-_.")
_DASHED = LOWER | frozenset("-")
_SERIAL = LETTERS | frozenset("_.+-")
_INTERFACE = LETTERS | frozenset("-_")


def _framed(text: str, inner: frozenset[str], edge: frozenset[str]) -> bool:
    return bool(text) and text[0] in edge and text[-1] in edge and inner.issuperset(text)


def is_label(value: object) -> bool:
    """A DNS label of RFC 1123: lower case letters, digits and dashes, at most 63. upstream: IsDNS1123Label"""
    return isinstance(value, str) and len(value) <= 63 and _framed(value, _DASHED, LOWER)


def is_subdomain(value: object) -> bool:
    """DNS labels joined by dots, at most 253 characters in all. upstream: IsDNS1123Subdomain"""
    return isinstance(value, str) and len(value) <= 253 and all(_framed(part, _DASHED, LOWER) for part in value.split("."))


def is_qualified_name(value: object) -> bool:
    """A label key: a name, or a DNS subdomain, a slash and a name. upstream: IsQualifiedName"""
    if not isinstance(value, str) or value.count("/") > 1:
        return False
    prefix, slash, name = value.rpartition("/")
    return (not slash or is_subdomain(prefix)) and bool(name) and is_label_value(name)


def is_label_value(value: object) -> bool:
    """Empty, or at most 63 letters, digits, dashes, dots and underscores. upstream: IsValidLabelValue"""
    return isinstance(value, str) and (not value or (len(value) <= 63 and _framed(value, _NAME, LETTERS)))


def is_port_name(value: object) -> bool:
    """At most 15 of a-z, 0-9 and single dashes, with a letter. upstream: IsValidPortName"""
    return (
        isinstance(value, str)
        and len(value) <= 15
        and _framed(value, _DASHED, LOWER)
        and "--" not in value
        and not DIGITS.issuperset(value.replace("-", ""))
    )


def is_serial(value: object) -> bool:
    """Letters, digits and `_.+-` only. upstream: pkg/storage/admitters/disks.go:isValidExpression"""
    return isinstance(value, str) and bool(value) and _SERIAL.issuperset(value)


def is_interface_name(value: object) -> bool:
    """Letters, digits, dashes and underscores only. upstream: pkg/network/admitter/netiface.go:validateInterfaceNameFormat"""
    return isinstance(value, str) and bool(value) and _INTERFACE.issuperset(value)


def is_pci_address(value: object) -> bool:
    """`0000:00:00.0`: domain, bus, slot in hex, function 0 to 7. upstream: pkg/util/hardware/hw_utils.go:ParsePciAddress"""
    if not isinstance(value, str) or len(value) != 12 or (value[4], value[7], value[10]) != (":", ":", "."):
        return False
    return HEX.issuperset(value[:4] + value[5:7] + value[8:10]) and value[11] in "01234567"


def mac_length(value: object) -> int:
    """The bytes (6, 8 or 20) of a MAC address with separators, as Go parses it; 0 for anything else. upstream: net.ParseMAC"""
    if not isinstance(value, str) or len(value) < 14:
        return 0
    separator, digits = (value[2], 2) if value[2] in ":-" else (".", 4)
    parts = value.split(separator)
    length = len(parts) * digits // 2
    return length if length in MAC_LENGTHS and {*map(len, parts)} == {digits} and HEX.issuperset("".join(parts)) else 0


def bare_mac_length(value: object) -> int:
    """The same for a MAC address without separators, which Go parses since 1.26."""
    sound = isinstance(value, str) and len(value) / 2 in MAC_LENGTHS and HEX.issuperset(value)
    return len(str(value)) // 2 if sound else 0


def is_ipv4(value: object) -> bool:
    """Four decimal numbers up to 255, without leading zeros."""
    parts = value.split(".") if isinstance(value, str) else []
    return len(parts) == 4 and all(_is_octet(part) for part in parts)


def _is_octet(part: str) -> bool:
    return 0 < len(part) < 4 and DIGITS.issuperset(part) and int(part) < 256 and (part == "0" or part[0] != "0")


def is_ip(value: object) -> bool:
    """An IPv4 or IPv6 address, without a zone. upstream: net.ParseIP"""
    return is_ipv4(value) or (isinstance(value, str) and _ipv6_groups(value) is not None)


def is_ipv4_or_mapped(value: object) -> bool:
    """An IPv4 address, or one in IPv6 form (`::ffff:1.2.3.4`), as Go's IP.To4 accepts it."""
    groups = _ipv6_groups(value) if isinstance(value, str) else None
    return is_ipv4(value) or (groups is not None and groups[:5] == [0] * 5 and groups[5] == 0xFFFF)


def _ipv6_groups(text: str) -> list[int] | None:
    """The eight 16-bit groups of an IPv6 address; None if the text is not one."""
    head, gap, tail = text.partition("::")
    if "::" in tail or tail.startswith(":"):
        return None
    left, right = _hex_groups(head, last=not gap), _hex_groups(tail, last=True)
    if left is None or right is None:
        return None
    missing = 8 - len(left) - len(right)
    if missing < 0 or (not gap and missing) or (gap and not missing):
        return None
    return left + [0] * missing + right


def _hex_groups(text: str, *, last: bool) -> list[int] | None:
    if not text:
        return []
    parts = text.split(":")
    groups: list[int] = []
    if last and is_ipv4(parts[-1]):
        octets = [int(octet) for octet in parts.pop().split(".")]
        groups = [octets[0] * 256 + octets[1], octets[2] * 256 + octets[3]]
    if not all(0 < len(part) < 5 and HEX.issuperset(part) for part in parts):
        return None
    return [int(part, 16) for part in parts] + groups


def base64_length(text: str) -> tuple[int, bool]:
    """The number of decoded bytes, and whether the complete text is base64. Bytes before an error count.

    upstream: encoding/base64 StdEncoding.DecodeString, which skips line ends
    """
    data = from_base64(text)
    if data is not None:
        return len(data), True
    packed = text.replace("\r", "").replace("\n", "")
    sound = next((at for at, char in enumerate(packed) if char not in BASE64), len(packed))
    return sound // 4 * 3, False


def is_clean_path(text: str) -> bool:
    """An absolute path without `.`, `..` and double slashes; one slash at its end is allowed."""
    trimmed = text.removesuffix("/")
    parts = trimmed.split("/")
    return trimmed == "/" or (parts[0] == "" and len(parts) > 1 and all(part not in ("", ".", "..") for part in parts[1:]))


def is_path_below_root(text: str) -> bool:
    """A clean path other than `/`. upstream: pkg/storage/admitters/disks.go:ValidatePath"""
    return text != "/" and is_clean_path(text)


def matches_glob(pattern: str, text: str) -> bool:
    """Go's filepath.Match: `*` and `?` match no slash, `[a-z]` is a class, a backslash makes the next character literal.

    A malformed pattern matches nothing.
    """
    if pattern.endswith("*") and not SPECIAL.intersection(pattern[:-1]):
        return text.startswith(pattern[:-1]) and "/" not in text[len(pattern) - 1 :]
    chunks = _chunks(pattern)
    for position, (star, chunk) in enumerate(chunks or ()):
        if star and not chunk:
            return "/" not in text
        last = position == len(chunks or ()) - 1
        reach = next((i for i, char in enumerate(text) if char == "/"), len(text)) if star else 0
        rests = (_after(chunk, text[start:], last=last) for start in range(reach + 1))
        rest = next((rest for rest in rests if rest is not None), None)
        if rest is None:
            return False
        text = rest
    return chunks is not None and not text


def _after(chunk: Sequence[Step], text: str, *, last: bool) -> str | None:
    """The text after the part that the chunk matches at its start; None if it does not match. The last chunk leaves nothing."""
    if len(text) < len(chunk) or (last and len(text) > len(chunk)):
        return None
    sound = all(step == char if isinstance(step, str) else step(char) for step, char in zip(chunk, text, strict=False))
    return text[len(chunk) :] if sound else None


def _chunks(pattern: str) -> list[tuple[bool, list[Step]]] | None:
    """The pattern as (after a star, one step per character); None if it is malformed."""
    chunks: list[tuple[bool, list[Step]]] = []
    while pattern:
        star = pattern[0] == "*"
        pattern = pattern.lstrip("*") if star else pattern
        chunk: list[Step] = []
        while pattern and pattern[0] != "*":
            step, pattern = _step(pattern)
            if step is None:
                return None
            chunk.append(step)
        chunks.append((star, chunk))
    return chunks


def _step(pattern: str) -> tuple[Step | None, str]:
    """The step for the pattern's first character, and the rest of the pattern."""
    if pattern[0] == "?":
        return (lambda char: char != "/"), pattern[1:]
    if pattern[0] == "[":
        return _class(pattern[1:])
    if pattern[0] == "\\":
        return pattern[1:2] or None, pattern[2:]
    return pattern[0], pattern[1:]


def _class(pattern: str) -> tuple[Step | None, str]:
    """The class that begins after a bracket, and the rest of the pattern."""
    negated = pattern.startswith("^")
    pattern = pattern[negated:]
    ranges: list[tuple[str, str]] = []
    while not (ranges and pattern.startswith("]")):
        low, pattern = _member(pattern)
        high, pattern = _member(pattern[1:]) if pattern.startswith("-") else (low, pattern)
        if not low or not high:
            return None, ""
        ranges.append((low, high))
    return (lambda char: any(low <= char <= high for low, high in ranges) != negated), pattern[1:]


def _member(pattern: str) -> tuple[str, str]:
    """The next character of a class, and the rest of the pattern; "" if no character is allowed there. upstream: getEsc"""
    if pattern[:1] in ("", "-", "]"):
        return "", ""
    pattern = pattern.removeprefix("\\")
    return pattern[:1], pattern[1:]


NANOS_PER_MILLI = 10**6


# Most VMs have the same few amounts, so the parsed values are kept, for at most this many spellings.
MOST_REMEMBERED = 1000
_remembered: dict[Any, Quantity | None] = {}


def quantity(value: Any) -> Quantity | None:
    """The quantity, or None if there is none."""
    if not isinstance(value, str):
        return None if value is None else parse(value)
    if value not in _remembered:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[value] = parse(value)
    return _remembered[value]


def units(value: Any) -> int:
    """Whole units of a quantity; 0 if it is none."""
    found = quantity(value)
    return found.value() if found else 0


def is_some(value: Any) -> bool:
    """True for a quantity that is not zero, also if it is too large for `units`."""
    found = quantity(value)
    return found is not None and found.nanos != 0


def thousandths(value: Any) -> int:
    """Thousandths of a quantity as a 64-bit integer; 0 if it is none.

    Larger amounts become 0 upstream, except those with a binary suffix, or with more digits than upstream keeps unchanged. Of
    these it takes the lowest bits, so a large amount may become negative.
    upstream: k8s.io/apimachinery/pkg/api/resource/quantity.go:ScaledValue
    """
    found = quantity(value)
    if found is None:
        return 0
    nanos = found.nanos
    number = -(-nanos // NANOS_PER_MILLI) if nanos > 0 else nanos // NANOS_PER_MILLI
    if -INT64 <= number < INT64:
        return number
    long = found.format == BINARY_SI or len(str(abs(nanos)).rstrip("0")) > INT64_DIGITS
    return wrapped(number) if long else 0
