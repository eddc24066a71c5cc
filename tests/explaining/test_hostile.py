"""Names and secrets of users in what `explain` prints."""

from __future__ import annotations

import re
from typing import Any

import pytest
from canaries import CANARY
from functions import instancetype, vm
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from krm_fn import explain
from krm_fn.base.markdown import prose
from krm_fn.cli.explanations import FORMATS, Layout

HOSTILE = (
    *("@team", "#12", "http://e.x", "www.e.x", "[a](http://e.x)", "![a](http://e.x/i.png)", "<img src=x>", "</details>"),
    *("a|b", "`", "``x``", "*a*", "__a__", "~~a~~", ":x:", "&amp;", "GH-12", "deadbeef", "\\|", "a\nb", "\u202e", "!12"),
)
FIELDS = ("userData", "userDataBase64", "networkData", "networkDataBase64", "secretRef", "networkDataSecretRef")
BELOW = st.recursive(
    st.sampled_from([CANARY, 1, None, True]),
    lambda below: st.one_of(st.lists(below, max_size=2), st.dictionaries(st.just(CANARY), below, min_size=1)),
    max_leaves=4,
).filter(lambda value: CANARY in str(value))


def printed(name: str, *items: Any) -> str:
    given = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": list(items)}
    return FORMATS[name](explain(given)["vms"], Layout(whole=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_text_in_markdown(name: str) -> None:
    text = printed("markdown", vm(name, instancetype=name, labels={name: name}), instancetype(name))
    for inline in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        assert inline.type != "html_block"
        for token in inline.children or ():
            assert token.type in ("text", "code_inline"), token
            said = "" if token.type == "code_inline" else token.content
            assert not re.search(r"[@<>\[\]|`*~!#&$]|//|www\.|:\w+:|[0-9a-f]{7}|GH-\d", said), said


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "1) a", "---", "===", "a\n===", *HOSTILE])
def test_a_text_by_itself_is_one_paragraph_without_markup(text: str) -> None:
    opening, inline, closing = MarkdownIt("commonmark", {"html": True}).enable("table").parse(f"before\n{prose(text)}")
    assert (opening.type, closing.type) == ("paragraph_open", "paragraph_close")
    assert {token.type for token in inline.children or ()} <= {"text", "code_inline", "softbreak"}


@given(field=st.sampled_from(FIELDS), below=BELOW)
def test_nothing_below_a_secret_field_is_shown_whatever_its_type(field: str, below: Any) -> None:
    machine = vm()
    machine["spec"]["template"]["spec"]["volumes"] = [{"name": "c", "cloudInitNoCloud": {field: {"a": below}}}]
    for name in FORMATS:
        assert CANARY not in printed(name, machine)
