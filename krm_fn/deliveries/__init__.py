"""How objects reach a cluster: what Flux makes of a folder of a repository before it applies it."""
