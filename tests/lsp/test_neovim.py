"""Neovim's own client uses each feature once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from edited_files import OTHERS, SIZE, VM, WRONG

NVIM = shutil.which("nvim")


@pytest.mark.skipif(NVIM is None, reason="nvim is not on the PATH; Debian has it as neovim")
def test_each_feature_works_in_neovim(tmp_path: Path) -> None:
    (tmp_path / "size.yaml").write_text(SIZE)
    (tmp_path / "others.yaml").write_text(OTHERS)
    (tmp_path / "vm.yaml").write_text(VM)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "vm.yaml").write_text(WRONG)
    words = [
        str(NVIM),
        "--headless",
        "-u",
        "NONE",
        "-i",
        "NONE",
        "-n",
        "-c",
        f"luafile {Path(__file__).parent / 'features.lua'}",
    ]
    variables = {**os.environ, "SERVER": sys.executable, "FOLDER": str(tmp_path), "FILE": "vm.yaml", "HOME": str(tmp_path)}
    ran = subprocess.run(words, capture_output=True, text=True, env=variables, timeout=120, check=True, cwd=tmp_path)
    found = json.loads(ran.stdout[ran.stdout.index("{") :])
    assert found["diagnostics"] == ["refused-run-strategy"]
    assert "2 vCPUs, 4 GiB" in found["hover"]["contents"]["value"]
    assert {"fedora", "rhel.9"} <= {each["label"] for each in found["completion"]}
    assert [Path(each["uri"]).name for each in found["definition"]] == ["size.yaml"]
    assert sorted(Path(each["uri"]).name for each in found["references"]) == ["size.yaml", "vm.yaml"]
    assert [each["name"] for each in found["symbols"]] == ["web"]
    assert [each["label"] for each in found["hints"]] == ["2 vCPUs, 4 GiB", "2 sockets, 1 core, 1 thread"]
    assert found["text"] == VM
    assert found["remaining"] == 0
    assert "How the disk is attached" in found["field"]["contents"]["value"]
    assert found["vm"]["contents"]["value"].startswith("**web** — refused: runStrategy")
    assert found["sized"]["contents"]["value"].startswith("**web** — 2 vCPUs, 4 GiB")
    fitting = {sort: set(labels) for sort, labels in found["completed"].items()}
    assert {"Always", "Halted"} <= fitting["value"]
    assert {"small", "u1.small"} & fitting["instancetype"]
    assert "small-1" in fitting["revision"]
    assert "root" in fitting["volume"]
    assert "data" in fitting["claim"]
    assert found["broken"] == ["unreadable-document"]
    assert not found["without_hints"]
