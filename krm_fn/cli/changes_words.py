"""What the effects of a change say to people, for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.changes import renames
from krm_fn.changes.owners import INSTANCE, POOL, REPLICA_SET
from krm_fn.kubevirt.updates import pools

if TYPE_CHECKING:
    from krm_fn.base.objects import Object

# What an effect says to people.
SENTENCES = {
    "refused": "KubeVirt refuses the update",
    "refusedByPolicy": "a policy refuses it",
    "removed": "the VM is removed",
    "renamed": "has another name: KubeVirt deletes the VM of the old name and creates a new one",
    "added": "the VM is new",
    "stopped": "the VM is stopped",
    "started": "the VM is started",
    "error": "KubeVirt reports an error and does nothing else for the VM",
    "restartRequired": "needs a restart",
    "live": "changes while it runs",
    "migration:LiveMigrate": "KubeVirt migrates it to finish the change",
    "migration:Evict": "KubeVirt shuts it down to finish the change",
    "migration:nobody": "needs a migration to finish the change, and nobody starts one",
    "atNextStart": "something waits for the next start",
    "nothing": "stays as it is",
}
# The same where the words above do not fit.
OF_KINDS = {
    POOL: {
        "removed": "the pool and its VMs are removed",
        "renamed": "has another name: the pool of the old name and its VMs are deleted, and new ones are created",
        "added": "the pool is new",
        "stopped": "its VMs are stopped",
        "started": "its VMs are started",
        "error": "KubeVirt reports an error and does nothing else for the pool",
        "restartRequired": "its VMs need a restart",
        "live": "its VMs change while they run",
        "migration:LiveMigrate": "KubeVirt migrates its VMs to finish the change",
        "migration:Evict": "KubeVirt shuts its VMs down to finish the change",
        "migration:nobody": "its VMs need a migration to finish the change, and nobody starts one",
        "atNextStart": "something waits for the next start of its VMs",
        "nothing": "its VMs stay as they are",
        "restarted": "KubeVirt restarts its VMs",
        "recreated": "KubeVirt deletes its VMs and creates new ones, because dataVolumeTemplates change",
        "scaledIn": "KubeVirt removes VMs",
        "scaledOut": "KubeVirt creates VMs",
        "newOnly": "only VMs that are created from now on get the change",
    },
    REPLICA_SET: {
        "removed": "the replica set and its instances are removed",
        "renamed": "has another name: the replica set of the old name and its instances are deleted, and new ones are created",
        "added": "the replica set is new",
        "nothing": "its instances stay as they are",
        "scaledIn": "KubeVirt removes instances",
        "scaledOut": "KubeVirt creates instances",
        "newOnly": "only instances that are created from now on get the change",
        "released": "the selector leaves its instances without an owner, and KubeVirt creates new ones",
    },
    INSTANCE: {
        "removed": "the instance is removed",
        "renamed": "has another name: the instance of the old name is deleted, and a new one is created",
        "added": "the instance is new",
    },
}
# What shows a rename.
SHOWN_BY = {
    renames.ANNOTATION: "as kustomize's annotations say",
    renames.HASH: "the name in front of the hash is the same",
    renames.CONTENT: "the content is the same",
}
# Why an update of a pool does not reach its VMs.
ROLLOUTS = {
    pools.OPPORTUNISTIC: "the update strategy is opportunistic: VMs that run are updated, but not restarted",
    pools.UNMANAGED: "the update strategy is unmanaged: VMs that exist stay as they are",
    pools.PAUSED: "the pool is paused: nothing happens until it is resumed",
    pools.BLOCKED: "the scale-in strategy removes no VM: nothing is updated until somebody deletes the VMs that are too many",
}
# Instead of the sentence about the next start, where no VM exists yet.
OF_NEW, OF_NEW_INSTANCES = "new VMs start with other values", "new instances start with other values"
# What the effects say of a VM that is created anew after a step of an upgrade.
OF_ANEW = {**SENTENCES, "atNextStart": OF_NEW, "refused": "KubeVirt refuses it"}


def sentences_of(answer: Object) -> dict[str, str]:
    """What the effects of an answer say."""
    return {**SENTENCES, "atNextStart": OF_NEW} if answer["assumptions"]["new"] else SENTENCES


def sentence(effect: str, kind: str, sentences: dict[str, str]) -> str:
    """What an effect says of an object of a kind; of what is new, the same is said for all kinds."""
    said = sentences.get(effect, "")
    if said == OF_NEW and kind in (REPLICA_SET, INSTANCE):
        return OF_NEW_INSTANCES
    return OF_KINDS.get(kind, {}).get(effect, said) if said == SENTENCES.get(effect, "") else said
