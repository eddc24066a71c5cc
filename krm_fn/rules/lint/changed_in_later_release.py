"""A VM uses a builtin instancetype or preference that changes in a later release.

What it finds: a VirtualMachine whose instancetype or preference comes from the builtin catalogue of the target release of
KubeVirt, while a later release deploys the same name with another spec. Patch releases do that too: 1.6.3 limited the
sockets of twelve instancetypes.

Why it matters: virt-operator replaces the object when KubeVirt is upgraded. VMs that are then created or started differ from
those in git and from the other VMs, without any change in git.

Fix: render with `--kubevirt-version` of the later release and compare. To keep the current spec, write the output of
`kubevirt-render catalogue show NAME` into the bundle under a name of your own, or render in mode `snapshot`.

Example:

    # kubevirtVersion: "1.8"
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: builder}
    spec:
      runStrategy: Always
      instancetype: {name: u1.medium}
      preference: {name: fedora}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted, leaves
from krm_fn.base.wording import show
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.catalogue import WORDS, hits
from krm_fn.rules.shared.catalogue import dotted as version_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.catalogue import Catalogue, Run


SHOWN = 3


@rule(severity="info")
def changed_in_later_release(facts: BundleFacts) -> Iterator[Hit]:
    yield from hits(facts, _word)


def _word(builtin: Catalogue, kind: str, name: str) -> str:
    from krm_fn.kubevirt import catalogue  # it is loaded by now

    now, later = builtin.run(kind, name), _next(builtin, catalogue.history(kind, name))
    if now is None or later is None:
        return ""
    changes = _changes(catalogue.spec_of(now), catalogue.spec_of(later))
    return (
        f"KubeVirt {version_text(later.first)} deploys the builtin {WORDS[kind]} {name} with another spec: {changes}; "
        "compare before the upgrade, or add a copy of it to the bundle under another name"
    )


def _next(builtin: Catalogue, history: tuple[Run, ...]) -> Run | None:
    """The first later run of releases in which the name has another spec; None if it keeps this one, or is removed first."""
    here = next((number for number, run in enumerate(history) if run.first <= builtin.version <= run.last), None)
    later = history[here + 1 :] if here is not None else ()
    return next((run for run in later if run.form != history[here or 0].form), None)


def _changes(old: Object, new: Object) -> str:
    before, after = dict(leaves(old)), dict(leaves(new))
    changed = [path for path in dict.fromkeys((*before, *after)) if before.get(path) != after.get(path)]
    changes = [
        f"{dotted(path)} from {show(before.get(path), path)} to {show(after.get(path), path)}" for path in changed[:SHOWN]
    ]
    return ", ".join([*changes, *([f"{len(changed) - SHOWN} more"] if len(changed) > SHOWN else [])])
