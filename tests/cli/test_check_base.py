"""`check --base REF`: only findings that the commit does not have count; those that are gone are listed."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from checking import CONFLICT, SIZE, check
from committing import commit, git
from markdown_it import MarkdownIt
from trees import tree

from krm_fn.cli.formats import FORMATS

OLD = CONFLICT.replace("name: web", "name: old")
NEW = CONFLICT.replace("name: web", "name: new")
CLEAN = CONFLICT.replace("        cpu: {cores: 4}\n", "")


@pytest.fixture
def here(tmp_path):
    """A repository whose first commit has two findings: one stays, one goes, and a third one comes."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, {"vms/size.yaml": SIZE, "vms/web.yaml": CONFLICT, "vms/old.yaml": OLD})
    tree(root, {"vms/web.yaml": CLEAN, "vms/new.yaml": NEW})
    return root


def names(results):
    return [each["resourceRef"]["name"] for each in results]


def checked(root, *arguments, **more):
    return check("--base", "main", *arguments, "vms", cwd=root, **more)


def test_old_new_and_gone_findings_are_told_apart(here):
    code, out, err = checked(here, "-o", "json")
    answer = json.loads(out)
    assert (code, err) == (1, "")
    assert (names(answer["results"]), names(answer["gone"])) == (["new"], ["web"])
    assert [(each["suppressedBy"], each["reason"]) for each in answer["suppressed"]] == [("base", "already at main")]
    assert names(answer["suppressed"]) == ["old"]
    assert answer["summary"]["suppressed"]["base"] == 1


def test_old_findings_do_not_fail_the_run(here):
    (here / "vms/new.yaml").unlink()
    code, out, _ = checked(here, "--summary")
    assert code == 0
    head, gone, figures = out.splitlines()
    assert head == "gone since main:"
    assert gone.startswith("  error: vms/web.yaml:12:22: VirtualMachine shop/web: ")
    assert figures.endswith("KubeVirt 1.9.0, 1 suppressed (1 by --base), 1 gone since main")


def test_the_base_is_what_both_sides_have_in_common(here):
    (here / "vms/new.yaml").unlink()
    tree(here, {"vms/web.yaml": CONFLICT})
    git(here, "branch", "topic")
    commit(here, {"vms/old.yaml": CLEAN.replace("name: web", "name: old")})
    git(here, "switch", "-q", "topic")
    assert checked(here)[:2] == (0, "")
    assert checked(here, "--no-merge-base")[0] == 1


def test_a_finding_that_moves_to_another_line_is_old(here):
    tree(here, {"vms/new.yaml": "", "vms/old.yaml": "# a comment\n" + OLD, "vms/web.yaml": CONFLICT})
    assert checked(here)[:2] == (0, "")


def test_a_finding_that_an_annotation_ignores_now_is_not_gone(here):
    ignored = OLD.replace("  name: old", "  name: old\n  annotations: {kubevirt-render.dev/ignore: instancetype-conflict}")
    tree(here, {"vms/new.yaml": "", "vms/old.yaml": ignored, "vms/web.yaml": CONFLICT})
    code, out, _ = checked(here, "-o", "json")
    assert (code, json.loads(out)["gone"]) == (0, [])


def test_what_is_not_in_the_base_is_new(here):
    tree(here, {"more/new.yaml": NEW, "more/size.yaml": SIZE})
    code, out, _ = check("--base", "main", "-o", "json", "more", cwd=here)
    assert (code, names(json.loads(out)["results"])) == (1, ["new"])


def test_a_baseline_and_a_base_work_together(here):
    assert checked(here, "--baseline", "known.yaml", "--update-baseline")[0] == 0
    assert checked(here, "--baseline", "known.yaml")[:1] == (0,)


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_kustomizations_of_both_sides_are_built(here, kustomize):
    path = f"{Path(kustomize).parent}:{os.environ['PATH']}"
    base = {"base/kustomization.yaml": "resources: [size.yaml, web.yaml]\n", "base/size.yaml": SIZE, "base/web.yaml": CONFLICT}
    commit(here, {**base, "a/kustomization.yaml": "resources: [../base]\n", "vms/new.yaml": ""})
    tree(here, {"b/kustomization.yaml": "namePrefix: my-\nresources: [../base]\n"})
    code, out, err = check("--base", "main", "-o", "json", "a", "b", cwd=here, PATH=path)
    answer = json.loads(out)
    assert (code, err) == (1, "")
    conflicts = [each for each in answer["results"] if each["tags"]["rule"] == "instancetype-conflict"]
    assert (names(conflicts), names(answer["suppressed"]), answer["gone"]) == (["my-web"], ["web"], [])


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_shows_new_findings_only(here, name):
    code, out, err = checked(here, "-o", name)
    assert (code, err) == (1, "")
    match name:
        case "sarif":
            states = [(each["baselineState"], each["suppressions"]) for each in json.loads(out)["runs"][0]["results"]]
            assert states == [("new", []), ("unchanged", [])]
        case "gitlab":
            assert [each["location"]["path"] for each in json.loads(out)] == ["vms/new.yaml"]
        case "junit":
            assert [each.get("classname") for each in ET.fromstring(out).iter("testcase") if len(each)] == [
                "vms/new.yaml",
                "vms/old.yaml",
            ]
            assert ET.fromstring(out).get("failures") == "1"
        case "markdown":
            rendered = MarkdownIt("js-default", {"html": True}).render(out)
            assert "<summary>1 gone since main</summary>" in rendered
            assert rendered.count("<tr>") == 6
        case "tap":
            assert out.count("\nnot ok") == 1
            assert "# gone since main: error: vms/web.yaml:12:22" in out
        case "github":
            assert out.count("::error") == 1
        case "text":
            assert out.count("\n\ngone since main:\n  error: vms/web.yaml:12:22") == 1
        case "json":
            assert len(json.loads(out)["results"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", "nowhere", "vms"), "there is no commit 'nowhere'"),
        (("--merge-base", "vms"), "--merge-base needs --base"),
        (("--base", "main", "-"), "stdin (-) is on no side"),
        (("--base", "main", "nowhere"), "nowhere is on neither side"),
    ],
)
def test_wrong_usage_is_one_line(here, arguments, said):
    code, out, err = check(*arguments, cwd=here)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


OFF = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
metadata: {name: render}
spec: {severity: {instancetype-conflict: "off"}}
"""


def test_the_config_of_each_side_counts(here):
    tree(here, {"vms/.kubevirt-render.yaml": OFF})
    code, out, _ = checked(here, "-o", "json")
    assert (code, json.loads(out)["results"]) == (0, [])
