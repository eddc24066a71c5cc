"""Rules about the whole bundle, asked in every run as far as they can have something to say: see `krm_fn.asked`."""

from krm_fn.asked import NEEDS

__all__ = ["NEEDS"]
