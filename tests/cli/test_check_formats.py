"""The forms in which `check` writes what it finds."""

import json
import re
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema
from checking import CONFLICT, IGNORED, SIZE, check, write
from running import HOSTS, ROOT, absent
from sarif_pydantic import Sarif

from krm_fn import yamlio
from krm_fn.cli.formats import FORMATS

SCHEMAS = ROOT / "tests" / "schemas"
PLANTED = ROOT / "fixtures" / "planted" / "first"
JUNIT = HOSTS / "junit-10.xsd"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "size #1").mkdir()
    write(tmp_path / "size #1", small=SIZE)
    return write(tmp_path, list=IGNORED, web=CONFLICT)


def written(name, folder, *arguments, **more):
    severity = "--severity", "deprecated-field=info", "--severity", "unresolved-instancetype=error"
    code, out, err = check("-o", name, *severity, *arguments, ".", cwd=folder, **more)
    assert (code, err) == (1, "")
    return out


def valid(name, text):
    value = json.loads(text)
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)
    return value


def test_the_formats_are_those_that_are_promised():
    assert set(FORMATS) == {"text", "json", "sarif", "junit", "github", "gitlab", "tap", "markdown"}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_clean_folder_is_clean_in_every_format(name, tmp_path):
    write(tmp_path, size=SIZE)
    code, out, err = check("-o", name, ".", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert "VirtualMachineInstancetype shop/small: " not in out


# ---- text


def test_text_is_a_line_a_finding_and_figures_at_the_end(folder):
    lines = written("text", folder, "--summary").splitlines()
    assert [line.split(": ")[:2] for line in lines[:2]] == [["error", "web.yaml:12:22"], ["info", "list.yaml:18:14"]]
    assert lines[2:] == ["1 error, 0 warnings, 1 info in 4 objects of 3 files, KubeVirt 1.9.0, 1 suppressed (1 by an ignore)"]


def test_text_names_the_other_file_in_the_message(folder):
    assert written("text", folder).splitlines()[0].endswith(" from the VM (see size #1/small.yaml) (instancetype-conflict)")


QUOTED = """\
            cpu: {cores: 4}
                         ^
    size #1/small.yaml:6:12: VirtualMachineInstancetype shop/small: spec.cpu.guest
"""


def test_a_terminal_gets_the_line_with_a_caret_and_the_other_place(folder):
    assert QUOTED in written("text", folder, "--color", "never", tty=True)


def test_a_pipe_gets_neither_colour_nor_quoted_lines(folder):
    out = written("text", folder)
    assert ("\x1b" in out, "^" in out) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "environment", "tty", "colored"),
    [
        ([], {}, True, True),
        ([], {}, False, False),
        ([], {"NO_COLOR": "1"}, True, False),
        ([], {"NO_COLOR": ""}, True, True),
        ([], {"TERM": "dumb"}, True, False),
        (["--color", "always"], {"NO_COLOR": "1"}, False, True),
        (["--color", "never"], {}, True, False),
    ],
)
def test_colour_goes_where_it_is_wanted(folder, arguments, environment, tty, colored):
    assert ("\x1b[1;31merror\x1b[0m: web.yaml" in written("text", folder, *arguments, tty=tty, **environment)) is colored


def test_files_get_no_colour(folder):
    check("-o", "text=out.txt", "--color", "always", ".", cwd=folder, tty=True)
    text = (folder / "out.txt").read_text()
    assert ("\x1b" in text, "^" in text) == (False, False)


def test_the_caret_stands_below_the_value_behind_wide_letters_and_tabs(tmp_path):
    write(
        tmp_path,
        vm='{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec":\n'
        '\t{"x日本": 1, "runStrategy": "Always", "instancetype": {"name": "smal"}, "template": {}}}',
    )
    lines = written("text", tmp_path, "--color", "never", tty=True).splitlines()
    quoted = next(number for number, line in enumerate(lines) if '"smal"' in line and number)
    assert lines[quoted].startswith('     {"x日本": 1, ')
    assert len(lines[quoted + 1]) == lines[quoted].index('"smal"') + 2 + 1  # two letters are twice as wide


def test_no_line_with_a_secret_is_quoted(tmp_path):
    write(
        tmp_path,
        vm="""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a}
spec:
  runStrategy: Always
  template:
    spec:
      domain: {devices: {}, memory: {guest: 1Gi}}
      volumes:
      - {name: ci, cloudInitNoCloud: {userDta: x, userData: "password: hunter2"}}
""",
    )
    out = written("text", tmp_path, tty=True) + written("json", tmp_path) + written("sarif", tmp_path)
    assert "userDta" in out
    assert "hunter2" not in out


# ---- json


def test_json_has_krm_results_with_line_column_fingerprint_and_related_places(folder):
    value = json.loads(written("json", folder))
    silenced = {"ignore": 1, "baseline": 0, "config": 0, "flag": 0}
    counted = {"error": 1, "warning": 0, "info": 1, "objects": 4, "files": 3}
    assert value["summary"] == {**counted, "kubevirt": "1.9.0", "suppressed": silenced}
    first = value["results"][0]
    assert (first["file"], first["line"], first["column"]) == ({"path": "web.yaml", "index": 0}, 12, 22)
    assert first["related"] == [
        {
            "object": "VirtualMachineInstancetype shop/small",
            "path": "spec.cpu.guest",
            "file": "size #1/small.yaml",
            "line": 6,
            "column": 12,
        }
    ]
    assert [(each["suppressedBy"], each["reason"], each["line"]) for each in value["suppressed"]] == [
        ("ignore", "goes with #12", 13)
    ]


# ---- sarif


def test_sarif_is_valid_and_says_where_and_why(folder):
    run = valid("sarif", written("sarif", folder))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["deprecated-field", "instancetype-conflict"]
    told = [(each["ruleId"], rules[each["ruleIndex"]], each["level"]) for each in run["results"]]
    assert told == [
        ("instancetype-conflict", "instancetype-conflict", "error"),
        ("deprecated-field", "deprecated-field", "note"),
        ("instancetype-conflict", "instancetype-conflict", "error"),
    ]
    physical = run["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {
        "artifactLocation": {"uri": "web.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 12, "startColumn": 22},
    }


def test_sarif_names_the_instancetypes_place_as_related(folder):
    (related,) = valid("sarif", written("sarif", folder))["runs"][0]["results"][0]["relatedLocations"]
    assert related["physicalLocation"] == {
        "artifactLocation": {"uri": "size%20%231/small.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 6, "startColumn": 12},
    }
    assert related["message"]["text"] == "VirtualMachineInstancetype shop/small: spec.cpu.guest"


def test_sarif_carries_what_is_ignored_as_suppressed(folder):
    results = valid("sarif", written("sarif", folder))["runs"][0]["results"]
    ignored = {"kind": "inSource", "status": "accepted", "justification": "goes with #12"}
    assert [each["suppressions"] for each in results] == [[], [], [ignored]]


def test_sarif_helps_with_the_rules_documentation(folder):
    rule = valid("sarif", written("sarif", folder))["runs"][0]["tool"]["driver"]["rules"][1]
    assert rule["shortDescription"]["text"] == "A VM sets a field that its instancetype sets"
    assert re.findall(r"^## (.*)$", rule["help"]["markdown"], re.MULTILINE) == [
        "What it finds",
        "Why it matters",
        "Fix",
        "Example",
    ]


def test_sarif_of_stdin_has_no_file(folder):
    code, out, _ = check("-o", "sarif", "-", cwd=folder, stdin=CONFLICT + "---\n" + SIZE)
    (result,) = valid("sarif", out)["runs"][0]["results"]
    assert code == 1
    assert list(result["locations"][0]) == ["logicalLocations"]


def test_a_file_elsewhere_is_named_by_its_whole_path(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    _, out, _ = check("-o", "sarif", str(folder / "web.yaml"), cwd=elsewhere)
    (result,) = valid("sarif", out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": (folder / "web.yaml").as_uri()}


def test_files_below_this_folder_are_named_from_here(folder):
    (file,) = {
        each["location"]["path"] for each in valid("gitlab", check("-o", "gitlab", str(folder / "web.yaml"), cwd=folder)[1])
    }
    assert file == "web.yaml"


# ---- junit

ATTRIBUTES = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"failure", "skipped", "system-out"}),
    "failure": ({"type", "message"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}


def planted(tmp_path, name):
    """The form of what is found in a large bundle with many kinds of mistakes."""
    code, out, _ = check("-o", name, str(PLANTED), cwd=tmp_path)
    assert code == 1
    return out


def test_sarif_reads_as_another_model_of_the_format_knows_it(tmp_path):
    given = json.loads(planted(tmp_path, "sarif"))
    read = Sarif.model_validate(given)
    assert len(read.runs[0].results) > 20
    assert keys_of(given) - keys_of(json.loads(read.model_dump_json(by_alias=True, exclude_none=True))) == set()


def keys_of(value, path=()):
    """Every path of keys in a value, list entries taken together."""
    if isinstance(value, list):
        return {found for item in value for found in keys_of(item, path)}
    if not isinstance(value, dict):
        return {path}
    return {found for key, item in value.items() for found in keys_of(item, (*path, key))}


def test_junit_is_valid_against_its_published_schema(tmp_path):
    if not JUNIT.exists():
        absent("schema of JUnit")
    assert list(xmlschema.XMLSchema(JUNIT).iter_errors(planted(tmp_path, "junit"))) == []


def test_junit_has_only_what_the_common_schema_knows(folder):
    root = ET.fromstring(written("junit", folder))
    for element in root.iter():
        attributes, children = ATTRIBUTES[element.tag]
        assert set(element.attrib) == attributes
        assert {child.tag for child in element} <= children


def test_junit_has_a_case_for_each_finding_and_each_clean_object(folder):
    root = ET.fromstring(written("junit", folder))
    assert root.attrib == {"name": "kubevirt-render", "tests": "4", "failures": "1", "errors": "0"}
    told = [(suite.get("name"), case.get("name"), [each.tag for each in case]) for suite in root for case in suite]
    conflict = "instancetype-conflict: VirtualMachine shop/{}: spec.template.spec.domain.cpu.cores"
    assert told == [
        ("list.yaml", conflict.format("db"), ["skipped"]),
        ("list.yaml", "deprecated-field: VirtualMachine shop/old: spec.running", ["system-out"]),
        ("size #1/small.yaml", "VirtualMachineInstancetype shop/small", []),
        ("web.yaml", conflict.format("web"), ["failure"]),
    ]


@pytest.mark.parametrize(("fail_on", "failures"), [("error", "1"), ("never", "1")])
def test_junit_fails_as_the_command_does_and_for_errors_where_that_never_does(folder, fail_on, failures):
    _, out, _ = check("-o", "junit", "--fail-on", fail_on, ".", cwd=folder)
    assert ET.fromstring(out).get("failures") == failures


def test_junit_drops_what_xml_cannot_hold(tmp_path):
    write(tmp_path, vm=CONFLICT.replace("name: small}", 'name: "sm\\x01all"}'))
    assert ET.fromstring(written("junit", tmp_path)).get("failures") != "0"


# ---- tap


def test_tap_has_a_plan_and_a_point_for_each_case(folder):
    lines = written("tap", folder, "--summary").splitlines()
    assert lines[:2] == ["TAP version 14", "1..4"]
    conflict = "instancetype-conflict: VirtualMachine shop/{}: spec.template.spec.domain.cpu.cores"
    assert [line for line in lines if line.startswith(("ok", "not ok", "#"))] == [
        f"ok 1 - {conflict.format('db')} # SKIP goes with \\#12",
        "ok 2 - deprecated-field: VirtualMachine shop/old: spec.running",
        "ok 3 - VirtualMachineInstancetype shop/small in size \\#1/small.yaml",
        f"not ok 4 - {conflict.format('web')}",
        "# 1 error, 0 warnings, 1 info in 4 objects of 3 files, KubeVirt 1.9.0, 1 suppressed (1 by an ignore)",
    ]


def test_the_diagnoses_of_tap_are_yaml(folder):
    blocks = re.findall(r"^  ---\n(.*?)^  \.\.\.$", written("tap", folder), re.MULTILINE | re.DOTALL)
    diagnoses = [yamlio.read_value(block) for block in blocks]
    assert [(each["severity"], each["at"]) for each in diagnoses] == [("info", "list.yaml:18:14"), ("error", "web.yaml:12:22")]


# ---- github, gitlab, markdown


def test_github_gets_a_command_a_finding_with_its_place(folder):
    lines = written("github", folder).splitlines()
    assert lines[0].startswith(
        "::error file=web.yaml,line=12,col=22,title=instancetype-conflict::VirtualMachine shop/web: "
        "spec.template.spec.domain.cpu.cores: "
    )
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::notice"]


def test_github_properties_are_escaped(tmp_path):
    write(tmp_path, **{"50%, a:b": CONFLICT})
    assert "::error file=50%25%2C a%3Ab.yaml,line=8," in written("github", tmp_path)


def test_gitlab_is_valid_and_its_fingerprints_are_unique(folder):
    write(folder, again=CONFLICT)
    issues = valid("gitlab", written("gitlab", folder))
    assert [(each["severity"], each["location"]["path"], each["location"]["lines"]["begin"]) for each in issues] == [
        ("critical", "again.yaml", 12),
        ("critical", "web.yaml", 12),
        ("info", "list.yaml", 18),
    ]
    assert len({each["fingerprint"] for each in issues}) == 3


def test_gitlab_gets_a_place_even_for_stdin(folder):
    _, out, _ = check("-o", "gitlab", "-", cwd=folder, stdin=CONFLICT + "---\n" + SIZE)
    assert valid("gitlab", out)[0]["location"] == {"path": "stdin", "lines": {"begin": 12}}


def test_markdown_is_a_comment_with_a_mark_a_table_and_what_is_suppressed(folder):
    lines = written("markdown", folder).splitlines()
    assert lines[:5] == [
        "<!-- kubevirt-render check -->",
        (
            "### kubevirt-render: 1 error, 0 warnings, 1 info in 4 objects of 3 files, KubeVirt 1.9.0, "
            "1 suppressed (1 by an ignore)"
        ),
        "",
        "| | place | object | finding |",
        "|---|---|---|---|",
    ]
    assert lines[5].startswith("| :x: | `web.yaml:12:22` | `VirtualMachine shop/web` | spec.template.spec.domain.cpu.cores: ")
    assert lines[5].endswith(" (instancetype-conflict) |")
    assert "<details><summary>1 suppressed</summary>" in lines
    assert any(line.endswith(" | goes with `#12` |") for line in lines)


def test_nothing_in_markdown_ends_a_cell_or_calls_somebody(tmp_path):
    write(tmp_path, vm=CONFLICT.replace("name: small}", 'name: "a|b @team <b> `x`"}'))
    row = next(line for line in written("markdown", tmp_path).splitlines() if line.startswith("| :x:"))
    assert row.count("|") == 5
    assert r"`shop/a\x7cb @team <b> \x60x\x60` is not found" in row


def test_markdown_fits_into_a_comment_whatever_there_is_to_say(tmp_path):
    many = [CONFLICT.replace("name: web", f"name: web-{number}") for number in range(400)]
    write(tmp_path, vm="---\n".join([SIZE, *many]))
    out = written("markdown", tmp_path)
    assert len(out) < 65536
    assert re.search(r"^\| \| \| \| and \d+ more \|$", out, re.MULTILINE)


# ---- several


def test_several_formats_are_written_in_one_run(folder):
    code, out, _ = check("-o", "sarif=out.sarif", "-o", "junit=out.xml", "-o", "text", ".", cwd=folder)
    assert (code, out.count("\n")) == (1, 2)
    assert valid("sarif", (folder / "out.sarif").read_text())
    assert ET.parse(folder / "out.xml").getroot().tag == "testsuites"
