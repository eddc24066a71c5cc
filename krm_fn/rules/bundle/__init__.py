"""Rules about the whole bundle."""
