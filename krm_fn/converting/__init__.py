"""Conversions: flat VMs, which say their sizes themselves, and VMs that refer to an instancetype, turned into one another.

`instancetypes` are those that a VM may refer to, those that are made for it, and smaller ones by what guests use. `conversion`
changes one VM and compares the instance, the guest and the pod before and after. `suggesting` finds the nearest instancetype
for each VM, and groups VMs of one shape. `rewriting` changes a manifest, or a patch of one, as a VM was changed.
"""
