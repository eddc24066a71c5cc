"""Whole repositories: the kustomizations in them are found, built and judged as the targets of one or more clusters."""
