"""Globs of paths."""

import pytest

from krm_fn.base.globs import Globs
from krm_fn.base.work import SpentError
from tests.measuring import calls


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("clusters/*", "clusters/north"),
        ("clusters/*", "clusters/north/apps"),
        ("./clusters/n*h/", "clusters/north"),
        ("clusters/[mn]o?th", "clusters/north"),
        ("**/testdata/**", "testdata"),
        ("**/testdata/**", "a/b/testdata/vm.yaml"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b/c"),
        ("**", "."),
        (".", "."),
        (".", "a/b"),
        ("*.yaml", "vm.yaml"),
        ("**/*.yaml", "a/vm.yaml"),
    ],
)
def test_a_glob_covers_what_it_matches_and_what_is_below(glob, path):
    assert Globs([glob]).covering(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("clusters/*", "clusters"),
        ("clusters/*", "other/clusters/north"),
        ("clusters/north", "clusters/northern"),
        ("clusters/north", "clusters/North"),
        ("*", "."),
        ("a/**/b", "a/x"),
        ("*.yaml", "a/vm.yaml"),
    ],
)
def test_a_glob_covers_no_other_path(glob, path):
    assert not Globs([glob]).covering(path)


def test_the_work_of_a_glob_is_at_most_the_product_of_the_numbers_of_steps():
    pattern, path = "/".join(["**", "*a*a*a*a*a*b"] * 20), "/".join(["a" * 200] * 40)
    assert not Globs([pattern]).covering(path)
    assert calls(lambda: Globs([pattern]).covering(path)) < 20_000  # some for each of 40 steps of the path and 40 of the glob


def test_several_globs_say_which_of_them_cover_a_path():
    globs = Globs(["a/*", "a/b", "**/b", "a/**/c", "**", "b", "a/[b]/**/c"])
    assert globs.covering("a/b/c") == {0, 1, 2, 3, 4, 6}


def test_globs_without_wildcards_take_as_long_as_one_of_them():
    one, many = Globs(["**/x0"]), Globs(f"**/x{number}" for number in range(1_000))
    assert calls(lambda: many.covering("a/b/c")) == calls(lambda: one.covering("a/b/c"))


def test_globs_that_begin_otherwise_take_as_long_as_one_of_them():
    one, many = Globs(["**/x1000*y"]), Globs(f"**/x{number}*y" for number in range(1_000, 2_000))
    assert calls(lambda: many.covering("a/x99999/c")) == calls(lambda: one.covering("a/x99999/c"))


def test_a_wildcard_stands_for_nothing_too():
    globs = Globs(["ab*", "a*b", "a*", "*ab", "ab[c]*", "abc*", "a?"])
    assert globs.covering("ab") == {0, 1, 2, 3, 6}


def test_globs_that_take_too_many_comparisons_are_given_up():
    globs = Globs(f"**/*x{number}*y" for number in range(1_000))
    with pytest.raises(SpentError):
        all(globs.covering(f"a/{number}") is None or True for number in range(100_000))
