"""Findings: what a rule reports, how many are reported, and how they are written as KRM results."""
