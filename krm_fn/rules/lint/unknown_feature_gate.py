"""A KubeVirt object lists a feature gate that the release does not know.

What it finds: a name in `featureGates` or `disabledFeatureGates` that is not a gate of the release: a misspelling, a gate of
a later release, or one that was retired, such as `DataVolumes`.

Why it matters: KubeVirt ignores an unknown name silently. The feature keeps its default state, and VMs that need it are
refused.

Fix: spell the gate as the release does; the message names the nearest one, and the page of this rule lists all. Gate names are
case-sensitive.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec: {configuration: {developerConfiguration: {featureGates: [HostDevice]}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path, as_list, get
from krm_fn.base.suggestions import meant
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.admission.gates import GATES, state
from krm_fn.kubevirt.releases import Release
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import CASE, Hit, rule

SETTINGS: Path = ("spec", "configuration", "developerConfiguration")
LISTS = ("featureGates", "disabledFeatureGates")
# Gates of older releases than the table has, and the first release without each. What they enabled is always on since then.
# upstream: the feature gates of 0.8 to 1.3
RETIRED = {"DataVolumes": "0.32", "NonRootExperimental": "1.2", "SRIOV": "0.20", "SRIOVGate": "0.32"}


@rule(severity="warning", certain=CASE)
def unknown_feature_gate(facts: BundleFacts) -> Iterator[Hit]:
    known = tuple(name for name in GATES if state(name, facts.release))
    for entry in facts.bundle.of_kind("KubeVirt", "kubevirt.io"):
        for (path, gate), more in first(_unknown(entry, facts.release)):
            hit = _hit(entry, path, gate, facts.release, known)
            yield hit.but(message=counted(hit.message, more))


def _unknown(entry: Entry, release: Release) -> Iterator[tuple[Path, str]]:
    """The gates of a KubeVirt object that the release doesn't know, with their places."""
    for key in LISTS:
        for index, gate in enumerate(as_list(get(entry.obj, (*SETTINGS, key)))):
            if isinstance(gate, str) and not state(gate, release):
                yield (*SETTINGS, key, index), gate


def _hit(entry: Entry, path: Path, gate: str, release: Release, known: tuple[str, ...]) -> Hit:
    if gate in RETIRED:
        fact = f"KubeVirt retired the feature gate {show(gate)} in {RETIRED[gate]}: its feature is always on"
        return Hit(message=f"{fact}; remove it", path=path, current=gate, about=entry)
    likely = meant(gate, known)
    if gate in GATES:
        (_, since), *_ = GATES[gate]
        fix = f"remove it; KubeVirt {'.'.join(map(str, since))} adds it"
    else:
        fix = f"did you mean {likely}" if likely else "remove it, or write one of the gates that the page of this rule lists"
    return Hit(
        message=f"KubeVirt {release} has no feature gate {show(gate)}; {fix}",
        path=path,
        current=gate,
        proposed=likely if likely and gate not in GATES else UNSET,
        about=entry,
    )
