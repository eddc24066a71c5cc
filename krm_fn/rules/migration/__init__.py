"""Rules about what a migration leaves to the user."""
