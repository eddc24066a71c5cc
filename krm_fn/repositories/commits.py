"""Commits of a git repository: which commit a name means, and its files in a folder.

The files come out as they are stored: no filter runs, and the user's working tree and index stay as they are.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.repositories import git
from krm_fn.sources.files import GIT, LARGEST, NO_NAME

TOO_MUCH = getattr(signal, "SIGXFSZ", 0)  # what ends a program that prints more than it may
SUBMODULE, LINK, EXECUTABLE = "160000", "120000", "100755"
ENTRY = expression(rb"(\d+) \w+ ([0-9a-f]+) +(\d+|-|BAD)\t(.*)", re.DOTALL)
HEAD = 200  # bytes; the line before each file in the output of `git cat-file` is shorter
AT_ONCE = 64 * 1024 * 1024  # bytes of files that are read at once
# What a commit may have, so that a small forged one fills neither the memory nor the disk: files, bytes of them, and bytes of
# their list.
FILES, BYTES, LISTED = 300_000, 4_000_000_000, 45_000_000
FETCH = ", and nothing is fetched here; run `git fetch --refetch --no-filter` first"


class TreeEntry(Value):
    """One entry of a commit's tree. `size` is 0 for a submodule, -1 for a file that a partial clone does not have."""

    mode: str
    digest: str
    size: int
    path: str


class Repository(git.WorkingTree):
    """A repository with commits."""

    def commit(self, ref: str) -> str:
        """The digest of the commit that a name means. Raises: UsageError."""
        ran = self.finished("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if ran.code:
            raise UsageError(
                f"there is no commit {ref!r} in this repository; name a branch, a tag or a commit, or fetch it first"
            )
        return _line(ran.out)

    def merge_base(self, one: str, other: str) -> str:
        """The newest commit that both commits contain, "" where git finds none."""
        ran = self.finished("merge-base", one, other)
        return "" if ran.code else _line(ran.out)

    def ignored(self) -> list[str]:
        """The files and folders of the working tree that git ignores, as paths from the root."""
        words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        return [os.fsdecode(each).rstrip("/") for each in self.output(*words).split(b"\0") if each]

    def submodules(self) -> list[str]:
        """The submodules of the working tree's index, as paths from the root."""
        listed = self.output("ls-files", "-z", "--stage").split(b"\0")
        return [os.fsdecode(each.partition(b"\t")[2]) for each in listed if each.startswith(SUBMODULE.encode())]

    def entries(self, commit: str) -> list[TreeEntry]:
        """The files, links and submodules of a commit.

        Raises: InputError where git does not have all of its folders, and where it has too much.
        """
        ran = self.finished("ls-tree", "-r", "-l", "-z", "--full-tree", commit, most=LISTED)
        if ran.code == -TOO_MUCH or ran.out.count(b"\0") > FILES:
            raise InputError(f"commit {commit} has more than {FILES:,} files; compare with a folder that has what counts of it")
        if ran.code:
            raise InputError(f"git does not have all of commit {commit} ({git.complaint(ran)}){FETCH}")
        found = [_entry(found) for each in ran.out.split(b"\0") if (found := ENTRY.fullmatch(each))]
        if sum(each.size for each in found if each.size <= LARGEST) > BYTES:
            raise InputError(f"the files of commit {commit} have more than {BYTES:,} bytes; compare with a folder in its place")
        return found

    def contents(self, entries: Iterable[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
        """The entries that are no submodules and not too large, each with its stored bytes.

        Raises: InputError where git does not have one.
        """
        for group in _groups(entry for entry in entries if entry.mode != SUBMODULE and entry.size <= LARGEST):
            names = "".join(f"{entry.digest}\n" for entry in group)
            output, at = self.output("cat-file", "--batch", given=names.encode()), 0
            for entry in group:
                head, newline, _ = output[at : at + HEAD].partition(b"\n")
                if head != f"{entry.digest} blob {entry.size}".encode():
                    raise InputError(f"git does not have the contents of {entry.path}{FETCH}")
                start = at + len(head) + len(newline)
                at = start + entry.size + 1
                yield entry, output[start : start + entry.size]


def repository_of(folder: str) -> Repository:
    """The repository that a folder is in. Raises: UsageError, InputError."""
    return Repository(**vars(git.repository_of(folder)))


def extract(repository: Repository, commit: str, folder: Path) -> list[str]:
    """Write the files of a commit into an empty folder, and return the paths of its submodules, which are left out.

    A link that leads out of the folder is left out too. A file that is too large to be read has its size and no text. The
    folder becomes the root of a git tree for whoever looks for one, with the same remotes.
    """
    entries = [entry for entry in repository.entries(commit) if _is_harmless(entry.path)]
    links = []
    for entry, data in repository.contents(entries):
        if entry.mode == LINK:
            links.append((folder / entry.path, os.fsdecode(data)))
        else:
            _write(folder / entry.path, data, executable=entry.mode == EXECUTABLE)
    for entry in entries:
        if entry.size > LARGEST:
            _write(folder / entry.path, b"", executable=False)
            os.truncate(folder / entry.path, entry.size)
    _link(links, folder)
    (folder / GIT).mkdir()
    if urls := "".join(f"\turl = {url}\n" for url in git.remotes(repository.root)):
        (folder / GIT / "config").write_text(f'[remote "origin"]\n{urls}')
    return [entry.path for entry in entries if entry.mode == SUBMODULE]


def _write(file: Path, data: bytes, *, executable: bool) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    if executable:
        file.chmod(0o755)


def _link(links: Sequence[tuple[Path, str]], folder: Path) -> None:
    """Make links after all files, so that no file is written through one; then remove those that lead out of the root.

    A forged commit may have a link and a folder of the same name: no link is made through the first.
    """
    root = Path(os.path.realpath(folder))
    for link, target in links:
        is_through = os.path.realpath(link.parent) != str(root / link.parent.relative_to(folder))
        if is_through or not target or NO_NAME in target:
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(target)
    out = [link for link, _ in links if not Path(os.path.realpath(link)).is_relative_to(root)]
    for link in out:
        link.unlink(missing_ok=True)


def _is_harmless(path: str) -> bool:
    """False for a path that leads out of the folder or into a folder of git, which only a forged commit has."""
    parts = path.split("/")
    return not any(part in ("", ".", "..") or part.lower() == GIT for part in parts)


def _groups(entries: Iterable[TreeEntry]) -> Iterator[list[TreeEntry]]:
    """The entries in groups that are not much larger than what is read at once."""
    group: list[TreeEntry] = []
    size = 0
    for entry in entries:
        group.append(entry)
        size += entry.size
        if size > AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _entry(found: re.Match[bytes]) -> TreeEntry:
    mode, digest, size, path = found.groups()
    length = {b"-": 0, b"BAD": -1}.get(size)
    return TreeEntry(
        mode=mode.decode(),
        digest=digest.decode(),
        size=int(size) if length is None else length,
        path=os.fsdecode(path),
    )


def _line(output: bytes) -> str:
    return output.decode().strip()
