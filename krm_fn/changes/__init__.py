"""What a change of a bundle does to each of its VMs, running ones included.

`diffing` pairs the VMs of both sides by namespace and name, `kubevirt.updates` says what becomes of each, and `records` puts it
into the words of the answer.
"""
