"""Whole repositories: their kustomizations are found, built, and traced back to the files that they are made of."""
