"""A run of an expression: the names that it sees, its variables, and what it costs in the API server's units.

upstream: github.com/google/cel-go/interpreter/runtimecost.go; k8s.io/apiserver/pkg/apis/cel/config.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Mapping
from krm_fn.base.work import WORK
from krm_fn.policies.errors import AbortedError, EvaluationError, Unsupported

Step = Callable[["Frame"], Any]


LIMIT = 1_000_000  # of one expression, and of one variable
# Where a value is not known, the cost is not, either: then a cost above this part of a limit decides nothing.
CERTAIN = 0.4
OF_EXPRESSION = 12  # units of work to begin with one


class PolicyRun:
    """One run: what it has cost so far, and whether it met a value that is not known here."""

    __slots__ = ("cost", "is_certain")

    def __init__(self) -> None:
        self.cost, self.is_certain = 0, True

    def charge(self, units: int) -> None:
        """Adds to the cost. Raises: AbortedError above the limit."""
        self.cost += units
        if self.cost > LIMIT:
            raise AbortedError("operation cancelled: actual cost limit exceeded")
        WORK.spend(units)


class Frame:
    """The names that a part of an expression sees, in a run."""

    __slots__ = ("names", "run")

    def __init__(self, names: dict[str, Any], run: PolicyRun) -> None:
        self.names, self.run = names, run

    def inner(self) -> Frame:
        """A frame for the variables of a macro."""
        return Frame(dict(self.names), self.run)


class Variables:
    """The variables of a policy on one object: each is evaluated when it is first used, and then kept."""

    def __init__(self, steps: Mapping[str, Step], names: Mapping[str, Any]) -> None:
        self._steps, self._names = steps, names
        self._known: dict[str, Any] = {}
        self.cost, self.is_certain = 0, True

    def value(self, name: str) -> Any:
        """The value of a variable, which may be an error."""
        if name not in self._known:
            # made anew: a map that is kept would hold its holder, and so all that a policy sees until cycles are looked for
            found, run = evaluated(self._steps[name], {**self._names, "variables": self})
            self.cost += run.cost
            self.is_certain = self.is_certain and run.is_certain
            self._known[name] = found
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._steps


def evaluated(step: Step, names: dict[str, Any]) -> tuple[Any, PolicyRun]:
    """The value of an expression, which may be an EvaluationError or Unknown, and its run.

    Raises: Unsupported.
    """
    WORK.spend(OF_EXPRESSION)
    run = PolicyRun()
    try:
        found = step(Frame(names, run))
    except AbortedError as error:
        found = EvaluationError(str(error))
    if not run.is_certain and run.cost > CERTAIN * LIMIT:
        raise Unsupported("its cost depends on what only the cluster knows")
    return found, run
