"""What Argo CD makes of Applications and ApplicationSets before it applies anything, as pure functions."""
