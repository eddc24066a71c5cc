"""Whether a VM runs: what its run strategy makes of an update.

upstream: pkg/virt-controller/watch/vm/vm.go:syncRunStrategy
"""

from __future__ import annotations

from krm_fn.base.objects import Object, text
from krm_fn.base.paths import get

ALWAYS, HALTED = "Always", "Halted"
# Strategies that start a VM by themselves once they come into force; Manual leaves it as it is.
STARTING = (ALWAYS, "RerunOnFailure", "Once")


def strategy_of(vm: Object) -> str:
    """The run strategy of a VM, which `running` stood for once."""
    named = text(get(vm, ("spec", "runStrategy")))
    return named or (ALWAYS if get(vm, ("spec", "running")) is True else HALTED)


def starts(vm: Object, before: str) -> bool:
    """True where a VM that does not run is started; `before` is the strategy that was last seen."""
    strategy = strategy_of(vm)
    return strategy in STARTING and (strategy != "RerunOnFailure" or strategy != before)
