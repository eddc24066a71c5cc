"""How severe a VM's record is, and the figures of an answer."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.base.objects import Object


class Level(Value):
    """One level: its word, the effects that belong to it, and how a VM of this level is called in a summary."""

    word: str
    effects: tuple[str, ...]
    called: str


# The most severe first.
LEVELS = (
    Level(word="refused", effects=("refused", "refusedByPolicy", "error"), called="refused"),
    Level(word="recreate", effects=("removed",), called="removed"),
    Level(word="restart", effects=("restartRequired", "stopped", "migration:Evict"), called="restart"),
    Level(word="migration", effects=("migration:LiveMigrate", "migration:nobody"), called="migration"),
    Level(word="live", effects=("live",), called="live"),
    Level(word="any", effects=("atNextStart", "started", "added"), called="at the next start"),
)
WORDS = tuple(level.word for level in LEVELS)


def level_of(record: Object) -> Level | None:
    """The level of a record, None for a VM that stays as it is."""
    return next((level for level in LEVELS if any(effect in level.effects for effect in record["effect"])), None)


def severity(record: Object) -> int:
    """A number that is smaller the more severe a record is."""
    level = level_of(record)
    return LEVELS.index(level) if level else len(LEVELS)


def fails(records: Sequence[Object], word: str) -> bool:
    """True where a record is as severe as a level, or more. At the level `any`, each record is."""
    most = len(LEVELS) if word == WORDS[-1] else WORDS.index(word)
    return any(severity(record) <= most for record in records)


def summary(records: Sequence[Object], total: int) -> Object:
    """The figures: how many VMs there are, how many change, how many of each level, and how many keep a stored revision."""
    levels = [level.word for record in records if (level := level_of(record))]
    return {
        "total": total,
        "changed": len(levels),
        "levels": {word: levels.count(word) for word in WORDS if word in levels},
        "keeps": sum("keeps" in record for record in records),
    }
