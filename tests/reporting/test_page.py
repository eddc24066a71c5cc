"""The file forbids what it does not need, and a VM has the lines that `render` would dump."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from measured import Cases, files
from pages import read

from krm_fn import yamlio
from krm_fn.reporting import page as pages
from krm_fn.reporting.describing import Report, lines_of

FILES = Path(pages.__file__).parent / "files"
EMPTY = Report(paths=("<here>",), units=())


def test_the_policy_takes_only_the_style_and_the_script_of_the_page() -> None:
    found = read(pages.page(EMPTY))
    (style,), script = found.raw["style"], found.raw["script"][1]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert found.policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def test_all_scripts_are_in_the_page() -> None:
    assert set(pages.SCRIPTS) == {file.name for file in FILES.glob("*.js")}


def test_scripts_parse_no_html_and_run_no_text() -> None:
    texts = "\n".join(file.read_text() for file in FILES.glob("*.js"))
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "fetch(",
        "import(",
    ):
        assert word not in texts


def test_scripts_are_scripts() -> None:
    node = shutil.which("node")
    if not node:
        pytest.skip("no node")
    script = read(pages.page(EMPTY)).raw["script"][1]
    ran = subprocess.run([node, "--check", "-"], input=script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("name", files("fuzz"))
def test_the_lines_of_an_object_are_those_of_its_text(name: str, cases: Cases) -> None:
    for case in cases(name, every=40):
        for item in case["items"]:
            assert "\n".join(line.text for line in lines_of(item)) + "\n" == yamlio.dump(item)


def test_a_long_line_is_cut() -> None:
    (line,) = lines_of({"a": "x" * 5000})
    assert line.text == f"a: {'x' * 1997}... (5,003 characters)"
