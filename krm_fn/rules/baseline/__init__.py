"""Rules about the command's list of known findings: see `krm_fn.cli.baseline`."""
