"""URLs, read as Go reads them: the functions `url`, `isURL` and what they give.

upstream: Go's net/url/url.go; k8s.io/apiserver/pkg/cel/library/urls.go
"""

from __future__ import annotations

import ipaddress
import re

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.values import Opaque

SCHEME = expression(r"([A-Za-z][A-Za-z0-9+.-]*)?:", re.ASCII)
CONTROL = expression(r"[\x00-\x1f\x7f]")
PORT = expression(r":[0-9]*")
ESCAPE = expression(rb"%([0-9A-Fa-f]{2})")
USER = expression(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
HOST = expression(r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"]|[^\x00-\x7f]|%(?:[89A-Fa-f][0-9A-Fa-f]|25))*")
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
IN_PATH, IN_ENCODED_PATH = PLAIN | frozenset(b"$&+,/:;=@"), PLAIN | frozenset(b"$&+,/:;=@!'()*[]%")


class Url(Value):
    """The parts of a URL; `path` as bytes without escapes, `raw_path` as it is written."""

    scheme: str
    opaque: str
    user: str | None
    host: str
    path: bytes
    raw_path: bytes
    query: str
    fragment: str

    @property
    def escaped_path(self) -> str:
        """The path with escapes: as it is written, if that is valid."""
        if set(self.raw_path) <= IN_ENCODED_PATH:
            return self.raw_path.decode()
        return "".join(chr(byte) if byte in IN_PATH else f"%{byte:02X}" for byte in self.path)


class _InvalidError(Exception):
    """A text is no URL."""


def is_url(text: str) -> bool:
    """True for an absolute URL, or an absolute path."""
    try:
        _parsed(text, is_request=True)
    except _InvalidError:
        return False
    return True


def _url(text: Any) -> Opaque:
    if not isinstance(text, str):
        raise no_overload()
    before, _, fragment = text.partition("#")
    try:
        _parsed(text, is_request=True)
        found = _parsed(before, is_request=False).but(fragment=fragment)
        _unescaped(fragment)
    except _InvalidError:
        raise EvaluationError("URL parse error during conversion from string") from None
    return Opaque(kind="url", key=(found.but(path=b"", raw_path=b""), found.escaped_path), data=found)


def _parsed(text: str, *, is_request: bool) -> Url:
    """The parts of a URL. Raises: _InvalidError."""
    if CONTROL.search(text) or (is_request and not text):
        raise _InvalidError
    scheme, rest = _scheme(text)
    if rest.endswith("?") and rest.count("?") == 1:
        rest, query = rest[:-1], "?"
    else:
        rest, _, query = rest.partition("?")
    empty = Url(scheme=scheme.lower(), opaque="", user=None, host="", path=b"", raw_path=b"", query=query, fragment="")
    if text == "*":
        return empty.but(query="", path=b"*", raw_path=b"*")
    if not rest.startswith("/"):
        return _without_root(empty, rest, is_request=is_request)
    user, host = None, ""
    if rest.startswith("//") and (scheme or (not is_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        user, host = _authority(authority)
        rest = slash + rest
    return empty.but(user=user, host=host, path=_unescaped(rest), raw_path=rest.encode())


def _without_root(empty: Url, rest: str, *, is_request: bool) -> Url:
    """A URL whose rest does not begin with a slash."""
    if empty.scheme:
        return empty.but(opaque=rest)
    if is_request or ":" in rest.partition("/")[0]:
        raise _InvalidError
    return empty.but(path=_unescaped(rest), raw_path=rest.encode())


def _scheme(text: str) -> tuple[str, str]:
    found = SCHEME.match(text)
    if not found:
        return "", text
    if not found[1]:
        raise _InvalidError
    return found[1], text[found.end() :]


def _authority(text: str) -> tuple[str | None, str]:
    """User and host."""
    user, at, host = text.rpartition("@")
    if "[" in host:
        _check_brackets(host)
    elif ":" in host and not PORT.fullmatch(host[host.rindex(":") :]):
        raise _InvalidError
    if not HOST.fullmatch(host):
        raise _InvalidError
    if at and not USER.fullmatch(user):
        raise _InvalidError
    return (_text(_unescaped(user)) if at else None), _text(_unescaped(host))


def _check_brackets(host: str) -> None:
    """Checks a host with an address in brackets. Raises: _InvalidError; Unsupported where releases of Go differ."""
    end = host.rfind("]")
    if end < 0 or (host[end + 1 :] and not PORT.fullmatch(host[end + 1 :])):
        raise _InvalidError
    try:
        found = ipaddress.IPv6Address(host[1:end])
    except ValueError:
        raise Unsupported("a URL with brackets in its host") from None
    if host[0] != "[" or "%" in host or found.ipv4_mapped:
        raise Unsupported("a URL with brackets in its host")


def _unescaped(text: str) -> bytes:
    """The bytes of a text without its escapes. Raises: _InvalidError."""
    raw = text.encode()
    if raw.count(b"%") != len(ESCAPE.findall(raw)):
        raise _InvalidError
    return ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), raw)


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Unsupported("a URL whose escapes are no UTF-8") from None


def _port(host: str) -> tuple[str, str]:
    """The host without its port and its brackets, and the port."""
    name, colon, port = host.rpartition(":")
    if not colon or not PORT.fullmatch(colon + port):
        name, port = host, ""
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _query(found: Url) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in found.query.removeprefix("?" if found.query == "?" else "").split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.replace("+", " ").partition("=")
        try:
            name, held = _text(_unescaped(key)), _text(_unescaped(value))
        except _InvalidError:
            continue  # as Go leaves out what it can't read
        values.setdefault(name, []).append(held)
    return values


def _read(part: Callable[[Url], Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        if not isinstance(value, Opaque) or value.kind != "url":
            raise no_overload()
        return part(value.data)

    return run


def _is_url(text: Any) -> bool:
    if not isinstance(text, str):
        raise no_overload()
    return is_url(text)


RUN: dict[str, Callable[..., Any]] = {
    "url": _url,
    "isURL": _is_url,
    "getScheme": _read(lambda found: found.scheme),
    "getHost": _read(lambda found: found.host),
    "getHostname": _read(lambda found: _port(found.host)[0]),
    "getPort": _read(lambda found: _port(found.host)[1]),
    "getEscapedPath": _read(lambda found: found.escaped_path),
    "getQuery": _read(_query),
}
