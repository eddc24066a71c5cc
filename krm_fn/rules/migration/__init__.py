"""Rules about parts that a migration leaves to the user."""
