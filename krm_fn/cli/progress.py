"""A bar on the terminal that shows what a command is at, once the command has worked for a second; and `--quiet`.

A timer's signal draws it: work is not slowed down, may stand still anywhere, and no thread is there where the process forks.
Where nobody looks (no terminal, CI, a terminal that can't erase, a job in the background), nothing is drawn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from typing import Any, TextIO

import click

from krm_fn.base.console import NAME

KEY = f"{NAME}.quiet"


def _keep(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[KEY] = value


# `is_quiet` knows it, and the command itself does not get it.
quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="Print findings and errors only: no progress, notes and summary of the run on stderr.",
)


def is_quiet() -> bool:
    """True where the current command was called with `-q`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(KEY))


FIRST, NEXT = 1.0, 0.1  # seconds until it is drawn first, and between drawings
WIDEST = 30  # columns of the bar itself; what stands beside it needs fewer
COUNTS = 40  # columns for the numbers of what is done, failed and left
ERASED = "\r\x1b[K\x1b[?25h"  # an empty line, and the cursor, which click hides


class Progress:
    """What the command is at: `label` names it, "" where nothing is to be drawn; `done` of `length` is done.

    `failed` of these failed; None where nothing is known of failures.
    """

    def __init__(self) -> None:
        self.label, self.length, self.done = "", 0, 0
        self.failed: int | None = None
        self.terminal: TextIO | None = None
        self.bar: Any = None
        self.drawing = False

    def watch(
        self, label: str, work: Iterable[Any], length: int, *, failed: Callable[[Any], bool] | None = None
    ) -> Iterator[Any]:
        """What the work gives, one after the other; once it gave so many as `length`, nearly all is done.

        With `failed`, which knows a failure, the numbers of what is done, failed and left are shown.
        """
        with self.at(label, length):
            self.failed = 0 if failed else None
            for each in work:
                yield each
                self.failed = self.failed + failed(each) if failed and self.failed is not None else None
                self.done += 1

    @contextmanager
    def at(self, label: str, length: int = 0) -> Iterator[None]:
        """Names the work that is done inside; without a length, the bar only shows that work continues."""
        before = self.length, self.done, self.label, self.failed
        self.begin(length, 0, label)
        try:
            yield
        finally:
            self.begin(*before)

    def begin(self, length: int, done: int, label: str, failed: int | None = None) -> None:
        self.label = ""  # a signal may come in between
        self.erase()
        self.length, self.done, self.label, self.failed = length, done, label, failed

    def draw(self, *_: object) -> None:
        """Draw the bar as it stands; the handler of a signal, so no error may leave it."""
        if not self.label or self.drawing or not self.terminal or not _in_foreground(self.terminal):
            return
        self.drawing = True
        try:
            self.bar = self.bar or self.new_bar(self.terminal)
            self.bar.make_step(self.done - self.bar.pos if self.length else 1)
            self.bar.render_progress()
        except (OSError, ValueError):  # the terminal is gone
            self.terminal = None
        finally:
            self.drawing = False

    def new_bar(self, terminal: TextIO) -> Any:
        columns = os.get_terminal_size(terminal.fileno()).columns or 2 * WIDEST
        counted = self.length and self.failed is not None and columns > WIDEST + COUNTS
        return click.progressbar(
            None if self.length else repeat(None),
            length=self.length or None,
            label=f"{self.label:<10}",
            show_eta=False,
            show_percent=None if not counted else False,
            item_show_func=self.counts if counted else None,
            width=max(1, min(WIDEST, columns - WIDEST - (COUNTS if counted else 0))),
            file=terminal,
        )

    def counts(self, _: object) -> str:
        """What is done, failed and left, in words."""
        return f"{self.done} done, {self.failed} failed, {self.length - self.done} left"

    def erase(self) -> None:
        """Leave the line as it was before."""
        if self.bar and self.terminal:
            with suppress(OSError):
                self.terminal.write(ERASED)
                self.terminal.flush()
        self.bar = None


def shown(*, quiet: bool = False) -> Progress:
    """The progress of the current command, drawn until that ends; with `quiet`, or where the command is, never."""
    return click.get_current_context().with_resource(_drawn(quiet=quiet or is_quiet()))


@contextmanager
def _drawn(*, quiet: bool) -> Iterator[Progress]:
    progress = Progress()
    if quiet or not _is_looked_at():
        yield progress
        return
    import signal

    try:
        before = signal.signal(signal.SIGALRM, progress.draw)
    except ValueError:  # only the main thread may
        yield progress
        return
    progress.terminal = terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", errors="replace")
    signal.setitimer(signal.ITIMER_REAL, FIRST, NEXT)
    try:
        yield progress
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        with suppress(OSError):
            terminal.close()


def _is_looked_at() -> bool:
    """True where someone sits at a terminal that can erase what it shows, and where there are timers."""
    terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    return terminal and os.environ.get("CI", "").lower() in ("", "0", "false") and os.name == "posix"


def _in_foreground(terminal: TextIO) -> bool:
    """False for a job that the shell runs in the background: it would write into what is done meanwhile."""
    try:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:  # not the terminal that the process belongs to
        return True
