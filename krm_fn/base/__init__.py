"""What every other package needs and nothing of KubeVirt: values, paths, plain objects, errors, standard streams."""
