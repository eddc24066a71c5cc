"""The edits of a ResourceList: changed items, additional items, the `results`."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.errors import InputError
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.emit import Style, block, entry, flow
from krm_fn.yamlio.layout import Edit, Unspliceable, line_end, line_start_in_bytes, next_line, past_comments, spliced
from krm_fn.yamlio.nodes import Node
from krm_fn.yamlio.splice import respell
from krm_fn.yamlio.styles import style_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.texts import ListText, Top


MARKS = frozenset("|>")  # of blocks of text: what looks like a comment there is text


class ListEdit:
    """The edits for one list. Items in `gone` are removed, items in `changed` have new text, `added` items come last.

    `inserted` items come before the item of that number. `items` are all items of the result, in order.

    In block style, the region of each top-level key (its lines up to the next key) and the last item's piece are texts that
    change step by step, because several changes meet at their ends.
    """

    def __init__(
        self,
        text: ListText,
        items: list[Any],
        gone: set[int],
        changed: dict[int, bytes],
        added: list[Any],
        *,
        inserted: dict[int, list[Any]],
    ) -> None:
        self.text, self.items, self.gone, self.changed, self.added = text, items, gone, changed, added
        self.inserted = inserted
        self.top: Top = text.top  # type: ignore[assignment]
        self.edits: list[Edit] = []
        self.newline = text.newline
        self.behind = 0  # in the text of the last piece: the end of the lines that were added after it

    def run(self, results: list[Any]) -> bytes:
        for i, new in self.changed.items():
            self.edits.append((self.text.pieces[i].start, self.text.pieces[i].end, new))
        if self.top.flow:
            self.finish_flow(results)
        elif self.top.form == "flow":
            self.finish_items_in_flow()
            self.finish_block(results)
        else:
            self.finish_block(results)
        out = spliced(self.text.data, self.edits)
        if self.gone or self.inserted or (results and "results" in self.text.head):
            self.check(out)
        return out

    def check(self, out: bytes) -> None:
        """Read the items back: a literal may have gained empty lines, or an alias may have lost its anchor."""
        from krm_fn.yamlio.documents import read_list

        wanted = [item for item in self.items if item is not None]
        try:
            back = read_list(out)
        except InputError:
            raise Unspliceable("an anchor is gone") from None
        heads = [{key: value for key, value in one.head.items() if key != "results"} for one in (self.text, back)]
        if not same(back.items, wanted) or not same(*heads):
            raise Unspliceable("lines that go belong to what stands before them")

    def edit(self, start: int, end: int, new: str) -> None:
        self.edits.append((start, end, new.encode()))

    # Block style

    def finish_block(self, results: list[Any]) -> None:
        if self.top.form == "block":
            self.finish_items()
        regions: dict[int, str] = {}
        names = [key[0] for key in self.top.keys]
        keys: dict[str, Any] = {}
        if self.top.form == "absent":
            keys["items"] = self.added
        elif self.top.form == "empty":
            at = names.index("items")
            regions[at] = self.refilled(at)
        if results:
            keys["results"] = results
            if "results" in names:
                self.drop_results(names.index("results"), regions, keys)
        if keys:
            self.put_last(keys, regions)
        for n, text in regions.items():
            start, end = self.region(n)
            self.edit(start, end, text)

    def region(self, n: int) -> tuple[int, int]:
        """The bytes of the lines of the nth top-level key, up to the next key."""
        start = self.top.keys[n][1] - self.top.column
        return start, self.top.keys[n + 1][1] - self.top.column if n + 1 < len(self.top.keys) else self.top.end

    def region_text(self, n: int) -> str:
        start, end = self.region(n)
        return self.text.data[start:end].decode()

    def refilled(self, n: int) -> str:
        """The region of `items`, which is null or `[]`, with the added items."""
        from krm_fn.yamlio.positions import read_positions
        from krm_fn.yamlio.reader import read_piece

        text = self.region_text(n)

        def read(one: str) -> Any:
            return read_piece(one)[0]

        return respell(text, read(text), {"items": self.added}, parse=read_positions, read=read, newline=self.newline)

    def drop_results(self, n: int, regions: dict[int, str], keys: dict[str, Any]) -> None:
        """Remove the input's results. If they are the last key, put the new ones in their place."""
        from krm_fn.yamlio.positions import read_positions

        text = self.region_text(n)
        end = line_end(text, read_positions(text).end)
        if n == len(self.top.keys) - 1:
            lines = block({"results": keys.pop("results")}, self.top.column, Style())
            regions[n] = self.newline.join(lines) + text[end:]
        else:
            regions[n] = text[next_line(text, end) :]

    def put_last(self, keys: dict[str, Any], regions: dict[int, str]) -> None:
        """Add top-level keys after the last one."""
        from krm_fn.yamlio.positions import read_positions

        lines = block(keys, self.top.column, Style())
        last = len(self.top.keys) - 1
        if self.top.keys[last][0] == "items" and self.top.form == "block":
            self.put_behind_items(lines, self.top.column)
            return
        if self.top.keys[last][0] == "items" and self.top.form == "flow":
            at = self.top.keys[last][4]
            text = self.text.data[at : self.top.end].decode()
            at += len(text[: past_comments(text, line_end(text, 0), self.top.column)].encode())
            self.edit(at, at, self.broken(lines))
            return
        text = regions.get(last, self.region_text(last))
        at = past_comments(text, line_end(text, read_positions(text).end), self.top.column)
        regions[last] = text[:at] + self.broken(lines) + text[at:]

    def broken(self, lines: list[str]) -> str:
        return "".join(self.newline + line for line in lines)

    def finish_items(self) -> None:
        """Remove items from a block list, and put the added ones after the last."""
        for first, last in _runs(sorted(self.gone)):
            self.drop_items(first, last)
        if len(self.gone) == len(self.text.pieces):
            raise Unspliceable("no item stays")
        for number, items in self.inserted.items():
            start = self.text.pieces[number].start
            self.edit(start, start, "".join(line + self.newline for line in self.entries(items)))
        if self.added:
            column = self.dash_column()
            lines = self.entries(self.added)
            # A comment in the column of compact dashes belongs to the next key.
            self.put_behind_items(lines, column + (column == self.top.column))

    def entries(self, items: list[Any]) -> list[str]:
        """The lines of items in the layout of the others."""
        column, style = self.dash_column(), self.style_of_items()
        return [line for item in items for line in entry(" " * column + "-", item, column, style)]

    def put_behind_items(self, lines: list[str], column: int) -> None:
        """Put lines after the last item and the lines that were added there, past comments at `column` or deeper."""
        start, end, text = self.last_piece()
        at = self.behind or line_end(text, self.parse_last(text).end)
        at = past_comments(text, at, column)
        new = self.broken(lines)
        self.behind = at + len(new)
        self.edit(start, end, text[:at] + new + text[at:])

    def last_piece(self) -> tuple[int, int, str]:
        """The last piece that stays, and its current text. Its edit is removed, because the caller makes the final one."""
        n = max(i for i in range(len(self.text.pieces)) if i not in self.gone)
        start, end = self.text.pieces[n].start, self.text.pieces[n].end
        for edit in self.edits:
            if edit[0] == start and edit[1] == end:
                self.edits.remove(edit)
                return start, end, edit[2].decode()
        return start, end, self.text.text_of(n)

    def parse_last(self, text: str) -> Node:
        n = max(i for i in range(len(self.text.pieces)) if i not in self.gone)
        return self.text.parse(text, self.text.pieces[n])

    def drop_items(self, first: int, last: int) -> None:
        """Remove consecutive items."""
        pieces, data = self.text.pieces, self.text.data
        start, end = pieces[first].start, pieces[last].end
        lines = data.count(b"\n", start, end) + data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
        if lines == last + 1 - first:  # each is one line, as nulls mostly are
            self.edit(start, end, "")
        elif first < last:
            middle = (first + last) // 2
            self.drop_items(first, middle)
            self.drop_items(middle + 1, last)
        else:
            text = self.text.text_of(first)
            at = next_line(text, line_end(text, self.end_of_item(first, text)))
            self.edit(start, start + len(text[:at].encode()), "")

    def end_of_item(self, n: int, text: str) -> int:
        """The end of an item's value in its text; 0, at its dash, if only comments follow."""
        head, *behind = text.splitlines()
        if MARKS.isdisjoint(head) and all(line.lstrip(" ")[:1] in ("", "#") for line in behind):
            return 0
        return self.text.parse(text, self.text.pieces[n]).end

    def dash_column(self) -> int:
        text = self.text.text_of(0)
        return text.index("-")

    def style_of_items(self) -> Style:
        text, piece = self.text.text_of(0), self.text.pieces[0]
        return style_of(text, self.text.parse(text, piece), self.newline)

    # Flow style and JSON

    def finish_items_in_flow(self) -> None:
        """Remove items from a flow list, and put the added ones after the last."""
        pieces = self.text.pieces
        if len(self.gone) == len(pieces):
            raise Unspliceable("no item stays")
        last = max(i for i in range(len(pieces)) if i not in self.gone)
        for i in sorted(self.gone):
            if i < last:
                self.edit(pieces[i].start, pieces[i + 1].start, "")
        for number, items in self.inserted.items():
            self.insert_in_flow(pieces[number].start, pieces[number].end, items)
        for item in self.added:
            self.add_in_flow(pieces[last].start, pieces[last].end, item, "")
        if last + 1 < len(pieces):
            self.edit(pieces[last].end, pieces[-1].end, "")

    def finish_flow(self, results: list[Any]) -> None:
        keys = {key[0]: key for key in self.top.keys}
        if self.top.form == "flow":
            self.finish_items_in_flow()
        elif self.top.form == "empty":
            self.put_value(keys["items"], self.added)
        new: dict[str, Any] = {"items": self.added} if self.top.form == "absent" else {}
        if results and "results" in keys:
            self.put_value(keys["results"], results)
        elif results:
            new["results"] = results
        _, start, _, _, end = self.top.keys[-1]
        for key, value in new.items():
            self.add_in_flow(start, end, value, f"{self.flow(key, None)}: ")

    def put_value(self, key: tuple[str, int, int, int, int], value: Any) -> None:
        _, start, _, begin, end = key
        lead = " " if begin == end else ""
        self.edit(begin, end, lead + self.flow(value, self.margin(start)))

    def add_in_flow(self, start: int, end: int, value: Any, head: str) -> None:
        """Add an entry after the one with this start and end, in its layout."""
        margin = self.margin(start)
        between = " " if margin is None else self.newline + margin
        pretty = self.text.json or b"\n" in self.text.data[start:end]
        self.edit(end, end, f",{between}{head}{self.flow(value, margin if pretty else None)}")

    def insert_in_flow(self, start: int, end: int, items: list[Any]) -> None:
        """Add entries before the one with this start and end, in its layout."""
        margin = self.margin(start)
        between = " " if margin is None else self.newline + margin
        pretty = self.text.json or b"\n" in self.text.data[start:end]
        self.edit(start, start, "".join(f"{self.flow(item, margin if pretty else None)},{between}" for item in items))

    def margin(self, at: int) -> str | None:
        """The indentation of the text that starts at this byte; None if the line has other text before it."""
        data = self.text.data
        start = line_start_in_bytes(data, at)
        before = data[start:at].decode()
        return None if before.strip(" \t") or start == 0 else before

    def flow(self, value: Any, margin: str | None) -> str:
        first = self.margin(self.top.keys[0][1])
        style = Style(step=len(first) if first else 2, newline=self.newline)
        return flow(value, style, margin, json=self.text.json)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last number of each run of consecutive numbers; the numbers rise."""
    first = 0
    for at, number in enumerate(numbers, 1):
        if at == len(numbers) or numbers[at] != number + 1:
            yield numbers[first], number
            first = at
