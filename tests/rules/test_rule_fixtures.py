"""Each rule finds what its fixtures say, and nothing where they are good.

fixtures/rules/RULE/bad/*.yaml      the rule finds what expected.yaml lists under the file's name, no more and no less
fixtures/rules/RULE/good/*.yaml     neither this rule nor another finds anything
fixtures/rules/RULE/expected.yaml   file name to a list of {severity, object, path, message}
fixtures/rules/RULE/config.yaml     optional: keys of the config's `spec`, for files and docstring
"""

import pytest
from ruling import FOLDERS, example, judged, spec_of, told

from krm_fn import yamlio
from krm_fn.findings.finding import SEVERITIES
from krm_fn.rules.registry import all_rules

RULES = sorted(all_rules())
CASES = {kind: sorted(FOLDERS.glob(f"*/{kind}/*.yaml")) for kind in ("bad", "good")}


def named(path):
    return f"{path.parts[-3]}/{path.stem}"


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_fixtures(rule):
    folder = FOLDERS / rule
    lacks = [kind for kind in ("bad", "good") if not list((folder / kind).glob("*.yaml"))]
    lacks += [] if (folder / "expected.yaml").exists() else ["expected.yaml"]
    assert lacks == [], (
        f"rule {rule} lacks {', '.join(lacks)} in fixtures/rules/{rule}: put what it finds into bad/NAME.yaml, the same "
        f"repaired into good/NAME.yaml, and severity, object, path, message of each finding below NAME.yaml into expected.yaml"
    )


def test_no_folder_is_left_of_a_rule_that_is_gone():
    assert sorted({path.name for path in FOLDERS.iterdir()} - set(RULES)) == []


@pytest.mark.parametrize("rule", [rule for rule in RULES if (FOLDERS / rule).exists()])
def test_expected_names_the_bad_files(rule):
    folder = FOLDERS / rule
    expected = yamlio.read_value((folder / "expected.yaml").read_text())
    assert sorted(expected) == sorted(path.name for path in (folder / "bad").iterdir())
    assert [name for name, findings in expected.items() if not findings] == []


@pytest.mark.parametrize("path", CASES["bad"], ids=named)
def test_a_bad_file_gives_exactly_the_expected_findings(path):
    rule = path.parts[-3]
    expected = yamlio.read_value((FOLDERS / rule / "expected.yaml").read_text())
    found = [finding for finding in judged(rule, path.read_text()) if finding.rule == rule]
    assert told(found) == expected.get(path.name)


@pytest.mark.parametrize("path", CASES["bad"], ids=named)
def test_no_finding_is_worse_than_its_rule_says(path):
    levels = spec_of(path.parts[-3]).get("severity", {})
    found = [finding for finding in judged(path.parts[-3], path.read_text()) if finding.rule not in levels]
    worse = [each for each in found if SEVERITIES.index(each.severity) < SEVERITIES.index(all_rules()[each.rule].worst)]
    assert worse == []


@pytest.mark.parametrize("path", CASES["good"], ids=named)
def test_no_rule_speaks_of_a_good_file(path):
    rule = path.parts[-3]
    assert [(finding.rule, finding.message) for finding in judged(rule, path.read_text())] == []


@pytest.mark.parametrize("rule", RULES)
def test_the_example_of_the_documentation_is_one(rule):
    found = {finding.rule for finding in judged(rule, example(rule))}
    assert rule in found, (
        f"the Example in the docstring of {rule} doesn't make it speak, alone and under fixtures/rules/{rule}/config.yaml; "
        f"make it whole: all objects that the rule looks at belong into it"
    )
