"""Random edits in a repository of several targets: the server has the findings of one that begins afresh."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from edited_files import POLICY, SIZE, VM, workspace_of

from krm_fn.lsp.session import Session

EDITS = int(os.environ.get("LSP_EDITS", "300")) // 20  # each of them builds targets, twice
LARGE = VM.replace("kind: VirtualMachineInstancetype", "kind: VirtualMachineClusterInstancetype")
FILES = {
    "sizes/kustomization.yaml": "resources: [size.yaml]\n",
    "sizes/size.yaml": SIZE.replace("Instancetype", "ClusterInstancetype"),
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": LARGE,
    "one/kustomization.yaml": "resources: [../base]\nnamespace: one\n",
    "two/kustomization.yaml": "resources: [../base]\nnamespace: two\nnamePrefix: two-\n",
    "loose.yaml": LARGE.replace("name: web", "name: loose"),
    "rules/policy.yaml": POLICY,
    ".kubevirt-render.yaml": "kind: RenderVirtualMachines\nspec: {policies: [rules/policy.yaml]}\n",
}
# What is replaced in any file that has it: names, values, and what breaks a file.
EDITED = (
    ("name: small", "name: smaller"),
    ("guest: 2", "guest: 64"),
    ("memory: {", "memory: {hugepages: {pageSize: 2Mi}, "),
    ("Always", "Halted"),
    ("Always", "always"),
    ("bus: virtio", "bus: sata"),
    ("namespace: ", "namespace: other"),
    ("../base", "../sizes"),
    ("resources: [", "resources: [gone.yaml, "),
    ("policyName: running", "policyName: gone"),
    ("rules/policy.yaml", "rules"),
    ("kind: ", "kind: 'x"),
    ("spec", "{"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return workspace_of(tmp_path, FILES, monkeypatch)


def edited(text: str, rng: random.Random) -> str:
    old, new = rng.choice([each for each in EDITED if each[0] in text])
    return text.replace(old, new, 1)


def test_random_edits_of_several_targets_give_the_findings_of_a_fresh_start(folder: Path) -> None:
    rng, session, texts, seen = random.Random(3), Session(), dict[str, str](), set[str]()
    assert not any(session.begin().values())
    for number in range(EDITS):
        file = rng.choice(list(FILES))
        text = FILES[file] if rng.random() < 0.4 else edited(FILES[file], rng)
        if rng.random() < 0.2:
            (folder / file).write_text(text)
            texts.pop(file, None)
        else:
            texts[file] = text
        session.take(texts)
        found = {name: each for name, each in session.change([file]).items() if each}
        fresh = Session(afresh=True)
        fresh.take(texts)
        assert found == {name: each for name, each in fresh.begin().items() if each}, (number, file)
        seen.update(each.rule for found_in in found.values() for each in found_in)
    assert len(seen) > 1  # the edits lead to findings
