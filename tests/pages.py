"""The report as a reader of HTML takes it apart."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

WORDS = (
    *("kind", "namespace", "target", "cluster", "file", "error", "instancetype", "preference", "template"),
    *("migration", "obstacle"),
)


class Page(HTMLParser):
    """Counts elements, and keeps the texts of scripts and styles, and the policy."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.policy = ""
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        given = dict(attrs)
        assert not [name for name in given if name.startswith("on") or name == "style"], (tag, given)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag in self.raw:
            self._within = tag
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._within:
            self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within:
            self.raw[self._within][-1] += data


def read(page: str) -> Page:
    found = Page()
    found.feed(page)
    found.close()
    return found


def texts_of(page: str, tag: str) -> int:
    """How many elements of a tag there are."""
    return read(page).counts.get(tag, 0)


def data_in(page: str) -> dict[str, Any]:
    """The data of the page."""
    found: dict[str, Any] = json.loads(read(page).raw["script"][0])
    return found


def machines_in(page: str) -> list[dict[str, Any]]:
    """The machines, with words in place of numbers; `shown` has text, source and line in the file of each line."""
    data = data_in(page)
    vms: list[dict[str, Any]] = data["vms"]
    for vm in vms:
        vm.update({key: data["words"][vm.get(key, 0)] for key in WORDS})
        if "like" in vm:
            vm["lines"] = list(vms[vm["like"]]["lines"])
            for at, line in zip(vm["other"][::2], vm["other"][1::2], strict=True):
                vm["lines"][at] = line
        vm["shown"] = [_shown(data, vm, at, line) for at, line in enumerate(vm["lines"])]
    return vms


def _shown(data: dict[str, Any], vm: dict[str, Any], at: int, line: int) -> tuple[str, str, int]:
    pattern, steps = data["patterns"][vm.get("origins", 0)], data["steps"][vm.get("at", 0)]
    number = pattern[at] if at < len(pattern) else -1
    kind = data["words"][data["origins"][number][0]] if number >= 0 else ""
    step = steps[at] if at < len(steps) else 0
    return data["lines"][line][0], kind, vm["first"] + step - 1 if step else 0
