"""Messages stay lines that people can read, whatever the input holds; data fields stay exact."""

import json

import pytest
from checking import CONFLICT, SIZE, check, run, write
from ruling import FOLDERS, documents

from krm_fn.base.console import one_line
from krm_fn.base.paths import leaves, put_in
from krm_fn.findings import results
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages

MANY = "x" * 100_000
LONGEST = 2_000


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a  b\n c", "a b c"),
        ("x" * 400, "x" * 400),
        (f"name {'x' * 400}; fix it", f"name {'x' * 80}...{'x' * 39}; fix it"),
        ("a " * 999 + "ab", "a " * 999 + "ab"),
        ("a " * 1000 + "is wrong; fix it", "a " * 700 + " ... " + "a " * 242 + "is wrong; fix it"),
        (" a\n" * 9000 + "is wrong; fix it ", "a " * 700 + " ... " + "a " * 242 + "is wrong; fix it"),
        (
            f"{MANY} " + "a  " * 9000 + MANY,
            f"{'x' * 80}...{'x' * 40} " + "a " * 638 + " ...  " + "a " * 188 + f"{'x' * 80}...{'x' * 40}",
        ),
    ],
)
def test_a_message_is_one_line_that_is_cut_where_nobody_reads_on(text, line):
    assert one_line(text) == line


def extended(item, more):
    """The object with more text behind every text; names that are equal stay so."""
    for path, value in leaves(item):
        if isinstance(value, str) and path not in (("apiVersion",), ("kind",)):
            item = put_in(item, path, value + more)
    return item


def renamed(item):
    """The object with a long key in place of the first one below `spec`."""
    if isinstance(item, dict) and isinstance(item.get("spec"), dict) and item["spec"]:
        first, *_ = item["spec"]
        return {**item, "spec": {MANY if key == first else key: value for key, value in item["spec"].items()}}
    return item


@pytest.mark.parametrize("mode", ["expand", "validate"])
@pytest.mark.parametrize("change", [renamed, lambda item: extended(item, MANY), lambda item: extended(item, " y" * 50_000)])
def test_no_rule_says_more_than_a_line(mode, change):
    for path in sorted(FOLDERS.glob("*/bad/*.yaml")):
        if path.parts[-3] in ("foreign-document", "unreadable-document", "unrendered-template"):
            continue
        items = [change(item) for item in documents(path.read_text())[0]]
        found = stages.render(items, Config(mode=mode)).findings
        assert [finding.rule for finding in found if len(finding.message) > LONGEST] == []
        assert [finding.rule for finding in found if len(results.line(finding)) > LONGEST + len("warning: ")] == []


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, vm=CONFLICT.replace("web", MANY), size=SIZE)


@pytest.mark.parametrize("form", ["text", "github", "gitlab", "markdown", "junit"])
def test_forms_for_people_cut_a_long_name(folder, form):
    code, out, err = check("-o", form, "vm.yaml", "size.yaml", cwd=folder)
    assert (code, err) == (1, "")
    assert max(map(len, out.splitlines())) < LONGEST
    assert f"{'x' * 80}...{'x' * 40}" in out


def test_data_fields_have_the_whole_name(folder):
    found = json.loads(check("-o", "json", "vm.yaml", "size.yaml", cwd=folder)[1])
    assert {one["resourceRef"]["name"] for one in found["results"]} == {MANY}
    log = json.loads(check("-o", "sarif", "vm.yaml", "size.yaml", cwd=folder)[1])
    places = [one["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for one in log["runs"][0]["results"]]
    assert f"VirtualMachine shop/{MANY}: spec.template.spec.domain.cpu.cores" in places


@pytest.mark.parametrize(
    ("arguments", "config"),
    [
        (("check", "vm.yaml", "--severity", f"{MANY}=off"), ""),
        (("check", "vm.yaml", "--config", "config.yaml"), f"{MANY}: 1"),
        (("check", "vm.yaml", "--config", "config.yaml"), f"? {MANY}\n: 1\n? {MANY}\n: 2\n"),
        (("check", "vm.yaml", "--config", "config.yaml"), f"a: *{MANY}"),
        ((MANY,), ""),
    ],
)
def test_an_error_is_a_line_too(folder, arguments, config):
    write(folder, config=config)
    code, out, err = run(*arguments, cwd=folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert len(err) < LONGEST


def test_an_error_holds_nothing_that_a_terminal_would_obey(folder):
    write(folder, config='apiVersion: v1\nkind: ConfigMap\ndata: {"\\e[31mred": a}\n')
    _, _, err = run("check", "vm.yaml", "--config", "config.yaml", cwd=folder)
    assert "\x1b" not in err
    assert "[31mred" in err
