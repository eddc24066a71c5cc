"""The deliveries in files, and what they take from there: objects with their places, and the values of variables."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.argocd.sources import APPLICATION, SET
from krm_fn.argocd.sources import GROUP as ARGO
from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.flux.releases import KEY as VALUES_KEY
from krm_fn.flux.steps import texts_of
from krm_fn.sources.files import SUFFIXES, content

if TYPE_CHECKING:
    from krm_fn.repositories.types import Delivery
Place = tuple[str, int]  # a file, and the number of a document there
Near = dict[str, tuple[int, Any]]  # by folder

FLUX, SOURCES, HELM = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"
KUSTOMIZATION, RELEASE, SECRET = "Kustomization", "HelmRelease", "Secret"
# What a text has in which a delivery or a source stands.
APPLYING = expression(rb"""apiVersion["']?\s*:\s*["']?(?:kustomize\.toolkit\.fluxcd\.io/|argoproj\.io/v1alpha1)""")
# A HelmRelease whose chart is in git. Most take theirs from elsewhere; they are not even read.
OF_RELEASE = expression(rb"""apiVersion["']?\s*:\s*["']?helm\.toolkit\.fluxcd\.io/""")
IN_GIT = expression(rb"""kind["']?\s*:\s*["']?GitRepository\b""")
# What gives values to a chart that may be elsewhere.
OF_VALUES = expression(rb"""kind["']?\s*:\s*["']?(?:HelmRelease|Application(?:Set)?)\b""")
SOURCE = expression(rb"""kind["']?\s*:\s*["']?(?:GitRepository|OCIRepository|Bucket|ExternalArtifact)\b""")
DELIVERING = expression(
    rb"""apiVersion["']?\s*:\s*["']?(?:(?:helm|kustomize|source)\.toolkit\.fluxcd\.io/|argoproj\.io/v1alpha1)|part-of: flux$"""
    rb"""|argocd\.argoproj\.io/secret-type|fluxcd/flux2/|fluxcd\.controlplane\.io/|flux-operator-manifests:""",
    re.MULTILINE,
)


# What a text has in which values stand; SOPS marks what it encrypts.
HOLDING = expression(rb"""kind["']?\s*:\s*["']?(?:ConfigMap|Secret)\b""")
ENCRYPTED = "sops"
# The version of Flux: in what `flux bootstrap` writes, in a reference to a release, in the source of its manifests, and in a
# FluxInstance. A range of one gets the newest that the artifact of Flux Operator has.
VERSION = expression(
    rb"""(?:^ *app\.kubernetes\.io/part-of: flux\n *app\.kubernetes\.io/version: """
    rb"""|fluxcd/flux2/(?:[a-z/]+\?ref=|releases/download/)|/flux-manifests["']?\n(?:.*\n){0,5}? *(?:tag|semver): ["']?"""
    rb"""|^ *distribution:\n(?:.*\n){0,4}? *version: ["']?)v?(\d+)\.(\d+)""",
    re.MULTILINE,
)
OF_OPERATOR = expression(rb"flux-operator-manifests:v0\.(\d+)")
OPERATOR_SINCE = 53  # upstream: flux-operator config/data/flux
# The first version in which a variable must have a value.
STRICT_SINCE = (2, 9)
SECRET_OF_CLUSTER = "-kubeconfig"  # noqa: S105  how Cluster API names the Secrets of its clusters


class Written(NamedTuple):
    """An object in a file: the number of its document, and where it starts."""

    obj: Object
    file: str
    item: int
    line: int
    column: int


def objects_in(files: Iterable[str]) -> Iterator[Written]:
    """The objects in files; one that can't be read has none."""
    for file in files:
        try:
            found = yamlio.read_stream(content(file), file=file)
        except InputError:
            continue  # it is told where the file is judged
        for entry in entries(found.items):
            yield Written(entry.obj, file, entry.item, *found.place(entry.item, entry.path))


def is_flux(obj: Object) -> bool:
    """True for a Kustomization of Flux."""
    return kind_of(obj) == KUSTOMIZATION and group_of(obj) == FLUX


def is_release(obj: Object) -> bool:
    """True for a HelmRelease of Flux."""
    return kind_of(obj) == RELEASE and group_of(obj) == HELM


def may_apply(data: bytes) -> bool:
    """True for a text in which a delivery may stand."""
    return bool(APPLYING.search(data) or (OF_RELEASE.search(data) and IN_GIT.search(data)))


def is_argo(obj: Object) -> bool:
    """True for an Application or an ApplicationSet of Argo CD."""
    return kind_of(obj) in (APPLICATION, SET) and group_of(obj) == ARGO


def other_cluster(obj: Object) -> str:
    """The name of another cluster that a Kustomization is for, "" where it is for the one that it is in."""
    config = as_map(get(obj, ("spec", "kubeConfig")))
    named = (text(as_map(config.get(key)).get("name")) for key in ("secretRef", "configMapRef"))
    return next(filter(None, named), "").removesuffix(SECRET_OF_CLUSTER)


class Values:
    """The values of variables of a repository with these YAML files; `texts` are those in which Flux may stand.

    Values of Secrets are hidden, unless they are `shown`: who writes the repository decides where a value stands.
    """

    def __init__(self, files: Iterable[str], texts: Mapping[str, bytes], *, shown: bool) -> None:
        self._files, self._texts, self._shown = tuple(files), texts, shown

    def given(self, own: Delivery) -> Delivery:
        """The delivery with the ConfigMaps and Secrets of its variables, as far as git has them."""
        if not own.is_of_flux:
            return own._replace(start="")
        asked = map(as_map, as_list(get(own.obj, ("spec", "postBuild", "substituteFrom"))))
        named = dict.fromkeys((text(each.get("kind")), text(each.get("name"))) for each in reversed([*asked]))
        given, missing = [], []
        for kind, name in reversed(named):  # of what is named again, the last time counts
            found = self.holding(kind, name, own)
            if found is None:
                missing.append(f"{kind} {name}")
            else:
                given.append({**found, "metadata": {**metadata(found), "namespace": namespace_of(own.obj)}})
        version = nearest(self._versions, own.file, own.start)
        is_strict = not version or version[2] >= STRICT_SINCE
        return own._replace(substitutes=tuple(given), missing=tuple(missing), strict=is_strict, start="")

    def holding(self, kind: str, name: str, own: Delivery) -> Object | None:
        """A ConfigMap or a Secret: the nearest one in a file, where a name is there several times. None if it is encrypted."""
        obj = self._holding(kind, name, own)
        return obj if obj is None or self._shown or kind != SECRET else _hidden(obj)

    def of_release(self, own: Delivery) -> Iterator[str]:
        """The texts in ConfigMaps and Secrets of git that give values to a HelmRelease; nothing of them may be shown."""
        for each in map(as_map, as_list(get(own.obj, ("spec", "valuesFrom")))):
            found = self._holding(text(each.get("kind")), text(each.get("name")), own)
            yield texts_of(found or {}).get(text(each.get("valuesKey")) or VALUES_KEY, "")

    def _holding(self, kind: str, name: str, own: Delivery) -> Object | None:
        namespaces = dict.fromkeys(("", namespace_of(own.obj)))
        found = [near for each in namespaces if (near := nearest(self._held.get((kind, name, each), {}), own.file, own.start))]
        obj: Object | None = min(found)[2].obj if found and name else None
        return None if obj is None or ENCRYPTED in obj else obj

    @cached_property
    def _held(self) -> dict[tuple[str, str, str], Near]:
        """The ConfigMaps and Secrets of the repository by kind, name and namespace."""
        files = (file for file in self._files if file.endswith(SUFFIXES) and HOLDING.search(content(file)))
        found: dict[tuple[str, str, str], Near] = {}
        for number, each in enumerate(objects_in(files)):
            key = kind_of(each.obj), name_of(each.obj), namespace_of(each.obj)
            put_near(found.setdefault(key, {}), each.file, (number, each))
        return found

    @cached_property
    def _versions(self) -> Near:
        """The versions of Flux that files install: before 2.9, an unset variable is empty."""
        found: Near = {}
        for number, (file, data) in enumerate(self._texts.items()):
            if each := VERSION.search(data):
                put_near(found, file, (number, (int(each[1]), int(each[2]))))
            elif each := OF_OPERATOR.search(data):
                is_new = int(each[1]) >= OPERATOR_SINCE
                put_near(found, file, (number, STRICT_SINCE if is_new else (2, 0)))
        return found


def _hidden(secret: Object) -> Object:
    """A Secret with a placeholder for each value, also for those in a text of values for a chart."""
    texts = {
        key: json.dumps(_holes(_map_in(value), key)) if _map_in(value) else f"${{{key}}}"
        for key, value in texts_of(secret).items()
    }
    return {**{key: value for key, value in secret.items() if key != "data"}, "stringData": texts}


def _map_in(value: str) -> Object:
    """The map that a text has, {} for none."""
    try:
        return as_map(next(iter(yamlio.read_stream(value.encode()).items), None))
    except InputError:
        return {}


def _holes(value: Any, name: str) -> Any:
    """A value of maps and lists with a placeholder in place of each leaf."""
    if isinstance(value, dict):
        return {key: _holes(each, str(key)) for key, each in value.items()}
    return [_holes(each, name) for each in value] if isinstance(value, list) else f"${{{name}}}"


def put_near(found: Near, file: str, value: tuple[int, Any]) -> None:
    """Note what a file has, with its number, at each folder that the file is in: the first one of a folder counts."""
    for folder in _around(file):
        found.setdefault(folder, value)


def nearest(found: Near, file: str, start: str = "") -> tuple[int, int, Any] | None:
    """Of what files have, that of the file with the most folders in common from the beginning on; of several, the one nearest
    to another file, `start`, and then the first one.

    In front stand how far it is away, and its number.
    """
    for away, folder in enumerate(_around(file)):
        if folder in found:
            inner = (each for each in _around(start) if each in found and f"{each}/".startswith(folder and f"{folder}/"))
            return (away, *found[next(inner, folder)])
    return None


def _around(file: str) -> Iterator[str]:
    """The folders that a file is in, from the nearest on, and "" around all."""
    while file:
        file = file.rpartition("/")[0]
        yield file


def matched(below: Iterable[Written], made: Iterable[tuple[Object, str]]) -> Iterator[tuple[Object, str, Written | None]]:
    """What is made, each with its file and with what it was made of: of the file, that of its name, else the next one."""
    left: dict[str, dict[int, Written]] = {}  # by file, with their numbers
    named: dict[tuple[str, str], deque[int]] = {}
    for number, each in enumerate(below):
        left.setdefault(each.file, {})[number] = each
        named.setdefault((each.file, name_of(each.obj)), deque()).append(number)
    for obj, file in made:
        likely, alike = left.get(file, {}), named.get((file, name_of(obj)), deque())
        while alike and alike[0] not in likely:
            alike.popleft()
        yield obj, file, likely.pop(alike[0] if alike else next(iter(likely))) if likely else None


def starts(edges: Mapping[Place, Sequence[Place]]) -> list[Place]:
    """Those from which all others are reached: what no other one leads to, and the first of those that lead to one another."""
    applied = {below for key, every in edges.items() for below in every if below != key}
    found = [key for key in edges if key not in applied]
    reached, waiting = set(found), list(found)
    for key in edges:
        while waiting:
            below = [each for each in edges[waiting.pop()] if each not in reached]
            reached.update(below)
            waiting += below
        if key not in reached:
            found.append(key)
            reached.add(key)
            waiting.append(key)
    return found
