"""The library answers for measured bundles in which anything stands at random places."""

from __future__ import annotations

import copy
import json
from functools import cache
from random import Random

import pytest
from functions import resource_list
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from measured import cases, files

import krm_fn

ODD = (None, "", 0, -1, 1.5, True, [], {}, "x", [None], [{}], {"a": None}, "1Gi", 10**20, "${X}", [[]], "\ud83d")
KINDS = ("pods", "changes", "fuzz", "inference", "revisions")
EVERY = 40


@cache
def bundles():
    """The items of some measured cases, as text, with the release of each."""
    found = []
    for name in (name for kind in KINDS for name in files(kind)):
        for case in cases(name, every=EVERY):
            sides = [case["items"]] if "items" in case else [case["old"], case["new"]] if "old" in case else []
            found += [(json.dumps(side), case["kubevirt"].removeprefix("v")) for side in sides]
    return found


def damaged(seed):
    """A bundle with a few of its values replaced, removed, moved or doubled, as it is before, and its release."""
    rng = Random(seed)
    text, release = rng.choice(bundles())
    items = json.loads(text)
    for _ in range(rng.randint(1, 5)):
        holder, key = rng.choice(list(places(items)) or [({"": 0}, "")])
        choice = rng.random()
        if choice < 0.2:
            del holder[key]
        elif choice < 0.6:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        else:
            other, at = rng.choice(list(places(items)) or [({"": 0}, "")])
            holder[key] = copy.deepcopy(other[at])
    return json.loads(text), items, release


def places(value):
    """Each place in plain data, as what holds it and its key."""
    for key, below in list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield value, key
        yield from places(below)


@pytest.mark.parametrize("of", ["process", "capacity", "diff", "explain"])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), mode=st.sampled_from(["expand", "validate", "annotate", "snapshot"]))
@example(seed=2663, mode="expand")  # has a kind that is a map
def test_a_damaged_bundle_has_an_answer_of_plain_data(of, seed, mode):
    before, after, release = damaged(seed)
    assume(of != "capacity" or release >= "1.4")  # the pods of older releases are not known
    bundle = resource_list(*after, kubevirtVersion=release, catalogue="builtin", **({"mode": mode} if of == "process" else {}))
    sides = [resource_list(*before, kubevirtVersion=release, catalogue="builtin"), bundle]
    answer = getattr(krm_fn, of)(*sides[-2 if of == "diff" else -1 :])
    assert isinstance(answer, dict)
    json.dumps(answer)
