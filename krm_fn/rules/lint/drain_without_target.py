"""A drain of the node waits forever for a VM that may run on no other node.

What it finds: a VM, or the VM in a pool, that may run on one node only, by its `nodeSelector` or its required node affinity,
with the eviction strategy `LiveMigrate` or `LiveMigrateIfPossible`, its own or that of the cluster. Those that KubeVirt does
not migrate are left to [blocked-drain](blocked-drain.md) and [not-migratable](not-migratable.md).

Why it matters: when the node is drained, KubeVirt live-migrates the VM, and no node takes the new pod. `kubectl drain` of the
node, and with it the upgrade of the node, hangs until somebody stops the VM.

Fix: let the VM run on other nodes, or set `evictionStrategy: None`: then a drain shuts it down.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          evictionStrategy: LiveMigrate
          nodeSelector: {kubernetes.io/hostname: node-1}
          domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
          networks: [{name: default, pod: {}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.kubevirt.migratability import IF_POSSIBLE, LIVE_MIGRATE
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

# What names a node: its label, and its name, which only fields match.
HOST: Path = ("nodeSelector", "kubernetes.io/hostname")
TERMS: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
NAMES = (HOST[1], "metadata.name")


@rule(severity="warning", upstream="pkg/virt-controller/watch/drain/evacuation/evacuation.go:sync")
def drain_without_target(facts: BundleFacts) -> Iterator[Hit]:
    told = {id(each.entry) for each in facts.evictions} | {id(each.entry) for each in facts.stopped}
    default = facts.cluster.eviction_strategy if facts.cluster.known else None
    for machine in machines(facts.bundle):
        strategy, (node, path) = machine.spec.get("evictionStrategy") or default, _only_node(machine.spec)
        if node and machine.vm and strategy in (LIVE_MIGRATE, IF_POSSIBLE) and id(machine.entry) not in told:
            fact = f"the VM may run on {node} only, so its live migration finds no node, and a drain of {node} hangs"
            message = f"{fact}; allow other nodes, or set evictionStrategy to None"
            yield Hit(message=message, path=(*machine.path, *path), current=node, about=machine.entry)


def _only_node(spec: Object) -> tuple[str, Path]:
    """The only node of an instance, with the place that says so; "" where there may be several."""
    if named := text(get(spec, HOST)):
        return named, HOST
    found = {_node_of(as_map(term)) for term in as_list(get(spec, TERMS))}
    return (found.pop(), TERMS) if len(found) == 1 else ("", ())


def _node_of(term: Object) -> str:
    """The only node that a term takes, "" for several. All of its requirements hold at once."""
    for each in map(as_map, (*as_list(term.get("matchExpressions")), *as_list(term.get("matchFields")))):
        if each.get("key") in NAMES and each.get("operator") == "In" and len(as_list(each.get("values"))) == 1:
            return text(each["values"][0])
    return ""
