"""What Flux makes of objects and folders before it applies them."""

from __future__ import annotations

from krm_fn.deliveries.substitution import FluxError, substitute

__all__ = ["FluxError", "substitute"]
