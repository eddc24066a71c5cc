"""`check` of files with an unreadable document: the others are judged, and nothing is concluded from missing objects."""

import pytest
from checking import CONFLICT, SIZE, check, write

from krm_fn.findings.finding import Finding
from krm_fn.sources.salvage import Doubts, salvage

TWICE = "kind: ConfigMap\nkind: Secret\n"
TAB = "kind: ConfigMap\nmetadata:\n\tname: web\n"
OPEN = 'kind: "ConfigMap\n'
FINE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n"


def lines(text):
    return [(each.error.line, each.text.decode()) for each in salvage(text.encode(), "a.yaml")[1]]


def test_a_text_that_can_be_read_is_left_as_it_is():
    assert salvage(f"{FINE}---\n{FINE}".encode(), "a.yaml") == (f"{FINE}---\n{FINE}".encode(), ())


@pytest.mark.parametrize(("broken", "line"), [(TWICE, 2), (TAB, 3), (OPEN, 2)])
def test_the_first_document_is_emptied_and_the_second_stays_in_its_lines(broken, line):
    data, (lost,) = salvage(f"{broken}---\n{FINE}".encode(), "a.yaml")
    assert (lost.error.line, lost.text.decode()) == (line, broken)
    assert data == ("\n" * broken.count("\n") + f"---\n{FINE}").encode()


@pytest.mark.parametrize(("broken", "line"), [(TWICE, 7), (TAB, 8), (OPEN, 7)])
def test_the_same_behind_a_mark(broken, line):
    text = f"---\n{FINE}---\n{broken}---\n{FINE}"
    data, (lost,) = salvage(text.encode(), "a.yaml")
    assert (lost.error.line, lost.text.decode()) == (line, f"---\n{broken}")
    assert data.decode().count("fine") == 2


def test_all_documents_that_cannot_be_read_are_reported():
    assert [line for line, _ in lines(f"{TWICE}---\n{FINE}---\n{TAB}---\n{OPEN}---\n{FINE}")] == [2, 10, 13]


def test_a_document_that_can_be_read_is_kept_whatever_stands_before_and_behind_it():
    broken = [TWICE, TAB, OPEN, "a: [\n", "a: *b\n"]
    documents = [broken[number % 5] if number in (0, 3, 4, 9, 17, 18, 30) else FINE for number in range(40)]
    data, lost = salvage("---\n".join(documents).encode(), "a.yaml")
    assert data.decode().count("fine") == 33
    assert [each.error.line for each in lost] == [2, 13, 14, 32, 63, 65, 111]


def test_each_of_the_documents_with_the_same_mistake_is_reported(tmp_path):
    write(tmp_path, vm=f"{TWICE}---\n{TWICE}---\n{FINE}---\n{TWICE}")
    told = check(".", cwd=tmp_path)[1].splitlines()
    assert [line.split(" ")[1] for line in told] == ["vm.yaml:2:1:", "vm.yaml:5:1:", "vm.yaml:12:1:"]


def test_an_open_bracket_costs_only_its_own_document():
    text = f"a: [\n--- # next\n{FINE}"
    data, (lost,) = salvage(text.encode(), "a.yaml")
    assert (lost.text, data.decode()) == (b"a: [\n", f"\n--- # next\n{FINE}")


def test_a_finding_is_in_doubt_where_a_lost_document_holds_the_name_as_a_word():
    lost = salvage(b"kind: A\nkind: B\nmetadata: {name: web-1}\n", "a.yaml")[1]
    missing = Finding(rule="missing-object", severity="warning", message="")
    names = ("web-1", "shop/web-1", "web", "web-1-root")
    assert [name for name in names if Doubts(lost).concern(missing.but(current=name))] == ["web-1", "shop/web-1"]
    assert not Doubts(lost).concern(missing.but(rule="wrong-type", current="web-1"))


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"{", b"a: b: c", b"--- [", b"%YAML 9\n---\na", b"a: *b", b"\x00"])
def test_no_bytes_keep_it_from_ending(data):
    left, lost = salvage(data, "a.yaml")
    assert salvage(left, "a.yaml") == (left, ())
    assert lost


def test_the_others_are_judged(tmp_path):
    write(tmp_path, size=SIZE, vm=f"{TAB}---\n{CONFLICT}")
    code, out, err = check(".", cwd=tmp_path)
    first, second = out.splitlines()
    assert (code, err) == (1, "")
    assert first == "error: vm.yaml:3:1: a tab is used for indentation; indent with spaces (unreadable-document)"
    assert second.startswith("error: vm.yaml:16:22: VirtualMachine shop/web: spec.template.spec.domain.cpu.cores: ")


def test_what_the_lost_document_may_hold_is_not_missed(tmp_path):
    write(tmp_path, size=SIZE + "  cpu: {}\n", vm=CONFLICT)
    assert [line.rpartition(" ")[2] for line in check(".", cwd=tmp_path)[1].splitlines()] == ["(unreadable-document)"]
    write(tmp_path, size=TAB)
    rules = [line.rpartition(" ")[2] for line in check(".", cwd=tmp_path)[1].splitlines()]
    assert rules == ["(unreadable-document)", "(unresolved-instancetype)"]


def test_it_fails_in_any_case(tmp_path):
    write(tmp_path, vm=TAB)
    assert check(".", "--fail-on", "never", cwd=tmp_path)[0] == 1
    code, out, err = check(".", "--severity", "unreadable-document=off", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert "vm.yaml:3:1: a tab" in err


def test_stdin_is_one_document_with_what_follows(tmp_path):
    code, out, err = check("-", cwd=tmp_path, stdin=f"{FINE}---\n{TAB}")
    assert (code, out) == (1, "")
    assert "stdin:7:1: a tab" in err
