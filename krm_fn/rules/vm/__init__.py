"""Rules about one VM that can't be rendered as it is."""
