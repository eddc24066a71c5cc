"""What one delivery applies of its repository, and what those in git apply that is not at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from krm_fn.argocd.sets import CLUSTER_LABEL, Sets
from krm_fn.argocd.sets import clusters as argo_clusters
from krm_fn.argocd.sources import APPLICATION, SET
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, text
from krm_fn.base.paths import Path as Steps
from krm_fn.base.paths import get
from krm_fn.flux.releases import chart_named
from krm_fn.flux.releases import named as release_named
from krm_fn.repositories import delivering, written
from krm_fn.repositories.applications import Applications
from krm_fn.repositories.flux_sources import FluxSources
from krm_fn.repositories.flux_targets import Kustomizations, Releases, of_chart
from krm_fn.repositories.flux_values import (
    HOLDING,
    OF_VALUES,
    SOURCE,
    SOURCES,
    Values,
    Written,
    is_argo,
    is_flux,
    is_release,
    may_apply,
    objects_in,
    other_cluster,
)
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import Delivery, Target
from krm_fn.sources.files import SUFFIXES, content, folder_of

TEMPLATE = ("spec", "template")  # of an ApplicationSet
CLUSTER = expression(r"(?:^|/)clusters/([^/]+)(?=/)")


class Appliers:
    """The deliveries of a repository, each by itself. `root` is its folder, and `files` are its YAML files.

    `texts` are those in which deliveries, sources and clusters may stand. `clusters` are the names of known clusters.
    `whole`: values of Secrets are shown.
    """

    def __init__(
        self, root: str, files: Iterable[str], texts: Mapping[str, bytes], clusters: tuple[str, ...], *, whole: bool
    ) -> None:
        self._root, self._files, self._texts, self._clusters, self._whole = root, tuple(files), texts, clusters, whole

    @cached_property
    def every(self) -> list[Written]:
        """The deliveries in git, also those that apply folders of other repositories."""
        files = (file for file, data in self._texts.items() if may_apply(data))
        return [each for each in objects_in(files) if any(of(each.obj) for of in (is_flux, is_argo, is_release))]

    def is_own(self, obj: Object, file: str) -> bool:
        """True for a delivery of this repository. An Application says so of each of its sources."""
        is_here = is_argo(obj) or self.is_open(obj, file) or bool(self._folder(obj, file))
        return is_here and (is_argo(obj) or not self._revision(obj, file))

    def is_open(self, obj: Object, file: str) -> bool:
        """True for a Kustomization whose folder is known when what applies it has given values to variables."""
        return is_flux(obj) and self._kustomizations.is_open(obj, file)

    def _folder(self, obj: Object, file: str) -> str:
        """The folder of this repository that a delivery of Flux applies, "" for none."""
        of = self._kustomizations if is_flux(obj) else self._releases if is_release(obj) else None
        return of.folder(obj, file) if of else ""

    def _revision(self, obj: Object, file: str) -> str:
        """The revision that it applies, where that is not at hand."""
        return self._sources.revision_of(obj if is_flux(obj) else of_chart(obj), file)

    @property
    def elsewhere(self) -> Iterator[Target]:
        """What deliveries apply of revisions that are not at hand, and charts from elsewhere with values that have something
        which counts: nothing of it is judged.
        """
        for each, obj in ((one, obj) for one in self.every for obj in self._each_of(one.obj)):
            of_flux = {} if is_argo(obj) else {self._folder(obj, each.file): self._revision(obj, each.file)}
            found = self._applications.revisions(obj) if is_argo(obj) else of_flux
            for folder, revision in found.items():
                cluster, here = self._sets.destination(obj) if is_argo(obj) else self.cluster(each), joined(".", folder)
                own = Delivery(obj, *each[1:], revision=revision, cluster=cluster)
                yield from [Target(here, here, each.file, (), (), delivery=own)] if folder and revision else []
        yield from self._made_elsewhere

    def _each_of(self, obj: Object) -> Iterable[Object]:
        """The delivery itself, or the Applications that a set makes."""
        return self._sets.of(obj).applications if kind_of(obj) == SET else [obj]

    @property
    def _made_elsewhere(self) -> Iterator[Target]:
        """What is made of values that have something which counts, by charts that are not here."""
        files = (file for file, data in self._texts.items() if OF_VALUES.search(data) and self._may_give(data))
        for each in objects_in(files):
            obj = each.obj
            named = self._applications.others(obj) if is_argo(obj) else [chart_named(obj)] if is_release(obj) else []
            words = " and ".join(filter(None, named))
            if words and not self._folder(obj, each.file) and any(map(written.mentions, self._given(each))):
                space = text(get(obj, ("spec", "destination", "namespace"))) if is_argo(obj) else release_named(obj)[1]
                cluster = self._sets.destination(obj) if is_argo(obj) else self.cluster(each)
                own = Delivery(*each, revision=words, cluster=cluster, namespace=space)
                yield Target(each.file, folder_of(each.file), each.file, (), (), delivery=own)

    def _may_give(self, data: bytes) -> bool:
        """True for the text of a file whose deliveries may give a chart something that counts."""
        return written.mentions(data) or (b"valuesFrom" in data and self._are_held)

    @cached_property
    def _are_held(self) -> bool:
        """True where a ConfigMap or a Secret in git may have values with something that counts: few repositories have one."""
        found = (data for file in self._files if file.endswith(SUFFIXES) and HOLDING.search(data := content(file)))
        return any(map(written.mentions, found))

    def _given(self, each: Written) -> Iterator[bytes]:
        """What a delivery gives a chart: what it says itself, and what it takes from ConfigMaps and Secrets."""
        yield json.dumps(each.obj, default=str).encode()
        given = self.values.of_release(Delivery(*each)) if is_release(each.obj) else ()
        yield from (one.encode(errors="surrogatepass") for one in given)

    @cached_property
    def _sources(self) -> FluxSources:
        """The sources that are in git."""
        files = (file for file, data in self._texts.items() if SOURCES.encode() in data and SOURCE.search(data))
        found = [each for each in objects_in(files) if group_of(each.obj) == SOURCES]
        return FluxSources(self._root, found, self.every)

    @cached_property
    def values(self) -> Values:
        return Values(self._files, self._texts, shown=self._whole)

    @cached_property
    def _kustomizations(self) -> Kustomizations:
        return Kustomizations(self._root, self._sources)

    @cached_property
    def _releases(self) -> Releases:
        return Releases(self._root, self._sources, self.values)

    @cached_property
    def _applications(self) -> Applications:
        return Applications(self._root, self._sources)

    @cached_property
    def _sets(self) -> Sets:
        """What ApplicationSets make."""
        marked = (file for file, data in self._texts.items() if CLUSTER_LABEL in data)
        clusters = argo_clusters((each.obj for each in objects_in(marked)), self._clusters)
        return Sets(self._root, self._sources.is_this, clusters)

    def targets_of(self, obj: Object, each: Written, cluster: str = "", above: Steps = (), start: str = "") -> Iterator[Target]:
        """The targets that a delivery applies; the problem of one says why it is refused."""
        own = Delivery(obj, *each[1:], above=above, cluster=cluster, start=start)
        if is_flux(obj):
            yield from self._kustomizations.of(own)
        elif is_release(obj):
            yield from self._releases.of(own)
        elif kind_of(obj) == APPLICATION:
            cluster = self._sets.destination(obj) or cluster
            yield from self._applications.of(obj, own._replace(cluster=cluster))
        else:
            made = self._sets.of(obj)
            for application in made.applications:
                yield from self.targets_of(application, each, cluster, TEMPLATE)
            for reason, said in (("unmade", made.wrong), ("unknown", made.unknown)):
                problem = delivering.refused(own, "; ".join(said)).but(reason=reason, counts=False)
                yield from [Target(each.file, each.file, each.file, (), (), problem, delivery=own)] if said else []

    def cluster(self, each: Written) -> str:
        """The cluster of a delivery that no other one applies: the folder that `flux bootstrap` made for it."""
        if other := other_cluster(each.obj):
            return other
        file = os.path.relpath(os.path.realpath(each.file), self._root).replace(os.sep, "/")
        return found[1] if (found := CLUSTER.search(file)) else ""
