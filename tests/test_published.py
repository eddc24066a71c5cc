"""Nothing of the project is published: no page or recipe leads to a name on a public server that anyone may take."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from running import PROGRAM, ROOT, own_environment, run

from krm_fn.findings.results import doc_of
from krm_fn.rules.registry import ids

# The project's own domain, which is part of names. Nobody owns it, so nothing may lead there.
DOMAIN = re.compile(r"(?://|@|\bwww\.)kubevirt-render\.dev\b|\]\(kubevirt-render\.dev", re.IGNORECASE)

# The project's names as an index reads them, with extras or without.
OURS = r"(?:kubevirt[-_.]+render|krm[-_.]+fn)(?:\[[^]]*\])?"
NAME = re.compile(rf"{OURS}(?:$|[=<>!~;,])", re.IGNORECASE)

# Commands that take a package from an index by its name, up to their ends.
TOOLS = "pip3?|pipx|uv|uv pip|uv tool|poetry|pdm|hatch|rye|conda|mamba|pixi|brew|npm|apt|apt-get"
VERBS = "install|download|wheel|run|add|inject|upgrade|sync"
INSTALLING = re.compile(rf"\b(?:(?:{TOOLS}) +(?:-\S+ +)*(?:{VERBS})|uvx|npx)\b([^`\n|;&)#]*)")

# Lines of requirements, and lists of them.
REQUIREMENT = re.compile(rf"^\s*(?:- *)?[\"']?{OURS}\s*[=<>!~]=", re.IGNORECASE | re.MULTILINE)
# The name with an extra, which only an installer takes, wherever it stands, such as in a message.
EXTRA = re.compile(rf"\b{OURS.removesuffix('?')}", re.IGNORECASE)
WITHIN = re.compile(rf"(?:dependencies|requires)\s*[:=]\s*\[[^]]*?[\"' ]({OURS})\b(?! *@)", re.IGNORECASE)

# Accounts on public servers. No account can have a name with `_` in it, and example.com belongs to nobody.
ACTION = re.compile(r"\buses:\s*([A-Za-z0-9-]+/kubevirt-render\S*)")
ACCOUNT = re.compile(r"(?:https?://|git@|docker://|\b)((?:[a-z0-9-]+\.)+[a-z]+[/:][\w./-]*kubevirt-render)\b")
NOBODYS = re.compile(r"(?:[a-z0-9-]+\.)*example\.(?:com|org)[/:]")


def named(command: str) -> list[str]:
    """The names that a command takes from an index."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark of the text around it
        words = command.split()
    words = [word.strip("`.,") if word != "." else word for word in words]
    for flag in ("--from", "--spec", "--with"):
        if flag in words:
            words = words[words.index(flag) + 1 : words.index(flag) + 2]
    return [word for word in words if NAME.match(word)]


def taken(text: str) -> list[str]:
    """What of a text leads to a name of the project on a public server."""
    text = re.sub(r"\\\n\s*", " ", text)
    found = [name for command in INSTALLING.findall(text) for name in named(command)]
    found += [match.group().strip() for match in REQUIREMENT.finditer(text)]
    found += EXTRA.findall(text) + WITHIN.findall(text) + ACTION.findall(text)
    found += DOMAIN.findall(text)
    return found + [place for place in ACCOUNT.findall(text) if not NOBODYS.match(place)]


@pytest.mark.parametrize(
    "text",
    [
        "pip install kubevirt-render",
        "    - pip install --quiet kubevirt-render==0.1.0",
        "run: pipx install 'kubevirt-render>=0.1'",
        "python3 -m pip install -U Kubevirt_Render",
        ".venv/bin/pip install -q \\\n  krm_fn",
        "run `pip install kubevirt-render`.",
        "with `uv tool install kubevirt-render`, or",
        "uvx kubevirt-render check .",
        "uvx --from kubevirt-render==0.1.0 kubevirt-render check .",
        "pipx run kubevirt-render",
        "uv add kubevirt-render[x]",
        'UsageError("the report needs jinja2; install kubevirt-render[report]")',
        "kubevirt-render==0.1.0",
        "- kubevirt-render ~= 0.1",
        "additional_dependencies: [pyyaml, kubevirt-render]",
        "  - uses: kubevirt-render/kubevirt-render@v0.1.0",
        "repo: https://github.com/kubevirt-render/kubevirt-render",
        "image: ghcr.io/kubevirt/kubevirt-render:0.1.0",
        "pip install git+https://github.com/somebody/kubevirt-render",
        "see https://kubevirt-render.dev/rules/null-item",
        "[the page](kubevirt-render.dev)",
    ],
)
def test_a_name_that_anyone_may_take_is_seen(text: str) -> None:
    assert taken(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install -q . && .venv/bin/kubevirt-render render bundle",
        "pip install .  # then run kubevirt-render",
        "pip install --no-deps dist/kubevirt_render-0.1.0-py3-none-any.whl",
        "uvx --from . kubevirt-render check .",
        "uv tool install .",
        "pip install 'kubevirt-render @ git+https://git.example.com/team/kubevirt-render'",
        "pip install git+https://git.example.com/team/kubevirt-render@0123",
        "kubevirt-render install-plugin ~/.kustomize",
        "kubevirt-render render --defaults=pinned .",
        "- uses: YOUR_ORGANISATION/kubevirt-render@COMMIT",
        "docker build -t kubevirt-render:latest .",
        "image: localhost/kubevirt-render:latest",
        "apiVersion: kubevirt-render.dev/v1alpha1",
        "the annotation `kubevirt-render.dev/ignore`",
    ],
)
def test_what_is_from_a_place_of_ones_own_is_none(text: str) -> None:
    assert taken(text) == []


def pages() -> list[str]:
    """All texts that people read or copy, except the fixtures and this module, which has wrong examples."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    here = str(Path(__file__).relative_to(ROOT))
    return [name for name in listed if not name.startswith("fixtures/") and name != here]


def test_no_page_or_recipe_leads_to_a_name_that_anyone_may_take() -> None:
    found = {name: taken((ROOT / name).read_text()) for name in pages()}
    assert len(found) > 500
    assert {name: names for name, names in found.items() if names} == {}


def test_each_rule_names_its_page_in_the_repository() -> None:
    missing = [rule for rule in ids() if not (ROOT / doc_of(rule)).is_file()]
    assert missing == []


def test_all_links_start_with_the_address_of_the_repository_once_there_is_one(tmp_path: Path) -> None:
    home = "https://git.example.com/team/kubevirt-render/-/blob/main/"
    shutil.copytree(ROOT / "krm_fn", tmp_path / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    console = tmp_path / "krm_fn" / "base" / "console.py"
    console.write_text(console.read_text().replace('REPOSITORY = ""', f'REPOSITORY = "{home}"'))
    (tmp_path / "vm.yaml").write_text("{apiVersion: kubevirt.io/v1, kind: VirtualMachin, metadata: {name: a}}")

    def checked(*arguments: str) -> str:
        environment = own_environment(PYTHONPATH=str(tmp_path))
        return run(*PROGRAM, "check", *arguments, "vm.yaml", cwd=tmp_path, environment=environment).stdout

    page = f"{home}docs/rules/unknown-kind.md"
    assert f"[unknown-kind]({page})" in checked("-o", "markdown")
    assert f"doc: {page}" in checked("-o", "tap")
    driver = json.loads(checked("-o", "sarif"))["runs"][0]["tool"]["driver"]
    assert (driver["informationUri"], [rule["helpUri"] for rule in driver["rules"]]) == (home, [page])
