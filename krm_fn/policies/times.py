"""Timestamps and durations of CEL. Both are whole nanoseconds; a timestamp keeps the offset that it was written with."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.expressions import expression
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.values import Opaque, UInt

SECOND = 10**9
MINUTES = 60  # of an hour
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
PART = expression(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
# As Go reads it: an hour of one digit, a comma in front of the fraction, and more than nine digits of it are fine.
STAMP = expression(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
FARTHEST = 24, 60  # hours and minutes of an offset, which Go takes up to these
LONGEST = 2**63 - 1  # nanoseconds
LONGEST_FRACTION = 18  # digits that Go reads whole
ZERO = -62135596800 * SECOND  # the first moment of the year 1, which counts as no time
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def of_duration(nanos: int) -> Opaque:
    """A duration. Raises: EvaluationError if it is too long."""
    if not -LONGEST - 1 <= nanos <= LONGEST:
        raise EvaluationError("duration overflow")
    return Opaque(kind="duration", key=nanos)


def of_timestamp(nanos: int, offset: int = 0) -> Opaque:
    """A timestamp. Raises: EvaluationError outside of the years 1 to 9999."""
    if not ZERO <= nanos < 253402300800 * SECOND:
        raise EvaluationError("timestamp overflow")
    return Opaque(kind="timestamp", key=nanos, data=offset)


def duration(value: Any) -> Opaque:
    """The duration of a text such as `1h30m`, as Go reads it. Raises: EvaluationError."""
    if isinstance(value, Opaque) and value.kind == "duration":
        return value
    if isinstance(value, int) and not isinstance(value, bool | UInt):
        raise EvaluationError("type conversion error from 'int' to 'google.protobuf.Duration'")
    if not isinstance(value, str):
        raise no_overload()
    sign, rest = (-1, value[1:]) if value.startswith("-") else (1, value.removeprefix("+"))
    if rest == "0":
        return of_duration(0)
    parts = list(PART.finditer(rest))
    if not rest or "".join(each[0] for each in parts) != rest:
        raise EvaluationError("no duration")
    total = 0
    for each in parts:
        whole, _, fraction = each[1].partition(".")
        unit = UNITS[each[2]]
        total += int(whole or 0) * unit
        if fraction:
            if len(fraction) > LONGEST_FRACTION:
                raise Unsupported("a duration with so many digits")
            total += int(float(fraction) * (unit / 10.0 ** len(fraction)))  # with the rounding of Go
    return of_duration(sign * total)


def timestamp(value: Any) -> Opaque:
    """The timestamp of a text in the form of RFC 3339, or of seconds since 1970. Raises: EvaluationError."""
    if isinstance(value, Opaque) and value.kind == "timestamp":
        return value
    if isinstance(value, int) and not isinstance(value, bool | UInt):
        return of_timestamp(value * SECOND)
    if not isinstance(value, str):
        raise no_overload()
    found = STAMP.fullmatch(value)
    if not found:
        raise EvaluationError("no timestamp")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    offset = 0 if found[8] == "Z" else _offset(found[8])
    try:
        moment = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        raise EvaluationError("no timestamp") from None
    nanos = int((moment - EPOCH).total_seconds()) * SECOND + int((found[7] or "0")[:9].ljust(9, "0"))
    return of_timestamp(nanos - offset * SECOND, offset)


def _offset(zone: str) -> int:
    """The seconds of an offset such as `+01:00`. Raises: EvaluationError."""
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > FARTHEST[0] or minutes > FARTHEST[1]:
        raise EvaluationError("no timestamp")
    return (1 if zone[0] == "+" else -1) * (hours * 3600 + minutes * 60)


def plus(one: Any, other: Any) -> Opaque:
    """The sum of two of them. Raises: EvaluationError."""
    kinds = _kinds(one, other)
    if kinds == ("duration", "duration"):
        return of_duration(one.key + other.key)
    if kinds == ("timestamp", "duration"):
        return of_timestamp(one.key + other.key, one.data)
    if kinds == ("duration", "timestamp"):
        return of_timestamp(one.key + other.key, other.data)
    raise no_overload()


def minus(one: Any, other: Any) -> Opaque:
    """The difference of two of them. Raises: EvaluationError."""
    kinds = _kinds(one, other)
    if kinds in (("duration", "duration"), ("timestamp", "timestamp")):
        return of_duration(one.key - other.key)
    if kinds == ("timestamp", "duration"):
        return of_timestamp(one.key - other.key, one.data)
    raise no_overload()


def _kinds(one: Any, other: Any) -> tuple[str, str]:
    if not isinstance(one, Opaque) or not isinstance(other, Opaque):
        raise no_overload()
    return one.kind, other.kind


def duration_text(value: Opaque) -> str:
    """A duration as Kubernetes writes it in texts: seconds, as a double has them."""
    seconds, nanos = divmod(abs(value.key), SECOND)
    sign = "-" if value.key < 0 else ""
    return f"{sign}{format(Decimal(repr(seconds + nanos / SECOND)), 'f').removesuffix('.0')}s"


def timestamp_text(value: Opaque) -> str:
    """A timestamp in the form of RFC 3339, with its own offset."""
    seconds, nanos = divmod(value.key, SECOND)
    moment = EPOCH + dt.timedelta(seconds=seconds + value.data)
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    sign, away = ("-", -value.data) if value.data < 0 else ("+", value.data)
    zone = "Z" if not away else f"{sign}{away // 3600:02}:{away // 60 % 60:02}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + fraction + zone


def _part(read: Callable[[dt.datetime, int], int], of_length: Callable[[int], int] | None = None) -> Callable[..., int]:
    def run(value: Any, *zone: Any) -> int:
        if not isinstance(value, Opaque) or value.kind not in ("timestamp", "duration"):
            raise no_overload()
        if value.kind == "duration":
            if of_length is None or zone:
                raise no_overload()
            return of_length(value.key)
        seconds, nanos = divmod(value.key, SECOND)
        moment = EPOCH + dt.timedelta(seconds=seconds)
        return read(_in_zone(moment, zone[0]) if zone else moment, nanos)

    return run


def _in_zone(moment: dt.datetime, zone: Any) -> dt.datetime:
    """The moment on the clocks of a time zone: a name, or an offset in hours and minutes. Raises: EvaluationError."""
    if not isinstance(zone, str):
        raise no_overload()
    if ":" not in zone:
        return _in_named_zone(moment, zone)
    hours, _, minutes = zone.partition(":")
    if not re.fullmatch(r"[+-]?[0-9]{1,4}", hours) or not re.fullmatch(r"[+-]?[0-9]{1,4}", minutes):
        raise EvaluationError("no time zone")
    if not 0 <= int(minutes) < MINUTES:
        raise Unsupported("an offset of a time zone with such minutes")
    away = int(hours) * MINUTES + (-int(minutes) if zone.startswith("-") else int(minutes))
    return moment + dt.timedelta(minutes=away)


def _in_named_zone(moment: dt.datetime, zone: str) -> dt.datetime:
    if zone in ("", "UTC"):
        return moment
    if zone == "Local":
        raise Unsupported("the local time zone of the API server")
    try:
        return moment.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if zone in available_timezones() or not available_timezones():
            raise Unsupported("a time zone that this machine does not know") from None
        raise EvaluationError(f"unknown time zone {zone}") from None


def _cut(unit: int) -> Callable[[int], int]:
    return lambda nanos: nanos // unit if nanos >= 0 else -(-nanos // unit)


RUN: dict[str, Callable[..., Any]] = {
    "getFullYear": _part(lambda moment, _: moment.year),
    "getMonth": _part(lambda moment, _: moment.month - 1),
    "getDate": _part(lambda moment, _: moment.day),
    "getDayOfMonth": _part(lambda moment, _: moment.day - 1),
    "getDayOfWeek": _part(lambda moment, _: moment.isoweekday() % 7),
    "getDayOfYear": _part(lambda moment, _: moment.timetuple().tm_yday - 1),
    "getHours": _part(lambda moment, _: moment.hour, _cut(3600 * SECOND)),
    "getMinutes": _part(lambda moment, _: moment.minute, _cut(60 * SECOND)),
    "getSeconds": _part(lambda moment, _: moment.second, _cut(SECOND)),
    "getMilliseconds": _part(lambda _, nanos: nanos // 10**6, _cut(10**6)),
}
