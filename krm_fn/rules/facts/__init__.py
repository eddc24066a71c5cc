"""The facts that rules check: of the objects of a bundle, and of ignores, baselines, what could not be read, and migrations.

Nothing here words a message. Paths run from the root of the VirtualMachine, so that a rule is the same for a VM and for the VM
template of a pool; the registry puts the pool's prefix before them.
"""
