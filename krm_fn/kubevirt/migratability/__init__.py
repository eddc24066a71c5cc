"""Whether an instance can be live-migrated, and what a drain of its node does to it, by release.

The answer is that of a running instance, with the conditions that virt-handler writes and the verdict of the eviction webhook.
The node knows its host model, no migration is under way. What neither the instance nor the bundle says is unknown, and named.
upstream: pkg/virt-handler/vm.go:updateLiveMigrationConditions;
pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go:admitLauncherPod
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.value import Value
from krm_fn.kubevirt.migratability.obstacles import CLAIM, OBSTACLES, TSC, claim_of
from krm_fn.kubevirt.pods.launch import Launch

# Whether a claim can be used by several nodes, None where that is not known.
Shared = Callable[[str], bool | None]


LIVE_MIGRATE, IF_POSSIBLE, EXTERNAL = "LiveMigrate", "LiveMigrateIfPossible", "External"
MIGRATES, REFUSED, SHUT_DOWN, BY_OTHERS = "migrates", "refused", "shutDown", "external"
# What an eviction does to an instance that can be migrated, and to one that can't; any other strategy shuts it down.
EVICTIONS = {
    LIVE_MIGRATE: (MIGRATES, REFUSED),
    IF_POSSIBLE: (MIGRATES, SHUT_DOWN),
    EXTERNAL: (BY_OTHERS, BY_OTHERS),
}
NOT_EVICTED = "VMI {} is configured with an eviction strategy but is not live-migratable"
EVACUATED = 'Eviction triggered evacuation of VMI "{}/{}"'
NOT_MIGRATABLE = "NotMigratable"
BLOCK, MEMORY_ONLY = "BlockMigration", "LiveMigration"
# Volumes that both nodes have. A volume of another kind is copied, unless it is a read-only CD-ROM or a file system.
SHARED_VOLUMES = ("persistentVolumeClaim", "dataVolume", "hostDisk")


class Reason(Value):
    """An obstacle of an instance: KubeVirt's `reason` and `message`, and where its cause stands in the instance's spec.

    `hangs_on` is what else must hold: TSC (no node exposes a frequency) or CLAIM (the claim is not shared), "" for nothing.
    `live` and `storage` are the conditions that it is told in. `claim` is the name of the claim.
    """

    reason: str
    message: str
    path: Path
    hangs_on: str
    live: bool
    storage: bool
    claim: str = ""


class Assessment(Value):
    """An instance as far as migrations depend on it: its obstacles in order, whether its disks are copied, its strategy.

    `claims` are the names of claims by the number of their volume.
    """

    reasons: tuple[Reason, ...]
    copies_disks: bool
    strategy: str
    claims: dict[int, str]

    def with_claims(self, claims: Mapping[int, str]) -> Assessment:
        """The same of an instance that differs in the names of its claims only."""
        if claims == self.claims:
            return self
        named = [each.but(claim=claims[int(each.path[1])]) if each.hangs_on == CLAIM else each for each in self.reasons]
        return self.but(reasons=tuple(named), claims=dict(claims))


def assessed(launch: Launch) -> Assessment:
    """What is known of an instance without looking at its claims."""
    claims = claims_of(launch.volumes)
    reasons = tuple(
        Reason(
            reason=row.reason,
            message=cause.message,
            path=cause.path,
            hangs_on=cause.hangs_on,
            live=row.live,
            storage=row.storage,
            claim=claims[int(cause.path[1])] if cause.hangs_on == CLAIM else "",
        )
        for row in launch.release.rows(OBSTACLES)
        for cause in row.causes(launch)
    )
    strategy = text(launch.spec.get("evictionStrategy")) or launch.cluster.eviction_strategy
    return Assessment(reasons=reasons, copies_disks=_copies_disks(launch), strategy=strategy, claims=claims)


def claims_of(volumes: Sequence[object]) -> dict[int, str]:
    """The names of claims by the number of their volume."""
    found = {number: claim_of(as_map(volume)) for number, volume in enumerate(volumes)}
    return {number: name for number, name in found.items() if name is not None}


def _copies_disks(launch: Launch) -> bool:
    """True where local disks are copied to the other node. upstream: pkg/virt-handler/vm.go:checkVolumesForMigration"""
    kept = {as_map(each).get("name") for each in as_list(launch.devices.get("filesystems"))}
    kept |= {disk.get("name") for disk in launch.disks if _is_read_only(disk)}
    return any(
        volume.get("name") not in kept and all(volume.get(key) is None for key in SHARED_VOLUMES) for volume in launch.volumes
    )


def _is_read_only(disk: Object) -> bool:
    return disk.get("cdrom") is not None and as_map(disk["cdrom"]).get("readonly") is not False


class Circumstances(Value):
    """What an answer hangs on: the claims that can be used by several nodes, and whether nodes expose a TSC frequency."""

    shared: frozenset[str]
    frequency: bool

    def holding(self, assessment: Assessment) -> list[Reason]:
        """The obstacles that are there, each claim once."""
        return list(self._holding(assessment))

    def _holding(self, assessment: Assessment) -> Iterator[Reason]:
        seen = set(self.shared)
        for each in assessment.reasons:
            if each.hangs_on == CLAIM:
                if each.claim in seen:
                    continue
                seen.add(each.claim)
            if each.hangs_on != TSC or not self.frequency:
                yield each


def circumstances(assessment: Assessment, shared: Shared) -> tuple[Circumstances, Circumstances]:
    """The best and the worst that may be; equal where all is known."""
    modes = {name: shared(name) for name in assessment.claims.values()}
    known = frozenset(name for name, is_shared in modes.items() if is_shared)
    unknown = frozenset(name for name, is_shared in modes.items() if is_shared is None)
    open_frequency = any(each.hangs_on == TSC for each in assessment.reasons)
    worst = Circumstances(shared=known, frequency=False)
    return Circumstances(shared=known | unknown, frequency=open_frequency), worst


def answer(assessment: Assessment, shared: Shared, namespace: str, name: str) -> Object:
    """Whether the instance can be migrated, as plain data.

    `liveMigratable` and `storageLiveMigratable` are the conditions, `also` are further obstacles, `migrationMethod` is how it
    moves, `eviction` what an eviction does under the `evictionStrategy`. Where that hangs on something unknown:
    `{"unknown": [names], "best": answer, "worst": answer}`.
    """
    best, worst = circumstances(assessment, shared)
    answers = [_answer(each, assessment, namespace, name) for each in ((best,) if best == worst else (best, worst))]
    if answers[0] == answers[-1]:
        return answers[0]
    return {"unknown": _unknown(best, worst, assessment), "best": answers[0], "worst": answers[1]}


class Verdict(Value):
    """Whether an instance can be live-migrated: `status` is None where that hangs on what is `unknown`.

    `reason` and `message` are those of the first obstacle, in the worst case.
    """

    status: bool | None
    reason: str = ""
    message: str = ""
    unknown: tuple[str, ...] = ()


def verdict_of(assessment: Assessment, shared: Shared) -> Verdict:
    """Whether the instance can be live-migrated."""
    best, worst = circumstances(assessment, shared)
    first = next((each for each in worst.holding(assessment) if each.live), None)
    if first is None:
        return Verdict(status=True)
    status = False if any(each.live for each in best.holding(assessment)) else None
    unknown = () if status is False else tuple(_unknown(best, worst, assessment))
    return Verdict(status=status, reason=first.reason, message=_message(first), unknown=unknown)


def _unknown(best: Circumstances, worst: Circumstances, assessment: Assessment) -> list[str]:
    """The names of what changes the answer: the claims, sorted, then the rest."""
    claims = sorted(set(assessment.claims.values()) & (best.shared - worst.shared))
    return [f"{CLAIM}/{name}" for name in claims] + ([TSC] if best.frequency else [])


def _answer(seen: Circumstances, assessment: Assessment, namespace: str, name: str) -> Object:
    reasons = seen.holding(assessment)
    live = [{"reason": each.reason, "message": _message(each)} for each in reasons if each.live]
    stored = _immovable(reasons)
    found: Object = {"liveMigratable": {"status": "False", **live[0]} if live else {"status": "True"}}
    if live[1:]:
        found["also"] = live[1:]
    if not live:
        found["migrationMethod"] = BLOCK if assessment.copies_disks else MEMORY_ONLY
    refused = {"status": "False", "reason": NOT_MIGRATABLE, "message": stored}
    found["storageLiveMigratable"] = refused if stored else {"status": "True"}
    found["evictionStrategy"] = assessment.strategy
    found["eviction"] = eviction(assessment.strategy, namespace, name, migratable=not live)
    return found


def _immovable(reasons: Iterable[Reason]) -> str:
    """Why the instance could not even be migrated with its disks, each reason once, in one text; "" where it could."""
    stored = {each.reason: f"{each.reason}: {_message(each)}" for each in reversed([*reasons]) if each.storage}
    return ", ".join(reversed(stored.values()))


def immovable(assessment: Assessment, shared: Shared) -> str:
    """The message of the condition StorageLiveMigratable; "" where it is true, or may be."""
    if not any(each.storage for each in assessment.reasons):
        return ""
    return _immovable(circumstances(assessment, shared)[0].holding(assessment))


def _message(reason: Reason) -> str:
    return reason.message.format(reason.claim) if reason.hangs_on == CLAIM else reason.message


def eviction(strategy: str, namespace: str, name: str, *, migratable: bool) -> Object:
    """What an eviction of the instance's pod does, and how KubeVirt words its refusal."""
    effect = EVICTIONS.get(strategy, (SHUT_DOWN, SHUT_DOWN))[0 if migratable else 1]
    if effect == SHUT_DOWN:
        return {"effect": effect}
    return {"effect": effect, "message": NOT_EVICTED.format(name) if effect == REFUSED else EVACUATED.format(namespace, name)}
