"""Input made to exhaust the program ends in a clean error or a result, in little time and memory, and never by a signal.

Every row of the table is tried in the form that the strict reader takes, as far as it takes it; a small one also in a list that
is so large that two processes do the work. The same bytes with CRLF are libyaml's from the first to the last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from measuring import Run, measure

from krm_fn.findings.limits import MOST
from krm_fn.yamlio import read_resource_list

MEGABYTES = 400

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
SIZE = """\
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineInstancetype
  metadata:
    name: small
  spec:
    cpu:
      guest: 2
    memory:
      guest: 2Gi
"""
VM = """\
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: {}
  spec:
    instancetype:
      kind: VirtualMachineInstancetype
      name: small
    runStrategy: Always
    template:
      spec:
        domain:
          devices: {{}}
"""
NOTED = "    template:\n      metadata:\n        annotations:\n          a: a-{}\n"
UNLIKE = VM.replace("{}", "unlike-{}", 1).replace("    template:\n", NOTED)
REFERENCE = b"    instancetype:"
LARGE_LIST = 600  # VMs
OTHER = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {}\n"
REQUEST = """\
    - addVolumeOptions:
        name: v{0}
        disk: {{name: v{0}, disk: {{bus: scsi}}}}
        volumeSource: {{dataVolume: {{name: v{0}}}}}
"""
CLAIMED = "            - {{name: g{0}, claimName: c{0}, requestName: r}}\n"
CONFIG = """\
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata:
    name: render
"""

DEEP = "maps and lists are nested deeper than 500 levels"
MANY = "values; write the values out, or use fewer aliases"
TWICE = "is set twice in one map"
NO_KEY = "a map or list cannot be a key; expected a string"
ITSELF = "is inside its own anchor"
NOT_A_LINE = "a line is not `key: value`; check the indentation and the quotes"
HUGE = "bytes and must be rewritten; no cluster accepts more than 3 MiB; remove the object"
SECOND = "there is a second document; expected only one ResourceList"
BEHIND_END = "text follows the end of the document"
# The command takes a stream of many documents, and checking writes nothing anew.
SILENT = (("render", SECOND), ("check", SECOND), ("check", HUGE))


class Row(NamedTuple):
    """One input: the lines that `build` gives, and the error they lead to, "" for a result.

    They are of a "vm" that has to be rendered, of an "other" object, or "items"; or they stand "behind" the functionConfig, or
    at the "end" of the list, where they are cut off.
    """

    build: Callable[[], str]
    error: str = ""
    holder: str = "vm"


def bomb(opening: str, closing: str) -> str:
    """Eleven levels of ten aliases each: ten thousand million values."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, 11):
        inside = [f"k{j}: *a{level - 1}" if opening == "{" else f"*a{level - 1}" for j in range(10)]
        lines.append(f"a{level}: &a{level} {opening}{', '.join(inside)}{closing}")
    return "".join(f"  {line}\n" for line in lines)


def merge_bomb() -> str:
    keys = ", ".join(f"k{i}: 1" for i in range(1000))
    return f"  a: &a {{{keys}}}\n" + numbered("  b{}: {{<<: *a}}\n", 3000)


def stairs(levels: int) -> str:
    return "  a:\n" + "".join(" " * (level + 3) + "a:\n" for level in range(levels))


def numbered(line: str, count: int) -> str:
    return "".join(line.format(i) for i in range(count))


def anchored_in_a_vm() -> str:
    """An anchor in a VM that changes, and has much else, of which many items have aliases."""
    anchored = VM.format("anchored").replace("Always", "&always Always") + "  a:\n" + numbered("    k{}: 1\n", 10_000)
    return anchored + numbered(OTHER + "  data:\n    a: *always\n", 10_000)


ROWS = {
    # Aliases
    "alias-bomb-of-lists": Row(lambda: bomb("[", "]"), MANY),
    "alias-bomb-of-maps": Row(lambda: bomb("{", "}"), MANY),
    "merge-bomb": Row(merge_bomb, MANY),
    "merges": Row(lambda: "  a: &a {x: 1}\n  b:\n" + "  - {<<: *a}\n" * 50_000),
    "many-aliases": Row(lambda: f"  a: &a [{'1, ' * 60}]\n  b: [{'*a, ' * 60_000}]\n", MANY),
    "many-aliases-of-scalars": Row(lambda: "  a: &a 1\n  b: [" + "*a, " * 200_000 + "]\n"),
    "aliases-on-deep-levels": Row(lambda: f"  a: &a []\n  b: {'[' * 480}{'*a, ' * 100_000}{']' * 480}\n"),
    "deep-through-aliases": Row(lambda: f"  a: &a {'[' * 400}{']' * 400}\n  b: {'[' * 300}*a{']' * 300}\n", DEEP),
    "undefined-alias": Row(lambda: "  a: *x\n", "this alias has no anchor before it"),
    "recursive-list": Row(lambda: "  a: &x [*x]\n", ITSELF),
    "recursive-map": Row(lambda: "  a: &x {b: *x}\n", ITSELF),
    "anchors": Row(lambda: "  a:\n" + numbered("  - &a{} 1\n", 600_000), holder="other"),
    "many-anchors-in-a-vm": Row(lambda: "  a:\n" + numbered("  - &a{} 1\n", 100_000)),
    "aliases-of-a-vm": Row(anchored_in_a_vm, holder="items"),
    "long-anchor": Row(lambda: f"  a: &{'x' * 1_000_000} 1\n  b: *{'x' * 1_000_000}\n"),
    # Depth
    "brackets-1000": Row(lambda: f"  a: {'[' * 1000}{']' * 1000}\n", DEEP),
    "brackets-10000": Row(lambda: f"  a: {'[' * 10_000}{']' * 10_000}\n", DEEP),
    "brackets-100000": Row(lambda: f"  a: {'[' * 100_000}{']' * 100_000}\n", DEEP),
    "open-brackets": Row(lambda: f"  a: {'[' * 100_000}\n", DEEP),
    "braces": Row(lambda: f"  a: {'{a: ' * 100_000}\n", DEEP),
    "dashes": Row(lambda: f"  a:\n  {'- ' * 20_000}\n", DEEP),
    "stairs": Row(lambda: stairs(3000), DEEP),
    "question-marks": Row(lambda: f"  {'? ' * 20_000}\n", NO_KEY),
    "just-deep-enough-in-brackets": Row(lambda: f"  a: {'[' * 490}{']' * 490}\n"),
    "just-deep-enough-in-dashes": Row(lambda: f"  a:\n  {'- ' * 490}a\n"),
    "just-deep-enough-for-the-strict-reader": Row(lambda: stairs(90)),
    # Size of a scalar
    "100-MB-in-quotes": Row(lambda: f'  a: "{"x" * 100_000_000}"\n', holder="other"),
    "100-MB-in-a-block": Row(lambda: "  a: |\n" + f"    {'x' * 95}\n" * 1_000_000, holder="other"),
    "100-MB-plain": Row(lambda: f"  a: {'x' * 100_000_000}\n", holder="other"),
    "100-MB-in-a-vm": Row(lambda: f'  a: "{"x" * 100_000_000}"\n', HUGE),
    "a-line-of-50-MB": Row(lambda: f"  a: {'x' * 50_000_000}\n", holder="other"),
    "a-line-of-10-MB-in-a-vm": Row(lambda: f"  a: {'x' * 10_000_000}\n"),
    "lines-of-30-MB-in-quotes": Row(lambda: '  a: "' + f"{'x' * 60}\n    " * 500_000 + '"\n', holder="other"),
    "40-MB-with-an-emoji": Row(lambda: f'  a: "{"x" * 40_000_000}\U0001f600"\n', holder="other"),
    "open-quote": Row(lambda: '  a: "' + "x\n" * 5_000_000, "the text ends inside a quoted string"),
    "a-million-digits": Row(lambda: f"  a: {'1' * 1_000_000}\n"),
    "a-million-hex-digits": Row(lambda: f"  a: 0x{'f' * 1_000_000}\n"),
    "a-million-decimals": Row(lambda: f"  a: 0.{'1' * 1_000_000}\n"),
    "a-million-underscores": Row(lambda: f"  a: 1{'_' * 1_000_000}\n"),
    "a-million-quotes": Row(lambda: f"  a: '{chr(39) * 2_000_000}'\n"),
    "long-key": Row(lambda: f"  {'k' * 1_000_000}: 1\n", NOT_A_LINE),
    "long-key-with-question-mark": Row(lambda: f"  ? {'k' * 1_000_000}\n  : 1\n"),
    "a-key-of-30-MB": Row(lambda: f'  ? "{"k: " * 10_000_000}"\n  : 1\n', HUGE),
    "long-tag": Row(lambda: f"  a: !{'x' * 1_000_000} 1\n"),
    # Many of them
    "keys": Row(lambda: "  a:\n" + numbered("    k{}: 1\n", 300_000)),
    "keys-at-the-top": Row(lambda: numbered("  k{}: 1\n", 100_000), holder="other"),
    "keys-in-braces": Row(lambda: "  a: {" + numbered("k{}: 1, ", 100_000) + "}\n"),
    "maps-in-braces": Row(lambda: "  a: {" + numbered("k{}: [1], ", 100_000) + "}\n"),
    "a-key-again-and-again": Row(lambda: "  a:\n" + "    k: 1\n" * 300_000, TWICE),
    "a-key-at-last-again": Row(lambda: "  a:\n" + numbered("    k{}: 1\n", 50_000) + "    k0: 1\n", TWICE),
    "entries": Row(lambda: "  a:\n" + "  - 1\n" * 300_000, holder="other"),
    "entries-that-are-maps": Row(lambda: "  a:\n" + "  - a: 1\n" * 100_000),
    "entries-that-are-lists": Row(lambda: "  a:\n" + "  - - a\n" * 100_000),
    "entries-that-are-blocks": Row(lambda: "  a:\n" + "  - |\n    x\n" * 100_000),
    "entries-in-brackets": Row(lambda: f"  a: [{'[], ' * 200_000}]\n"),
    "tags": Row(lambda: "  a:\n" + "  - !!str 1\n" * 100_000),
    "comments": Row(lambda: "  a: 1\n" + "  # x\n" * 100_000 + "  b: 1\n"),
    "comments-behind": Row(lambda: "  a: 1\n" + "  # x\n" * 100_000),
    "empty-lines": Row(lambda: "  a: 1\n" + "\n" * 5_000_000 + "  b: 1\n"),
    "requested-volumes": Row(lambda: "  status:\n    volumeRequests:\n" + numbered(REQUEST, 20_000)),
    "spread-constraints": Row(
        lambda: VM.format("a") + "        topologySpreadConstraints:\n" + numbered("        - topologyKey: k{}\n", 30_000),
        holder="items",
    ),
    "claimed-devices": Row(
        lambda: VM.format("a").replace("devices: {}", "devices:\n            gpus:") + numbered(CLAIMED, 30_000), holder="items"
    ),
    # The list, and what is behind it
    "items": Row(lambda: "- a\n" * 500_000, holder="items"),
    "results": Row(lambda: "results:\n" + numbered("- message: finding {}\n  severity: info\n", 100_000), holder="behind"),
    "marks-behind": Row(lambda: "---\n" * 600_000, holder="end"),
    "documents-behind": Row(lambda: "---\na: 1\n" * 100_000, SECOND, holder="behind"),
    "the-end-inside": Row(lambda: "  a: 1\n...\n  b: 1\n", BEHIND_END),
    "a-mark-inside": Row(lambda: "  a: 1\n---\n  b: 1\n", SECOND),
    "a-directive-inside": Row(lambda: "  a: 1\n%YAML 1.1\n  b: 1\n", BEHIND_END),
    "a-null-character": Row(lambda: "  a: x\0y\n", "the character U+0000 is not allowed in YAML; remove it"),
    "no-utf-8": Row(lambda: "  a: x\udcffy\n", "the byte 0xFF is not valid UTF-8"),
}


class Wrong(NamedTuple):
    """One input with very many mistakes of one kind, whose findings contain `words`, and the paths that report them."""

    build: Callable[[], str]
    words: str
    ways: tuple[str, ...] = ("validate", "check")
    holder: str = "items"
    is_error: bool = True


def with_disks(lines: str, beside: str = "") -> str:
    devices = f"devices:\n{beside}            disks:"
    return VM.format("hostile").replace("devices: {}", devices) + lines


def with_metadata(lines: str) -> str:
    return VM.format("hostile").replace("    name: hostile\n", f"    name: hostile\n{lines}")


ALL_WAYS = ("render", "validate", "check")
VALIDATE = "  spec:\n    mode: validate\n"
IGNORE = "    annotations:\n      kubevirt-render.dev/ignore: |\n"
WRONG = {
    "unknown-keys": Wrong(lambda: numbered("  k{}: 1\n", 50_000), " has no field k", holder="vm"),
    "misspelt-keys": Wrong(
        lambda: with_disks("            - {}\n", numbered("            disk{}: 1\n", 25_000)), " has no field disk"
    ),
    "null-disks": Wrong(lambda: with_disks("            - null\n" * 100_000), "an item of disks is null"),
    "null-items": Wrong(lambda: "- null\n" * 100_000, "of the list is null", ways=ALL_WAYS, is_error=False),
    "disks-of-one-name": Wrong(lambda: with_disks("            - name: a\n" * 25_000), "is used by disks[0] too"),
    "fields-that-are-gone": Wrong(
        lambda: with_disks(numbered("            - name: d{}\n              volumeName: x\n", 20_000)),
        "KubeVirt 0.13 removed",
        ways=ALL_WAYS,
    ),
    "labels": Wrong(lambda: with_metadata("    labels:\n" + numbered("      -a{}: x\n", 25_000)), "is not valid"),
    "ignores": Wrong(
        lambda: with_metadata(IGNORE + numbered("        rule{}: why\n", 20_000)),
        " is not a rule; ",
        ways=ALL_WAYS,  # annotations of this size are an error of their own
    ),
}


def listed(lines: str, holder: str, *, large: bool = False) -> bytes:
    """A ResourceList with these lines, between two VMs that must be rendered; a large one has many more, all different."""
    head = {"vm": VM, "other": OTHER}.get(holder, "").format("hostile")
    inside, behind = ("", lines) if holder in ("behind", "end") else (head + lines, "")
    much = "".join(UNLIKE.format(number, number) for number in range(LARGE_LIST)) if large else ""
    text = HEAD + SIZE + VM.format("first") + inside + VM.format("last") + much + CONFIG + behind
    return text.encode("utf-8", "surrogateescape")


def run(data: bytes, folder: Path, *arguments: str) -> Run:
    """Like `measured`. If the run fails, it reports one line."""
    ran = measured(data, folder, *arguments)
    if ran.err.startswith("kubevirt-render: error: "):
        assert (ran.code, ran.out, ran.err.count("\n"), ran.err[-1]) == (1, b"", 1, "\n")
    return ran


def measured(data: bytes, folder: Path, *arguments: str) -> Run:
    """The result of a run of the program, which kept to the bound of memory. A run that takes minutes is killed."""
    ran = measure(data, folder, arguments)
    assert ran.code in (0, 1)
    assert ran.megabytes < MEGABYTES
    assert "internal error" not in ran.err
    assert "Traceback" not in ran.err
    return ran


def hold(ran: Run, row: Row, text: bytes) -> None:
    """The function reports the words of the row, or renders the VMs and does not change the text."""
    if row.error:
        assert ran.err.endswith(f"{row.error}\n")
    else:
        assert (ran.code, ran.err) == (0, "")
        assert text in ran.out
        assert REFERENCE not in ran.out


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_function_ends_cleanly_on_both_roads(row: Row, tmp_path: Path) -> None:
    lines = row.build()
    data, text = listed(lines, row.holder), b"" if row.holder in ("items", "end") else lines.encode("utf-8", "surrogateescape")
    hold(run(data, tmp_path), row, text)
    hold(run(data.replace(b"\n", b"\r\n"), tmp_path), row, text.replace(b"\n", b"\r\n"))
    if len(data) < 1 << 20:
        hold(run(listed(lines, row.holder, large=True), tmp_path), row, text)


# `render` does what the function does: one row of each error and holder shows that.
RENDERED = {(row.error, row.holder): name for name, row in ROWS.items()}.values()


@pytest.mark.parametrize(("command", "name"), [*(("check", name) for name in ROWS), *(("render", name) for name in RENDERED)])
def test_the_command_ends_cleanly(command: str, name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    ran = run(listed(row.build(), row.holder), tmp_path, command, "-")
    if row.error and (command, row.error) not in SILENT:
        assert ran.err.endswith(f"{row.error}\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_of_very_many_mistakes_the_first_are_reported_by_both_readers(wrong: Wrong, newline: str, tmp_path: Path) -> None:
    lines = listed(wrong.build(), wrong.holder).decode()
    ways = {"render": (lines, ()), "validate": (lines + VALIDATE, ()), "check": (lines, ("check", "-"))}
    for way, (text, arguments) in ways.items():
        ran = measured(text.replace("\n", newline).encode(), tmp_path, *arguments)
        said = [line for line in (ran.out.decode() if way == "check" else ran.err).splitlines() if wrong.words in line]
        told = way in wrong.ways
        assert ran.code == (wrong.is_error and way != "render")
        assert len(said) == (MOST if told else 0)
        assert [" more of these are not reported" in line for line in said].count(True) == told


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_in_a_long_item_are_those_of_its_lines(newline: str) -> None:
    rng = Random(1)
    for shift in range(50):  # line breaks are counted in strides, which may end anywhere
        lines = ["kind: ResourceList", "items:", f"- a: {'x' * shift}", *(f"  k{i}: {'é' * 40}" for i in range(1000))]
        text = read_resource_list("".join(line + newline for line in lines).encode())
        asked = rng.sample(range(1000), 30)
        assert [text.place(0, (f"k{i}",), key=True) for i in asked] == [(i + 4, 3) for i in asked]
