"""What the update of a VM does in a cluster: admission of the update, the VM controller's reaction, what waits for a start.

`transition` leads a VM from one manifest to another. `controller` is the VM controller, pass after pass; the modules beside it
are the steps of a pass. All are pure functions from one `Machine`, a VM with its instance, to the next.
"""
