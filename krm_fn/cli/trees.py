"""Both sides of `diff` as trees of files: two folders, or a commit and the working tree of its repository, or two commits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path

from krm_fn.base import programs
from krm_fn.base.errors import ConfigError, InputError, UsageError
from krm_fn.base.value import Value
from krm_fn.cli import options
from krm_fn.repositories import commits
from krm_fn.sources.files import is_within


class SideTree(Value):
    """One side. Paths start from `folder`, and messages put `shown` before them.

    `root` is the root of the files, and `reach` the folder that references may not leave. `origin` is the root of the user's
    working tree if the files are copies of a commit. `left_out` are absolute paths of files and folders that are not read.
    """

    folder: str
    shown: str
    root: str
    origin: str = ""
    reach: str = os.curdir
    left_out: frozenset[str] = frozenset()

    def leaves_out(self, path: str) -> bool:
        """True for a path from the folder on that is not read."""
        place = Path(os.path.realpath(os.path.dirname(path) or os.curdir), os.path.basename(path))  # noqa: PTH119, PTH120
        return bool(self.left_out) and any(str(each) in self.left_out for each in (place, *place.parents))

    def named(self, path: str) -> str:
        """A path as messages name it: from the folder on, if it is in the tree."""
        place = os.path.join(self.folder, path)  # noqa: PTH118
        if not path or not is_within(place, [self.root]):
            return path
        return self.shown + Path(os.path.relpath(place, self.folder)).as_posix()

    def has(self, path: str) -> bool:
        """True for a path from the folder on that the tree has."""
        return os.path.lexists(os.path.join(self.folder, path))  # noqa: PTH118

    def own(self, file: str | None) -> str | None:
        """The file that a flag names, in the state of this side; it is the user's own file if this side has none."""
        if file is None or not self.origin or not is_within(file, [self.origin]):
            return file
        copy = os.path.join(self.root, os.path.relpath(os.path.realpath(file), self.origin))  # noqa: PTH118
        return copy if os.path.isfile(copy) else file  # noqa: PTH113

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Work in the folder; errors name their files as `named` does."""
        with chdir(self.folder):
            try:
                yield
            except (ConfigError, InputError) as error:
                error.file = self.named(error.file)
                raise


def of_folder(folder: str) -> SideTree:
    """The side that a folder is."""
    place = os.path.realpath(folder)
    shown = "" if os.path.normpath(folder) == os.curdir else os.path.join(folder, "")  # noqa: PTH118
    return SideTree(folder=place, shown=shown, root=place, reach=os.path.realpath(os.curdir))


class CommitRange(Value):
    """The commits that are compared, as the user names them. `head` is None for the working tree.

    `merge_base`: the base is the newest commit that both sides contain, as in a code review.
    """

    base: str
    head: str | None = None
    merge_base: bool = True


@contextmanager
def trees_of(change: CommitRange, *, verbose: bool) -> Iterator[tuple[SideTree, SideTree]]:
    """Both sides of a change, with copies of what is not in the working tree. Raises: UsageError, InputError."""
    repository = commits.repository_of(os.curdir)
    given = repository.commit(change.base)
    base = _merge_base(repository, given, change) if change.merge_base else given
    if verbose:
        options.note(f"the base is commit {base}")
    with programs.scratch() as scratch:
        old = _copy(repository, base, change.base, Path(scratch, "base"))
        if change.head is None:
            yield old, _working_tree(repository)
        else:
            yield old, _copy(repository, repository.commit(change.head), change.head, Path(scratch, "head"))


def _merge_base(repository: commits.Repository, base: str, change: CommitRange) -> str:
    head = change.head or "HEAD"
    found = repository.merge_base(base, repository.commit(head))
    if not found:
        fix = "fetch more of the history (`git fetch --unshallow`), or use --no-merge-base"
        raise UsageError(f"{change.base} and {head} have no commit in common; {fix}")
    return found


def _copy(repository: commits.Repository, commit: str, ref: str, root: Path) -> SideTree:
    root.mkdir()
    for path in commits.extract(repository, commit, root):
        options.note(f"{ref}:{path} is a git submodule; it is left out")
    folder = root / os.path.relpath(os.path.realpath(os.curdir), repository.root)
    folder.mkdir(parents=True, exist_ok=True)
    return SideTree(folder=str(folder), shown=f"{ref}:./", root=str(root), origin=repository.root)


def _working_tree(repository: commits.Repository) -> SideTree:
    """The working tree without what no commit has: submodules, and what git ignores."""
    paths = [*repository.submodules(), *repository.ignored()]
    left_out = frozenset(os.path.join(repository.root, path) for path in paths)  # noqa: PTH118
    return SideTree(folder=os.path.realpath(os.curdir), shown="", root=repository.root, left_out=left_out)


def paths_in(trees: Sequence[SideTree], paths: Sequence[str]) -> tuple[str, ...]:
    """The paths that the user names, as paths from the working directory. Raises: UsageError."""
    return tuple(_path_in(trees, path) for path in paths or (os.curdir,))


def _path_in(trees: Sequence[SideTree], path: str) -> str:
    root = trees[0].origin
    if not is_within(path, [root]):
        raise UsageError(f"{path} is outside of the git repository {root}; --base compares only what is in the repository")
    found = os.path.relpath(path)
    if not any(tree.has(found) for tree in trees):
        raise UsageError(f"{path} is on neither side of the change; name a file or a folder of the repository")
    return found
