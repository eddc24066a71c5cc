"""The revisions of mode `snapshot`: for each VM the ControllerRevisions of its references, or why they can't be stored.

Names, labels and payload are those of the VM controller, so that a cluster can read them. Values that only a cluster knows are
left out or derived: a revision has no owner, and the uid in its name is derived from its content. The API server refuses a
change of a revision's data, so a new content needs a new name. A uid that git has in the object's metadata is therefore not
used, unless the VM has a uid as well: then both were read from a cluster, which uses these names.

upstream: pkg/instancetype/revision/store.go:GenerateName, pkg/instancetype/upgrade/handler.go:Upgrade
"""

from __future__ import annotations

from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, labels_of, metadata, name_of, text
from krm_fn.base.paths import get
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.resolve.find import STATUS_READ_SINCE
from krm_fn.kubevirt.resolve.matcher import GROUP, MATCHERS, Matcher
from krm_fn.kubevirt.resolve.revision import decode, same_payload
from krm_fn.kubevirt.stored_revisions import (
    KIND,
    LONGEST_LABEL,
    LONGEST_NAME,
    is_current,
    live,
    revision_of,
    status_counts,
    status_path,
    upgraded,
)
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.snapshots import Storing, Unstored
from krm_fn.rules.facts.vms import VmFacts

# The cases of a matcher, in the controller's order: it has a revision; the VM's status prevents that its object is stored; its
# object is stored; its older revision is stored again.
PINNED, STATUS, NEW, OLDER = range(4)


def with_revisions(facts: BundleFacts) -> BundleFacts:
    """The facts with the revisions to store. There are none if the cluster replaces references by their values."""
    if facts.cluster.expanding_policy(facts.release):
        return facts
    store = RevisionStore(facts)
    known = [vm for vm in facts.vms if vm.rendered is not None]  # rendering the others fails in any case
    rank = {id(entry): number for number, entry in enumerate(facts.bundle.ordered(vm.entry for vm in known))}
    halves = [store.halves(vm) for vm in sorted(known, key=lambda vm: rank[id(vm.entry)])]
    users = claims([half for both in halves for half in both], facts)
    for both in halves:
        store.take(both, users)
    storing = sorted(store.storing, key=lambda each: each.vm.entry.item)
    return facts.but(storing=tuple(storing), unstored=tuple(store.unstored))


class RevisionStore:
    """The ControllerRevisions of a bundle by namespace and name, and the plans for the VMs, in the order of their names."""

    def __init__(self, facts: BundleFacts) -> None:
        self._release = facts.release
        self._present: dict[tuple[str, str], Object] = {}
        self._entries: dict[tuple[str, str], Entry] = {}
        self.storing: list[Storing] = []
        self.unstored: list[Unstored] = []
        for entry in facts.bundle.ordered(facts.bundle.of_kind(KIND, "apps")):
            key = effective_namespace(entry.obj), name_of(entry.obj)
            self._present.setdefault(key, entry.obj)
            self._entries.setdefault(key, entry)

    def halves(self, vm: VmFacts) -> list[Half]:
        """The tasks for the matchers of a VM."""
        return [half for half in (self._half(vm, matcher) for matcher in MATCHERS) if half]

    def take(self, halves: list[Half], users: dict[int, VmFacts]) -> None:
        """Plan for one VM. The plans before a failure stay, as in a cluster.

        `users` has, by the id of each older revision, the VM for which it is stored again.
        """
        done: list[Storing] = []
        others = [(half, users[id(half.older)]) for half in halves if half.older]
        failed = [half.unstored("replaced", other=user) for half, user in others if user is not half.vm]
        for half in () if failed else sorted(halves, key=_stage):
            result = self._done(half)
            if isinstance(result, Unstored):
                failed.append(result)
                if result.reason != "status":
                    break
            elif result:
                done.append(result)
        self.unstored += failed
        if done:
            self._keep(halves[0].vm, done)

    def _keep(self, vm: VmFacts, done: list[Storing]) -> None:
        new = tuple(revision for each in done for revision in each.revisions)
        self._present |= {(effective_namespace(vm.entry.obj), name_of(revision)): revision for revision in new}
        pins, owned = (tuple(each for one in done for each in getattr(one, part)) for part in ("pins", "owned"))
        self.storing.append(Storing(vm=vm, pins=pins, revisions=new, owned=owned))

    def _half(self, vm: VmFacts, matcher: Matcher) -> Half | None:
        """The task for a matcher; None if it refers to nothing that revisions hold."""
        found: Found | None = getattr(vm.resolution, matcher.field)
        if found is None or not found.ref.api_version.startswith(f"{GROUP}/"):
            return None
        if get(vm.resolution.vm, ("spec", matcher.field)) is None:
            return None  # a flavor refers to it; its revision holds an instancetype
        half = Half(vm=vm, matcher=matcher, found=found, stage=NEW)
        if found.revision and found.entry:
            return half.but(stage=PINNED) if is_current(found.entry.obj) else half.but(stage=OLDER, older=found.entry.obj)
        if not self._release.within(since=STATUS_READ_SINCE) or not status_counts(vm.resolution.vm, matcher):
            return half
        held = self._present.get((effective_namespace(vm.entry.obj), text(get(vm.vm, status_path(matcher)))))
        return half.but(stage=STATUS) if held is None or is_current(held) else half.but(stage=OLDER, older=held)

    def _done(self, half: Half) -> Storing | Unstored | None:
        """The plan for one matcher, or why it fails; None if nothing has to be done."""
        found, owner = half.found, half.vm.entry.obj
        if half.stage == STATUS:
            return half.unstored("status")
        if half.stage == NEW:
            return self._stored(half, live(found, owner=owner))
        if found.revision is None:
            return self._passed_over(half)
        if half.stage == PINNED:
            return half.pinned(found.revision.name, found.entry)
        return self._stored(half, upgraded(half.older, half.matcher, kind=found.ref.kind, spec=found.spec))

    def _passed_over(self, half: Half) -> Unstored:
        """Why nothing is stored for an older revision that the VM's status names, although reading skips it."""
        payload = decode(half.older.get("data"), self._release)
        entry = self._entries[effective_namespace(half.older), name_of(half.older)]
        if isinstance(payload, str):
            return half.unstored("unreadable", name_of(half.older), entry)
        again = upgraded(half.older, half.matcher, kind=payload.kind, spec=payload.spec)
        name = name_of(revision_of(again, owner=half.vm.entry.obj, release=self._release))
        return half.unstored("no-label", name, entry) if name == name_of(half.older) else half.unstored("status")

    def _stored(self, half: Half, data: Object) -> Storing | Unstored | None:
        owner = half.vm.entry.obj
        revision = revision_of(data, owner=owner, release=self._release)
        name = name_of(revision)
        if len(name) > LONGEST_NAME:
            return half.unstored("name-too-long", name)
        if max(map(len, labels_of(revision).values())) > LONGEST_LABEL:
            return half.unstored("label-too-long", name)
        key = effective_namespace(owner), name
        there, entry = self._present.get(key), self._entries.get(key)
        if there is None:
            return Storing(vm=half.vm, pins=((half.matcher.field, name),), revisions=(revision,))
        if not same_payload(there.get("data"), data, self._release):
            return half.unstored("name-taken", name, entry)
        if not is_current(there):
            return half.unstored("no-label", name, entry)
        return half.pinned(name, entry)


class Half(Value):
    """The task for one matcher of a VM and the object that it refers to; `stage` is its case, which also gives the order.

    `older` is the revision of an older form that the VM names, {} if it names none.
    """

    vm: VmFacts
    matcher: Matcher
    found: Found
    stage: int
    older: Object = {}  # noqa: RUF012  a Value never changes

    def unstored(self, reason: str, name: str = "", entry: Entry | None = None, *, other: VmFacts | None = None) -> Unstored:
        field = self.matcher.field
        return Unstored(vm=self.vm, matcher=field, reason=reason, found=self.found, name=name, entry=entry, other=other)

    def pinned(self, name: str, entry: Entry | None) -> Storing | None:
        """The plan that makes the matcher name an existing revision; None if it does so and the revision has no owner."""
        field = self.matcher.field
        pins = ((field, name),) if get(self.vm.vm, ("spec", field, "revisionName")) != name else ()
        owned = (entry,) if entry and metadata(entry.obj).get("ownerReferences") else ()
        return Storing(vm=self.vm, pins=pins, owned=owned) if pins or owned else None


def claims(halves: list[Half], facts: BundleFacts) -> dict[int, VmFacts]:
    """By the id of each older revision that VMs name, the VM for which it is stored again. The cluster then deletes it.

    In a cluster, this is the VM that is processed first. Here it is the one whose name is the start of the revision's name, or
    else the first by name, so that the order of the items does not matter.
    """
    sharing: dict[int, list[Half]] = {}
    for half in halves:
        if half.older:
            sharing.setdefault(id(half.older), []).append(half)
    return {older: _first(users, facts) if len(users) > 1 else users[0].vm for older, users in sharing.items()}


def _first(users: list[Half], facts: BundleFacts) -> VmFacts:
    ordered = facts.bundle.ordered(half.vm.entry for half in users)
    name = name_of(users[0].older)
    fitting = [entry for entry in ordered if name.startswith(f"{name_of(entry.obj)}-")]
    chosen = max(fitting, key=lambda entry: len(name_of(entry.obj))) if fitting else ordered[0]
    return next(half.vm for half in users if half.vm.entry is chosen)


def _stage(half: Half) -> int:
    return half.stage
