"""Levels of records, and what fails a run."""

from __future__ import annotations

import pytest

from krm_fn.changes.summary import WORDS, fails, level_of

NOTHING = {"effect": ["nothing"]}


@pytest.mark.parametrize(
    ("effect", "word"),
    [
        (["refused"], "refused"),
        (["removed"], "recreate"),
        (["live", "migration:LiveMigrate", "restartRequired"], "restart"),
        (["live", "migration:Evict"], "restart"),
        (["live", "migration:nobody", "atNextStart"], "migration"),
        (["live", "atNextStart"], "live"),
        (["atNextStart"], "any"),
    ],
)
def test_the_most_severe_effect_decides(effect: list[str], word: str) -> None:
    level = level_of({"effect": effect})
    assert level is not None
    assert level.word == word


def test_a_vm_that_stays_has_no_level() -> None:
    assert level_of(NOTHING) is None


def test_a_run_fails_at_its_level_and_above() -> None:
    record = {"effect": ["live"]}
    assert [fails([record], word) for word in WORDS] == [False, False, False, False, False, True, True]


def test_any_record_fails_at_any() -> None:
    assert fails([NOTHING], "any")
    assert not fails([], "any")
