"""Rules about the whole bundle: what KubeVirt's webhooks do not see."""
