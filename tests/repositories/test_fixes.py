"""Which findings propose a fix that is certain, and on which fixes units agree."""

from __future__ import annotations

import pytest

from krm_fn.findings.finding import Finding
from krm_fn.repositories.fixes import Fix, Fixing, agreed, is_certain
from krm_fn.rules.registry import ALWAYS, CASE, NEVER, all_rules


def finding(rule: str, **more: object) -> Finding:
    return Finding(rule=rule, severity="error", message="m", **{"path": ("spec", "a"), **more})


@pytest.mark.parametrize(
    ("found", "certain"),
    [
        (finding("wrong-type", current="2", proposed=2), True),
        (finding("wrong-type", current=None, proposed={}), False),  # a key without a value may be meant to go
        (finding("wrong-type", current="2"), False),
        (finding("wrong-type", proposed=2), False),
        (finding("wrong-type", current="2", proposed=2, deeper=("x",)), False),  # below a secret key
        (finding("deprecated-field", current="preferCores", proposed="cores"), True),
        (finding("deprecated-field", current="kubevirt.io/v1alpha3", proposed="kubevirt.io/v1", path=("apiVersion",)), False),
        (finding("value-not-allowed", current="reboot", proposed="Reboot"), True),
        (finding("value-not-allowed", current="Rebot", proposed="Reboot"), False),
        (finding("unknown-feature-gate", current="snapshot", proposed="Snapshot"), True),
        (finding("unknown-feature-gate", current="Snapshots", proposed="Snapshot"), False),
        (finding("unresolved-instancetype", current="u1.smalll", proposed="u1.small"), False),
        (finding("unknown-kind", current="virtualMachine", proposed="VirtualMachine", path=("kind",)), False),
    ],
)
def test_a_fix_is_certain_where_only_one_value_can_be_meant(found: Finding, certain: bool) -> None:
    assert is_certain(found) is certain


def test_every_rule_says_when_its_proposal_is_certain() -> None:
    assert {rule.certain for rule in all_rules().values()} == {NEVER, CASE, ALWAYS}


def fix(file: str = "vm.yaml", item: int = 0, key: str = "cores", current: object = "2", proposed: object = 2) -> Fix:
    return Fix(file=file, item=item, path=("spec", key), current=current, proposed=proposed)


def unit(*fixes: Fix, reads: tuple[str, ...] = ("vm.yaml",)) -> Fixing:
    return Fixing(reads=reads, fixes=fixes)


ONE, OTHER = fix(), fix(key="sockets")


@pytest.mark.parametrize(
    ("units", "fixes"),
    [
        ([], []),
        ([unit(ONE, OTHER)], [ONE, OTHER]),
        ([unit(ONE), unit(ONE)], [ONE]),
        ([unit(ONE, OTHER), unit(OTHER)], [OTHER]),
        ([unit(ONE), unit()], []),  # a target for another release finds nothing
        ([unit(ONE), unit(reads=("b.yaml",))], [ONE]),
        ([unit(ONE), unit(fix(proposed="2.0"))], []),
        ([unit(ONE, fix(proposed=3))], []),
        ([unit(ONE, ONE)], [ONE]),
        ([unit(fix(proposed=True)), unit(fix(proposed=1))], []),
        ([unit(fix("gone.yaml"))], []),
        ([unit(fix("./vm.yaml")), unit(ONE)], [fix("./vm.yaml")]),
    ],
)
def test_a_file_is_fixed_where_all_units_agree_that_read_it(units: list[Fixing], fixes: list[Fix]) -> None:
    assert agreed(units) == fixes
