"""What Flux makes of the files of a repository before it applies them, as pure functions."""
