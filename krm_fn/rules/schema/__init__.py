"""Rules about objects that do not match the schema of their kind."""
