"""Globs: `*`, `?` and `[a-z]` within a step of a path, `**` for any number of steps."""

from __future__ import annotations

from fnmatch import fnmatchcase

ANY = "**"


def covers(glob: str, path: str) -> bool:
    """True if a glob matches a path, or a folder that contains the path. Paths have forward slashes; `.` is the folder itself.

    The time grows at most with the product of the numbers of steps, for every glob, because its author may be a stranger.
    """
    pattern = steps_of(glob)
    reached = _skipped(pattern, {0})
    for step in steps_of(path):
        if len(pattern) in reached:
            return True
        reached = _skipped(pattern, set(_after(pattern, reached, step)))
    return len(pattern) in reached


def steps_of(path: str) -> tuple[str, ...]:
    """The steps of a path or a glob."""
    return tuple(step for step in path.split("/") if step not in ("", "."))


def _after(pattern: tuple[str, ...], reached: set[int], step: str) -> list[int]:
    """The positions in the pattern that one more step of the path reaches."""
    stays = [at for at in reached if at < len(pattern) and pattern[at] == ANY]
    goes_on = [at + 1 for at in reached if at < len(pattern) and pattern[at] != ANY and fnmatchcase(step, pattern[at])]
    return stays + goes_on


def _skipped(pattern: tuple[str, ...], reached: set[int]) -> set[int]:
    """The positions, and those after them that are reached if each `**` stands for no step."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == ANY:
            at += 1  # noqa: PLW2901
            found.add(at)
    return found
