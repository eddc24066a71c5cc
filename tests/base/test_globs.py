"""Globs of paths."""

import pytest

from krm_fn.base.globs import covers
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
    assert covers(glob, path)


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
    assert not covers(glob, path)


def test_the_work_of_a_glob_is_at_most_the_product_of_the_numbers_of_steps():
    pattern, path = "/".join(["**", "*a*a*a*a*a*b"] * 20), "/".join(["a" * 200] * 40)
    assert not covers(pattern, path)
    assert calls(lambda: covers(pattern, path)) < 20_000  # some for each of 40 steps of the path and 40 of the glob
