"""The front ends that other programs start: the KRM function, the kustomize plugin, the Argo CD plugin."""
