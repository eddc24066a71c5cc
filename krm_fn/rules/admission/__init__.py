"""Rules about what KubeVirt's webhooks refuse, one for each part of the object; `krm_fn.admission` holds the checks."""
