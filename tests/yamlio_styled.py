"""Random values, random edits of them, and random ways to lay them out as YAML: what the laws of yamlio are tried on."""

from __future__ import annotations

import json
from random import Random
from typing import Any

WORDS = [
    "a",
    "name",
    "bus",
    "vm-1",
    "x y",
    "yes",
    "1",
    "0x1F",
    "52:54:00:12:34:56",
    "10Gi",
    "~",
    "é😀",
    "",
    "a: b",
    "a #b",
    "- a",
    "1e3",
    "it's",
    '"q"',
]
TEXTS = [
    "one\ntwo\n",
    "#cloud-config\nusers:\n  - a\n\nend\n",
    "no end\nhere",
    " lead\nx\n",
    "tail \nx\n",
    "\nx\n",
    "keep\n\n\n",
    "t\tab\nx\n",
]
KEYS = ["a", "b", "c", "name", "spec", "disks", "x/y.z", "on", "1", "with space", "k: v", "#k"]


def value(rng: Random, depth: int = 3) -> Any:
    """A random plain value, nested at most `depth` deep."""
    kind = rng.random()
    if depth and kind < 0.4:
        return {key: value(rng, depth - 1) for key in rng.sample(KEYS, rng.randint(0, 4))}
    if depth and kind < 0.6:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return scalar(rng)


def scalar(rng: Random) -> Any:
    return rng.choice([None, True, False, 0, 7, -3, 1.5, 2**63, rng.choice(WORDS), rng.choice(WORDS), rng.choice(TEXTS)])


def edited(rng: Random, old: Any, depth: int = 3) -> Any:
    """The value with a few random changes; what stays equal may be the same object or a copy."""
    if rng.random() < 0.06:
        return value(rng, depth)
    if isinstance(old, dict):
        new = {key: edited(rng, item, depth - 1) if rng.random() < 0.5 else item for key, item in old.items()}
        for key in list(new):
            if rng.random() < 0.12:
                del new[key]
        if rng.random() < 0.25:
            new[rng.choice([*KEYS, "new"])] = value(rng, max(depth - 1, 0))
        return new
    if isinstance(old, list):
        new_list = [edited(rng, item, depth - 1) if rng.random() < 0.5 else item for item in old]
        if new_list and rng.random() < 0.12:
            del new_list[rng.randrange(len(new_list))]
        if rng.random() < 0.25:
            new_list.insert(rng.choice([len(new_list), rng.randint(0, len(new_list))]), value(rng, max(depth - 1, 0)))
        return new_list
    return scalar(rng) if rng.random() < 0.2 else old


class Styled:
    """Lays values out, choosing a style at every step. `tame` keeps to what kustomize and kpt write, plus comments.

    `links` is how much more anchors and aliases there are.
    """

    def __init__(self, rng: Random, *, tame: bool = False, links: int = 1) -> None:
        self.rng, self.tame, self.links = rng, tame, links
        self.step = rng.choice([2, 2, 2, 4, 3])
        self.dash = rng.choice([0, 0, self.step])
        self.anchors: list[tuple[str, str]] = []

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def wild(self, share: float) -> bool:
        return not self.tame and self.chance(share)

    def comment(self) -> str:
        return self.rng.choice(["", "", "", "  # note", " # a: b"])

    def inline(self, item: Any, *, flow: bool = False) -> str:
        """A scalar or flow collection on one line."""
        if isinstance(item, dict):
            parts = [f"{self.text(key, flow=True)}: {self.inline(below, flow=True)}" for key, below in item.items()]
            return "{" + ", ".join(parts) + "}"
        if isinstance(item, list):
            return "[" + ", ".join(self.inline(below, flow=True) for below in item) + "]"
        if isinstance(item, str):
            return self.text(item, flow=flow)
        if item is None:
            return self.rng.choice(["null", "~", "Null"])
        if isinstance(item, bool):
            return self.rng.choice(["true", "yes", "on"] if item else ["false", "no", "off"])
        return repr(item)

    def text(self, text: str, *, flow: bool = False) -> str:
        safe = text.isascii() and text.replace("-", "a").replace(" ", "a").isalnum() and text[0].isalpha() and text[-1] != " "
        if safe and text not in ("yes", "on", "y", "n") and self.chance(0.8):
            return text
        if "\n" not in text and "\t" not in text and self.chance(0.5):
            return "'" + text.replace("'", "''") + "'"
        out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'"{out}"'

    def entry(self, out: list[str], head: str, item: Any, column: int) -> None:
        """Lay out one map or list entry: `head` is its indentation, key and colon, or dash."""
        is_dash = head.endswith("-")
        if self.wild(0.04 * self.links) and self.anchors:
            name, shown = self.rng.choice(self.anchors)
            if shown == repr(item):
                out.append(f"{head} *{name}{self.comment()}")
                return
        prefix = ""
        if self.wild(0.06 * self.links):
            name = f"x{self.rng.randint(0, 3)}"
            self.anchors = [one for one in self.anchors if one[0] != name] + [(name, repr(item))]
            prefix = f" &{name}"
        if isinstance(item, str) and "\n" in item and item[0] not in " \n" and self.chance(0.8):
            self.literal(out, head + prefix, item, column)
        elif isinstance(item, (dict, list)) and item and not self.chance(0.12):
            self.collection(out, head, prefix, item, column, is_dash=is_dash)
        elif item is None and self.chance(0.4):
            out.append(head + prefix + self.comment())
        elif self.wild(0.05) and not isinstance(item, (dict, list)):
            out.extend([head + prefix + self.comment(), " " * (column + self.step) + self.inline(item)])
        else:
            out.append(f"{head}{prefix} {self.inline(item)}{self.comment()}")

    def literal(self, out: list[str], head: str, text: str, column: int) -> None:
        body = text.rstrip("\n")
        ends = len(text) - len(body)
        chomp = "-" if ends == 0 else "" if ends == 1 else "+"
        margin = " " * (column + self.rng.choice([self.step, 2, 5]))
        out.append(f"{head} |{chomp}{self.comment()}")
        out.extend(margin + line if line else "" for line in body.split("\n"))
        out.extend([""] * (ends - 1 if ends > 1 else self.rng.choice([0, 0, 2]) if not self.tame else 0))

    def collection(self, out: list[str], head: str, prefix: str, item: Any, column: int, *, is_dash: bool) -> None:
        below = column + (2 if is_dash else self.step if isinstance(item, dict) else self.dash)
        lead = " " * below
        if is_dash and not prefix and self.chance(0.85):
            lead = head + " "
        else:
            out.append(head + prefix + self.comment())
        entries = list(item.items()) if isinstance(item, dict) else [(None, one) for one in item]
        for key, one in entries:
            if lead.strip() == "" and self.chance(0.15):
                out.append(self.rng.choice(["", " " * below + "# above"]))
            if key is None:
                self.entry(out, lead + "-", one, below)
            elif self.wild(0.03):
                out.append(f"{lead}? {self.text(key)}")
                self.entry(out, " " * below + ":", one, below)
            else:
                self.entry(out, f"{lead}{self.text(key)}:", one, below)
            lead = " " * below
        if self.chance(0.1):
            out.append(" " * self.rng.choice([0, below, below + 2]) + "# below")


def listed(rng: Random, items: list[Any], *, tame: bool = False, links: int = 1) -> bytes:
    """A ResourceList of these items, laid out at random."""
    if not tame and rng.random() < 0.2:
        return as_json(rng, items) if rng.random() < 0.6 else in_flow(rng, items)
    across = rng.random() < 0.1  # anchors of one item, aliased in the next
    styled = Styled(rng, tame=tame, links=links)
    lines = rng.choice([[], ["# head"], ["---"], ["# head", "---"]]) if not tame else []
    head = ["apiVersion: config.kubernetes.io/v1", "kind: ResourceList"]
    config = ["functionConfig:", "  data: {a: 'b'}"]
    body: list[str] = []
    if items:
        margin = " " * rng.choice([0, 0, 2])
        body.append("items:" + styled.comment())
        for item in items:
            styled.anchors = styled.anchors if across else []
            styled.entry(body, margin + "-", item, len(margin))
            body += rng.choice([[], [], [margin + "# between"], [""]])
    else:
        body.append(rng.choice(["items: []", "items:", "items: null # none"]))
    parts = rng.choice([[head, body, config], [head, config, body], [body, head]])
    text = "\n".join(lines + [line for part in parts for line in part]) + "\n"
    if rng.random() < 0.15 and not tame:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.1 and not tame:
        text = "\ufeff" + text
    return text.encode()


def as_json(rng: Random, items: list[Any]) -> bytes:
    """A ResourceList of these items as JSON, on one line or over many."""
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": {}}
    if rng.random() < 0.3:
        whole = dict(reversed(whole.items()))
    indent = rng.choice([None, 2, 4, "\t"])
    text = json.dumps(whole, indent=indent, ensure_ascii=False, separators=(",", ":") if indent is None else None)
    return (text + rng.choice(["", "\n"])).encode()


def in_flow(rng: Random, items: list[Any]) -> bytes:
    """A ResourceList in block style whose items stand in brackets."""
    styled = Styled(rng)
    parts = [styled.inline(item, flow=True) for item in items]
    inside = rng.choice([", ", ",\n  ", ", # note\n  "]).join(parts)
    closing = rng.choice(["]", "\n  ]", ", ]"]) if parts else "]"
    tail = rng.choice(["", "functionConfig: {}\n", "# end\n"])
    return f"kind: ResourceList\nitems: [{inside}{closing}{styled.comment()}\n{tail}".encode()


def streamed(rng: Random, items: list[Any], *, tame: bool = False) -> bytes:
    """The items as documents of a stream; None may be an empty one."""
    styled = Styled(rng, tame=tame)
    out: list[str] = []
    for i, item in enumerate(items):
        styled.anchors = []
        if i or rng.random() < 0.5:
            out.append("---" + styled.comment())
        if isinstance(item, (dict, list)) and item and rng.random() < 0.8:
            body: list[str] = []
            styled.collection(body, "", "", item, -styled.step if isinstance(item, dict) else -styled.dash, is_dash=False)
            out += body
        elif item is not None:
            out.append(styled.inline(item))
        elif rng.random() < 0.5:
            out.append("# nothing")
        if styled.wild(0.1):
            out.append("...")
    return ("\n".join(out) + "\n").encode()
