"""Where a refused value comes from: messages name the object whose field sets it, and lead there."""

from __future__ import annotations

from typing import Any

import pytest

from krm_fn import config
from krm_fn.base.bundle import Bundle
from krm_fn.pipeline import stages
from krm_fn.pipeline.facts import gather
from krm_fn.pipeline.refusals import FieldOrigins

SETTINGS = config.read(
    {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": {"mode": "validate"}}
)
MODEL = ("spec", "template", "spec", "domain", "devices", "interfaces", 0, "model")


def preference(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "own"},
        "spec": spec,
    }


def vm(preferred: str = "own", **interface: Any) -> dict[str, Any]:
    devices = {"interfaces": [{"name": "default", "masquerade": {}, **interface}]}
    spec = {"domain": {"devices": devices}, "networks": [{"name": "default", "pod": {}}]}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"runStrategy": "Always", "preference": {"name": preferred}, "template": {"spec": spec}},
    }


WRONG = preference(devices={"preferredInterfaceModel": "foo", "preferredDiskBus": "sata"})


def refused(*items: Any) -> list[Any]:
    return [each for each in stages.render(list(items), SETTINGS).findings if each.rule.startswith("refused-")]


def test_a_refused_value_of_a_preference_names_the_preference_and_leads_to_its_field() -> None:
    (found,) = refused(WRONG, vm())
    assert found.path == MODEL
    fix = "spec.devices.preferredInterfaceModel of VirtualMachineClusterPreference own sets it: change it there, or set it here"
    assert found.message.endswith(f"; {fix}")
    (source,) = found.related
    assert (str(source.ref), source.path) == (
        "VirtualMachineClusterPreference own",
        ("spec", "devices", "preferredInterfaceModel"),
    )


def test_a_value_that_the_vm_sets_itself_has_no_origin() -> None:
    (found,) = refused(WRONG, vm(model="foo"))
    assert (found.related, "preference" in found.message.lower()) == ((), False)


def test_what_the_vm_and_a_preference_set_in_part_each_is_the_vms() -> None:
    (facts,) = gather(Bundle([WRONG, vm()]), SETTINGS).vms
    found = [FieldOrigins().of(facts, path) for path in (MODEL, MODEL[:-1], MODEL[:-2])]
    assert [each and each.matcher for each in found] == ["preference", None, None]


@pytest.mark.parametrize("order", [1, -1])
def test_each_value_is_led_to_its_own_field(order: int) -> None:
    spec = {"devices": {"preferredInterfaceModel": "foo"}, "features": {"preferredSmm": {"enabled": False}}}
    secure = preference(**spec, firmware={"preferredEfi": {"secureBoot": True}})
    fields = {each.path[-1]: each.related[0].path[1:] for each in refused(*[secure, vm()][::order])}
    assert fields == {
        "model": ("devices", "preferredInterfaceModel"),
        "enabled": ("features", "preferredSmm", "enabled"),
    }


def test_a_value_of_the_catalogue_is_not_changed_there() -> None:
    found = refused(vm("windows.11", masquerade=None, slirp={}))
    assert found
    assert not any("change it there" in each.message for each in found)
