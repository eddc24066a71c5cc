"""Places in plain objects."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base import paths

VM = {"spec": {"disks": [{"name": "root"}, {"name": "data"}], "labels": {"example.com/a": "b"}}}


@pytest.mark.parametrize("value", [None, "", []])
def test_absent_null_empty_strings_and_empty_lists_are_unset(value):
    assert not paths.is_set(value)


@pytest.mark.parametrize("value", [{}, False, 0, "x", [0]])
def test_all_other_values_are_set(value):
    assert paths.is_set(value)


@pytest.mark.parametrize("value", [None, "", [], False, 0])
def test_plain_go_scalars_of_value_zero_are_unset_too(value):
    assert not paths.is_nonzero(value)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), VM),
        (("spec", "disks", 1, "name"), "data"),
        (("spec", "disks", 2, "name"), "none"),
        (("spec", "disks", "name"), "none"),
        (("spec", "labels", 0), "none"),
        (("spec", "disks", 0, "name", "deeper"), "none"),
    ],
)
def test_get_returns_the_default_if_a_step_does_not_exist(path, found):
    assert paths.get(VM, path, "none") == found


def test_put_makes_the_maps_on_the_way():
    value = {"a": None}
    paths.put(value, ("a", "b", "c"), 1)
    assert value == {"a": {"b": {"c": 1}}}


def test_drop_removes_a_key_and_ignores_a_missing_one():
    value = {"a": {"b": 1, "c": 2}}
    paths.drop(value, ("a", "b"))
    paths.drop(value, ("x", "y"))
    assert value == {"a": {"c": 2}}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("spec", "disks", 0, "name"), "spec.disks[0].name"),
        (("metadata", "annotations", "example.com/a"), 'metadata.annotations["example.com/a"]'),
        (("metadata", "labels", ""), 'metadata.labels[""]'),
        (("a", 'say "x"', "b"), 'a["say \\"x\\""].b'),
        ((0, "a"), "[0].a"),
        (("spec", "k" * 5000, 0), f"spec.{'k' * 5000}[0]"),
        (("spec", "k" * 5000 + "/k"), f'spec["{"k" * 5000}/k"]'),
    ],
)
def test_paths_are_shown_with_brackets_where_dots_would_mislead(path, shown):
    assert paths.dotted(path) == shown


@given(st.lists(st.text() | st.integers(min_value=0), max_size=4).map(tuple))
def test_the_text_of_a_path_leads_back_to_it(path):
    assert paths.steps(paths.dotted(path)) == path


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=8,
)


@given(plain)
def test_a_copy_equals_its_source_and_shares_nothing_that_changes(value):
    copied = paths.copy(value)
    assert copied == value
    if isinstance(value, dict | list):
        assert copied is not value


@given(plain)
def test_every_leaf_is_found_again_by_its_path(value):
    before = copy.deepcopy(value)
    for path, leaf in paths.leaves(value):
        assert paths.get(value, path) == leaf
    assert value == before


@given(plain)
def test_whole_numbers_become_integers_and_other_values_stay(value):
    read = paths.with_integers([value, 2.0])
    assert read == [value, 2]  # 2.0 is equal to 2
    assert [leaf for _, leaf in paths.leaves(read) if paths.is_integral(leaf)] == []
    assert isinstance(read[1], int)


@pytest.mark.parametrize("value", [{"a": [0.5, {}, "2.0", True, None, 1e300, float("inf")]}, {}, "x", 1])
def test_a_value_without_whole_floats_is_returned_itself(value):
    assert paths.with_integers(value) is value


def test_whole_numbers_are_read_at_any_depth():
    deep = shared = {"a": 2.0}
    for _ in range(10_000):
        deep = [deep, shared]
    read = paths.with_integers(deep)
    assert read[1] == {"a": 2}
    assert read[1] is read[0][1]
    endless = {"a": 2.0}
    endless["b"] = endless
    read = paths.with_integers(endless)
    assert (repr(read["a"]), read["b"] is read) == ("2", True)
