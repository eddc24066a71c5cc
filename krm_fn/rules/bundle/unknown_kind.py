"""An object's kind is one that KubeVirt has never had in that API group.

What it finds: an object in a group of KubeVirt's (`kubevirt.io`, `instancetype.kubevirt.io`, `pool.kubevirt.io`) with a
misspelt kind or one of another group, and one of KubeVirt's kinds in the core group, or in a group that is called much like
one of its own.

Why it matters: it is taken for something else, so it is neither rendered nor found by what refers to it, and the cluster
refuses it.

Fix: correct the kind, or the group in `apiVersion`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""

from __future__ import annotations

from krm_fn.findings import UNSET
from krm_fn.likest import nearest
from krm_fn.paths import brief
from krm_fn.resource import group_of, kind_of
from krm_fn.rules import Hit, rule
from krm_fn.served import GROUPS, HOMES, is_stray, present_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts
    from krm_fn.releases import Release


@rule(severity="warning")
def unknown_kind(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.entries:
        if not is_stray(entry.obj):
            continue
        group, kind = group_of(entry.obj), kind_of(entry.obj)
        if kind in HOMES:
            if not group or nearest(group, GROUPS):  # else it is another product's: many have a VirtualMachine
                yield _misplaced(entry, kind, facts.release)
        else:
            yield _misspelt(entry, kind)


def _misplaced(entry: Entry, kind: str, release: Release) -> Hit:
    given = entry.obj.get("apiVersion")
    form = present_form({"apiVersion": HOMES[kind], "kind": kind}, release)
    proposed = form[0] if form else HOMES[kind]
    fact = f"KubeVirt has no {kind} of {brief(given)}" if given else f"a {kind} needs an apiVersion"
    return Hit(message=f"{fact}; write {proposed}", path=("apiVersion",), current=given, proposed=proposed, about=entry)


def _misspelt(entry: Entry, kind: str) -> Hit:
    likely = nearest(kind, tuple(HOMES))
    fix = f"did you mean {likely[0]}" if likely else "correct it, or remove the object"
    return Hit(
        message=f"KubeVirt has no {kind} of {brief(entry.obj['apiVersion'])}; {fix}",
        path=("kind",),
        current=kind,
        proposed=likely[0] if likely else UNSET,
        about=entry,
    )
