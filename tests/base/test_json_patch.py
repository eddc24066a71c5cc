"""RFC 6902 operations, applied by a library."""

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base.json_patch import operations, steps_of

scalars = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text("a/~.0", max_size=2))
trees = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), below, max_size=3)
)


@pytest.mark.parametrize("by_entry", [False, True])
@given(old=trees, new=trees)
def test_a_patch_applied_to_the_old_object_gives_the_new_one(by_entry, old, new):
    made = list(operations({"x": old}, {"x": new}, by_entry=by_entry))
    assert jsonpatch.JsonPatch(made).apply({"x": old}) == {"x": new}


@pytest.mark.parametrize("by_entry", [False, True])
@given(tree=trees)
def test_no_operation_leads_from_an_object_to_itself(by_entry, tree):
    assert list(operations(tree, tree, by_entry=by_entry)) == []


def test_entries_that_stay_do_not_occur_in_a_patch_by_entry():
    old = {"volumes": [{"name": "a"}, {"name": "b"}, {"name": "c", "userData": "x"}]}
    new = {"volumes": [{"name": "b"}, {"name": "c", "userData": "x"}]}
    assert list(operations(old, new, by_entry=True)) == [{"op": "remove", "path": "/volumes/0"}]
    assert list(operations(new, old, by_entry=True)) == [{"op": "add", "path": "/volumes/0", "value": {"name": "a"}}]


def test_true_and_one_are_different_entries():
    assert list(operations([1, 2], [True, 2], by_entry=True)) == [{"op": "replace", "path": "/0", "value": True}]


def test_the_steps_of_a_pointer_are_keys_and_indices():
    assert steps_of("/spec/volumes/0/a~1b~0c") == ("spec", "volumes", 0, "a/b~c")
