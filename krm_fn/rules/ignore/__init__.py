"""Rules about the annotations that silence rules: see `krm_fn.ignores`."""
