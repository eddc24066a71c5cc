"""Rules about the bundle. Each run checks those that can find something: see `krm_fn.rules.needs`."""

from krm_fn.rules.needs import NEEDS

__all__ = ["NEEDS"]
