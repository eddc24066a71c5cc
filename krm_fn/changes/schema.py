"""The published JSON Schema of the answer of `krm_fn.diff` and of `kubevirt-render diff -o json` (draft 2020-12)."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.changes.data import IGNORED
from krm_fn.changes.data import KINDS as DATA_KINDS
from krm_fn.changes.effects import LIVE, MIGRATION, NEW, NEXT_START, PARTS, RESTART
from krm_fn.changes.owners import KINDS
from krm_fn.changes.owners import SOURCES as OWN
from krm_fn.changes.pins import EDITED, REMOVED
from krm_fn.changes.policies import STAGE as POLICY_STAGE
from krm_fn.changes.policies import UNEVALUATED
from krm_fn.changes.renames import SIGNS
from krm_fn.changes.renames import names_schema as names
from krm_fn.changes.sizes import sizes_schema as sizes
from krm_fn.changes.summary import LEVELS, WORDS
from krm_fn.changes.upgrade import steps_schema as steps
from krm_fn.findings.finding import SEVERITIES
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.updates import transition
from krm_fn.kubevirt.updates.pools import ROLLOUTS

Schema = dict[str, Any]


ID = "urn:kubevirt-render:schema:v1alpha1:diff"  # a name: nothing is fetched for it
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SOURCES = (*OWN.values(), "instancetype", "preference", "revision", "catalogue", "kubevirt", "release")


def schema() -> Schema:
    """The schema of an answer."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "what a change does to each VM: the answer of kubevirt-render diff",
        **_object(
            {
                "vms": _list({"$ref": "#/$defs/vm"}),
                "renames": _list({"$ref": "#/$defs/rename"}, "what VMs refer to and has another name"),
                "quotas": _list({"$ref": "#/$defs/quota"}, "the quotas whose use or bounds change"),
                "policies": _list(
                    _unevaluated(), "the policies that are new or changed, or of the config, and can't be evaluated"
                ),
                "uncompared": _list(
                    _object({"target": TEXT, "because": _list(TEXT)}, required=("target", "because")),
                    "the targets that can't be built or read on one side, and why",
                ),
                "unmanaged": _list(
                    {"$ref": "#/$defs/managed"}, "the machines of the cluster that git does not have; only of drift"
                ),
                "summary": _summary(),
                "assumptions": _assumptions(),
                "steps": steps(_summary()),
            },
            required=("vms", "renames", "quotas", "summary", "assumptions"),
        ),
        "$defs": {
            "vm": _vm(),
            "change": _change(),
            "migratable": _migratable(),
            "unknown": _unknown(),
            "cause": _cause(),
            "kept": _kept(),
            "data": _data(),
            "update": _update(),
            "managed": _object({"kind": TEXT, "namespace": TEXT, "name": TEXT}, required=("kind", "namespace", "name")),
            **names(),
            **sizes(),
        },
    }


def _object(properties: Schema, *, required: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": list(required)} if required else {}),
    }


def _list(items: Schema, about: str = "") -> Schema:
    return {"type": "array", "items": items, **({"description": about} if about else {})}


def _text(about: str) -> Schema:
    return {**TEXT, "description": about}


def _summary() -> Schema:
    return _object(
        {
            "total": {**COUNT, "description": "the VMs, pools, replica sets and instances of both bundles"},
            "others": {**COUNT, "description": "those of them that are no VMs; absent for none"},
            "changed": {**COUNT, "description": "those of them that change"},
            "levels": {"type": "object", "propertyNames": {"enum": list(WORDS)}, "additionalProperties": COUNT},
            "live": {**COUNT, "description": "the machines of the cluster; only of drift"},
            "unmanaged": {**COUNT, "description": "those of them that git does not have; only of drift"},
            "keeps": {**COUNT, "description": "the VMs that keep an instancetype or a preference as it was"},
            "uncompared": {**COUNT, "description": "the targets whose VMs are not compared, and not counted; absent for none"},
        },
        required=("total", "changed", "levels", "keeps"),
    )


def _assumptions() -> Schema:
    names = {"apply": {"type": "boolean"}, "migratable": {"enum": [True, False, "auto"]}, "new": {"type": "boolean"}}
    return _object(names, required=tuple(names))


def _vm() -> Schema:
    paths = _list(TEXT, "JSON pointers; an entry of a list has its name in brackets")
    words = sorted({effect for level in LEVELS for effect in level.effects} | {"nothing"})
    effect = _list({"enum": words}, "the short form of the other keys")
    return _object(
        {
            "target": _text("the folder of the kustomization or of the files, in a comparison of repositories"),
            "kind": {"enum": list(KINDS)},
            "namespace": TEXT,
            "name": TEXT,
            "change": {"enum": ["added", "removed", "renamed", "changed"]},
            "from": {"$ref": "#/$defs/name"},
            "shownBy": {"enum": list(SIGNS), "description": "what shows that it is a rename"},
            "leftBy": _text("the mark, or the delivery, because of which an object stays that is no longer in the bundle"),
            "deletes": _list(TEXT, "the disks that are deleted: those of `data` with the effect `deleted`"),
            "data": _list({"$ref": "#/$defs/data"}, "what happens to disks, ConfigMaps and Secrets that the machine uses"),
            "effect": effect,
            "update": {"$ref": "#/$defs/update"},
            "restartRequired": _text("the message of the condition RestartRequired"),
            "live": paths,
            "atRestart": paths,
            "startError": _text("why the VM would not start"),
            "migration": _migration(),
            "migratable": {"$ref": "#/$defs/migratable"},
            "ifNotMigratable": _object(
                {"effect": effect, "restartRequired": TEXT, "live": paths, "atRestart": paths, "migration": _migration()},
                required=("effect",),
            ),
            "unknown": {"$ref": "#/$defs/unknown"},
            "volumesChange": _text("why KubeVirt cannot migrate volumes to other claims"),
            "power": {"enum": ["running", "halted", "stopped", "started"]},
            "revisionsChanged": paths,
            "creates": _list(TEXT, "objects that KubeVirt creates at once"),
            "error": _text("why the VM controller does not get through"),
            "replicas": {**_sizes(COUNT), "description": "how many machines a pool or a replica set creates, if that changes"},
            "rollout": {"enum": list(ROLLOUTS), "description": "how the update of a pool reaches the VMs that it has created"},
            "atOnce": {**COUNT, "description": "how many VMs of a pool KubeVirt restarts at once at most"},
            "guest": _object({"vcpus": _sizes({"type": "integer"}), "memory": _sizes(TEXT)}),
            "pod": {"$ref": "#/$defs/pods"},
            "changes": _list({"$ref": "#/$defs/change"}, "the effective changes"),
            "asBefore": {"const": True, "description": "it fails for the same reasons without the change, too"},
            "unedited": {"const": True, "description": "with `asBefore`: the manifest of the VM is the same on both sides"},
            "manifest": _list(TEXT, "what the edit changes in the object and in no machine, as JSON pointers"),
            "contested": _contested(),
            "gates": _gates(),
            "keeps": _list({"$ref": "#/$defs/kept"}, "what changed and does not reach the VM"),
            "policies": _list(_policy(), "what policies say of the change"),
        },
        required=("kind", "namespace", "name", "change", "effect"),
    )


def _contested() -> Schema:
    about = "the fields that git changes and that another manager holds, which may change them back"
    return _list(_object({"manager": TEXT, "field": TEXT}, required=("manager", "field")), about)


def _gates() -> Schema:
    keys = ("gate", "release", "needs")
    about = "the feature gates that the new release opens, and what the cluster needs for the machine then"
    return _list(_object(dict.fromkeys(keys, TEXT), required=keys), about)


def _data() -> Schema:
    effects = sorted({effect for level in LEVELS for effect in level.of_data} | {IGNORED})
    return _object(
        {
            "kind": {"enum": sorted(DATA_KINDS)},
            "name": _text("its name; in a pool, * stands for the number of a VM"),
            "effect": {"enum": effects},
            "size": _text("the size of a disk that is deleted, or before the edit"),
            "newSize": TEXT,
            "fields": _list(TEXT, "the paths of the edit"),
            "message": TEXT,
        },
        required=("kind", "name", "effect"),
    )


def _unknown() -> Schema:
    return _object(
        {
            "featureGates": _list(TEXT, "those that refuse the update if they are closed"),
            "workloadUpdateStrategy": {"const": True, "description": "it decides whether KubeVirt starts a migration"},
            "objects": _list(TEXT, "instancetypes and preferences of the VM that only the cluster has"),
            "values": _list(TEXT, "placeholders that decide its sizes, with their places"),
        }
    )


def _policy() -> Schema:
    own = {"rule": _text("policy/NAME"), "severity": {"enum": list(SEVERITIES)}, "message": TEXT}
    return _object({**own, "binding": TEXT, "param": TEXT}, required=("rule", "severity", "message"))


def _unevaluated() -> Schema:
    own = {"rule": {"enum": list(UNEVALUATED)}, "severity": {"enum": list(SEVERITIES)}, "message": TEXT, "target": TEXT}
    return _object(own, required=("rule", "severity", "message"))


def _sizes(size: Schema) -> Schema:
    return _object({"old": size, "new": size})


def _update() -> Schema:
    cause = _object(
        {"field": _text("the path that KubeVirt names"), "path": _text("the real path"), "message": TEXT},
        required=("field", "path", "message"),
    )
    return _object(
        {
            "sent": {"type": "boolean", "description": "the apply writes something"},
            "allowed": {"type": "boolean", "description": "admission lets the update in"},
            "stage": {"enum": ["schema", "conflict", "mutating", "validating", POLICY_STAGE]},
            "causes": _list(cause),
        },
        required=("sent", "allowed"),
    )


def _migration() -> Schema:
    conditions = [transition.HOT_CPU, transition.HOT_MEMORY, transition.VOLUMES, transition.REQUIRED]
    return _object(
        {
            "because": _list({"enum": conditions}),
            "by": {"enum": [transition.LIVE_MIGRATE, transition.EVICT, transition.NOBODY]},
            "network": {"enum": ["immediate", "pending"]},
        },
        required=("because", "by"),
    )


def _migratable() -> Schema:
    return _object(
        {
            "status": {"enum": ["False", "Unknown"], "description": "whether the running instance can be live-migrated"},
            "reason": _text("KubeVirt's reason, in the worst case"),
            "message": TEXT,
            "unknown": _list(TEXT, "what is not known: PersistentVolumeClaim/NAME, Node/tsc-frequency"),
        },
        required=("status", "reason", "message"),
    )


def _change() -> Schema:
    return _object(
        {
            "path": _text("the JSON pointer in the VirtualMachineInstance"),
            "part": {"enum": sorted({part.word for part in PARTS})},
            "old": {"description": "any value; absent if there was none"},
            "new": {"description": "any value; absent if there is none"},
            "unknown": _list({"enum": ["old", "new"]}, "the values that an object decides that only the cluster has"),
            "when": {"enum": [LIVE, MIGRATION, RESTART, NEXT_START, NEW]},
            "causes": _list({"$ref": "#/$defs/cause"}),
        },
        required=("path", "part", "when", "causes"),
    )


def _cause() -> Schema:
    named = dict.fromkeys(("kind", "namespace", "name", "field"), TEXT)
    values = {key: {"description": f"the {key} value of the field, or the {key} release"} for key in ("old", "new")}
    of = {"enum": [matcher.field for matcher in MATCHERS]}
    return _object({"source": {"enum": list(SOURCES)}, **named, **values, "of": of}, required=("source",))


def _kept() -> Schema:
    field = _object({"field": TEXT, "kept": {}, "new": {}}, required=("field",))
    return _object(
        {
            "matcher": {"enum": [matcher.field for matcher in MATCHERS]},
            "kind": TEXT,
            "name": TEXT,
            "change": {"enum": [EDITED, REMOVED]},
            "policy": {"enum": ["expand", "expandAll"]},
            "revisionName": TEXT,
            "fields": _list(field, "the fields that differ between what is kept and the new object"),
            "message": TEXT,
        },
        required=("matcher", "kind", "name", "change", "message"),
    )
