"""The bundles in kustomization-examples render to what stands beside them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUICKSTART = ROOT / "kustomization-examples" / "quickstart"
START = "import sys; from krm_fn.main import main; sys.argv[0] = 'kubevirt-render'; sys.exit(main())"


def kubevirt_render(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *arguments], cwd=ROOT, input=stdin, capture_output=True, text=True, check=False
    )


def test_the_quickstart_renders_to_what_stands_beside_it() -> None:
    ran = kubevirt_render("render", "kustomization-examples/quickstart/bundle")
    assert (ran.stdout, ran.stderr, ran.returncode) == ((QUICKSTART / "expected.yaml").read_text(), "", 0)


def test_what_is_rendered_renders_to_itself() -> None:
    text = (QUICKSTART / "expected.yaml").read_text()
    assert kubevirt_render("render", "-", stdin=text).stdout == text


def test_nothing_is_wrong_with_what_is_rendered() -> None:
    ran = kubevirt_render("check", "kustomization-examples/quickstart/expected.yaml", "kustomization-examples/one-vm")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_only_the_comment_on_a_reference_goes_with_it() -> None:
    rendered = (QUICKSTART / "expected.yaml").read_text()
    sources = (QUICKSTART / "bundle" / name for name in ("shop/web.yaml", "shop/db.yaml", "lab/builder.yaml"))
    comments = [line.partition("# ")[2] for source in sources for line in source.read_text().splitlines() if "# " in line]
    assert len(comments) == 7
    assert [comment for comment in comments if f"# {comment}" not in rendered] == ["the team's own, shop/sizes.yaml"]


def test_the_mistake_is_named_with_what_was_meant() -> None:
    ran = kubevirt_render("check", "kustomization-examples/quickstart/mistake")
    assert (ran.stdout, ran.returncode) == ((QUICKSTART / "mistake" / "expected.txt").read_text(), 1)


def test_the_mistaken_vm_is_not_printed_half_done() -> None:
    ran = kubevirt_render("render", "kustomization-examples/quickstart/mistake")
    assert (ran.stdout, ran.returncode) == ("", 1)
