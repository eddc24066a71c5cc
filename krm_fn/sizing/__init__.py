"""What the VMs of a bundle need of a cluster: pods, storage, and how that compares with the quotas of their namespaces.

Pure over facts: `demands` says what each object needs, as a record of plain data, and adds records up.
"""
