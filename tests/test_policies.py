"""The library of policies: each finds what its bad cases say and nothing in its good ones, and the page names all."""

import runpy
from pathlib import Path

import pytest
from checking import run

from krm_fn import config, yamlio

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "policies"
POLICIES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def test_the_cases_of_all_policies_pass():
    cases = len(list(FOLDER.glob("*/*/expected.yaml")))
    assert run("test", "policies", cwd=ROOT) == (0, f"{cases} cases passed\n", "")


def policies(name):
    text = (FOLDER / name / "config.yaml").read_text()
    return config.read(yamlio.read_value(text)).schema_policies


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_good_and_bad_cases(name):
    assert {path.name for path in (FOLDER / name).iterdir()} == {"bad", "config.yaml", "good"}
    good, bad = (yamlio.read_value((FOLDER / name / kind / "expected.yaml").read_text()) for kind in ("good", "bad"))
    assert good == {"rules": ["policy*"], "findings": []}
    assert {finding["rule"] for finding in bad["findings"]} == {f"policy/{each['name']}" for each in policies(name)}


@pytest.mark.parametrize("name", POLICIES)
def test_a_good_case_fails_if_the_policy_selects_everything_and_allows_nothing(name, tmp_path):
    """So its objects are of the kinds that the policy judges."""
    everything = [{**each, "select": {}, "schema": False} for each in policies(name)]
    code, out, _ = run(
        *("test", f"policies/{name}/good", "--schema-policies", yamlio.dump(everything)),
        cwd=ROOT,
    )
    assert code == 1
    assert "unexpected finding: " in out


def test_the_page_is_generated():
    script = runpy.run_path(str(ROOT / "scripts" / "make_policy_docs.py"))
    assert (FOLDER / "README.md").read_text() == script["page"](), "run scripts/make_policy_docs.py"
