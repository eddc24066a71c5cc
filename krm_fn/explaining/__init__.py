"""Where each value of a rendered VM comes from.

Nothing is merged a second time here. A value that stands in the VM as it was written is the VM's own. For any other value, the
VM is rendered once with a trace (`kubevirt.trace`): each verb of the field tables, the presets and the patches note what they
write, of which field, and which values of theirs the VM's own ones replace. What nobody wrote is a default of KubeVirt.

Defaults have no notes. They are asked again, without a setting of the cluster that was read, or without a value that they may
replace or depend on: that is one stage for a few fields, never the VM for all of them.

`inputs` has the parts of objects that give values, `rendering` renders, `attribution` finds the sources, `answers` makes plain
data of them.
"""
