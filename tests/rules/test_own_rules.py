"""Rules of users' own packages: the walk-through of the docs as it is written, and who may load code."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from building import with_index
from checking import run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "rules-of-your-own.md").read_text()
VM = re.search(r"^<!-- own file: vm\.yaml -->\n```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
CONFIG = "kind: RenderVirtualMachines\nspec: {rulePackages: [acme]}\n"


def blocks(kind):
    """The blocks of the page below comments of a kind, by what the comments name."""
    found = re.findall(rf"^<!-- own {kind}:? ?(\S*) -->\n```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return dict(found)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files of the page, and an environment in which its package is installed."""
    top = tmp_path_factory.mktemp("own")
    for name, text in blocks("file").items():
        file = top / ("" if name.endswith(("vm.yaml", "input.yaml", "expected.yaml")) else "acme-rules") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    locked = (
        "--quiet",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--target",
        "tools",
        "-r",
        str(ROOT / "image" / "build.txt"),
    )
    tools = [sys.executable, "-m", "pip", "install", *locked]
    with_index(subprocess.run(tools, cwd=top, capture_output=True, text=True, check=False))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(top / "venv")], check=True)
    (site,) = (top / "venv").glob("lib/python*/site-packages")
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n{top / 'tools'}\n")
    python, flags = str(top / "venv" / "bin" / "python"), ("--no-index", "--no-build-isolation", "--no-deps", "-q")
    words = blocks("command")["install"].split()
    ran = subprocess.run([python, "-m", *words[:2], *flags, *words[2:]], cwd=top, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return top


def shell(top, *words):
    """Code, stdout and stderr of a command of the page."""
    assert words[0] == "kubevirt-render"
    command = [str(top / "venv" / "bin" / "python"), "-P", "-m", "krm_fn", *words[1:]]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False, env=kept)
    return ran.returncode, ran.stdout, ran.stderr


def test_the_page_is_right(place):
    assert shell(place, *blocks("command")["check"].split()) == (0, blocks("output")[""], "")
    assert shell(place, *blocks("command")["test"].split()) == (0, "1 case passed\n", "")


def test_a_rule_has_a_page_a_severity_and_ignores(place):
    code, out, _ = shell(place, "kubevirt-render", "rules", "acme/missing-owner", "--rule-packages", "acme")
    assert (code, out.splitlines()[0]) == (0, "acme/missing-owner (warning)")
    named = ("--rule-packages", "acme")
    assert shell(place, "kubevirt-render", "check", "vm.yaml", *named, "--severity", "acme/missing-owner=error")[0] == 1
    assert shell(place, "kubevirt-render", "check", "vm.yaml", *named, "--severity", "acme/missing-owner=off") == (0, "", "")
    note = '  annotations: {kubevirt-render.dev/ignore: "acme/missing-owner: not yet"}\n  name: web\n'
    (place / "ignored.yaml").write_text(VM.replace("  name: web\n", note))
    assert shell(place, "kubevirt-render", "check", "ignored.yaml", *named) == (0, "", "")


@pytest.mark.parametrize("name", ["text", "json", "sarif", "junit", "github", "gitlab", "tap", "markdown"])
def test_every_format_writes_a_rule_of_a_package(place, name):
    code, out, err = shell(place, "kubevirt-render", "check", "vm.yaml", "--rule-packages", "acme", "-o", name)
    assert (code, err) == (0, "")
    assert "acme/missing-owner" in out
    assert "docs/rules/acme" not in out


def test_a_file_of_the_repository_loads_no_code(place):
    folder = place / "checkout"
    folder.mkdir()
    (folder / ".kubevirt-render.yaml").write_text(CONFIG)
    (folder / "vm.yaml").write_text(VM)
    code, out, _ = shell(place, "kubevirt-render", "check", "checkout")
    assert code == 0
    assert out == (
        "warning: the family acme of rules is not evaluated: rulePackages: a file of the repository names the package; to load "
        "its code, add --rule-packages acme (policy-not-evaluated)\n"
    )
    assert "(acme/missing-owner)" in shell(place, "kubevirt-render", "check", "checkout", "--rule-packages", "acme")[1]
    named = shell(place, "kubevirt-render", "check", "vm.yaml", "--config", "checkout/.kubevirt-render.yaml")[1]
    assert "(acme/missing-owner)" in named


def test_the_config_of_a_case_loads_no_code(place):
    folder = place / "others" / "case"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "input.yaml").write_text(VM)
    (folder / "expected.yaml").write_text("findings:\n- rule: policy-not-evaluated\n")
    assert shell(place, "kubevirt-render", "test", "others") == (0, "1 case passed\n", "")


def test_a_package_in_the_current_folder_is_not_found(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit(77)\n")
    info = tmp_path / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kubevirt_render.rules]\nevil = evil\n")
    (tmp_path / "vm.yaml").write_text(VM)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, out, err = run("check", "vm.yaml", "--rule-packages", "evil", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert "no installed package has rules named evil; " in err


def installed(folder, monkeypatch, name, **modules):
    """A package of rules on Python's path, with these modules."""
    package, info = folder / name, folder / f"{name}-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    for module, text in {"__init__": "", **modules}.items():
        (package / f"{module}.py").write_text(text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[kubevirt_render.rules]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(str(folder))


HEAD = "from krm_fn.rules.registry import Hit, rule\n@rule(severity='error')\n"


def test_a_rule_that_fails_is_a_finding_and_the_others_run(tmp_path, monkeypatch):
    fails = f"{HEAD}def broken(facts):\n    yield Hit(message='x', about=facts.vms[0].entry)\n    raise KeyError('hunter2')\n"
    odd = f"{HEAD}def odd(facts):\n    yield 'text'\n"
    right = f"{HEAD}def right(facts):\n    yield Hit(message='found', about=facts.vms[0].entry)\n"
    installed(tmp_path / "site", monkeypatch, "three_rules", broken=fails, odd=odd, right=right)
    (tmp_path / "vm.yaml").write_text(VM)
    code, out, err = run("check", "vm.yaml", "--rule-packages", "three_rules", cwd=tmp_path)
    assert (code, err) == (1, "")
    first, second, third = out.splitlines()
    assert third.startswith("warning: the rule three_rules/odd is not evaluated: its code: TypeError in line ")
    assert [first, second] == [
        "error: vm.yaml:1:1: VirtualMachine shop/web: found (three_rules/right)",
        "warning: the rule three_rules/broken is not evaluated: its code: KeyError in line 5 of broken (policy-not-evaluated)",
    ]


def test_a_package_that_can_not_be_loaded_is_an_error_of_the_config(tmp_path, monkeypatch):
    installed(tmp_path / "site", monkeypatch, "no_rule", thing="x = 1\n")
    installed(tmp_path / "other", monkeypatch, "no_code", thing="raise ValueError('why')\n")
    (tmp_path / "vm.yaml").write_text(VM)
    assert run("check", "vm.yaml", "--rule-packages", "no_rule", cwd=tmp_path) == (
        *(2, ""),
        "kubevirt-render: error: rulePackages: the module no_rule.thing has no rule thing; decorate a generator of that name\n",
    )
    assert run("check", "vm.yaml", "--rule-packages", "no_code", cwd=tmp_path) == (
        *(2, ""),
        "kubevirt-render: error: rulePackages: the rules of no_code can't be loaded: no_code.thing: ValueError: why\n",
    )
