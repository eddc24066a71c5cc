"""What `diff` writes for people: VMs that change alike, fields in words, and Markdown of any size and with any names."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import checking
import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from test_names import FRAGMENTS, is_inert, texts

import krm_fn
from krm_fn.changes.summary import CALLED, IN_ORDER, LEVELS
from krm_fn.cli.changes_fields import change, values
from krm_fn.cli.changes_groups import grouped
from krm_fn.cli.changes_markdown import LEGEND, markdown_of
from krm_fn.cli.changes_text import text_of
from krm_fn.cli.changes_words import OF_VM
from krm_fn.cli.output_files import TEXT

Object = dict[str, Any]
COMMENT = 65_536  # what GitHub takes


def vm(name: str, namespace: str = "shop", *, strategy: str = "Always", **spec: Any) -> Object:
    size = {} if "instancetype" in spec else {"memory": {"guest": "2Gi"}}
    template = {"domain": {"devices": {}, **size, **spec.pop("domain", {})}, **spec.pop("template", {})}
    meta = {"name": name, "namespace": namespace}
    spec = {"runStrategy": strategy, **spec, "template": {"spec": template}}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": spec}


def sized(name: str, cores: int, **more: Any) -> Object:
    return vm(name, domain={"cpu": {"cores": cores}}, **more)


def typed(name: str, **more: Any) -> Object:
    return vm(name, instancetype={"kind": "VirtualMachineInstancetype", "name": "small"}, **more)


def instancetype(vcpus: int, name: str = "small", namespace: str = "shop") -> Object:
    spec = {"cpu": {"guest": vcpus}, "memory": {"guest": "2Gi"}}
    meta = {"name": name, "namespace": namespace}
    kind = "VirtualMachineInstancetype"
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": meta, "spec": spec}


def answer(base: list[Object], head: list[Object], **more: Any) -> Object:
    found: Object = krm_fn.diff({"items": base}, {"items": head}, **more)
    return found


def text(base: list[Object], head: list[Object], *, together: bool = True, **more: Any) -> str:
    return text_of(answer(base, head, **more), color=False, together=together)


def test_vms_that_change_alike_are_told_together_and_named_each() -> None:
    names = [f"web-{number}" for number in range(12)]
    out = text([sized(name, 1) for name in names], [sized(name, 2) for name in names])
    assert out == (
        "12 VirtualMachines: need a restart\n"
        "  shop: web-0, web-1, web-10, web-11, web-2, web-3, web-4, web-5, web-6, web-7, web-8, web-9\n"
        "  restart required: a non-live-updatable field was changed in the template spec\n"
        "  pod requests: CPU 0.105 → 0.205, memory 2.29Gi → 2.3Gi\n"
        "  CPU cores per socket 1 → 2, after a restart; because of the manifest: spec.template.spec.domain.cpu.cores\n"
        "\n"
        "12 of 12 VMs change: 12 restart\n"
    )


def test_each_vm_has_its_own_block_if_that_is_wanted() -> None:
    base, head = ([sized(name, cores) for name in ("a", "b")] for cores in (1, 2))
    blocks = text(base, head, together=False).split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [
        "VirtualMachine shop/a: needs a restart",
        "VirtualMachine shop/b: needs a restart",
        "2 of 2 VMs change: 2 restart",
    ]


def test_no_name_is_lost_or_cut_in_a_large_group() -> None:
    names = [f"{'x' * 200}-{number}" for number in range(300)]
    out = text([sized(name, 1) for name in names], [sized(name, 2) for name in names])
    assert all(re.search(rf"\b{name}\b", out) for name in names)


def test_an_edit_of_a_shared_object_is_told_first_with_the_vms_that_it_reaches() -> None:
    names = ["a", "b", "c"]
    base, head = ([instancetype(number), *map(typed, names)] for number in (2, 4))
    kept = text(base, head).splitlines()
    edit = "VirtualMachineInstancetype shop/small: spec.cpu.guest 2 → 4"
    assert kept[0] == f"{edit} reaches no VM that exists: 3 VMs keep a stored revision"
    assert kept[-1] == "none of 3 VMs change; 3 keep a stored revision"
    assert text(base, head, new=True).splitlines()[0] == f"{edit} reaches 3 VMs: 3 at the next start"


def test_an_edit_that_concerns_one_vm_is_told_with_the_vm_alone() -> None:
    out = text([instancetype(2), typed("a")], [instancetype(4), typed("a")])
    assert out.startswith("VirtualMachine shop/a: stays as it is\n")


def test_the_most_severe_groups_come_first_and_then_the_largest() -> None:
    base = [sized("gone", 1), sized("one", 1), *(sized(f"many-{number}", 2) for number in range(3)), vm("halted")]
    head = [sized("one", 3), *(sized(f"many-{number}", 4) for number in range(3)), vm("halted", strategy="Halted")]
    heads = [block.splitlines()[0] for block in text(base, head).split("\n\n")]
    assert heads == [
        "VirtualMachine shop/gone: is removed",
        "3 VirtualMachines: need a restart",
        "VirtualMachine shop/one: needs a restart",
        "VirtualMachine shop/halted: is stopped",
        "6 of 6 VMs change: 1 removed, 4 restart, 1 stopped",
    ]


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/spec/domain/cpu/sockets", "CPU sockets"),
        ("/spec/domain/cpu/features[vmx]/policy", "CPU feature vmx: policy"),
        ("/spec/domain/devices/disks[root]/disk/bus", "disk root: bus"),
        ("/spec/domain/devices/interfaces[lan]/macAddress", "interface lan: MAC address"),
        ("/spec/domain/firmware/bootloader/efi/secureBoot", "firmware boot loader EFI secure boot"),
        ("/spec/domain/resources/requests/memory", "request of memory"),
        ("/spec/volumes[ci]/cloudInitNoCloud/userData", "volume ci: cloud-init user data"),
        ("/spec/volumes[ci]", "volume ci"),
        ("/spec/volumes", "volumes"),
        ("/spec/domain/features/smm/enabled", "feature SMM enabled"),
        ("/spec/nodeSelector/kubernetes.io~1hostname", "node selector kubernetes.io/hostname"),
        ("/labels/app.kubernetes.io~1name", "label app.kubernetes.io/name"),
        ("/spec/evictionStrategy", "eviction strategy"),
    ],
)
def test_a_field_is_told_in_words(path: str, word: str) -> None:
    each = {"path": path, "part": "other", "old": 1, "new": 2, "when": "restart"}
    assert change(each, TEXT) == f"{word} 1 → 2, after a restart"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (2, 4, "2 → 4"),
        (None, True, "none → true"),
        ("x", None, "x → none"),
        (None, {"bridge": {}}, 'added: {"bridge": {}}'),
        ({}, None, "removed"),
        ([1, 2], [2, 1], "in another order"),
        ("(hidden)", "(hidden)", "changed (hidden)"),
        (None, "(hidden)", "added (hidden)"),
        ("a" * 90 + "old", "a" * 90 + "new", f"...{'a' * 20}old → ...{'a' * 20}new"),
    ],
)
def test_both_values_are_told(old: Any, new: Any, said: str) -> None:
    assert values({"old": old, "new": new}, TEXT) == said


def test_a_placement_that_changes_moves_no_vm_that_runs() -> None:
    out = text([vm("a")], [vm("a", template={"nodeSelector": {"zone": "b"}})])
    assert 'node selector added: {"zone": "b"}, at once, for the next migration or start; because of' in out


def test_every_effect_has_a_word_a_sentence_and_a_meaning() -> None:
    effects = {effect for level in LEVELS for effect in (*level.effects, *(f"data:{each}" for each in level.of_data))}
    assert effects == CALLED.keys()
    assert effects < OF_VM.keys()
    assert set(IN_ORDER) <= LEGEND.keys()


# Markdown


def rendered(markdown: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)


@cache
def many(number: int, name: str = "web") -> Object:
    """The answer about VMs of which each one changes in its own way, and an instancetype that a third of them use."""
    base, head = [instancetype(2)], [instancetype(4)]
    for at in range(number):
        before, after = sized(f"{name}-{at}", 1), sized(f"{name}-{at}", 2 + at % 50)
        if at % 3 == 0:
            before = after = typed(f"{name}-{at}")
        base.append(before)
        head.append(after)
    return answer(base, head)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("number", "name"), [(1, "web"), (50, "web"), (5000, "web"), (50, "x" * 253), (500, "|`" * 120)])
def test_markdown_fits_into_a_comment_whatever_there_is_to_say(number: int, name: str, together: bool) -> None:
    out = markdown_of(many(number, name), together=together)
    assert len(out) < COMMENT
    html = rendered(out)
    assert html.count("<details") == html.count("</details>") == out.count("\n</details>")
    left = sum(int(count.replace(",", "")) for count in re.findall(r"^- and ([\d,]+) more$", out, re.MULTILINE))
    entries = len(re.findall(r"^- (?:\S+ VirtualMachines|VirtualMachine \S+?): ", out, re.MULTILINE))
    groups = len(grouped(many(number, name)["vms"], lambda record, **_: [str(record.get("changes"))], together=together))
    assert entries + left >= groups or together


def test_what_is_left_out_is_counted() -> None:
    found = many(5000)
    out = markdown_of(found, together=False)
    counted = [int(count.replace(",", "")) for count in re.findall(r"and ([\d,]+) more(?: \| \| \|)?$", out, re.MULTILINE)]
    shown = len(re.findall(r"^- VirtualMachine `", out, re.MULTILINE))
    rows = len(re.findall(r"^\| :", out, re.MULTILINE))
    assert rows + counted[0] == 5000  # the table
    assert shown + sum(counted[1:]) == 5000  # the folds


def test_the_same_answer_gives_the_same_markdown_in_any_order() -> None:
    found = many(50)
    turned = {**found, "vms": found["vms"][::-1]}
    assert markdown_of(found) == markdown_of(turned) == markdown_of(json.loads(json.dumps(found)))


def test_markdown_says_an_edit_that_reaches_many_once_and_folds_the_details() -> None:
    out = markdown_of(many(50))
    lines = out.splitlines()
    assert lines[:2] == [
        "<!-- kubevirt-render diff -->",
        "### kubevirt-render: 33 of 50 VMs change: 33 restart; 17 keep a stored revision",
    ]
    edit = "- VirtualMachineInstancetype `shop/small`: `spec.cpu.guest` 2 → 4"
    assert lines[3] == f"{edit} reaches no VM that exists: 17 VMs keep a stored revision"
    assert "<summary>33 VMs: restart</summary>" in out
    assert out.count("<details open>") == 0
    vms = "**17 VMs**: `shop/web-0`, `shop/web-12`, `shop/web-15` and 14 more"
    assert f"| :pushpin:&nbsp;kept | {vms} | VirtualMachineInstancetype `small` as stored: `spec.cpu.guest` 2, not 4 |" in out


def test_markdown_of_few_vms_is_open() -> None:
    assert markdown_of(many(2)).count("<details open>") == 2


def test_markdown_without_a_change_is_a_heading_alone() -> None:
    assert (
        markdown_of(answer([vm("a")], [vm("a")]))
        == "<!-- kubevirt-render diff -->\n### kubevirt-render: none of 1 VM changes\n"
    )


HEADS = r"<details(?: open)?><summary>[\d,]+ (?:VM|object)s?: [a-z ]+</summary>|<details><summary>What this means</summary>"
ICON = re.compile(r":[a-z_]+:\xa0")


def is_only_text(markdown: str) -> None:
    """AssertionError where a name is markup, a mention, a reference or a link in a comment, or ends a fold or a cell."""
    is_inert(markdown)
    assert not any(line.startswith("/") for line in markdown.splitlines())  # GitLab's quick actions
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    blocks = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert all(re.fullmatch(rf"<!-- kubevirt-render diff -->|{HEADS}|</details>", each) for each in blocks), blocks
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    assert cells == 3 * sum(token.type == "tr_open" for token in tokens)
    assert not any(token.type in ("fence", "code_block", "blockquote_open", "hr", "ordered_list_open") for token in tokens)
    for inline in (token for token in tokens if token.type == "inline"):
        for token in inline.children or ():
            assert token.type in ("text", "code_inline", "strong_open", "strong_close", "text_special"), token
            said = "" if token.type == "code_inline" else ICON.sub("", token.content)
            assert not re.search(r"[@<>\[\]|`*_~!#&$]|//|www\.|:\w+:|[0-9a-f]{7}|GH-\d", said), said


@cache
def harmless() -> Object:
    """An answer in which a1x, b2x, c3x and d4x stand wherever users can write something."""
    volumes = [{"name": name, "containerDisk": {"image": "d4x"}} for name in ("root", "a1x")]
    disks = [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "a1x")]
    old = {"template": {"volumes": volumes[:1]}, "domain": {"devices": {"disks": disks[:1]}}}
    new = {"template": {"volumes": volumes, "nodeSelector": {"c3x": "d4x"}}, "domain": {"devices": {"disks": disks}}}
    types = [instancetype(number, "a1x", "b2x") for number in (2, 4)]
    matcher = {"instancetype": {"kind": "VirtualMachineInstancetype", "name": "a1x"}}
    same = [vm(name, "b2x", **matcher) for name in ("t-a1x", "u-a1x")]
    disk = {"dataVolumeTemplates": [{"metadata": {"name": "c3x-disk"}, "spec": {"storage": {}, "source": {"blank": {}}}}]}
    moved = [sized(name, 3, namespace="b2x", **disk) for name in ("c3x-old", "c3x-new")]
    base = [types[0], *same, vm("a1x", "b2x", **old), vm("d4x", "b2x"), vm("c3x", "a1x"), moved[0]]
    head = [types[1], *same, vm("a1x", "b2x", **new), vm("c3x", "a1x", strategy="d4x"), moved[1]]
    found = answer(base, head)
    for record in found["vms"]:
        record["target"] = "clusters/d4x"
    return found


def hostile(name: str, namespace: str, key: str, word: str) -> Object:
    """The same answer with other words."""

    def spelt(value: Any) -> Any:
        if isinstance(value, dict):
            return {spelt(each): spelt(below) for each, below in value.items()}
        if isinstance(value, list):
            return [spelt(below) for below in value]
        if not isinstance(value, str):
            return value
        return value.replace("a1x", name).replace("b2x", namespace).replace("c3x", key).replace("d4x", word)

    found: Object = spelt(harmless())
    return found


@pytest.mark.parametrize(
    "fragment", [*FRAGMENTS, "@org/team", "</summary></details>", "\n/close\n", "fixes #1", "]]>", "<!-- -->"]
)
def test_no_name_is_more_than_text(fragment: str) -> None:
    for words in ([fragment] * 4, [f"a{fragment}b"] * 4, [f"{fragment} {fragment}"] * 4):
        found = hostile(*words)
        for together in (True, False):
            is_only_text(markdown_of(found, together=together))
            is_inert(text_of(found, color=False, together=together))


@settings(max_examples=150, deadline=None)
@given(texts, texts, texts, texts)
def test_no_words_of_users_are_more_than_text(name: str, namespace: str, key: str, word: str) -> None:
    found = hostile(name, namespace, key, word)
    is_only_text(markdown_of(found))
    is_inert(text_of(found, color=False))


def test_these_words_stand_in_every_place_that_is_written() -> None:
    out = markdown_of(harmless())
    places = ("`b2x/a1x` in `clusters/d4x`", "volume `a1x`", "disk `a1x`", '`{"c3x": "d4x"}`', "`b2x/a1x`: `spec.cpu.guest`")
    assert [place for place in places if place not in out] == []
    assert "'d4x' is not supported" in out
    assert "`b2x/c3x-new (was c3x-old)` in `clusters/d4x`" in out
    assert "deletes `DataVolume/c3x-disk`, with its data" in out


@pytest.mark.parametrize(
    ("arguments", "environment", "tty", "colored"),
    [
        ([], {}, True, True),
        ([], {}, False, False),
        ([], {"NO_COLOR": "1"}, True, False),
        ([], {"TERM": "dumb"}, True, False),
        ([], {"FORCE_COLOR": "1"}, False, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        (["--color", "always"], {"NO_COLOR": "1"}, False, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_goes_where_it_is_wanted(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], tty: bool, colored: bool
) -> None:
    for side, cores in (("base", 1), ("head", 2)):
        (tmp_path / f"{side}.json").write_text(json.dumps(sized("web", cores)))
    out = checking.run("diff", "base.json", "head.json", *arguments, cwd=tmp_path, tty=tty, **environment)[1]
    assert ("\x1b[1;33mVirtualMachine shop/web: needs a restart\x1b[0m\n" in out) is colored
