"""Where each value of a rendered VM comes from.

Nothing is merged a second time here. A value that stands in the VM as it was written is the VM's own. For any other value, the
VM is rendered again without one field of its instancetype, its preference, the presets or the cluster's configuration: a
field without which the value differs is its source. What no field gives is a default of KubeVirt.

In the same way, the fields that had no say are found: without the VM's own value, another field gives one.

`machines` renders a VM again, `attribution` finds the sources, `answers` makes plain data of them.
"""
