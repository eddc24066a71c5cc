"""Facts about KubeVirt, by release, each with its place in KubeVirt's source."""
