"""The files of a repository that Flux packs: those of a commit, without links and without what `.sourceignore` names.

Gitignore's syntax is read in Flux's own way: the last rule that matches a file decides, also below a folder that is left out.
upstream: fluxcd/pkg sourceignore, artifact/storage/archive.go
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from krm_fn.base.work import Budget, SpentError
from krm_fn.flux.patterns import BadPatternError, matches
from krm_fn.flux.substitution import FluxError
from krm_fn.sources.files import read_found

Steps = Sequence[str]


FILE = ".sourceignore"
GIT = ".git"
OF_GIT = (".git/", ".gitignore", ".gitmodules", ".gitattributes")
# What else is left out where nobody says anything.
DEFAULTS = (
    *("*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"),
    *(".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml"),
    *("codeship-services.yml", "codeship-steps.yml", "**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml"),
)
ANY = "**"
SPECIAL = frozenset("*?[\\")
# Of work for the rules of a repository, whose author may be a stranger; a rule with a pattern takes as much as many names.
UNITS, OF_PATTERN = 20_000_000, 50


class IgnoreRule(NamedTuple):
    """One line: the folder that it is for, the steps of its pattern, and what it says of the files that match.

    `name` is one that each file has in its path which the rule matches, "" for a pattern.
    """

    folder: tuple[str, ...]
    steps: tuple[str, ...]
    includes: bool
    folders_only: bool
    name: str


def packed(root: str, ignore: str | None = None) -> list[str]:
    """The paths of the files that are packed, from the root. `ignore` is `spec.ignore` of the source. Raises: FluxError."""
    packing = Packing(root, ignore)
    return [file for file in packing.files if packing.has(Path(root, file))]


class Packing:
    """What of a repository is packed. `files` are the paths of all its files, from the root. Raises: FluxError."""

    def __init__(self, root: str, ignore: str | None = None) -> None:
        self._root, self.files = root, sorted(_files(root))
        self._known = frozenset(self.files)
        rules = [
            rule for file in _in_order(self.files) for rule in _rules(_text(f"{root}/{file}"), tuple(file.split("/")[:-1]))
        ]
        rules += _rules(ignore or "")
        self._rules = [*_rules("\n".join(OF_GIT)), *(rules or _rules("\n".join(DEFAULTS)))]
        self._spend = Budget(UNITS).spend
        self._left_out: dict[str, bool] = {}

    def has(self, file: Path) -> bool:
        """True for a file that is packed. Raises: FluxError where there are too many rules and files."""
        path = os.path.relpath(file.absolute(), self._root).replace(os.sep, "/")
        try:
            if path in self._known and path not in self._left_out:
                self._left_out[path] = self._is_left_out(path.split("/"))
        except SpentError:
            raise FluxError("path", f"the rules of {FILE} and spec.ignore take too much work; write fewer") from None
        return not self._left_out.get(path, True)

    def _is_left_out(self, path: Steps) -> bool:
        self._spend(len(self._rules))
        for rule in reversed(self._rules):
            if rule.name and rule.name not in path:
                continue
            self._spend(OF_PATTERN)
            if _covers(rule, path):
                return not rule.includes
        return False


def _in_order(files: Sequence[str]) -> list[str]:
    """The files with rules: that of a folder before those below it, folders by their names."""
    return sorted((file for file in files if os.path.basename(file) == FILE), key=lambda file: file.split("/")[:-1])  # noqa: PTH119


def _files(root: str) -> Iterator[str]:
    """The regular files below a folder."""
    for above, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != GIT]
        found = (os.path.join(above, name) for name in names)  # noqa: PTH118
        yield from (os.path.relpath(file, root).replace(os.sep, "/") for file in found if not os.path.islink(file))  # noqa: PTH114


def _text(file: str) -> str:
    """Raises: FluxError for a file that can't be read, also because it is too large."""
    try:
        return read_found(file)[0].decode(errors="replace")
    except OSError as error:
        raise FluxError("path", f"{FILE} can't be read: {error.strerror}") from None


def _rules(text: str, folder: tuple[str, ...] = ()) -> list[IgnoreRule]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [_rule(line, folder) for line in lines if line.strip() and not line.startswith("#")]


def _rule(line: str, folder: tuple[str, ...]) -> IgnoreRule:
    pattern = line.removeprefix("!")
    if not pattern.endswith("\\ "):
        pattern = pattern.rstrip(" ")
    steps = tuple(pattern.removesuffix("/").split("/"))
    name = next((step for step in steps if step and SPECIAL.isdisjoint(step)), "")
    return IgnoreRule(folder, steps, line != line.removeprefix("!"), pattern.endswith("/"), name)


def _covers(rule: IgnoreRule, path: Steps) -> bool:
    depth = len(rule.folder)
    if len(path) <= depth or tuple(path[:depth]) != rule.folder:
        return False
    below = path[depth:]
    if len(rule.steps) > 1:
        return _covers_path(rule, below)
    at = next((number for number, name in enumerate(below) if _is_match(rule.steps[0], name)), None)
    return at is not None and not (rule.folders_only and at == len(below) - 1)


def _covers_path(rule: IgnoreRule, path: Steps) -> bool:
    """True for a path that starts with what a pattern of several steps matches."""
    left, found, any_depth = list(path), False, False
    for number, step in enumerate(rule.steps):
        if step == "":
            any_depth = False
            continue
        if step == ANY:
            if number == len(rule.steps) - 1:
                break
            any_depth = True
            continue
        if ANY in step or not left:
            return False
        if any_depth:
            any_depth, at = False, next((at for at, name in enumerate(left) if _is_match(step, name)), None)
            found, left = at is not None, left[len(left) if at is None else at + 1 :]
        elif _is_match(step, left.pop(0)):
            found = True
        else:
            return False
    return found and not (rule.folders_only and not left)


@lru_cache(1 << 14)  # few names and patterns come again and again
def _is_match(pattern: str, name: str) -> bool:
    try:
        return matches(pattern.encode(), name.encode(errors="surrogateescape"))
    except BadPatternError:
        return False
