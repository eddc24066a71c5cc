"""The last line of `check` on a terminal."""

from __future__ import annotations

import json

import pytest
from checking import CONFLICT, IGNORED, SIZE, check, run, write
from trees import tree

from krm_fn.cli.check import tally
from krm_fn.cli.formats import CheckReport
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.repositories.judging import UnitResult


def findings(*severities: str) -> tuple[Finding, ...]:
    return tuple(Finding(rule="some-rule", severity=severity, message="m") for severity in severities)


def unit(name: str = "", **more: object) -> UnitResult:
    return UnitResult(release=NEWEST, fail_on="error", name=name, **more)


TARGETS = [unit("a", vms=2, files=("base/vm.yaml",)), unit("b", vms=1, files=("base/vm.yaml",))]


@pytest.mark.parametrize(
    ("report", "found", "line"),
    [
        (CheckReport(findings=()), [unit(vms=1, files=("",))], "1 VM, 0 errors"),
        (CheckReport(findings=()), [unit(vms=0, files=("a.yaml",))], "1 file, 0 VMs, 0 errors"),
        (CheckReport(findings=findings("error")), [unit(vms=5, files=("a", "b", "c"))], "3 files, 5 VMs, 1 error"),
        (
            CheckReport(findings=findings("info", "warning", "info"), targets=2),
            TARGETS,
            "2 targets, 3 VMs, 0 errors, 1 warning, 2 info",
        ),
        (CheckReport(findings=(), targets=1), [TARGETS[0], unit(vms=1, files=("x",))], "1 target, 1 file, 3 VMs, 0 errors"),
        (
            CheckReport(findings=findings("error"), targets=3),
            [*TARGETS, unit("c", built=False)],
            "3 targets (1 not built), 3 VMs, 1 error",
        ),
        (
            CheckReport(findings=(), suppressed=(Suppressed(finding=findings("error")[0], by="ignore"),), off={"flag": 2}),
            [unit(vms=1)],
            "1 VM, 0 errors, 3 suppressed",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_it_counts_what_was_read_and_found(report: CheckReport, found: list[UnitResult], line: str) -> None:
    assert tally(report, found) == line


def test_only_a_terminal_gets_it(tmp_path):
    write(tmp_path, size=SIZE, vm=CONFLICT, old=IGNORED)
    assert check(".", cwd=tmp_path)[2] == ""
    assert check(".", cwd=tmp_path, err_tty=True)[2] == "3 files, 3 VMs, 1 error, 1 warning, 1 suppressed\n"
    assert check("-q", ".", cwd=tmp_path, err_tty=True)[2] == ""
    assert check("-o", "json", ".", cwd=tmp_path, err_tty=True)[2].startswith("3 files, ")


def test_a_terminal_that_shows_the_numbers_on_stdout_gets_no_second_line(tmp_path):
    write(tmp_path, size=SIZE, vm=CONFLICT)
    assert check("--summary", ".", cwd=tmp_path, tty=True, err_tty=True)[2] == ""
    assert check("--summary", ".", cwd=tmp_path, err_tty=True)[2] == "2 files, 1 VM, 1 error\n"


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_repository_is_counted_in_targets(tmp_path, monkeypatch, kustomize):
    monkeypatch.setenv("PATH", kustomize.rpartition("/")[0])
    size = "resources: [../vm]\nnamespace: {}\n"
    tree(tmp_path, {"vm/kustomization.yaml": "resources: [vm.yaml]", "vm/vm.yaml": CONFLICT, "size.yaml": SIZE})
    tree(tmp_path, {f"{name}/kustomization.yaml": size.format(name) for name in ("north", "south")})
    tree(tmp_path, {"broken/kustomization.yaml": "resources: [gone.yaml]"})
    line = check(".", cwd=tmp_path, err_tty=True)[2]
    assert line.startswith("3 targets (1 not built), 1 file, 2 VMs, "), line


def test_nobody_else_gets_it(tmp_path):
    write(tmp_path, size=SIZE)
    for command in ("render", "migrate"):
        assert run(command, ".", cwd=tmp_path, err_tty=True)[2] == ""


def test_a_report_in_json_stays_json(tmp_path):
    write(tmp_path, size=SIZE)
    assert json.loads(check("-o", "json", ".", cwd=tmp_path, err_tty=True)[1])["results"] == []
