"""`kubevirt-render test`: cases with an input and what is expected of it."""

from xml.etree import ElementTree as ET

import pytest
from checking import SIZE, run, write

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: shop}
spec:
  runStrategy: Always
  instancetype: {kind: VirtualMachineInstancetype, name: small}
  template:
    spec:
      domain: {devices: {}}
"""
INPUT = f"{VM}---\n{SIZE}"
BAD = INPUT.replace("name: small}\n  template", "name: smal}\n  template")
FOUND = """\
rules: [unresolved-*]
findings:
- rule: unresolved-instancetype
  severity: error
  object: VirtualMachine shop/web
  path: spec.instancetype.name
"""
SOCKETS = "spec.template.spec.domain.cpu.sockets"


def case(top, name, **files):
    folder = top / name
    folder.mkdir(parents=True)
    write(folder, **files)
    return folder


def differences(top, *arguments):
    """The lines of the only case that fails."""
    code, out, err = run("test", ".", *arguments, cwd=top)
    assert (code, err) == (1, "")
    assert out.startswith("failed: ")
    assert out.splitlines()[-1].endswith("failed")
    return [line.strip() for line in out.splitlines()[1:-1]]


def test_cases_that_are_met_pass(tmp_path):
    case(tmp_path, "good", input=INPUT, expected="findings: []\n")
    case(tmp_path, "bad", input=BAD, expected=FOUND)
    fields = f"fields:\n- {{object: VirtualMachine shop/web, path: {SOCKETS}, value: 2}}\n"
    case(tmp_path, "size", input=INPUT, expected=fields)
    assert run("test", ".", cwd=tmp_path) == (0, "3 cases passed\n", "")


def test_each_finding_must_be_listed_and_each_entry_be_met(tmp_path):
    case(tmp_path, "bad", input=BAD, expected=FOUND.replace("severity: error", "severity: warning"))
    missing, unexpected = differences(tmp_path)
    assert missing == "missing finding: warning unresolved-instancetype: VirtualMachine shop/web: spec.instancetype.name"
    assert unexpected.startswith("unexpected finding: error unresolved-instancetype: VirtualMachine shop/web: ")


def test_two_equal_findings_need_two_entries(tmp_path):
    two = BAD + "---\n" + BAD.partition("---")[0].replace("name: web", "name: db")
    one = "rules: [unresolved-*]\nfindings:\n- rule: unresolved-instancetype\n"
    folder = case(tmp_path, "bad", input=two, expected=one)
    assert [line.partition(":")[0] for line in differences(tmp_path)] == ["unexpected finding"]
    (folder / "expected.yaml").write_text(one + "- {rule: unresolved-instancetype, object: VirtualMachine shop/db}\n")
    assert run("test", ".", cwd=tmp_path)[0] == 0


def test_an_exact_entry_takes_its_finding_before_a_general_one(tmp_path):
    two = BAD + "---\n" + BAD.partition("---")[0].replace("name: web", "name: db")
    entries = ("{rule: unresolved-instancetype}", "{rule: unresolved-instancetype, object: VirtualMachine shop/db}")
    case(tmp_path, "bad", input=two, expected="rules: [unresolved-*]\nfindings:\n" + "".join(f"- {each}\n" for each in entries))
    assert run("test", ".", cwd=tmp_path)[0] == 0


def test_so_many_rules_as_nobody_needs_are_an_error(tmp_path):
    case(tmp_path, "bad", input=INPUT, expected="findings: []\nrules:\n" + "- '*'\n" * 1_001)
    assert differences(tmp_path) == [
        "bad/expected.yaml:2:1: rules: found 1,001 rules; expected at most 1,000, or globs for many"
    ]


def test_long_golden_files_are_not_compared_line_by_line(tmp_path):
    data = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n" + "".join(f"  k{i}: a\n" for i in range(15_000))
    case(tmp_path, "bad", input=data, expected="description: a\n", rendered=data.replace("k7: a", "k7: b"))
    fact = "rendered.yaml differs from what render prints from line 12 on; it is too long to show how"
    assert differences(tmp_path) == [fact]


def test_only_findings_of_the_named_rules_count(tmp_path):
    case(tmp_path, "bad", input=BAD, expected='rules: ["duplicate-*"]\nfindings: []\n')
    assert run("test", ".", cwd=tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("path", "expected", "difference"),
    [
        (SOCKETS, "value: 1", "found 2; expected 1"),
        (SOCKETS, "value: '2'", "found 2; expected '2'"),
        (SOCKETS, "values: []", "found 2; expected nothing"),
        ("$.spec.template.spec.domain.cpu", "value: {sockets: 2}", "expected {sockets: 2}"),
        ("spec.nothing", "value: 1", "found nothing; expected 1"),
        ("$..interfaces[*].name", "values: [default, lan]", "found 'default'; expected 'default', 'lan'"),
    ],
)
def test_a_field_with_another_value_is_a_difference(tmp_path, path, expected, difference):
    case(tmp_path, "size", input=INPUT, expected=f"fields:\n- object: VirtualMachine shop/web\n  path: {path}\n  {expected}\n")
    (line,) = differences(tmp_path)
    assert line.startswith(f"VirtualMachine shop/web: {path}: found ")
    assert difference in line


@pytest.mark.parametrize("pattern", ["match(@.name, '(l+)+b')", "search(@.name, '(l+)+b')", "@.name =~ /(l+)+b/"])
def test_an_expression_with_very_many_ways_through_a_text_is_matched(tmp_path, pattern):
    name = "l" * 60
    fields = f'fields:\n- object: VirtualMachine shop/{name}\n  path: "$..[?{pattern}].name"\n  value: x\n'
    case(tmp_path, "size", input=INPUT.replace("name: web", f"name: {name}"), expected=fields)
    (line,) = differences(tmp_path)
    assert line.endswith(": found nothing; expected 'x'")


def test_a_path_that_takes_too_much_work_is_an_error_of_its_case(tmp_path):
    annotations = ", ".join(f"example.com/a{number}: b" for number in range(900))
    vm = INPUT.replace("metadata: {", f"metadata: {{annotations: {{{annotations}}}, ", 1)
    path = "$..[?$..[?$..[?@.name]]]"
    case(tmp_path, "size", input=vm, expected=f'fields:\n- object: VirtualMachine shop/web\n  path: "{path}"\n  value: x\n')
    code, out, _ = run("test", ".", cwd=tmp_path)
    why = "it takes more than its share of the work of a run; write a simpler path"
    assert (code, f"fields: {path} has no value: {why}" in out) == (1, True)


def test_no_secret_is_shown(tmp_path):
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hunter2}\n"
    fields = "fields:\n- {object: Secret s, path: stringData.a, value: x}\n- {object: Secret s, path: $..*, value: x}\n"
    case(tmp_path, "s", input=secret, expected=fields)
    lines = differences(tmp_path)
    assert len(lines) == 2
    assert "hunter2" not in "".join(lines)


def test_a_golden_file_is_what_render_prints(tmp_path):
    folder = case(tmp_path, "size", input=INPUT, expected="", rendered="")
    assert differences(tmp_path)[:2] == ["--- rendered.yaml", "+++ what render prints"]
    assert run("test", ".", "--update", cwd=tmp_path) == (0, "", "kubevirt-render: note: wrote size/rendered.yaml\n")
    assert (folder / "rendered.yaml").read_text() == run("render", "input.yaml", cwd=folder)[1]
    assert run("test", ".", cwd=tmp_path) == (0, "1 case passed\n", "")


def test_a_case_that_is_not_rendered_says_why(tmp_path):
    case(tmp_path, "bad", input=BAD, expected="", rendered="")
    (line,) = differences(tmp_path)
    assert line.startswith("bad: nothing is rendered, because of this finding: error: bad/input.yaml:6:")


def test_a_case_has_its_own_config_and_flags_beat_it(tmp_path):
    kind = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
    config = f"{kind}spec: {{severity: {{unresolved-instancetype: off}}}}\n"
    case(tmp_path, "bad", input=BAD, config=config, expected="rules: [unresolved-*]\nfindings: []\n")
    assert run("test", ".", cwd=tmp_path)[0] == 0
    assert run("test", ".", "--severity", "unresolved-instancetype=info", cwd=tmp_path)[0] == 1


def test_the_config_of_the_repository_counts_unless_isolated(tmp_path):
    (tmp_path / ".git").mkdir()
    config = "kind: RenderVirtualMachines\nspec: {severity: {unresolved-instancetype: off}}\n"
    (tmp_path / ".kubevirt-render.yaml").write_text(config)
    case(tmp_path, "bad", input=BAD, expected="rules: [unresolved-*]\nfindings: []\n")
    assert run("test", ".", cwd=tmp_path)[0] == 0
    assert run("test", ".", "--isolated", cwd=tmp_path)[0] == 1


def test_update_keeps_comments_and_entries_that_are_met(tmp_path):
    expected = "# why\nfindings:\n- rule: unresolved-instancetype  # as short as it is\n- rule: gone\n"
    folder = case(tmp_path, "bad", input=BAD, expected=expected + "rules: [unresolved-instancetype]\n")
    assert run("test", ".", "--update", cwd=tmp_path)[0] == 0
    text = (folder / "expected.yaml").read_text()
    assert text == "# why\nfindings:\n- rule: unresolved-instancetype  # as short as it is\nrules: [unresolved-instancetype]\n"
    message = "kubevirt-render: note: all expectations are met; nothing was written\n"
    assert run("test", ".", "--update", cwd=tmp_path) == (0, "", message)


def test_update_writes_the_first_expectations(tmp_path):
    folder = case(tmp_path, "bad", input=BAD)
    assert differences(tmp_path) == [
        "bad/expected.yaml: nothing is expected here; run `kubevirt-render test --update` to write the findings that there are"
    ]
    assert run("test", ".", "--update", cwd=tmp_path) == (0, "", "kubevirt-render: note: wrote bad/expected.yaml\n")
    assert "- rule: unresolved-instancetype\n" in (folder / "expected.yaml").read_text()
    assert run("test", ".", cwd=tmp_path) == (0, "1 case passed\n", "")


def test_update_writes_values_of_fields(tmp_path):
    fields = "fields:\n- object: VirtualMachine shop/web\n  path: {}\n  value: {}\n"
    folder = case(tmp_path, "size", input=INPUT, expected=fields.format(SOCKETS, 7))
    run("test", ".", "--update", cwd=tmp_path)
    assert (folder / "expected.yaml").read_text() == fields.format(SOCKETS, 2)


def test_inputs_are_shared_files_below_the_tested_folder(tmp_path):
    write(tmp_path, size=SIZE)
    top = tmp_path / "top"
    case(top, "shared", vm=VM, expected="inputs: [vm.yaml, ../../size.yaml]\nfindings: []\n")
    message = "shared/expected.yaml: the input ../../size.yaml lies outside of the folder that is tested"
    assert differences(top) == [message]
    assert run("test", ".", cwd=tmp_path)[0] == 0


def test_a_link_that_leads_out_is_no_input(tmp_path):
    top = tmp_path / "top"
    folder = case(top, "link", expected="inputs: [vm.yaml]\nfindings: []\n")
    write(tmp_path, vm=VM)
    (folder / "vm.yaml").symlink_to(tmp_path / "vm.yaml")
    assert differences(top) == ["link/expected.yaml: the input vm.yaml lies outside of the folder that is tested"]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("finding: []", "bad/expected.yaml:1:1: finding: unknown key; expected one of description, inputs, rules"),
        ("findings: {}", "bad/expected.yaml:1:1: findings: found a map; expected a list of findings"),
        ("findings:\n- {severity: error}", "bad/expected.yaml:2:3: findings[0].rule: each finding needs its rule; add it"),
        ("findings:\n- {rule: x, severity: eror}", "expected one of error, warning, info; did you mean error"),
        ("fields:\n- {object: VirtualMachine shop/web, path: x}", "each field needs either `value`, or `values`"),
        ("fields:\n- {object: VirtualMachine shop/web, path: 'x[', value: 1}", "x[ is no JSONPath: "),
        ("fields:\n- {object: VirtualMachine shop/wbe, path: x, value: 1}", "; did you mean VirtualMachine shop/web"),
        ("inputs: [nothing.yaml]\nfindings: []", "bad/expected.yaml: there is no nothing.yaml; inputs are paths relative to"),
        ("[", "bad/expected.yaml:2:1: a value is missing here"),
    ],
)
def test_a_wrong_case_fails_and_the_others_run(tmp_path, expected, message):
    case(tmp_path, "bad", input=INPUT, expected=expected + "\n")
    case(tmp_path, "good", input=INPUT, expected="findings: []\n")
    code, out, err = run("test", ".", cwd=tmp_path)
    assert (code, err) == (1, "")
    assert out.startswith("failed: bad\n  ")
    assert message in out
    assert out.endswith("\n1 of 2 cases failed\n")


def test_tap_and_junit_have_a_test_for_each_case(tmp_path):
    case(tmp_path, "vms/bad", input=BAD, expected="rules: [unresolved-*]\nfindings: []\n")
    case(tmp_path, "vms/good", input=INPUT, expected="findings: []\n")
    code, out, err = run("test", ".", "-o", "tap", "-o", "junit=report.xml", cwd=tmp_path)
    assert (code, err) == (1, "")
    assert out.startswith("TAP version 14\n1..2\nnot ok 1 - vms/bad\n  ---\n  differences:\n  - ")
    assert out.endswith("\n  ...\nok 2 - vms/good\n# 1 of 2 cases failed\n")
    root = ET.parse(tmp_path / "report.xml").getroot()
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [("vms", "2", "1")]
    assert root.find("testsuite/testcase/failure").get("message").startswith("unexpected finding: ")


def test_a_folder_without_cases_is_an_error(tmp_path):
    message = "no case found in .; expected folders with expected.yaml"
    assert run("test", ".", cwd=tmp_path) == (1, "", f"kubevirt-render: error: {message}\n")
    assert run("test", "x", cwd=tmp_path)[0] == 2


def field(expression, value=""):
    more = f"\n  value: {value}" if value else ""
    return f"fields:\n- object: VirtualMachine shop/web\n  cel: {expression}{more}\n"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"object.{SOCKETS} == 2", ""),
        (f"object.{SOCKETS}", "2"),
        ("object.metadata.name + '!'", "web!"),
        ("has(object.spec.instancetype)", "false"),
        ("quantity(object.spec.template.spec.domain.memory.guest).isGreaterThan(quantity('1Gi'))", "true"),
    ],
)
def test_an_expression_gives_a_field(tmp_path, expression, value):
    case(tmp_path, "size", input=INPUT, expected=field(expression, value))
    assert run("test", ".", cwd=tmp_path) == (0, "1 case passed\n", "")


@pytest.mark.parametrize(
    ("expression", "value", "difference"),
    [
        (f"object.{SOCKETS} == 3", "", "found false; expected true"),
        (f"object.{SOCKETS}", "3", "found 2; expected 3"),
        ("object.spec.absent == 1", "", "has no value: no such key"),
        ("nobody == 1", "", "has no value: nobody is not declared"),
        ("((", "", "has no value: "),
    ],
)
def test_an_expression_with_another_value_or_none_is_a_difference(tmp_path, expression, value, difference):
    case(tmp_path, "size", input=INPUT, expected=field(f'"{expression}"', value))
    (line,) = differences(tmp_path)
    assert difference in line


@pytest.mark.parametrize("end", ["[0].cloudInitNoCloud.userData", ".map(volume, volume.cloudInitNoCloud.userData)[0]"])
def test_the_value_of_an_expression_that_reads_a_secret_is_not_shown(tmp_path, end):
    secret = INPUT.replace(
        "{devices: {}}", "{devices: {}}\n      volumes: [{name: a, cloudInitNoCloud: {userData: hidden-word}}]"
    )
    case(tmp_path, "size", input=secret, expected=field(f'"object.spec.template.spec.volumes{end}"', "no"))
    (line,) = differences(tmp_path)
    assert line.endswith("found 1 value; expected 1 value")


def test_update_keeps_expressions(tmp_path):
    folder = case(tmp_path, "size", input=INPUT, expected=field(f"object.{SOCKETS}", "3"))
    assert run("test", ".", "--update", cwd=tmp_path)[0] == 0
    assert f"  cel: object.{SOCKETS}\n  value: 2\n" in (folder / "expected.yaml").read_text()
