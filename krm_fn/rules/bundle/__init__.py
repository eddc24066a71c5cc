"""Rules about the whole bundle. Each run checks those that can find something: see `krm_fn.asked`."""

from krm_fn.asked import NEEDS

__all__ = ["NEEDS"]
