"""What a server keeps from keystroke to keystroke changes no answer: a session that begins afresh each time gives the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from editing import text_of

from krm_fn.base.keeping import Keeper, Kept, keeper
from krm_fn.lsp.session import Session
from krm_fn.pipeline import unchanged

EDITS = 50
# What is inserted: into documents, and between them.
LINES = (
    "# typed\n",
    "  typed: x\n",
    'typed: "\n',
    "kind: KubeVirt\n",
    "  namespace: other\n",
    "---\n",
    "...\n",
    "%\n",
    "&a\n",
    "\t\n",
)
# What is changed for good: what VMs refer to, and what they are judged with.
VALUES = (("guest: ", "true"), ("guest: ", "1"), ("guest: ", "2"), ("memory: ", "1Gi"), ("name: ", "gone"), ("cores: ", "0"))
KUBEVIRT = """\
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {{name: kubevirt, namespace: kubevirt}}
spec: {{configuration: {{evictionStrategy: {}}}}}
"""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    found = text_of(12) + KUBEVIRT.format("None")
    (tmp_path / "vms.yaml").write_text(found)
    return found


def replaced(text: str, rng: random.Random, key: str, value: str) -> str:
    """The text with another value behind one of the keys."""
    places = [at for at in range(len(text)) if text.startswith(key, at)]
    if not places:
        return text
    start = rng.choice(places) + len(key)
    return text[:start] + value + text[text.index("\n", start) :]


def edited(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines) + 1)
    match rng.randrange(5):
        case 0:
            return "".join([*lines[:at], *lines[at + rng.randrange(1, 4) :]])
        case 1:
            return replaced(text, rng, *rng.choice(VALUES))
        case 2:
            return replaced(text, rng, "evictionStrategy: ", rng.choice(("None}}", "LiveMigrate}}", "wrong}}")))
        case _:
            return "".join([*lines[:at], rng.choice(LINES), *lines[at:]])


def test_only_what_changes_is_judged_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    expanded = unchanged.Unchanged._judged

    def noted(self: unchanged.Unchanged, entry: object) -> object:
        judged.append(entry.obj["metadata"]["name"])  # type: ignore[attr-defined]
        return expanded(self, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(unchanged.Unchanged, "_judged", noted)
    session = Session()
    session.begin()
    assert judged == []  # a whole workspace is not kept
    session.change(["vms.yaml"])
    names = [each["metadata"]["name"] for each in yaml.safe_load_all(text) if each["kind"] == "VirtualMachine"]
    assert sorted(judged) == sorted(names)
    judged.clear()
    session.take({"vms.yaml": text.replace(f"name: {names[5]}\n", f"name: {names[5]}\n  labels: {{a: b}}\n", 1)})
    session.change(["vms.yaml"])
    assert judged == [names[5]]


def test_nothing_is_kept_unless_somebody_asks() -> None:
    assert keeper() is None
    with Keeper() as kept:
        assert keeper() is kept
    assert keeper() is None


def test_what_two_runs_did_not_use_is_forgotten() -> None:
    kept = Kept()
    kept.put("a", 1), kept.put("b", 2)
    kept.begin()
    assert kept.get("a") == 1
    kept.begin()
    assert (kept.get("a"), kept.get("b")) == (1, None)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_gives_the_answers_of_a_fresh_start(text: str, seed: int) -> None:
    rng, session, afresh, now = random.Random(seed), Session(), Session(afresh=True), text
    assert session.begin() == afresh.begin()
    for _ in range(EDITS):
        if rng.random() < 0.3:
            now = text  # what somebody takes back
        now = edited(now, rng)
        found = []
        for each in (session, afresh):
            each.take({"vms.yaml": now})
            found.append((each.change(["vms.yaml"]), each.actions("vms.yaml", 0, 99)))
        assert found[0] == found[1]
