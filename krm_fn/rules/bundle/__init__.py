"""Rules about the whole bundle, asked in every run as far as they can have something to say: see `krm_fn.rules.needs`."""

from krm_fn.rules.needs import NEEDS

__all__ = ["NEEDS"]
