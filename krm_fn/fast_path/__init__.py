"""The fast path: it renders large lists that kustomize and kpt write, object after object.

Without this package everything works, and gives the same bytes, findings and exit codes: `tests/fast_path/test_without.py`
deletes it and compares. Only `hosts.function` imports it, and calls only `rendering.run`, which returns None for a list that
it leaves to the full path (`hosts.full_list`). `KUBEVIRT_RENDER_FAST_PATH=off` turns it off.

Why it is faster. The full path reads all objects, renders all VMs and then writes the list. But most VMs of a large list are
made from a few templates: they have the same lines, and differ in names, addresses, sizes and user data. Rendering reads few
of these. So the fast path reads and renders one VM for all VMs that are equal in what rendering reads. For each item it keeps
only the place in the input's bytes.

How it works. `listing` cuts the bytes at the items, and calls `shapes` for each of them:

1. The lines of the item are compared with those of the known shapes with the same number of lines. For each line, a shape has
   the part that must be the same, and how rendering uses the value after it (`fields`): the value decides the shape (FIXED),
   it is read (READ), it is text that nobody reads (TEXT), or it may be anything (ANY).
2. An item that fits has a likeness: its shape, and those of its lines with a READ value that differs from the value in the
   shape's first item. Only its name is decoded.
3. A VM that fits no shape is kept for later. Any other object that fits none is read at once, to know that it can be read. A
   shape is learned from the second item with the same skeleton. The skeleton of an item is its lines without their values.

`rendering` then goes through the VMs. If a VM of the same likeness was rendered before, its lines change in the same way
(`edits`). If the shape is known and the likeness is new, because the VM refers to another size, an object is made that
represents all VMs of that likeness. Any other VM is read, rendered and forgotten. `index` is the bundle in which references
are looked up: it finds objects by their names and reads them when they are needed.

When it is not used. A list takes the full path if something needs all objects at once: modes `validate` and `snapshot`,
presets, `instances: include`, `podSize`, ignores, Lists, names that kustomize changed. So does a list that the strict
reader of `yamlio.plain` does not accept, such as one with flow style around its items, and a list with a wrong config.

When it is not faster. A list in which each VM has other lines gains nothing: `shapes.PATIENCE` says after how many items
learning ends. Then the VMs are read and rendered fifty at a time, which takes as long as the full path and less memory.

How it is tested. `test_fields` puts other texts where `fields` says that nobody reads them. `test_shapes` compares shapes with
the strict reader. `test_likeness` and `test_large` compare both paths, and so does `scripts/fuzz`.
"""
