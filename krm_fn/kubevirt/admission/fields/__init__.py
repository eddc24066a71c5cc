"""The checks, one module per group of fields. Groups do not import one another; shared code is in `admission`."""
