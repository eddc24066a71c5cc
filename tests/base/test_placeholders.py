"""Placeholders: what may have one is told quickly, and never wrongly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base.placeholders import is_filled_in, may_be_in, placeholders

WORDS = st.sampled_from(
    (
        "${A}",
        "$(A)",
        "$A",
        "{{ a }}",
        "__A__",
        "<a b>",
        "NAME",
        "CLAIM_NAME",
        "a-_B_",
        "a",
        "",
        "a_b",
        "x-<b>",
        "Always",
        "2Gi",
        "<%= a %>",
    )
)
TEXTS = st.one_of(WORDS, st.text(max_size=8), st.builds("{}{}".format, WORDS, WORDS))
KEYS = st.sampled_from(("name", "namespace", "claimName", "labels", "spec", "guest"))


@given(TEXTS, st.lists(KEYS, min_size=2, max_size=3))
def test_a_value_with_a_placeholder_may_have_one(text: str, path: list[str]) -> None:
    if placeholders(text, tuple(path)):
        assert may_be_in({"a": [1, None, {"b": text}]})


def test_ordinary_values_have_none() -> None:
    assert not may_be_in({"kind": "VirtualMachine", "spec": [{"runStrategy": "Always"}, True, 1, None]})


def test_a_word_between_underscores_stands_for_a_part_of_a_name() -> None:
    assert placeholders("claim-_TIMESTAMP_", ("metadata", "name")) == ("claim-_TIMESTAMP_",)
    assert placeholders("claim-_TIMESTAMP_", ("metadata", "labels", "name")) == ()
    assert placeholders("claim_TIMESTAMP_", ("metadata", "name")) == ()


def test_brackets_and_variables_in_a_name_are_placeholders() -> None:
    assert placeholders("<cluster>-kubeconfig", ("metadata", "name")) == ("<cluster>",)
    assert placeholders("s3-$cluster", ("metadata", "name")) == ("$cluster",)
    assert placeholders("cost-$cluster", ("metadata", "labels", "name")) == ()
    assert placeholders("s3-$", ("metadata", "name")) == ()
    assert [is_filled_in(each) for each in ("$name-$cluster-1", "a$", "a$1")] == [True, False, False]
    assert placeholders("vm-<user>", ("spec", "template", "spec", "volumes", 0, "dataVolume", "claimName")) == ("<user>",)
    assert placeholders("a<b>", ("metadata", "labels", "name")) == ()
    assert placeholders("a<b", ("metadata", "name")) == ()
    assert placeholders("a|<b>", ("metadata", "name")) == ()


def test_a_word_that_says_what_it_is_stands_for_a_value_and_for_no_name() -> None:
    for word in ("placeholder", "test-placeholder", "PLACEHOLDER", "PlaceHolder", "image-placeholder-1"):
        assert placeholders(word, ("spec", "memory", "guest")) == (word,), word
        assert may_be_in({"guest": word}), word
        for path in (("metadata", "name"), ("spec", "hostname"), ("metadata", "labels", "memory")):
            assert placeholders(word, path) == (), path
    assert placeholders("registry.example.com/placeholder:1", ("containerDisk", "image")) == ()


def test_marks_around_an_expression_are_a_placeholder() -> None:
    assert placeholders("web<%= number %>", ("metadata", "labels", "app")) == ("<%= number %>",)
    assert placeholders("<%= 5910 + number %>", ("spec", "port")) == ("<%= 5910 + number %>",)
