"""What mode `snapshot` stores for a VM, and what it cannot store."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Found
from krm_fn.rules.facts.vms import VmFacts


class Storing(Value):
    """What mode `snapshot` makes of one VM that can be pinned.

    `pins` has, for each matcher that gets a new one, its field and the name of the ControllerRevision; `revisions` are the new
    ControllerRevisions; `owned` the ControllerRevisions of the bundle that the VM is pinned to and that an object owns.
    """

    vm: VmFacts
    pins: tuple[tuple[str, str], ...] = ()
    revisions: tuple[Object, ...] = ()
    owned: tuple[Entry, ...] = ()


class Unstored(Value):
    """Why mode `snapshot` can't store what a matcher of a VM refers to; the matcher then leaves as it came.

    `reason` is "name-taken" (`entry`, a ControllerRevision, holds something else), "no-label" (`entry` should be stored again,
    but has the new name itself), "name-too-long" (that of the ControllerRevision), "label-too-long" (the name of `found`),
    "replaced" (the revision is stored again for the VM `other`), "status" (a reference in the VM's status counts, though it
    leads nowhere) or "unreadable" (so does one to `entry`, of a form that this release can't read).
    `matcher` is "instancetype" or "preference", `name` the one that the new ControllerRevision would have.
    """

    vm: VmFacts
    matcher: str
    reason: str
    found: Found
    name: str = ""
    entry: Entry | None = None
    other: VmFacts | None = None
