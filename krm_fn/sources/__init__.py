"""What the command reads: files, folders, standard input, kustomizations."""
