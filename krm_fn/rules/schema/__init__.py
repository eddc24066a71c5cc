"""Rules about objects that are not as the schema of their kind says."""
