"""A preference names a CPU topology that the release of KubeVirt does not know.

What it finds: a preference whose `preferredCPUTopology` has no effect in the target release. KubeVirt 1.0 to 1.3 do not know
the names `sockets`, `cores`, `threads`, `spread` and `any`, which 1.4 added. KubeVirt 1.0 does not know `preferSpread` and
`preferAny` either.

Why it matters: these releases accept any text there, and report nothing. Each VM that combines the preference with an
instancetype gets one socket, one core and one thread. Releases since 1.4 refuse an unknown name.

Fix: use a name that the release knows. Releases since 1.4 accept the older names, too.

Example:

    # kubevirtVersion: "1.3"
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterPreference
    metadata: {name: cores}
    spec: {cpu: {preferredCPUTopology: cores}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import as_map, get
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.fields.topology import named_topology, names_of
from krm_fn.kubevirt.resolve import PREFERENCE
from krm_fn.kubevirt.resolve.matcher import GROUP
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import ALWAYS, Hit, rule
from krm_fn.rules.shared.topologies import known_name, use_another

PATH = ("spec", "cpu", "preferredCPUTopology")


@rule(severity="warning", upstream="pkg/instancetype/instancetype.go:applyCPU", until=(1, 4), certain=ALWAYS)
def ignored_topology(facts: BundleFacts) -> Iterator[Hit]:
    known = names_of(facts.release)
    for kind in PREFERENCE.kinds:
        for entry in facts.bundle.of_kind(kind, GROUP):
            topology = named_topology(as_map(get(entry.obj, ("spec",))))
            if topology and topology not in known:
                fact = f"KubeVirt {facts.release} does not know the topology {show(topology)}: VMs get a single vCPU"
                yield Hit(
                    message=f"{fact}; {use_another(topology, facts.release)}",
                    path=PATH,
                    current=topology,
                    proposed=known_name(topology, facts.release) or UNSET,
                    about=entry,
                )
