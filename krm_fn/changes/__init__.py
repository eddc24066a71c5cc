"""What a change of a bundle does to each of its VMs, running ones included.

`diff` pairs the VMs of both sides by kind, namespace and name; `kubevirt.updates` says what becomes of each, `records` writes it
down in the words of the answer.
"""
