"""Argo CD: the parts of its config management plugin outside the core.

`parameters` reads the parameters of an application, and announces them; `build` turns the application's folder into objects;
`world` is what the rest of the repository has for the cluster; `manifests` selects the objects for the cluster; `drift` finds
the fields in which the cluster will differ.
"""
