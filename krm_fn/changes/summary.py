"""How severe a VM's record is, and the figures of an answer."""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.changes.data import DELETED, MISSING, STAYS, TAKEN_OVER
from krm_fn.changes.owners import LEFT
from krm_fn.kubevirt.updates.data_volumes import GROWS, LIVE, NEXT_START, REFUSED


class Level(Value):
    """One level: its word, the effects that belong to it, and those on the data of a machine."""

    word: str
    effects: tuple[str, ...] = ()
    of_data: tuple[str, ...] = ()


# The most severe first.
LEVELS = (
    Level(word="refused", effects=("refused", "refusedByPolicy", "error"), of_data=(REFUSED,)),
    Level(word="data", of_data=(DELETED,)),
    Level(word="recreate", effects=("removed", "renamed", "recreated", "scaledIn", "released")),
    Level(word="restart", effects=("restartRequired", "restarted", "stopped", "migration:Evict")),
    Level(word="migration", effects=("migration:LiveMigrate", "migration:nobody")),
    Level(word="live", effects=("live",), of_data=(LIVE, GROWS)),
    Level(
        word="any",
        effects=("gateOpened", "atNextStart", "started", "added", "scaledOut", "newOnly", LEFT),
        of_data=(NEXT_START, MISSING, TAKEN_OVER, STAYS),
    ),
)
WORDS = tuple(level.word for level in LEVELS)
# How a summary calls what happens to a VM. The most severe effect of a VM counts. Effects on its data have a mark.
OF_DATA = "data:"
CALLED = {
    "refused": "refused",
    "refusedByPolicy": "refused by a policy",
    "error": "error",
    "data:refused": "data refused",
    "data:deleted": "data deleted",
    "removed": "removed",
    "renamed": "renamed",
    "recreated": "recreated",
    "scaledIn": "scaled in",
    "released": "released",
    "restartRequired": "restart",
    "restarted": "restarted",
    "stopped": "stopped",
    "migration:Evict": "shut down",
    "migration:LiveMigrate": "migration",
    "migration:nobody": "migration",
    "live": "live",
    "data:live": "data live",
    "data:grows": "disk grows",
    "gateOpened": "new needs of the cluster",
    "started": "started",
    "added": "new",
    "scaledOut": "scaled out",
    "newOnly": "new ones only",
    "atNextStart": "at the next start",
    LEFT: "left in the cluster",
    "data:missing": "data missing",
    "data:atNextStart": "data at the next start",
    "data:takenOver": "data taken over",
    "data:stays": "data stays",
}
NO_START = "does not start again"
IN_ORDER = tuple(
    word for called in CALLED.values() for word in ((NO_START, called) if called == "at the next start" else (called,))
)


def effects_of(record: Object) -> list[str]:
    """The effects of a record, and those on the data of its machine; no effect of an update that fails as before the change."""
    own = [] if record.get("asBefore") else record["effect"]
    return [*own, *(OF_DATA + each["effect"] for each in record.get("data", ()))]


def level_of(record: Object) -> Level | None:
    """The level of a record, None for a VM that stays as it is, and for one that is refused as before the change."""
    found = effects_of(record)
    of_level = ({*level.effects, *(OF_DATA + each for each in level.of_data)} for level in LEVELS)
    return next((level for level, effects in zip(LEVELS, of_level, strict=True) if not effects.isdisjoint(found)), None)


def severity(record: Object) -> int:
    """A number that is smaller the more severe a record is."""
    level = level_of(record)
    return LEVELS.index(level) if level else len(LEVELS)


def called(record: Object) -> str | None:
    """How a summary calls what happens to a VM, None for one that stays as it is."""
    found = effects_of(record)
    word = next((word for effect, word in CALLED.items() if effect in found), None)
    return NO_START if word == CALLED["atNextStart"] and "startError" in record else word


def fails(records: Sequence[Object], word: str) -> bool:
    """True where a record is as severe as a level, or more. At the level `any`, each record is.

    Where it is not known whether a VM can be migrated, both cases count.
    """
    most = len(LEVELS) if word == WORDS[-1] else WORDS.index(word)
    counted = [record for record in records if not record.get("asBefore") or level_of(record)]
    otherwise = [each for record in counted if (each := record.get("ifNotMigratable"))]
    return any(severity(each) <= most for each in (*counted, *otherwise))


def has_error(answer: Object) -> bool:
    """True if a policy finds an error in what changes, or is one itself: the API server refuses it."""
    said = [each for record in answer["vms"] if not record.get("asBefore") for each in record.get("policies", ())]
    return any(each["severity"] == "error" for each in (*said, *answer.get("policies", ())))


def order(record: Object) -> tuple[int, int]:
    """A key that puts the most severe records first."""
    word = called(record)
    return severity(record), IN_ORDER.index(word) if word else len(IN_ORDER)


def summary(records: Sequence[Object], total: int, others: int = 0) -> Object:
    """The figures: how many objects there are, how many change, how many of each level, and how many keep a stored revision.

    `others` of the objects are no VMs; the figures have them if there are some.
    """
    levels = [level.word for record in records if (level := level_of(record))]
    return {
        "total": total,
        **({"others": others} if others else {}),
        "changed": len(levels),
        "levels": {word: levels.count(word) for word in WORDS if word in levels},
        "keeps": sum("keeps" in record for record in records),
    }
