"""The page as one text: the template with its figures, and the data, styles and scripts inside.

The page forbids what it does not need: its content security policy takes only the style and the script with these digests, no
address is fetched, and no text becomes code. Names of users are text: the template escapes them, and scripts only set texts.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from krm_fn.reporting.data import data_of
from krm_fn.reporting.overview import overview_of

if TYPE_CHECKING:
    from krm_fn.reporting.input import Report


FOLDER = "files"
# In the order in which they run: each uses only what is above it.
SCRIPTS = ("elements.js", "address.js", "loading.js", "tables.js", "listing.js", "graph.js", "main.js")


def page(report: Report) -> str:
    """The page of a report, the same for the same report."""
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    environment = Environment(
        loader=BaseLoader(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_file("page.html")).render(
        report=report,
        overview=overview_of(report),
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own files
        data=Markup(_json(_visible(data_of(report)))),  # noqa: S704  `_json` leaves no mark of HTML
        policy=_policy(style, script),
    )


def _file(name: str) -> str:
    return files("krm_fn.reporting").joinpath(FOLDER, name).read_text(encoding="utf-8")


def _visible(value: Any) -> Any:
    """Plain data in which texts have escapes for what nobody sees, such as marks that turn the direction of a text."""
    if isinstance(value, dict):
        return {_visible(key): _visible(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(below) for below in value]
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in value)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json(data: object) -> str:
    """JSON inside of a script element: no text in it can end the element, or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode(errors="replace").decode()


def _policy(style: str, script: str) -> str:
    """The content security policy: this style and this script, and nothing else; no text becomes HTML."""
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
