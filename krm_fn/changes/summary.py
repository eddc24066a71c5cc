"""How severe a VM's record is, and the figures of an answer."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.base.objects import Object


class Level(Value):
    """One level: its word, and the effects that belong to it."""

    word: str
    effects: tuple[str, ...]


# The most severe first.
LEVELS = (
    Level(word="refused", effects=("refused", "refusedByPolicy", "error")),
    Level(word="recreate", effects=("removed", "renamed", "recreated", "scaledIn", "released")),
    Level(word="restart", effects=("restartRequired", "restarted", "stopped", "migration:Evict")),
    Level(word="migration", effects=("migration:LiveMigrate", "migration:nobody")),
    Level(word="live", effects=("live",)),
    Level(word="any", effects=("atNextStart", "started", "added", "scaledOut", "newOnly")),
)
WORDS = tuple(level.word for level in LEVELS)
# How a summary calls what happens to a VM. The most severe effect of a VM counts.
CALLED = {
    "refused": "refused",
    "refusedByPolicy": "refused by a policy",
    "error": "error",
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
    "started": "started",
    "added": "new",
    "scaledOut": "scaled out",
    "newOnly": "new ones only",
    "atNextStart": "at the next start",
}
NO_START = "does not start again"
IN_ORDER = (*list(CALLED.values())[:-1], NO_START, CALLED["atNextStart"])


def level_of(record: Object) -> Level | None:
    """The level of a record, None for a VM that stays as it is, and for one that is refused as before the change."""
    if record.get("asBefore"):
        return None
    return next((level for level in LEVELS if any(effect in level.effects for effect in record["effect"])), None)


def severity(record: Object) -> int:
    """A number that is smaller the more severe a record is."""
    level = level_of(record)
    return LEVELS.index(level) if level else len(LEVELS)


def called(record: Object) -> str | None:
    """How a summary calls what happens to a VM, None for one that stays as it is."""
    if record.get("asBefore"):
        return None
    word = next((word for effect, word in CALLED.items() if effect in record["effect"]), None)
    return NO_START if word == CALLED["atNextStart"] and "startError" in record else word


def fails(records: Sequence[Object], word: str) -> bool:
    """True where a record is as severe as a level, or more. At the level `any`, each record is.

    Where it is not known whether a VM can be migrated, both cases count.
    """
    most = len(LEVELS) if word == WORDS[-1] else WORDS.index(word)
    counted = [record for record in records if not record.get("asBefore")]
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
