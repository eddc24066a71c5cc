"""The fast path: large lists that kustomize and kpt write, rendered object after object.

Without this package everything works, and gives the same bytes, findings and exit codes: `tests/fast_path/test_without.py`
deletes it and compares. Only `hosts.function` imports it, and only calls `rendering.run`, which returns None for a list that it
leaves to the full path (`hosts.full_list`). `KUBEVIRT_RENDER_FAST_PATH=off` turns it off.

What it saves. The full path reads all objects, renders all VMs and then writes the list. But most VMs of a large list are
made from a few templates: they have the same lines, and differ in names, addresses, sizes and user data. Rendering reads little
of that. So the fast path reads and renders one VM for all that are equal in what rendering reads. Of each item it keeps only
the place in the input's bytes.

How it goes. `listing` cuts the bytes at the items and asks `shapes` for each of them:

1. The lines of the item are compared with those of the known shapes of as many lines. A shape has for each line the part that
   must be the same, and what use rendering has for the value behind it (`fields`): it decides the shape (FIXED), it is read
   (READ), it is text that nobody reads (TEXT), or it may be anything (ANY).
2. An item that fits has a likeness: its shape, and its lines whose values are read, where these differ from the shape's first
   item. Nothing of it is decoded but its name.
3. An item that fits none is kept for later where it is a VM, and read where it is something else, to know that it can be. From
   the second item that has the same skeleton, which is its lines without their values, a shape is learned.

`rendering` then passes through the VMs. Where one of the same likeness was rendered before, its lines change as those did
(`edits`). Where the shape is known and the likeness is new, because the VM refers to another size, an object is made that
stands for all of that likeness. Any other VM is read, rendered and forgotten. `index` is the bundle in which references are
looked up: it finds objects by their names and reads them when they are needed.

Where it ends. A list takes the full path where something needs all objects at once: modes `validate` and `snapshot`, presets,
`instances: include`, ignores, Lists, names that kustomize changed. So does a list that the strict reader of `yamlio.plain` does
not take, such as one with flow style around its items, and one whose config is wrong.

Where it does not pay. A list in which each VM has other lines gains nothing: `shapes.PATIENCE` says after how many items
learning ends. Then the VMs are read and rendered fifty at a time, which takes as long as the full path and less memory.

What keeps it true. `test_fields` puts other texts where `fields` says that nobody reads them. `test_shapes` holds what is taken
for a shape against the strict reader. `test_likeness` and `test_large` compare both paths, and so does `scripts/fuzz`.
"""
