"""A drain of the node waits forever for a VM that can't be live-migrated.

What it finds: a VM, or the VM in a pool, with the eviction strategy `LiveMigrate`, its own or that of the cluster, whose
instance KubeVirt can't live-migrate: a claim is not `ReadWriteMany`, it has a bridge to the pod network, a host device, and
so on. Also a VM that may run on one node only, by its `nodeSelector` or its required node affinity: KubeVirt migrates it, and
no node takes the new pod. Claims that the bundle lacks are taken to be shared, and nothing is said of what the configuration
of a cluster decides that is not known.

Why it matters: KubeVirt refuses to evict the pod, and migrates nothing. `kubectl drain` of the node, and with it the upgrade
of the node, hangs until somebody stops the VM.

Fix: remove what keeps the VM from migrating, or set `evictionStrategy` to `LiveMigrateIfPossible` or `None`: then a drain
shuts the VM down. For a VM of one node, only `None` does.

Example:

    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: web-root}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          evictionStrategy: LiveMigrate
          domain:
            memory: {guest: 1Gi}
            devices:
              disks: [{name: root, disk: {}}]
              interfaces: [{name: default, masquerade: {}}]
          networks: [{name: default, pod: {}}]
          volumes: [{name: root, persistentVolumeClaim: {claimName: web-root}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.migratability import IF_POSSIBLE, LIVE_MIGRATE
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.drains import also_claim, worded
from krm_fn.rules.shared.machines import machines

# What names a node: its label, and its name, which only fields match.
HOST: Path = ("nodeSelector", "kubernetes.io/hostname")
TERMS: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
NAMES = (HOST[1], "metadata.name")


@rule(severity="warning", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go")
def blocked_drain(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.evictions:
        if each.strategy != LIVE_MIGRATE:
            continue
        fact, fix = worded(each)
        whose = "its" if each.own else "the cluster's"
        yield Hit(
            message=f"{fact}, and {whose} evictionStrategy is LiveMigrate, so a drain of its node hangs; "
            f"{fix}set evictionStrategy to LiveMigrateIfPossible or None",
            path=(*each.at, "evictionStrategy") if each.own else each.path,
            current="LiveMigrate" if each.own else UNSET,
            about=each.entry,
            related=also_claim(each, facts.bundle),
        )
    yield from _pinned(facts)


def _pinned(facts: BundleFacts) -> Iterator[Hit]:
    """The VMs that may run on one node only, without those that KubeVirt does not migrate or start."""
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
