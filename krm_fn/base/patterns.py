"""Regular expressions in users' objects, which cost work that is counted: for some, Python's own take exponential time."""

from __future__ import annotations

from krm_fn.base.work import Budget, SpentError, Unsupported

UNITS = 2_000_000  # of work for the expressions of a run
MOST_KNOWN = 10_000  # answers that are kept; most objects repeat the texts of others


class Patterns:
    """Matches the regular expressions of one run, as Go reads them, until the work for them is done."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start a run, with all the work."""
        self._budget = Budget(UNITS)
        self._known: dict[tuple[str, str], bool | None] = {}

    def finds(self, expression: str, text: str) -> bool | None:
        """True if the expression is found in the text; None if that takes too much work to find out, or it can't be read."""
        key = expression, text
        if key in self._known:
            return self._known[key]
        found = self._found(expression, text)
        if len(self._known) < MOST_KNOWN:
            self._known[key] = found
        return found

    def _found(self, expression: str, text: str) -> bool | None:
        if not self.allows(0):  # before the expression is compiled
            return None
        from krm_fn.base.regex import searching  # few runs have expressions
        from krm_fn.base.regex_syntax import WrongPatternError

        try:
            return searching(expression, text, self._budget.spend)(text, 0) is not None
        except (Unsupported, WrongPatternError):
            return None

    def allows(self, units: int) -> bool:
        """True if so many units of work are left, which are spent now."""
        try:
            self._budget.spend(units)
        except SpentError:
            return False
        return True


# For the definitions that the process has read last.
OF_DEFINITIONS = Patterns()
