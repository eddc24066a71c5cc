"""What the package promises to Python users: the names, and that each is what the docs say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import krm_fn
from krm_fn import Config, ConfigError, Finding, Hit, InputError, Outcome, Release, rule

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"runStrategy": "Always", "instancetype": {"name": "u1.medium"}, "template": {"spec": {"domain": {"devices": {}}}}},
}
CONFIG = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}


def test_the_promised_names_are_these() -> None:
    functions = {"capacity", "diff", "explain", "process", "render", "rule"}
    types = {"Config", "ConfigError", "Finding", "Hit", "InputError", "Outcome", "Release"}
    assert set(krm_fn.__all__) == functions | types
    assert all(getattr(krm_fn, name).__name__ == name for name in krm_fn.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'krm_fn' has no attribute 'Renderer'"):
        _ = krm_fn.Renderer  # type: ignore[attr-defined]


def test_each_name_can_be_imported_first() -> None:
    for name in krm_fn.__all__:
        subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}; from krm_fn import {name}"], check=True
        )


def test_render_gives_the_items_and_findings_of_process() -> None:
    bad = {**VM, "metadata": {"name": "db"}, "spec": {**VM["spec"], "instancetype": {"name": "u1.mediun"}}}
    before = {"items": [VM, bad], "functionConfig": {**CONFIG, "spec": {"kubevirtVersion": "1.6.3"}}}
    outcome = krm_fn.render([VM, bad], Config(release=Release(version=(1, 6, 3))))
    assert isinstance(outcome, Outcome)
    assert outcome.items == krm_fn.process(before)["items"]
    assert [(type(each), each.rule, each.severity) for each in outcome.findings] == [
        (Finding, "unresolved-instancetype", "error")
    ]
    assert "instancetype" in VM["spec"]
    assert outcome.items[0]["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "4Gi"}


def test_render_without_a_config_renders_for_the_newest_release() -> None:
    assert krm_fn.render([VM]).items == krm_fn.process({"items": [VM]})["items"]


def test_wrong_input_and_a_wrong_config_are_the_errors() -> None:
    with pytest.raises(InputError, match="items is no list"):
        krm_fn.process({"items": 3})
    with pytest.raises(ConfigError, match="kubevirtVersion"):
        krm_fn.process({"items": [], "functionConfig": {**CONFIG, "spec": {"kubevirtVersion": "0.1"}}})


def test_rule_declares_a_rule_with_hits() -> None:
    @rule(severity="warning")
    def no_owner(_facts):
        yield Hit(message="the VM has no owner")

    assert no_owner.severity == "warning"
    assert [hit.message for hit in no_owner.check(None)] == ["the VM has no owner"]


def test_the_example_of_the_docs_prints_what_they_say() -> None:
    page = (Path(__file__).parents[1] / "docs" / "library.md").read_text()
    code, output = (re.search(rf"<!-- {mark} -->\n```\w*\n(.*?)```", page, re.DOTALL) for mark in ("library", "library output"))
    assert code
    assert output
    ran = subprocess.run([sys.executable, "-c", code[1]], check=True, capture_output=True, text=True)
    assert ran.stdout == output[1]


def test_the_docs_name_all_that_is_promised() -> None:
    page = (Path(__file__).parents[1] / "docs" / "library.md").read_text()
    assert [name for name in krm_fn.__all__ if not re.search(rf"`{name}[`(]", page)] == []
