"""Rules about the config of a whole repository. Only the command runs them."""
