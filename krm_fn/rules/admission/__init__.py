"""Rules about what KubeVirt's webhooks refuse, by the part of the object; the checks are tables of `krm_fn.kubevirt.admission`."""
