"""What is true of KubeVirt, by release, each with its place upstream."""
