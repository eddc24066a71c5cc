"""One side of a change: a bundle under its config."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace, entries
from krm_fn.base.external import Externals, covering
from krm_fn.base.objects import Object, Ref, group_of, kind_of, name_of
from krm_fn.base.paths import as_list, get, put_in, with_integers
from krm_fn.base.placeholders import may_be_in
from krm_fn.base.value import Value
from krm_fn.changes.owners import Key, key_of
from krm_fn.changes.pairs import Delivered
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.migratability.claims import Claims
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.resolve.matcher import API_VERSIONS
from krm_fn.kubevirt.settings import Config
from krm_fn.kubevirt.updates.machine import World
from krm_fn.live import dumps
from krm_fn.pipeline.analysis import Analysis, analysis_of
from krm_fn.pipeline.capacity import open_needs
from krm_fn.rules.facts.bundles import Surroundings

DATA = frozenset(("ConfigMap", "Secret"))  # texts of any kind
METHODS = ("spec", "workloadUpdateStrategy", "workloadUpdateMethods")


class Side(Value):
    """One side of the change: its objects and settings, and what holds a VM or an instance, by its key.

    `assumed` are the instancetypes and preferences that a holder refers to and that only the cluster has. `analysis` has
    stand-ins for them, `bundle` has not. `open` are the placeholders on which the sizes of a holder depend, with their places;
    `templated`: an object may have placeholders.
    `delivered`: how this side gets there from the other one.
    """

    analysis: Analysis
    bundle: Bundle
    holders: dict[Key, Entry]
    worlds: dict[tuple[str, str], World]
    claims: Claims
    assumed: dict[Key, tuple[Ref, ...]]
    open: dict[Key, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes into a Value
    templated: bool = False
    delivered: Delivered = Delivered()

    def rendered(self, entry: Entry) -> Object:
        """An object as `render` writes it; one that can't be rendered stays as it is."""
        facts = self.analysis.vm(entry, self.analysis.resolver())
        if facts is None or facts.rendered is None:
            return entry.obj
        found: Object = put_in(entry.obj, facts.prefix, facts.rendered)
        return found

    def world(self, namespace: str, api_version: str) -> World:
        """The cluster of this side as a VM of a namespace sees it."""
        key = namespace, api_version
        if key not in self.worlds:
            self.worlds[key] = self._world(*key)
        return self.worlds[key]

    def _world(self, namespace: str, api_version: str) -> World:
        """Settings that nobody states are KubeVirt's defaults."""
        analysis = self.analysis
        found = kubevirt_of(analysis.bundle)
        return World(
            bundle=analysis.bundle,
            cluster=analysis.cluster.but(known=True),
            release=analysis.release,
            resolver=analysis.resolver(),
            presets=analysis.presets.seen_by(api_version, namespace) if analysis.presets else NONE,
            claims=self.claims,
            update_methods=tuple(map(str, as_list(get(found.obj, METHODS)))) if found else (),
            known=analysis.cluster.known,
        )


def side_of(resource_list: Object) -> Side:
    """The side that a ResourceList describes. Raises: as `diff`."""
    settings, items = config.of_list(resource_list)
    return side([with_integers(item) for item in items], settings)


def side(
    items: list[Any],
    settings: Config,
    external: Sequence[Externals] = (),
    affixes: tuple[tuple[str, str], ...] = (),
    lacking: dumps.Lacking | None = None,
) -> Side:
    """The side of these items under a config.

    `external` are objects that are in the cluster and that the items lack, `affixes` what kustomizations added to names.
    `lacking` is what a dump of the cluster lacks; by default, that of the items.
    """
    objects = _last_of_each([entry.obj for entry in entries(items)])
    lacking = lacking or dumps.lacking(objects)
    external = (*external, lacking.external) if lacking.external else external
    objects += lacking.stand_ins
    found = _side(Bundle(objects, external=external, affixes=affixes), settings)
    templated = any(may_be_in(each.obj) for each in found.bundle.entries if kind_of(each.obj) not in DATA)
    found = found.but(open=dict(_open(found)) if templated else {}, templated=templated)
    assumed = dict(_external(found)) if external else {}
    of_revisions = {(key[2], key[3], key[1]): refs for key, refs in lacking.revisions.items()}
    both = {key: (*assumed.get(key, ()), *of_revisions.get(key, ())) for key in (*assumed, *of_revisions)}
    if not assumed:
        return found.but(assumed=both)
    stand_ins = {str(ref): _stand_in(ref) for refs in assumed.values() for ref in refs}
    whole = _side(Bundle([*objects, *stand_ins.values()], external=external, affixes=affixes), settings)
    return whole.but(bundle=found.bundle, assumed=both, open=found.open, templated=templated)


def _open(found: Side) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """What another step replaces, and decides the sizes of holders."""
    resolver = found.analysis.resolver()
    for key, entry in found.holders.items():
        if words := open_needs(found.analysis.vm(entry, resolver) or entry):
            yield key, tuple(words)


def _external(found: Side) -> Iterator[tuple[Key, tuple[Ref, ...]]]:
    """What holders refer to and only the cluster has."""
    resolver = found.analysis.resolver()
    for key, entry in found.holders.items():
        resolved = found.analysis.resolved(entry, resolver)
        wanted = [error.wanted for error in resolved[2].errors if error.wanted] if resolved else []
        refs = [ref for ref in wanted if ref.kind.endswith(("Instancetype", "Preference"))]
        known = tuple(ref for ref in refs if covering(found.bundle.external, ref.kind, ref.namespace, ref.name))
        if known:
            yield key, known


def _stand_in(ref: Ref) -> Object:
    """An object of which nothing is known but its name: what depends on it is the same on both sides.

    An instancetype has a size, whatever it is, without which no instance starts.
    """
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}} if ref.kind.endswith("Instancetype") else {}
    meta = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
    return {"apiVersion": API_VERSIONS[ref.kind], "kind": ref.kind, "metadata": meta, "spec": spec}


def _side(bundle: Bundle, settings: Config) -> Side:
    holders: dict[Key, Entry] = {}
    for group, kind in SERVED:
        for entry in bundle.ordered(bundle.of_kind(kind, group)):
            if not dumps.is_owned(entry.obj):
                holders.setdefault(key_of(entry.obj), entry)
    analysis = analysis_of(bundle, settings, Surroundings(affixes=bundle.affixes))
    resolver = analysis.resolver()

    def resolved(entry: Entry) -> Resolution | None:
        found = analysis.resolved(entry, resolver)
        return found[2] if found else None

    claims = Claims(bundle, analysis.release, resolved)
    return Side(analysis=analysis, bundle=bundle, holders=holders, worlds={}, claims=claims, assumed={})


def _last_of_each(objects: list[Object]) -> list[Object]:
    """The objects without those that a later one of the same name replaces, as they do in a cluster."""
    last = {_identity(obj): number for number, obj in enumerate(objects)}
    return [objects[number] for number in sorted(last.values())]


def _identity(obj: Object) -> tuple[Any, ...]:
    """What tells an object from others; objects without a name are never the same."""
    if not name_of(obj):
        return (id(obj),)
    return group_of(obj), kind_of(obj), effective_namespace(obj), name_of(obj)
