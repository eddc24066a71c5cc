"""The checks, one module a group of fields. Groups know nothing of one another; what several need lies in `admission`."""
