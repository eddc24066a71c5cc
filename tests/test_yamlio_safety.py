"""Input made to exhaust the reader ends in a clean error or a value, in little time and memory, never in a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS, MEGABYTES = 5, 400

PROGRAM = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (%d << 20,) * 2)
from krm_fn.errors import InputError
from krm_fn.yamlio import read_resource_list
data = sys.stdin.buffer.read()
start = time.monotonic()
try:
    text = read_resource_list(data)
    print(len(text.items), len(text.write([*text.items[:-1], {"new": text.items[-1]}])) > 0)
except InputError as error:
    print(error)
assert time.monotonic() - start < %d
"""

LIST = "kind: ResourceList\nitems:\n- "
DEEP = "maps and lists are nested deeper than 500 levels"
MANY = "the aliases stand for more than 100,000 values; write them out or use fewer"


def bomb(shape: str) -> str:
    """Eleven levels of ten aliases each: ten thousand million values."""
    opening, closing = shape
    lines = ["a0: &a0 {x: 1}"]
    for i in range(1, 11):
        inside = [f"k{j}: *a{i - 1}" if shape == "{}" else f"*a{i - 1}" for j in range(10)]
        lines.append(f"a{i}: &a{i} {opening}{', '.join(inside)}{closing}")
    return LIST + "\n  ".join(lines) + "\n"


def merge_bomb() -> str:
    base = "a: &a {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}"
    return LIST + base + "".join(f"\n  b{i}: {{<<: *a}}" for i in range(1000)) + "\n"


def stairs(levels: int) -> str:
    return LIST + "a:\n" + "".join("  " * (i + 2) + "a:\n" for i in range(levels))


CASES = {
    "alias-bomb-of-lists": (bomb("[]"), f"stdin:8:27: {MANY}"),
    "alias-bomb-of-maps": (bomb("{}"), f"stdin:8:43: {MANY}"),
    "merge-bomb": (merge_bomb(), f"stdin:103:13: {MANY}"),
    "many-aliases": (LIST + "a: &a {x: 1}\n  b: [" + ", ".join(["*a"] * 60_000) + "]\n", MANY),
    "deep-through-aliases": (LIST + f"a: &a {'[' * 400}{']' * 400}\n  b: {'[' * 300}*a{']' * 300}\n", DEEP),
    "brackets": (LIST + "[" * 100_000, f"stdin:3:501: {DEEP}"),
    "closed-brackets": (LIST + "[" * 100_000 + "]" * 100_000, f"stdin:3:501: {DEEP}"),
    "braces": (LIST + "{a: " * 100_000, DEEP),
    "dashes": (LIST + "- " * 20_000 + "\n", f"stdin:3:999: {DEEP}"),
    "stairs": (stairs(2000), DEEP),
    "just-deep-enough": (LIST + "[" * 490 + "]" * 490 + "\n", "1 True"),
    "question-marks": (LIST + "? " * 20_000, "a map or list is no key; expected text"),
    "a-million-digits": (LIST + "1" * 1_000_000 + "\n", "1 True"),
    "a-million-hex-digits": (LIST + "0x" + "f" * 1_000_000 + "\n", "1 True"),
    "a-million-decimals": (LIST + "0." + "1" * 1_000_000 + "\n", "1 True"),
    "a-long-line": (LIST + "a: " + "x" * 10_000_000 + "\n", "1 True"),
    "a-long-literal": (LIST + "a: |\n" + "    xxxxxxx\n" * 500_000, "1 True"),
    "many-keys": (LIST + "a:\n" + "".join(f"    k{i}: 1\n" for i in range(50_000)), "1 True"),
    "many-comments": (LIST + "a: 1\n" + "  # x\n" * 100_000, "1 True"),
    "open-quote": (LIST + 'a: "' + "x\n" * 500_000, "the text ends inside a quoted string"),
}


@pytest.mark.parametrize("name", CASES)
def test_hostile_input_ends_cleanly(name: str) -> None:
    text, answer = CASES[name]
    program = PROGRAM % (MEGABYTES, SECONDS)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=text.encode(), capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert done.stdout.decode().strip().endswith(answer)
