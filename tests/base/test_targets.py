"""Targets of patches."""

import pytest

from krm_fn.base.targets import target_of
from tests.measuring import calls


def test_a_target_of_plain_texts_takes_as_long_as_one_of_short_texts() -> None:
    first, short, long = ({"name": "a" * length} for length in (1, 2, 900))
    target_of(first)  # loads what it needs
    assert calls(lambda: target_of(long)) == calls(lambda: target_of(short))


def test_a_text_that_is_too_long_is_wrong_without_an_expression_too() -> None:
    with pytest.raises(ValueError, match="longer than 1000 characters"):
        target_of({"name": "a" * 1_001})
