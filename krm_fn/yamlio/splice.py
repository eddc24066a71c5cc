"""Changes to a value as changes to its text: only the parts that differ are written again.

`respell` is the entry point. It makes the smallest edits that it can, and reads the result back. If that is not the wanted
value (an anchor that others alias, an exotic layout), it makes larger edits: it writes the collections around each change as
new text in block or flow style, then the collections around those, and at last the complete value.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator, Mapping
from krm_fn.base.errors import InputError
from krm_fn.base.paths import Path
from krm_fn.yamlio.compare import aligned, changes, same
from krm_fn.yamlio.edits import DASH, FLOW, KEY, ROOT, Edits, Holder
from krm_fn.yamlio.emit import scalar_text
from krm_fn.yamlio.layout import Unspliceable, line_start
from krm_fn.yamlio.nodes import ALIAS, MAP, SEQ, Entry, Node
from krm_fn.yamlio.styles import has_quoted_keys

BREAKS = ("\n", "\r")


def respell(
    text: str,
    old: Any,
    new: Any,
    *,
    parse: Callable[[str], Node],
    read: Callable[[str], Any],
    newline: str = "\n",
    json: bool = False,
    inside: bool = False,
    expand: bool = False,
    successors: Mapping[str, str] | None = None,
    quotes: bool = False,
) -> str:
    """The text of `old` changed so that it reads as `new`.

    `parse` returns the tree of a text, `read` its value, or raises InputError. `json` is for a text that shows no style itself,
    `inside` for one from inside brackets. With `expand`, no alias stays. `successors` names keys that replace others in the
    same map, and keep their comments. With `quotes`, a text that replaces another one keeps its quotes.
    Raises: Unspliceable if the complete value as new text does not read back either; no legal text is known to do this.
    """
    root = parse(text)
    for expanding, targets in ladder(old, new):
        if expand and not expanding:
            continue
        splicer = Splicer(text, root, newline, targets, json=json, inside=inside, expand=expanding)
        splicer.successors, splicer.quotes = successors or {}, quotes
        try:
            edited = splicer.run(old, new)
            if splicer.simple or (_has_same_end(text, edited) and same(read(edited), new)):
                return edited
        except (Unspliceable, InputError):
            continue
    raise Unspliceable("the text holds a form that can't be changed")


def _has_same_end(text: str, edited: str) -> bool:
    """True unless a line break at the end was lost, which the text after it needs."""
    return edited.endswith(BREAKS) or not text.endswith(BREAKS)


def ladder(old: Any, new: Any) -> Iterator[tuple[bool, frozenset[Path]]]:
    """Ways to splice, the smallest edits first: whether aliases are written out, and the paths to write again.

    These paths are at first none, then the changes, then the values around them, and so on up to the complete value.
    """
    yield False, frozenset()
    yield True, frozenset()
    paths = changes(old, new)
    for cut in range(max(map(len, paths), default=0)):
        yield True, frozenset(path[: max(0, len(path) - cut)] for path in paths)
    yield True, frozenset({()})


class Splicer(Edits):
    """The edits for a difference of values. Values at `targets` are written again, and with `expand` every alias is."""

    def __init__(
        self, text: str, root: Node, newline: str, targets: frozenset[Path], *, json: bool, inside: bool, expand: bool
    ) -> None:
        super().__init__(text, root, newline, json=json, inside=inside)
        self.targets, self.expand = targets, expand
        self.successors: Mapping[str, str] = {}
        self.waiting: list[tuple[Node, Holder, Any, Any, Path, bool]] = []

    def run(self, old: Any, new: Any) -> str:
        """The text with the difference of the two values applied."""
        self.waiting.append((self.root, self.holder_of_root(), old, new, (), self.json))
        while self.waiting:
            node, holder, one, two, path, self.json = self.waiting.pop()
            self.depth = len(path)
            self.change(node, holder, one, two, path)
        self.simple = self.simple and not self.touch(self.root.guarded)
        return self.apply()

    def holder_of_root(self) -> Holder:
        start = self.root.start
        lead = self.text[line_start(self.text, start) : start].strip(" \t")
        if lead == "-":
            return DASH, -1, 0
        return (FLOW if lead or self.inside else ROOT), start, start

    def change(self, node: Node, holder: Holder, old: Any, new: Any, path: Path) -> None:
        """Make the edits that change the node from `old` to `new`. Nodes inside it may be added to `waiting`."""
        if node.flow and (holder[0] != FLOW or not path):
            self.json = has_quoted_keys(self.text, node, default=self.json and holder[0] == FLOW)
        if path in self.targets or (self.expand and node.kind == ALIAS):
            self.replace(node, holder, new)
        elif self.targets or self.expand or not same(old, new):
            if isinstance(old, dict) and isinstance(new, dict) and node.kind == MAP:
                self.change_map(node, holder, old, new, path)
            elif isinstance(old, list) and isinstance(new, list) and node.kind == SEQ:
                self.change_list(node, holder, old, new, path)
            elif not same(old, new):
                self.replace(node, holder, new)

    def change_map(self, node: Node, holder: Holder, old: dict[str, Any], new: dict[str, Any], path: Path) -> None:
        old, entries = self.rename_keys(node, old, new) if self.successors else (old, node.entries)
        gone = old.keys() - new.keys()
        if not gone <= entries.keys() or (gone and gone >= entries.keys()):
            self.replace(node, holder, new)  # a merge set a removed key, or nothing stays
            return
        self.simple = self.simple and entries.keys() <= old.keys()  # false for a merge, which overrides the keys before it
        added = {}
        for key, value in new.items():
            if key not in old:
                added[key] = value
            elif key in entries:
                start, end, child = entries[key]
                if self.expand or value is not old[key]:
                    holder_of_child = (FLOW if node.flow else KEY), start, end
                    self.waiting.append((child, holder_of_child, old[key], value, (*path, key), self.json))
            elif not same(old[key], value):
                added[key] = value  # a merge set the old value; a key of the map itself overrides it
        if added and not entries:
            self.replace(node, holder, new)
            return
        if gone:
            children = [(start, child) for start, _, child in entries.values()]
            self.delete(node, children, {i for i, key in enumerate(entries) if key in gone})
        if added:
            self.add_keys(node, added)

    def rename_keys(self, node: Node, old: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], dict[Any, Entry]]:
        """The old map and its entries with keys renamed to their successors, if these are new; also edits the keys."""
        names: dict[str, str] = {}
        for key in old:
            name = self.successor(key, new)
            if key in node.entries and key not in new and name not in (*old, *names.values()):
                names[key] = name
                start, end, _ = node.entries[key]
                self.simple = False
                self.edit(start, end, scalar_text(name, flow=node.flow, json=node.flow and self.json))
        return (
            {names.get(key, key): value for key, value in old.items()},
            {names.get(key, key): entry for key, entry in node.entries.items()},
        )

    def successor(self, key: str, new: dict[str, Any]) -> str:
        """The first name in the chain of a key's successors that the new map has; the key itself if there is none."""
        name = key
        while name in self.successors:
            name = self.successors[name]
            if name in new:
                return name
        return key

    def change_list(self, node: Node, holder: Holder, old: list[Any], new: list[Any], path: Path) -> None:
        pairs = aligned(old, new)
        kept = {i for i, _ in pairs}
        gone = {i for i in range(len(old)) if i not in kept}
        taken = {j for _, j in pairs}
        added = [j for j in range(len(new)) if j not in taken]
        if (not pairs and (gone or added)) or len(node.nodes) != len(old):
            self.replace(node, holder, new)
            return
        holder_of_child = (FLOW if node.flow else DASH), -1, -1
        for i, j in pairs:
            if self.expand or old[i] is not new[j]:
                self.waiting.append((node.nodes[i], holder_of_child, old[i], new[j], (*path, i), self.json))
        if gone:
            heads = [child.start if node.flow else self.dash(child) for child in node.nodes]
            self.delete(node, list(zip(heads, node.nodes, strict=True)), gone)
        number, ahead = -1, sorted(((k, i) for i, k in pairs), reverse=True)
        for j in added:
            while ahead and ahead[-1][0] < j:
                number = max(number, ahead.pop()[1])
            if number < 0:
                self.add_first(node, new[j])
            else:
                self.add_entry(node, number, new[j])
