"""Placeholders: what may have one is told quickly, and never wrongly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base.placeholders import may_be_in, placeholders

WORDS = st.sampled_from(
    ("${A}", "$(A)", "$A", "{{ a }}", "__A__", "<a b>", "NAME", "CLAIM_NAME", "a-_B_", "a", "", "a_b", "x-<b>", "Always", "2Gi")
)
TEXTS = st.one_of(WORDS, st.text(max_size=8), st.builds("{}{}".format, WORDS, WORDS))
KEYS = st.sampled_from(("name", "namespace", "claimName", "labels", "spec"))


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


def test_brackets_around_a_part_of_a_name_are_a_placeholder() -> None:
    assert placeholders("<cluster>-kubeconfig", ("metadata", "name")) == ("<cluster>",)
    assert placeholders("vm-<user>", ("spec", "template", "spec", "volumes", 0, "dataVolume", "claimName")) == ("<user>",)
    assert placeholders("a<b>", ("metadata", "labels", "name")) == ()
    assert placeholders("a<b", ("metadata", "name")) == ()
    assert placeholders("a|<b>", ("metadata", "name")) == ()
