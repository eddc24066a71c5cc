"""Whole repositories: their kustomizations are found, built, and judged as the targets of one or more clusters."""
