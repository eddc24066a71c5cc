"""Regular expressions that users' objects hold: Go matches each in linear time, Python takes for ever with some of them.

upstream: https://pkg.go.dev/regexp
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself makes enums, which costs as much as rendering
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# Seconds that slow matches may take in a run, and that each match may take besides.
SECONDS, FREE = 0.5, 0.00005
# What repeats or chooses. With one of these in all, from a text's start on, a match takes linear time.
CHOOSING = "*+?{|"


class _SpentError(Exception):
    """A match took too long."""


class Patterns:
    """Matches the regular expressions of one run until their time is spent."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start a run, with all the time."""
        self._left = SECONDS

    def finds(self, expression: re.Pattern[str], text: str) -> bool | None:
        """True where the expression is found in the text; None where it can't be told in time.

        Only in the main thread can a match be stopped, and only on Unix: elsewhere no expression that may be slow is matched.
        """
        if expression.pattern.startswith("^") and sum(map(expression.pattern.count, CHOOSING)) < 2:
            return expression.search(text) is not None
        if self._left <= 0:
            return None
        try:
            before = _signal.signal(_signal.SIGVTALRM, _stop)
        except (ValueError, AttributeError):  # not the main thread, no Unix
            return None
        try:
            _signal.setitimer(_signal.ITIMER_VIRTUAL, self._left)
            return self.timed(lambda: expression.search(text) is not None)
        finally:
            _signal.setitimer(_signal.ITIMER_VIRTUAL, 0)
            _signal.signal(_signal.SIGVTALRM, before)

    def timed(self, match: Callable[[], bool]) -> bool | None:
        """What the call returns, whose time counts; None where all time is spent."""
        if self._left <= 0:
            return None
        start = perf_counter()
        try:
            return match()
        except _SpentError:
            return None
        finally:
            self._left -= max(perf_counter() - start - FREE, 0)


# Those of the definitions that the process has read last.
OF_DEFINITIONS = Patterns()


def _stop(*_: object) -> None:
    raise _SpentError
