"""Regular expressions in users' objects. Go matches each of them in linear time; Python takes exponential time for some.

upstream: https://pkg.go.dev/regexp
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` itself makes enums, which costs as much as rendering
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# The seconds that slow matches may take in a run, and the seconds of each match that do not count.
SECONDS, FREE = 0.5, 0.00005
# The characters that repeat or choose. An expression that starts with `^` and has one of these takes linear time.
CHOOSING = "*+?{|"


class _SpentError(Exception):
    """A match took too long."""


class Patterns:
    """Matches the regular expressions of one run until the time for them is spent."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start a run, with the full time."""
        self._left = SECONDS

    def finds(self, expression: re.Pattern[str], text: str) -> bool | None:
        """True if the expression is found in the text; None if that takes too long to find out.

        A match can be stopped only in the main thread, and only on Unix. Elsewhere no expression that may be slow is matched.
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
        """The result of the call, whose time counts; None if no time is left."""
        if self._left <= 0:
            return None
        start = perf_counter()
        try:
            return match()
        except _SpentError:
            return None
        finally:
            self._left -= max(perf_counter() - start - FREE, 0)


def limited_time(work: Callable[[], object], seconds: float) -> object:
    """What the call gives. Raises: TimeoutError if it takes more processor time, and where its time can't be limited.

    That is outside of the main thread, and on Windows.
    """
    try:
        before = _signal.signal(_signal.SIGVTALRM, _stop)
    except (ValueError, AttributeError):
        raise TimeoutError from None
    try:
        _signal.setitimer(_signal.ITIMER_VIRTUAL, seconds)
        return work()
    except _SpentError:
        raise TimeoutError from None
    finally:
        _signal.setitimer(_signal.ITIMER_VIRTUAL, 0)
        _signal.signal(_signal.SIGVTALRM, before)


# For the definitions that the process has read last.
OF_DEFINITIONS = Patterns()


def _stop(*_: object) -> None:
    raise _SpentError
