"""Rules about files and documents that can't be read. Only the command `check` runs them."""
