"""An object has a kind that KubeVirt never had in its API group.

What it finds: an object in one of KubeVirt's groups (`kubevirt.io`, `instancetype.kubevirt.io`, `pool.kubevirt.io`) with a
misspelt kind or a kind of another group, and one of KubeVirt's kinds in the core group or below `kubevirt.io`. In a group
with a name similar to one of KubeVirt's it is a warning, because that may be another product's. In the related groups, such
as `cdi.kubevirt.io` and `snapshot.kubevirt.io`, the rule finds kinds that are spelled almost like a kind of the group. Kinds
that a CustomResourceDefinition in the bundle defines are skipped, and so are NodeMaintenance and KWebUI, which other products
define in the group `kubevirt.io`.

Why it matters: the object is treated as something else. It is not rendered, references do not find it, and the cluster
refuses it.

Fix: correct the kind, or the group in `apiVersion`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import group_of, kind_of, text
from krm_fn.base.paths import get
from krm_fn.base.suggestions import meant, nearest
from krm_fn.base.wording import brief
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.api_versions import CORE, GROUPS, HOMES, NEIGHBOURS, is_stray, present_form
from krm_fn.kubevirt.releases import Release
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

# A misspelling has at most this many letters too many or too few.
SLIP = 2


@rule(severity="error")
def unknown_kind(facts: BundleFacts) -> Iterator[Hit]:
    defined = set(_defined(facts.bundle))
    for entry in facts.bundle.entries:
        group, kind = group_of(entry.obj), kind_of(entry.obj)
        if not is_stray(entry.obj) or (group, kind) in defined:
            continue
        if group in NEIGHBOURS and kind not in HOMES:
            yield from _slip(entry, kind, NEIGHBOURS[group])
        elif kind not in HOMES:
            yield _misspelt(entry, kind)
        elif not group or group.lower().endswith(CORE) or nearest(group, GROUPS):
            yield _misplaced(entry, group, kind, facts.release)


def _defined(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """The group and kind that each CustomResourceDefinition of the bundle defines."""
    for entry in bundle.of_kind("CustomResourceDefinition"):
        yield text(get(entry.obj, ("spec", "group"))), text(get(entry.obj, ("spec", "names", "kind")))


def _misplaced(entry: Entry, group: str, kind: str, release: Release) -> Hit:
    given = entry.obj.get("apiVersion")
    form = present_form({"apiVersion": HOMES[kind], "kind": kind}, release)
    proposed = form[0] if form else HOMES[kind]
    fact = f"KubeVirt has no {kind} in {brief(given)}" if given else f"the {kind} has no apiVersion"
    return Hit(
        message=f"{fact}; write {proposed}",
        path=("apiVersion",),
        current=given,
        proposed=proposed,
        about=entry,
        severity="" if not group or group.lower().endswith(CORE) else "warning",  # many products have a VirtualMachine
    )


def _slip(entry: Entry, kind: str, known: tuple[str, ...]) -> Iterator[Hit]:
    """A hit for a kind that is spelled nearly like a known one; other kinds may have come with a later release."""
    likely = meant(kind, known)
    if likely and abs(len(kind) - len(likely)) <= SLIP:
        yield _misspelt(entry, kind, known)


def _misspelt(entry: Entry, kind: str, known: tuple[str, ...] = tuple(HOMES)) -> Hit:
    likely = meant(kind, known)
    fix = f"did you mean {likely}" if likely else "correct it, or remove the object"
    given, written = brief(entry.obj["apiVersion"]), entry.obj.get("kind")
    without = f"the kind is {brief(written)}; write a string" if written else f"the object of {given} has no kind; add it"
    return Hit(
        message=f"KubeVirt has no {kind} in {given}; {fix}" if kind else without,
        path=("kind",),
        current=entry.obj.get("kind"),
        proposed=likely or UNSET,
        about=entry,
    )
