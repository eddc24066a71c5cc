"""What the update of a VM does in a cluster: admission of the update, the VM controller's reaction, what waits for a start.

`create` puts a VM into a world, the objects and settings of one side; `update` brings the manifest of the other side. `settle` is
the VM controller, pass after pass. All of them are pure functions from one `Machine`, a VM with its instance, to the next.
"""
