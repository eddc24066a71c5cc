"""Rules about presets: what applying them to one instance, or to one template, led to."""
