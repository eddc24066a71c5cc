"""Rules about the annotations that silence rules: see `krm_fn.pipeline.ignores`."""
