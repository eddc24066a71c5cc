"""Rules about the result of applying presets to one instance or one template."""
