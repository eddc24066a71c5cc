"""The JSON Schema of what `krm_fn.capacity` returns."""

from __future__ import annotations

from krm_fn.base.objects import Object

TEXT: Object = {"type": "string"}
COUNT: Object = {"type": "integer", "minimum": 0}
QUANTITY: Object = {"type": "string", "description": "A Kubernetes quantity, such as 500m or 2Gi."}
AMOUNTS: Object = {"type": "object", "additionalProperties": QUANTITY}
COST: Object = {"type": "string", "pattern": "^[0-9]+([.][0-9]+)?$"}
TEXTS: Object = {"type": "array", "items": TEXT}
# Of the API of Kubernetes, as it is in a pod's spec.
AS_IN_POD: Object = {"type": "object"}


def schema() -> Object:
    """The schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the VMs of a bundle need of a cluster",
        **closed(
            {
                "vms": _list({"$ref": "#/$defs/record"}),
                "quotas": _list({"$ref": "#/$defs/quota"}),
                "totals": {"$ref": "#/$defs/totals"},
                "groups": {**_list({"$ref": "#/$defs/group"}), "description": "The groups of `capacity --by`, heaviest first."},
                "cost": {**_cost(), "description": "With `capacity --prices`."},
                "nodes": {**_nodes(), "description": "What `capacity --nodes` estimates."},
            },
            required=("vms", "quotas", "totals"),
        ),
        "$defs": {
            "record": _record(),
            "pod": _pod(),
            "container": _container(),
            "claim": _claim(),
            "group": _group(),
            "quota": _quota(),
            "totals": _totals(),
        },
    }


def closed(properties: Object, *, required: tuple[str, ...] = ()) -> Object:
    """An object with these keys and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: Object) -> Object:
    return {"type": "array", "items": items}


def _record() -> Object:
    count = ("sockets", "cores", "threads")
    properties = {
        "kind": TEXT,
        "namespace": TEXT,
        "name": TEXT,
        "target": {"type": "string", "description": "The kustomization of a repository that makes it."},
        "starts": {"type": "boolean", "description": "The cluster starts it by itself."},
        "replicas": {"type": "integer", "description": "How many machines a pool or replica set has."},
        "instancetype": TEXT,
        "preference": TEXT,
        "vcpus": COUNT,
        "memory": {**QUANTITY, "description": "The guest's memory."},
        "topology": closed(dict.fromkeys(count, COUNT), required=count),
        "pod": {"$ref": "#/$defs/pod"},
        "podError": {"type": "string", "description": "Why KubeVirt renders no pod."},
        "refused": {**TEXTS, "description": "Why KubeVirt refuses the object."},
        "unknown": {**TEXTS, "description": "Why its needs are not known: it refers to objects that are not in the bundle."},
        "evictionStrategy": TEXT,
        "migratable": {"anyOf": [_migratable(), _unknown()], "description": "Whether its machine can be live-migrated."},
        "limitRange": _limit_range(),
        "storage": _list({"$ref": "#/$defs/claim"}),
        "cost": {**COST, "description": "With `capacity --prices`: of all its machines for a month."},
    }
    return closed(properties, required=("kind", "namespace", "name", "starts"))


def _migratable() -> Object:
    """As KubeVirt has it of a running instance."""
    reason = {"reason": TEXT, "message": TEXT}
    condition = closed({"status": {"enum": ["True", "False"]}, **reason}, required=("status",))
    effects = {
        "effect": {"enum": ["migrates", "refused", "shutDown", "external"]},
        "message": {"type": "string", "description": "KubeVirt's answer to a refused eviction."},
    }
    properties = {
        "liveMigratable": {**condition, "description": "The condition of the instance."},
        "also": {
            **_list(closed(reason, required=tuple(reason))),
            "description": "Obstacles that the first one hides.",
        },
        "migrationMethod": {"enum": ["LiveMigration", "BlockMigration"], "description": "BlockMigration copies local disks."},
        "storageLiveMigratable": {**condition, "description": "Whether it can be migrated if its volumes move, too."},
        "evictionStrategy": {"type": "string", "description": "The effective one."},
        "eviction": {**closed(effects, required=("effect",)), "description": "What a drain of the node does."},
    }
    required = ("liveMigratable", "storageLiveMigratable", "evictionStrategy", "eviction")
    return closed(properties, required=required)


def _unknown() -> Object:
    """Where the bundle lacks something that decides."""
    names = {**TEXTS, "description": "What is not known: PersistentVolumeClaim/NAME, Node/tsc-frequency."}
    properties = {"unknown": names, "best": _migratable(), "worst": _migratable()}
    return closed(properties, required=tuple(properties))


def _pod() -> Object:
    objects = ("tolerations", "topologySpreadConstraints", "resourceClaims", "hugepagesVolumes")
    properties = {
        "containers": _list({"$ref": "#/$defs/container"}),
        "initContainers": _list({"$ref": "#/$defs/container"}),
        "requests": {**AMOUNTS, "description": "The sums, as the scheduler and quotas count them."},
        "limits": AMOUNTS,
        "qosClass": {"enum": ["Guaranteed", "Burstable", "BestEffort"]},
        "memoryOverhead": QUANTITY,
        "nodeSelector": {"type": "object", "additionalProperties": TEXT},
        "affinity": AS_IN_POD,
        **dict.fromkeys(objects, _list(AS_IN_POD)),
        **dict.fromkeys(("schedulerName", "priorityClassName", "runtimeClassName"), TEXT),
        "requestsAboveLimits": {**TEXTS, "description": "container/resource: the API server refuses the pod for it."},
        "hotplugPod": {"$ref": "#/$defs/pod"},
    }
    return closed(properties, required=("containers", "requests", "qosClass"))


def _container() -> Object:
    claim = closed({"name": TEXT, "request": TEXT}, required=("name", "request"))
    properties = {"name": TEXT, "requests": AMOUNTS, "limits": AMOUNTS, "claims": _list(claim), "restartPolicy": TEXT}
    return closed(properties, required=("name",))


def _claim() -> Object:
    kinds = ["dataVolumeTemplate", "DataVolume", "PersistentVolumeClaim", "backendStorage"]
    properties = {"kind": {"enum": kinds}, "name": TEXT, "storageClass": TEXT, "size": QUANTITY}
    return closed(properties, required=("kind", "name"))


def _quota() -> Object:
    name = {"kind": TEXT, "namespace": TEXT, "name": TEXT}
    machine = closed(name, required=tuple(name))
    stopped = closed({**name, "why": TEXTS}, required=(*name, "why"))
    properties = {
        **name,
        "target": TEXT,
        "namespaces": {**TEXTS, "description": "The namespaces that a quota of the cluster selects."},
        "hard": AMOUNTS,
        "used": {**AMOUNTS, "description": "When all machines of the bundle run; of what they count for."},
        "free": AMOUNTS,
        "exceeded": {**AMOUNTS, "description": "By how much."},
        "stops": {**_list(stopped), "description": "Machines that never start under this quota."},
        "blocksMigration": {**_list(machine), "description": "Machines without room for a second pod."},
        "calculator": {"type": "string", "description": "How an application-aware quota counts launcher pods."},
        "counts": {"type": "object", "additionalProperties": AMOUNTS, "description": "The use with each calculator."},
    }
    required = ("kind", "name", "hard", "used", "free", "exceeded", "stops", "blocksMigration")
    return closed(properties, required=required)


def _group() -> Object:
    counts = ("vms", "withoutPod", "migratable", "notMigratable", "vcpus")
    amounts = ("memory", "memoryOverhead", "storage")
    properties = {
        "name": TEXT,
        **dict.fromkeys(counts, COUNT),
        **dict.fromkeys(amounts, QUANTITY),
        "requests": {**AMOUNTS, "description": "Memory has huge pages in it."},
        "devices": AMOUNTS,
    }
    return closed({**properties, "cost": COST}, required=tuple(properties))


def _cost() -> Object:
    unpriced = {**TEXTS, "description": "What has no price, and counts as 0."}
    return closed({"currency": TEXT, "total": COST, "unpriced": unpriced}, required=("currency", "total", "unpriced"))


def _nodes() -> Object:
    name = {"kind": TEXT, "namespace": TEXT, "name": TEXT}
    shape = {
        "name": TEXT,
        "nodes": {**COUNT, "description": "How many there are; absent if there are as many as needed."},
        "needed": {**COUNT, "description": "How many of them the machines need."},
        "machines": COUNT,
        "free": {**AMOUNTS, "description": "What is left on the nodes that are needed."},
    }
    unfit = closed({**name, "target": TEXT, "why": TEXTS}, required=(*name, "why"))
    left = closed({**name, "target": TEXT, "machines": COUNT}, required=(*name, "machines"))
    properties = {
        "estimate": {"type": "string", "description": "What the estimate does not count."},
        "shapes": _list(closed(shape, required=("name", "needed", "machines", "free"))),
        "fitNowhere": {**_list(unfit), "description": "Machines that fit on no node, also if it is empty."},
        "withoutRoom": {**_list(left), "description": "Machines for which the nodes are too few."},
        "loss": {
            **closed({"node": TEXT, "withoutRoom": _list(left)}, required=("node", "withoutRoom")),
            "description": "The node whose loss leaves the most machines without room, and these; an empty name if none does.",
        },
    }
    return closed(properties, required=tuple(properties))


def _limit_range() -> Object:
    properties = {"requests": AMOUNTS, "limits": AMOUNTS, "qosClass": TEXT, "refused": TEXTS}
    return {**closed(properties), "description": "What LimitRanges of the namespace change in the pod, or refuse."}


def _totals() -> Object:
    counts = ("vms", "refused", "pods", "vcpus")
    properties = {
        **dict.fromkeys(counts, COUNT),
        "memory": QUANTITY,
        "requests": AMOUNTS,
        "limits": AMOUNTS,
        "storage": {**AMOUNTS, "description": "By storage class; an empty name is the cluster's default class."},
    }
    return closed(properties, required=tuple(properties))
