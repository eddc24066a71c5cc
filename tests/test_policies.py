"""The library of policies: each finds what its bad cases say and nothing in its good ones, and the page names all."""

import json
import runpy
from pathlib import Path

import pytest
from checking import run

from krm_fn import yamlio

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "policies"
POLICIES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
SCHEMAS = sorted(path.parent.name for path in FOLDER.glob("*/schema.yaml"))


def objects(file):
    return list(yamlio.read_stream(file.read_bytes()).items)


def test_the_cases_of_all_policies_pass():
    cases = len(list(FOLDER.glob("*/*/expected.yaml")))
    assert cases == 2 * len(POLICIES)
    assert run("test", "policies", cwd=ROOT) == (0, f"{cases} cases passed\n", "")


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_its_binding_and_good_and_bad_cases(name):
    files = {path.name for path in (FOLDER / name).iterdir()}
    assert files - {"schema.yaml"} == {"bad", "config.yaml", "good", "policy.yaml"}
    policy, binding, *_ = objects(FOLDER / name / "policy.yaml")
    assert (policy["metadata"]["name"], binding["spec"]["policyName"]) == (name, name)
    good, bad = (yamlio.read_value((FOLDER / name / kind / "expected.yaml").read_text()) for kind in ("good", "bad"))
    assert good == {"rules": ["policy*"], "findings": []}
    assert {finding["rule"] for finding in bad["findings"]} == {f"policy/{name}"}


@pytest.mark.parametrize("name", POLICIES)
def test_each_expression_of_a_policy_has_a_bad_case(name):
    code, out, _ = run(
        *("check", f"policies/{name}/bad/input.yaml", "--policy", f"policies/{name}/policy.yaml", "-o", "json"),
        *("--fail-on", "never"),
        cwd=ROOT,
    )
    assert code == 0
    tags = [each["tags"] for each in json.loads(out)["results"]]
    found = {each["validation"] for each in tags if each["rule"] == f"policy/{name}"}
    policy, *_ = objects(FOLDER / name / "policy.yaml")
    assert found == {str(number) for number in range(len(policy["spec"]["validations"]))}


@pytest.mark.parametrize("name", POLICIES)
def test_a_good_case_fails_if_the_policy_allows_nothing(name, tmp_path):
    """So its objects are of the kinds that the policy judges."""
    policy, binding, *params = objects(FOLDER / name / "policy.yaml")
    nothing = {**policy, "spec": {**policy["spec"], "validations": [{"expression": "false"}]}}
    file = tmp_path / "nothing.yaml"
    file.write_text("---\n".join(map(yamlio.dump, (nothing, binding, *params))))
    _, out, _ = run("check", f"policies/{name}/good/input.yaml", "--policy", str(file), cwd=ROOT)
    assert f"(policy/{name})" in out


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_json_schema_of_a_policy_finds_the_same_objects(name):
    def found(kind, flag, file):
        file = f"policies/{name}/{file}"
        _, out, _ = run("check", f"policies/{name}/{kind}/input.yaml", flag, file, "-o", "json", cwd=ROOT)
        results = json.loads(out)["results"]
        return {each["resourceRef"]["name"] for each in results if each["tags"]["rule"] == f"policy/{name}"}

    kinds = {"VirtualMachine"}
    judged = {each["metadata"]["name"] for each in objects(FOLDER / name / "bad" / "input.yaml") if each["kind"] in kinds}
    assert found("bad", "--config", "schema.yaml") & judged == found("bad", "--policy", "policy.yaml") & judged != set()
    assert found("good", "--config", "schema.yaml") == set()


@pytest.mark.parametrize("name", POLICIES)
def test_an_unchanged_object_is_not_judged_again(name, tmp_path):
    """In a cluster, a controller may then still update an object that a policy would not let in."""
    file = f"policies/{name}/bad/input.yaml"
    code, out, _ = run("diff", file, file, "--policy", f"policies/{name}/policy.yaml", cwd=ROOT)
    assert (code, "policy" in out) == (0, False)


def test_the_page_is_generated():
    script = runpy.run_path(str(ROOT / "scripts" / "make_policy_docs.py"))
    assert (FOLDER / "README.md").read_text() == script["page"](), "run scripts/make_policy_docs.py"
