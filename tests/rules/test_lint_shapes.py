"""Users' data may have any shape: no lint rule raises, whatever stands where something else belongs."""

import copy

import pytest
from ruling import documents, example

from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import get, leaves
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.facts import gather
from krm_fn.rules import registry

RULES = {each.id: each for each in registry.load("lint")}
ODD = (None, "", "text", 7, True, [], {}, [None], [[1]], {"name": []}, [{"name": {"a": 1}}])


def places(value):
    """Every place in a value, inner ones too."""
    return dict.fromkeys(path[:length] for path, _ in leaves(value) for length in range(1, len(path) + 1))


@pytest.mark.parametrize("rule", RULES)
def test_no_shape_makes_a_rule_raise(rule):
    items, _ = documents(example(rule))
    for place in places(items):
        if len(place) < 2 or place[1] in ("apiVersion", "kind"):
            continue
        for odd in ODD:
            broken = copy.deepcopy(items)
            get(broken, place[:-1])[place[-1]] = odd
            facts = gather(Bundle(broken), Config(mode="validate"))
            assert all(hit.message for each in RULES.values() for hit in each.check(facts))
