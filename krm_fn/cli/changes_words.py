"""What the effects of a record say to people: `needs a restart; ...`."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.changes import renames
from krm_fn.changes.data import DELETED
from krm_fn.changes.owners import INSTANCE, POOL, REPLICA_SET
from krm_fn.changes.records import NOTHING
from krm_fn.changes.summary import OF_DATA
from krm_fn.kubevirt.updates import pools

# The words of a sentence that depend on the number of objects.
ONE = {"s": "s", "is": "is", "it": "it", "they": "it", "its": "its"}
SEVERAL = {"s": "", "is": "are", "it": "them", "they": "they", "its": "their"}

NOBODY, UNMOVED, UNSURE = "migration:nobody", "migration:impossible", "migration:unknown"
REFUSED, UNLESS = "refused", "refused:unless"
NEVER = "startError:added"
# What an effect says of VMs, the most severe first. UNMOVED is NOBODY for machines that can't be live-migrated, UNSURE where
# nothing says whether KubeVirt starts migrations. UNLESS is REFUSED where nothing says whether a feature gate is open. NEVER
# is startError of a new one.
OF_VM = {
    REFUSED: "KubeVirt refuses the update",
    UNLESS: "KubeVirt refuses the update, unless a feature gate is open",
    "refusedByPolicy": "a policy refuses the update",
    "error": "KubeVirt reports an error and does nothing else for {it}",
    "data:refused": "an edit of what {they} use{s} is refused",
    "removed": "{is} removed",
    "renamed": "{is} renamed: KubeVirt deletes the VM of the old name and creates a new one",
    "recreated": "{is} deleted and created anew",
    "scaledIn": "KubeVirt removes some",
    "released": "{is} left without an owner",
    "data:deleted": "lose{s} a disk",
    "restartRequired": "need{s} a restart",
    "restarted": "{is} restarted",
    "stopped": "{is} stopped",
    "migration:Evict": "KubeVirt shuts {it} down to finish the change",
    "migration:LiveMigrate": "KubeVirt live-migrates {it} to finish the change",
    "migration:nobody": "need{s} a live migration, and nobody starts it",
    UNMOVED: "need{s} a live migration, which is not possible",
    UNSURE: "need{s} a live migration",
    "live": "change{s} while {they} run{s}",
    "data:live": "get{s} other data while {they} run{s}",
    "data:grows": "a disk grows",
    "gateOpened": "need{s} something new of the cluster",
    "started": "{is} started",
    "added": "{is} new",
    "scaledOut": "KubeVirt creates some",
    "newOnly": "only new ones get the change",
    NEVER: "never start{s}",
    "startError": "can't start again",
    "atNextStart": "change{s} at the next start",
    "left": "{is} no longer in the bundle, but stay{s} in the cluster",
    "data:missing": "lack{s} an object that the next start needs",
    "data:atNextStart": "get{s} other data at the next start",
    "data:takenOver": "take{s} a disk over",
    "data:stays": "keep{s} a disk that the manifest no longer has",
    "nothing": "stay{s} as {they} {is}",
}
# Effects with which disks are deleted.
GOES = frozenset(("removed", "renamed", "recreated", "scaledIn"))
# Effects after which a machine stays as it is.
UNFELT = frozenset((NOTHING, "data:refused", "data:takenOver", "data:stays"))
# The same for objects that make machines, where the words above do not fit.
OF_KINDS = {
    POOL: {
        "error": "KubeVirt reports an error and does nothing else for {its} VMs",
        "removed": "{is} removed with {its} VMs",
        "renamed": "{is} renamed: the pool of the old name and its VMs are deleted, and new ones are created",
        "recreated": "KubeVirt deletes {its} VMs and creates new ones, because dataVolumeTemplates change",
        "scaledIn": "KubeVirt removes VMs",
        "restartRequired": "{its} VMs need a restart",
        "restarted": "KubeVirt restarts {its} VMs",
        "stopped": "{its} VMs are stopped",
        "migration:Evict": "KubeVirt shuts {its} VMs down to finish the change",
        "migration:LiveMigrate": "KubeVirt live-migrates {its} VMs to finish the change",
        "migration:nobody": "{its} VMs need a live migration, and nobody starts it",
        UNMOVED: "{its} VMs need a live migration, which is not possible",
        UNSURE: "{its} VMs need a live migration",
        "live": "{its} VMs change while they run",
        "started": "{its} VMs are started",
        "scaledOut": "KubeVirt creates VMs",
        "newOnly": "only VMs that are created from now on get the change",
        NEVER: "{its} VMs never start",
        "startError": "{its} VMs can't start again",
        "atNextStart": "{its} VMs change at the next start",
        "nothing": "{its} VMs stay as they are",
    },
    REPLICA_SET: {
        "removed": "{is} removed with {its} instances",
        "renamed": "{is} renamed: the replica set of the old name and its instances are deleted, and new ones are created",
        "scaledIn": "KubeVirt removes instances",
        "released": "the selector leaves {its} instances without an owner, and KubeVirt creates new ones",
        "scaledOut": "KubeVirt creates instances",
        "newOnly": "only instances that are created from now on get the change",
        NEVER: "{its} instances never start",
        "startError": "new instances don't start",
        "nothing": "{its} instances stay as they are",
    },
    INSTANCE: {"renamed": "{is} renamed: the instance of the old name is deleted, and a new one is created"},
}
# What shows a rename.
SHOWN_BY = {
    renames.ANNOTATION: "kustomize's annotations say so",
    renames.HASH: "the name in front of the hash is the same",
    renames.CONTENT: "the content is the same",
}
# What the effects say where nothing exists yet.
OF_NEW = {
    REFUSED: "KubeVirt refuses {it}",
    UNLESS: "KubeVirt refuses {it}, unless a feature gate is open",
    "refusedByPolicy": "a policy refuses {it}",
    "atNextStart": "start{s} with other values",
    "nothing": "start{s} with the same values",
}
OF_NEW_KINDS = {
    POOL: "new VMs start with other values",
    REPLICA_SET: "new instances start with other values",
    INSTANCE: "new instances start with other values",
}
# Why an update of a pool does not reach its VMs.
ROLLOUTS = {
    pools.OPPORTUNISTIC: "the update strategy is opportunistic: VMs that run are updated, but not restarted",
    pools.UNMANAGED: "the update strategy is unmanaged: VMs that exist stay as they are",
    pools.PAUSED: "the pool is paused: nothing happens until it is resumed",
    pools.BLOCKED: "the scale-in strategy removes no VM: nothing is updated until somebody deletes the VMs that are too many",
}


def sentence(record: Object, *, several: bool = False, new: bool = False) -> str:
    """What happens to the object of a record, or to `several` like it; `new`: nothing exists yet."""
    words = SEVERAL if several else ONE
    unknown, instead = record.get("unknown", {}), {}
    if record.get("migratable", {}).get("status") == "False":
        instead[NOBODY] = UNMOVED
    elif "workloadUpdateStrategy" in unknown:
        instead[NOBODY] = UNSURE
    if "featureGates" in unknown:
        instead[REFUSED] = UNLESS
    effects = (instead.get(effect, effect) for effect in told(record))
    said = "; ".join(_said(effect, record["kind"], new).format(**words) for effect in effects)
    return f"{said}, as before the change" if "asBefore" in record else said


def _said(effect: str, kind: str, new: bool) -> str:
    if new and effect == "atNextStart" and kind in OF_NEW_KINDS:
        return OF_NEW_KINDS[kind]
    found = OF_NEW.get(effect) if new else None
    return found or OF_KINDS.get(kind, {}).get(effect) or OF_VM[effect]


def told(record: Object) -> list[str]:
    """The effects that are worth a sentence, the most severe first."""
    found = [*record["effect"], *(OF_DATA + each["effect"] for each in record.get("data", ()))]
    effects = [effect for effect in OF_VM if effect in found]
    if len(effects) > 1 and not UNFELT.issuperset(effects):
        effects = [effect for effect in effects if effect != NOTHING]
    silent = {"atNextStart"} if "restartRequired" in effects or "startError" in record else set()
    if "startError" in record and effects[:1] not in (["refused"], ["refusedByPolicy"], ["error"]):
        effects.append(NEVER if record["change"] in ("added", "renamed") else "startError")
    if GOES.intersection(effects):
        silent.add(OF_DATA + DELETED)
    if not any(each["when"] == "live" for each in record.get("changes", [{"when": "live"}])):
        silent.add("live")  # what changes takes effect only after the migration
    return [effect for effect in effects if effect not in silent] or effects
