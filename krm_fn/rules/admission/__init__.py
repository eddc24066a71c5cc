"""Rules about what KubeVirt's webhooks refuse, by the part of the object; `krm_fn.kubevirt.admission` has the checks."""
