"""What the README and docs say is what the code does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from krm_fn import config, yamlio
from krm_fn.config import repository
from krm_fn.config.schema import schema

ROOT = Path(__file__).resolve().parents[1]
FILL = runpy.run_path(str(ROOT / "scripts" / "fill_docs.py"))
RULES = runpy.run_path(str(ROOT / "scripts" / "make_rule_docs.py"))
PAGES = FILL["documents"]()
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?://)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_quoted_files_and_outputs_are_as_they_are(page: Path) -> None:
    text = page.read_text()
    assert FILL["filled"](text) == text


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page in links."""
    text = FENCE.sub("", page.read_text())
    return {re.sub(r"[^\w -]", "", shown(title).lower()).replace(" ", "-") for title in HEADING.findall(text)}


def shown(title: str) -> str:
    """A heading without the addresses of its links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_to_a_heading_name_one_that_is_there(page: Path) -> None:
    links = [(page.parent / path if path else page, anchor) for path, anchor in ANCHOR.findall(page.read_text())]
    assert [link for link in links if link[0].suffix == ".md" and link[1] not in anchors(link[0])] == []


def test_the_rules_pages_are_those_of_the_rules() -> None:
    assert {path.name: path.read_text() for path in (ROOT / "docs" / "rules").iterdir()} == RULES["pages"]()


def test_the_architecture_places_every_module() -> None:
    modules = {path.stem for path in (ROOT / "krm_fn").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert sorted(name for name in modules - {"__init__"} if f"`{name}`" not in text and f"`{name}/`" not in text) == []


def config_table() -> dict[str, tuple[set[str], str]]:
    """Key to its values and its default, as docs/config.md has them."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| `(.+?)` \|", (ROOT / "docs" / "config.md").read_text(), re.MULTILINE)
    return {key: (set(re.findall(r"`([^`]+)`", values)), default) for key, values, default in rows}


def test_the_config_page_has_the_schemas_keys_and_defaults() -> None:
    told = {"true": True, "false": False, "{}": {}, "[]": [], "unset": ""}
    properties = schema()["$defs"]["typed"]["properties"]["spec"]["properties"]
    assert {key: told.get(default, default) for key, (_, default) in config_table().items()} == {
        key: row["default"] for key, row in properties.items()
    }


def test_the_config_page_has_the_schemas_words() -> None:
    properties = schema()["$defs"]["typed"]["properties"]["spec"]["properties"]
    words = {
        key: {word for word in row["enum"] if word and isinstance(word, str)}
        for key, row in properties.items()
        if "enum" in row
    }
    page = config_table()
    assert {key: page[key][0] for key, of_key in words.items() if of_key} == {
        key: of_key for key, of_key in words.items() if of_key
    }


def configs(page: Path) -> list[str]:
    """The function configs that a page shows."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "\nkind: RenderVirtualMachines\n" in block or "\nkind: ConfigMap\n" in block]


def test_every_config_that_a_page_shows_is_a_right_one() -> None:
    shown = [block for page in PAGES for block in configs(page)]
    assert len(shown) == 11
    for block in shown:
        value = yamlio.read_value(block)
        if own := {"clusters", "variables"} & {*(value.get("spec") or {})}:
            assert all(getattr(repository.read(value), key) for key in own)
        else:
            config.read(value)


def command(marker: str) -> str:
    """The shell command of the README below the comment `marker`."""
    found = re.search(rf"^<!-- {marker} -->\n```sh\n(.+?)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found.group(1)


def test_each_of_the_readmes_two_commands_is_one_command() -> None:
    assert [command("quickstart").count("\n"), command("test").count("\n")] == [0, 0]


def test_the_readmes_first_command_ends_in_what_the_examples_test_runs() -> None:
    files = "kustomization-examples/quickstart/bundle/*/ kustomization-examples/quickstart/bundle/sizes.yaml"
    assert command("quickstart").endswith(f" .venv/bin/kubevirt-render render {files}")


def test_the_help_shows_each_commands_summary_in_full() -> None:
    assert "..." not in FILL["output"]("kubevirt-render --help").partition("\nCommands:\n")[2]


def test_the_readmes_table_has_all_commands() -> None:
    rows = set(re.findall(r"^\| `kubevirt-render ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    commands = FILL["output"]("kubevirt-render --help").partition("\nCommands:\n")[2]
    assert rows == set(re.findall(r"^  ([\w-]+)", commands, re.MULTILINE))
