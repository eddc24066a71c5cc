"""Objects that the targets of one cluster offer one another.

A target takes an object of another target where it lacks one of that kind, namespace and name, and where its own text has that
name. An object that several targets have counts where all of these are equal; otherwise the name is ambiguous.

A target with DataVolumes also takes the storage classes that CDI uses where none is named.

The KubeVirt and HyperConverged objects describe the cluster, so every target takes them. Of several that differ, the nearest
one counts: the one whose folder has the longest part in common with that of the target.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krm_fn.base.bundle import effective_namespace, entries, is_cluster_kind
from krm_fn.base.external import Externals
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, labels_of, name_of
from krm_fn.base.paths import canonical
from krm_fn.base.suggestions import LONGEST, Words
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.migratability.claims import DEFAULT_CLASS
from krm_fn.repositories.names import OFFERED, PLATFORM, STORAGE, WORD, referred, texts_of, words
from krm_fn.rules.facts.bundles import Ambiguous, Surroundings

Key = tuple[str, str, str, str]  # kind, group, namespace, name


# Rules about objects that nothing in a target uses: others may.
UNUSED = frozenset(("unused-instancetype", "unused-revision"))
NOWHERE = ("", 0)
MOST_MISSPELT = 50  # names of a target for which others are looked for that are similar
SIZED = "storage"  # the key of a DataVolume whose claim a storage class decides
# The labels of an object that say something of VMs that use it.
LABELS = "instancetype.kubevirt.io/"
DIGEST = 16  # bytes
DEPLOYED = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")


class Offer(Value):
    """An object that a target offers. `namespace` is "" for cluster-wide kinds; `file` and `index` say where it comes from.

    `text` is the object as JSON, which takes little memory while it waits for all targets to be judged. `digest` stands for
    what makes it another object of the same name.
    """

    kind: str
    group: str
    namespace: str
    name: str
    text: str
    digest: str
    target: str
    file: str = ""
    index: int = 0

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.kind, self.group, self.namespace, self.name

    @property
    def obj(self) -> Object:
        """The object."""
        found: Object = json.loads(self.text)
        return found

    @property
    def where(self) -> str:
        """Its file, else its target."""
        return self.file or self.target

    @property
    def folder(self) -> str:
        """The folder of its file, else its target."""
        return os.path.dirname(self.file) or os.curdir if self.file else self.target  # noqa: PTH120


def offers(items: Sequence[Any], target: str, places: Sequence[tuple[str, int]] = ()) -> tuple[Offer, ...]:
    """The objects that a target offers others; `places` has file and index of each item, where they are known."""
    return tuple(
        _offer(entry.obj, target, *(places[entry.item] if places else NOWHERE))
        for entry in entries(items)
        if OFFERED.get(kind_of(entry.obj)) == group_of(entry.obj) and name_of(entry.obj)
    )


def is_deployed(offer: Offer) -> bool:
    """True for an object with a name under which KubeVirt itself deploys one, and keeps its own content."""
    return offer.kind in DEPLOYED and offer.name in catalogue.names(offer.kind)


def _offer(obj: Object, target: str, file: str, index: int) -> Offer:
    kind, group, namespace, name = _key(obj)
    key = {"kind": kind, "group": group, "namespace": namespace, "name": name}
    text = json.dumps({**obj}, separators=(",", ":"), skipkeys=True, default=repr)
    return Offer(**key, text=text, digest=_digest(obj), target=target, file=file, index=index)


def _digest(obj: Object) -> str:
    """A digest of what makes an object another one of the same name; of the cluster, what makes it another cluster."""
    import hashlib  # this loads OpenSSL, which takes as long as to judge a small file

    if kind_of(obj) in PLATFORM:
        described = [obj.get("spec"), obj.get("status"), annotations_of(obj)]
        return hashlib.blake2b(canonical(described).encode(errors="surrogatepass"), digest_size=DIGEST).hexdigest()
    left_out = ("metadata",) if kind_of(obj) in STORAGE else ("metadata", "status")
    bare = {key: value for key, value in obj.items() if key not in left_out}
    labels = {key: value for key, value in labels_of(obj).items() if str(key).startswith(LABELS)}
    return hashlib.blake2b(canonical([bare, labels]).encode(errors="surrogatepass"), digest_size=DIGEST).hexdigest()


def runs(units: Sequence[object]) -> int:
    """How many units share the work of a run, as a power of two: so what is kept of one stays valid beside few others."""
    return 1 << max(len(units) - 1, 0).bit_length()


class Taken(Value):
    """What a target takes of others. `notes` say so, a line each."""

    offers: tuple[Offer, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()
    notes: tuple[str, ...] = ()

    def surroundings(self, external: tuple[Externals, ...] = (), runs: int = 1) -> Surroundings:
        """What the target is judged with."""
        return Surroundings(
            context=tuple(each.obj for each in self.offers),
            places=tuple((each.file, each.index) for each in self.offers),
            external=external,
            ambiguous=self.ambiguous,
            runs=runs,
        )


# What a target takes where nothing is offered.
NOTHING = Taken()


class Offered:
    """What all targets of one cluster offer, by namespace and name."""

    def __init__(self, found: Iterable[Offer]) -> None:
        self._keys: dict[tuple[str, str], dict[Key, None]] = {}
        self._offers: dict[Key, list[Offer]] = {}
        self._variants: dict[Key, list[Offer]] = {}
        for offer in found:
            self._keys.setdefault((offer.namespace, offer.name), {})[offer.key] = None
            self._offers.setdefault(offer.key, []).append(offer)
        self.platform = tuple(key for key in self._offers if key[0] in PLATFORM)
        self.namespaces = frozenset(namespace for namespace, _ in self._keys)
        self.names = frozenset(name for _, name in self._keys)
        self._words, self._near = Words(self.names), dict[str, tuple[str, ...]]()
        self.default_classes = tuple(name for (kind, _, _, name), found in self._offers.items() if _is_default(kind, found))

    def named(self, namespace: str, name: str) -> Iterable[Key]:
        """The objects of a name, of all kinds."""
        return self._keys.get((namespace, name), ())

    def near(self, names: Iterable[str], namespaces: Iterable[str]) -> set[Key]:
        """The objects whose names these may be misspellings of, and that are in one of the namespaces."""
        likely = {each for name in names if name not in self.names for each in self._meant(name)}
        return {key for namespace in namespaces for name in likely for key in self.named(namespace, name)}

    def _meant(self, name: str) -> tuple[str, ...]:
        if name not in self._near:
            self._near[name] = self._words.nearest(name) if len(name) <= LONGEST else ()
        return self._near[name]

    @property
    def offers(self) -> Mapping[Key, list[Offer]]:
        """The offers of all objects."""
        return self._offers

    def of(self, key: Key) -> list[Offer]:
        """The offers of one object, in the order of their targets."""
        return self._offers[key]

    def variants(self, key: Key) -> list[Offer]:
        """Of the offers of one object, the first with each content."""
        if key not in self._variants:
            first: dict[str, Offer] = {}
            for offer in self._offers[key]:
                first.setdefault(offer.digest, offer)
            self._variants[key] = list(first.values())
        return self._variants[key]


def offered_by_cluster(offers: Iterable[tuple[str, Iterable[Offer]]]) -> dict[str, Offered]:
    """What is offered in each cluster, by the name of the cluster."""
    by_cluster: dict[str, list[Offer]] = {}
    for cluster, found in offers:
        by_cluster.setdefault(cluster, []).extend(found)
    return {cluster: Offered(found) for cluster, found in by_cluster.items() if found}


class Reach(Value):
    """What decides what a target takes of others.

    These are the namespaces and words of its text, the objects that it has itself, the folder in which it is, and the names
    that its machines refer to.
    """

    namespaces: frozenset[str]
    words: frozenset[str]
    known: frozenset[Key] = frozenset()
    folder: str = os.curdir
    wants: frozenset[str] = frozenset()


def reach(items: Sequence[Any], data: bytes, folder: str = os.curdir) -> Reach:
    """What decides what a target with these items takes."""
    objects = [entry.obj for entry in entries(items)]
    known = frozenset(_key(obj) for obj in objects if kind_of(obj) in OFFERED)
    namespaces = frozenset(("", *map(effective_namespace, objects)))
    wants = frozenset(name for obj in objects for name in referred(obj) if name)
    return Reach(namespaces=namespaces, words=words(data), known=known, folder=folder, wants=wants)


def taken_by(reach: Reach, offered: Offered) -> Taken:
    """What a target takes of all that its cluster offers, itself included: what it has, it takes from nobody."""
    known = {*reach.known, *offered.platform}
    reached = _Reached(offered, namespaces=set(reach.namespaces))
    reached.add(reach.words)
    if SIZED in reach.words:
        reached.add(offered.default_classes)
    taken, ambiguous = _describing(reach, offered)
    while new := sorted(reached.keys() - known):
        known.update(new)
        for key in new:
            variants = offered.variants(key)
            if len(variants) > 1:
                where = tuple(dict.fromkeys(each.where for each in variants))
                ambiguous.append(Ambiguous(kind=key[0], namespace=key[2], name=key[3], where=where))
            else:
                taken.append(variants[0])
                reached.add(texts_of(variants[0].obj))
    notes = tuple(_note(offer, offered.of(offer.key)) for offer in taken)
    near = sorted(offered.near(sorted(reach.wants)[:MOST_MISSPELT], reach.namespaces) - known)
    taken += (offered.variants(key)[0] for key in near)  # they are proposed for what is misspelt
    return Taken(offers=tuple(taken), ambiguous=tuple(ambiguous), notes=notes)


def _describing(reach: Reach, offered: Offered) -> tuple[list[Offer], list[Ambiguous]]:
    """The objects of others that describe the cluster of a target which has none itself, and what nothing decides."""
    if any(kind in PLATFORM for kind, *_ in reach.known):
        return [], []
    taken: list[Offer] = []
    for kind in PLATFORM:
        found = [offer for key in offered.platform if key[0] == kind for offer in offered.variants(key)]
        nearest = _nearest(found, reach.folder)
        if len({offer.digest for offer in nearest}) > 1:
            where = tuple(dict.fromkeys(offer.where for offer in nearest))
            return [], [Ambiguous(kind=kind, namespace="", name="", where=where)]
        taken += nearest[:1]
    return taken, []


def _nearest(found: Sequence[Offer], folder: str) -> list[Offer]:
    """Those offers whose folders have the most in common with a folder; all of them where all are the same."""
    if len({offer.digest for offer in found}) < 2:
        return list(found)
    shared = [_shared(offer.folder, folder) for offer in found]
    return [offer for offer, steps in zip(found, shared, strict=True) if steps == max(shared)]


def _shared(one: str, other: str) -> int:
    """How many steps two paths have in common, from their beginning on."""
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")) + 1)


def reachable(words: Iterable[str], offered: Offered) -> set[Key]:
    """The objects that a target may take whose text has these words.

    These are more than it takes: which objects it has itself, and in which of the namespaces, its words do not say.
    """
    unnamed = {namespace for namespace in offered.namespaces if not WORD.fullmatch(namespace.encode())}
    reached = _Reached(offered, namespaces={effective_namespace({}), *unnamed})
    reached.add((*words, *offered.default_classes))
    known: set[Key] = {*offered.platform}
    while new := reached.keys() - known:
        known |= new
        for key in new:
            for variant in offered.variants(key):
                reached.add(texts_of(variant.obj))
    return known


class _Reached:
    """The offered objects that words name: those of the own namespaces, and those whose namespace is one of the words, too."""

    def __init__(self, offered: Offered, namespaces: set[str]) -> None:
        self._offered = offered
        self._namespaces, self._names = namespaces & offered.namespaces, set[str]()

    def add(self, words: Iterable[str]) -> None:
        found = set(words)
        self._namespaces |= found & self._offered.namespaces
        self._names |= found & self._offered.names

    def keys(self) -> set[Key]:
        pairs = ((namespace, name) for namespace in self._namespaces for name in self._names)
        return {key for pair in pairs for key in self._offered.named(*pair)}


def _note(offer: Offer, found: Sequence[Offer]) -> str:
    named = f"{offer.kind} {offer.namespace + '/' if offer.namespace else ''}{offer.name}"
    targets = list(dict.fromkeys(each.target for each in found))
    same = ", which have the same one" if len(targets) > 1 else ""
    return f"{named} comes from target{'s' if same else ''} {listed(targets, 'and')}{same}"


def _key(obj: Object) -> Key:
    kind = kind_of(obj)
    return kind, group_of(obj), "" if is_cluster_kind(kind) or kind in STORAGE else effective_namespace(obj), name_of(obj)


def _is_default(kind: str, found: Sequence[Offer]) -> bool:
    """True for a storage class that CDI takes where none is named."""
    return kind == "StorageClass" and any(
        annotations_of(each.obj).get(key) == "true" for each in found for key in DEFAULT_CLASS
    )
