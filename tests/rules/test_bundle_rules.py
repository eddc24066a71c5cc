"""Rules of the family `bundle`: which object they blame, and what they count."""

from __future__ import annotations

import pytest
from functions import run, told, vm

from krm_fn.rules.lint import changed_in_later_release

WRONG = {"network": {"defaultNetworkInterface": "macvtap"}}


def kubevirt(configuration):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": configuration},
    }


def blamed(*items, **spec):
    """The objects that are blamed for an ignored configuration, "" for the config of the function."""
    return [name for rule, _, name, _ in told(run(*items, **spec)[1]) if rule == "ignored-configuration"]


def test_a_configuration_that_kubevirt_ignores_is_blamed_on_the_object_that_has_it():
    assert blamed(kubevirt(WRONG)) == ["kubevirt"]


def test_a_configuration_that_the_config_states_is_blamed_on_no_object():
    assert blamed(configuration=WRONG) == [""]
    assert blamed(kubevirt({}), configuration=WRONG) == [""]
    assert blamed(kubevirt({"network": {"defaultNetworkInterface": "slirp"}}), configuration=WRONG) == [""]


def test_three_changes_of_a_builtin_size_are_named_and_the_others_counted():
    def worded(count):
        old, new = ({"cpu": {f"a{n}": value for n in range(count)}} for value in (1, 2))
        return changed_in_later_release._changes(old, new)

    three = "cpu.a0 from 1 to 2, cpu.a1 from 1 to 2, cpu.a2 from 1 to 2"
    assert worded(3) == three
    assert worded(4) == f"{three}, 1 more"


def test_every_kind_that_nobody_knows_is_named_whatever_stands_between():
    misspelt = [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachin", "metadata": {"name": name}} for name in ("a", "b")]
    between = [vm("known"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}]
    results = told(run(misspelt[0], *between, misspelt[1])[1])
    assert [name for rule, _, name, _ in results if rule == "unknown-kind"] == ["a", "b"]


@pytest.mark.parametrize(("kind", "is_known"), [("NodeMaintenance", True), ("KWebUI", True), ("NodeMaintenances", False)])
def test_kinds_of_other_products_in_the_core_group_are_known(kind, is_known):
    obj = {"apiVersion": "kubevirt.io/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    assert ("unknown-kind" in {rule for rule, *_ in told(run(obj)[1])}) != is_known
