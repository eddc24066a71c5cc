"""Argo CD: what its config management plugin needs beside the core.

`parameters` reads what an application sets, and announces what it may set; `build` turns the application's folder into objects;
`manifests` says which objects leave, and as what; `drift` finds what the cluster will still hold differently.
"""
