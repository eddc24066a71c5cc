"""Helpers for all packages, independent of KubeVirt: values, paths, plain objects, errors, standard streams."""
