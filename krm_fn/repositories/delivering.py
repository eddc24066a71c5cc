"""How what applies a target changes it: the kustomization that it writes, and what it does to the objects that are built.

The origins that kustomize writes into what it builds: taken out of the text, they say where each object comes from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import as_list, as_map, copy, get, put
from krm_fn.base.redaction import looks_secret
from krm_fn.base.wording import listed
from krm_fn.flux import steps
from krm_fn.flux.generator import REPLACED
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import building, manifests, written
from krm_fn.repositories.building import Built
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import Delivery, Problem, Target
from krm_fn.repositories.writers import WritingPlace
from krm_fn.sources.files import with_more_unsaved
from krm_fn.sources.reading import Given
from krm_fn.sources.source import Source, Sources

SEPARATOR = b"\n---\n"
# An object's origin, as kustomize writes it: among the annotations of its metadata, in an order of their own.
METADATA = expression(rb"^metadata:\n(?:  .*\n)*?  annotations:\n", re.MULTILINE)
ORIGIN = expression(rb"(?:    .*\n)*?(    config\.kubernetes\.io/origin: \|\n((?:      .*\n)+))")
PATH = expression(rb"^ *(?:path|configuredIn): (.*)$", re.MULTILINE)
TRANSFORMER = expression(rb"^ *kind: \w*Transformer$", re.MULTILINE)
REPO = expression(rb"^ *repo: ", re.MULTILINE)
ANNOTATIONS = b"  annotations:\n"
KIND, NAME = expression(rb"^kind: (.*)$", re.MULTILINE), expression(rb"^metadata:\n(?:  .*\n)*?  name: (.*)$", re.MULTILINE)


def given_of(target: Target, built: Built) -> Given:
    """The text that was built of a target, with the file that each object comes from.

    Where kustomize does not say that, or a patch removes what it says, it is a file that has the object, by kind and name.
    """
    parts, files, names, sources = [], [], [], _Sources(target)
    for part in built.data.split(SEPARATOR) if built.data.strip() else ():
        text, path = without_origin(part + b"\n" if not part.endswith(b"\n") else part)
        parts.append(text)
        name, file = sources.of(text) if path is None or built.steps else ("", "")
        files.append(file if path is None else path and built.file(path))
        names.append(name)
    return Given(data=b"---\n".join(parts), folder=target.folder, origins=tuple(files), names=tuple(names))


class _Sources:
    """The objects in the files that a target has as resources, read when one is asked for."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def of(self, text: bytes) -> tuple[str, str]:
        """The name and the file of the object of which another one was built; "" where that is not known."""
        kind, name = (
            found[1].decode(errors="replace").strip() if found else "" for found in (KIND.search(text), NAME.search(text))
        )
        of_kind = self._found.get(kind, {})
        if name in of_kind:
            return name, of_kind[name]
        likely = [(own, file) for own, file in of_kind.items() if own and own in name]  # a prefix, a suffix or a hash was added
        longest = max((len(own) for own, _ in likely), default=0)
        nearest = [each for each in likely if len(each[0]) == longest]
        return nearest[0] if len(nearest) == 1 else ("", "")

    @cached_property
    def _found(self) -> dict[str, dict[str, str]]:
        """The file of each object, by its kind and its name."""
        found: dict[str, dict[str, str]] = {}
        sources = written.read(self._target, [])
        for source in sources.sources if sources else ():
            for entry in bundle.entries(source.items):
                found.setdefault(kind_of(entry.obj), {}).setdefault(name_of(entry.obj), source.file)
        return found


def without_origin(text: bytes) -> tuple[bytes, str | None]:
    """The text of an object without its origin, and the path in that: None where it names none, "" for another repository.

    After a patch of all annotations, kustomize names the transformer that made the object: that is no origin.
    """
    metadata = METADATA.search(text)
    origin = ORIGIN.match(text, metadata.end()) if metadata else None
    if metadata is None or origin is None:
        return text, None
    path = PATH.search(origin[2])
    start, end = origin.span(1)
    alone = start == metadata.end() and not text.startswith(b"    ", end)
    if alone:
        start -= len(ANNOTATIONS)
    text = text[:start] + text[end:]
    if TRANSFORMER.search(origin[2]):
        return text, None
    return text, path[1].decode() if path and not REPO.search(origin[2]) else ""


# The lists of a kustomization to which Flux adds entries at the end.
LISTS = ("patches", "components", "images")


@contextmanager
def entered(target: Target | None) -> Iterator[None]:
    """Read the kustomization that Flux writes for a target in place of the one that the repository has, or has not."""
    delivery = target.delivery if target else None
    if delivery is None or not delivery.generated:
        yield
        return
    with with_more_unsaved({os.path.realpath(delivery.generated): delivery.text}):
        yield


def may_count(target: Target) -> bool:
    """True for a target that may hold something that counts."""
    with entered(target):
        return target.is_chart or written.may_count(target)


def given(target: Target, built: Built, stated: Mapping[str, str], unknown: list[str]) -> Given | Problem:
    """The text that is applied of what was built, with the file that each object comes from; or why nothing is applied.

    `stated` are values of variables that somebody states. Names of variables without a known value go into `unknown`.
    """
    found, delivery = given_of(target, built), target.delivery
    if delivery is None or not delivery.is_of_flux:
        return found
    try:
        items = [item for item in yamlio.read_stream(found.data).items if item is not None]
        made = steps.delivered(
            items,
            _with_stated(delivery.obj, stated),
            delivery.substitutes,
            strict=delivery.strict,
            unknown=unknown if delivery.missing else None,
        )
    except InputError as error:
        return refused(
            delivery, error.message if isinstance(error, FluxError) else f"what is built can't be read: {error.message}"
        )
    texts = [part.removesuffix(b"\n") + b"\n" for part in found.data.split(SEPARATOR)]
    from krm_fn.yamlio.go_text import go_text  # only deliveries with steps need it

    written = [texts[number] if obj == items[number] else go_text(obj).encode() for number, obj in made]
    return found.but(
        data=b"---\n".join(written),
        origins=tuple(found.origins[number] for number, _ in made),
        names=tuple(found.names[number] for number, _ in made),
    )


def unfilled(variables: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Stated values of variables for what people read: one that may be secret stays as the variable is written.

    Whoever writes the repository decides where a value stands, and a finding, a size or a page may show it there.
    """
    return tuple((name, f"${{{name}}}" if looks_secret(name) else value) for name, value in variables)


def _with_stated(kustomization: Object, stated: Mapping[str, str]) -> Object:
    """The Kustomization with stated values of variables: they count more than those of ConfigMaps and Secrets."""
    at = ("spec", "postBuild", "substitute")
    if not (stated and get(kustomization, at[:-1])):
        return kustomization
    found: Object = copy(kustomization)
    put(found, at, {**stated, **as_map(get(kustomization, at))})
    return found


def refused(delivery: Delivery, detail: str) -> Problem:
    """What Flux or Argo CD refuses, at the place of the delivery."""
    reason = "flux" if delivery.tool == "Flux" else "argocd"
    return Problem(file=delivery.file, reason=reason, detail=detail, line=delivery.line, column=delivery.column)


def told(target: Target, root: str) -> Target:
    """The target with its problem at its place in what users write, and not in the kustomization that a delivery has built."""
    problem, delivery = target.problem, target.delivery
    if problem is None or delivery is None or problem.file != delivery.generated:
        return target
    own = target_of(target.folder, [root])
    is_same = own and own.problem and (own.problem.reason, own.problem.detail) == (problem.reason, problem.detail)
    place = {"file": delivery.file, "line": delivery.line, "column": delivery.column}
    return target._replace(problem=own.problem if own and is_same else problem.but(**place))


def unbuilt(target: Target, problem: Problem, build: Callable[[Target], Built | Problem]) -> Problem:
    """The same for what a build says: the folder is built without the delivery, to learn which of them is at fault."""
    delivery = target.delivery
    if delivery is None or problem.file != delivery.generated:
        return problem
    with with_more_unsaved({os.path.realpath(delivery.generated): delivery.original}):
        own = build(target._replace(delivery=None)) if delivery.original else None
    if isinstance(own, Problem) and own.detail == problem.detail:
        return own
    return problem.but(file=delivery.file, line=delivery.line, column=delivery.column)


def moved(target: Target, old: str, new: str) -> Target:
    """The target with paths below one folder in place of those below another one."""

    def path(of: str) -> str:
        whole = os.path.join(os.path.abspath(of), "")  # noqa: PTH100, PTH118
        return joined(new, whole[len(old) + 1 :] or ".") if whole.startswith(os.path.join(old, "")) else of  # noqa: PTH118

    def paths(of: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(path, of))

    problem, own = target.problem, target.delivery
    return target._replace(
        name=path(target.name),
        folder=path(target.folder),
        file=path(target.file),
        kustomizations=paths(target.kustomizations),
        inputs=tuple(sorted(paths(target.inputs))),
        problem=problem and problem.but(file=path(problem.file)),
        delivery=own and own._replace(generated=path(own.generated)),
    )


def notes(target: Target | None, unknown: Iterable[str]) -> list[str]:
    """What there is to say of a delivery: what is not known of it, and that it is switched off."""
    delivery = target.delivery if target else None
    if delivery is None:
        return []
    names, missing = sorted(unknown), listed(delivery.missing, "and")
    told = [f"git has no value for {listed(names, 'and')}, which Flux takes from {missing}; state values with --variables"]
    if not delivery.is_of_flux:
        told = [f"the {kind_of(delivery.obj)} {delivery.name} also takes {missing}, which is not read here"]
    suspended = f"the {kind_of(delivery.obj)} {delivery.name} is suspended, so {delivery.tool} applies nothing of it"
    is_told = names or (delivery.missing and not delivery.is_of_flux)
    return [*(told if is_told else []), *([suspended] if delivery.is_suspended else [])]


def in_namespace(found: Sources, target: Target | None, made: dict[int, Any]) -> Sources:
    """The objects in the namespace that a delivery gives to those without one; what is `made` of each stays there."""
    space = target.delivery.namespace if target and target.delivery else ""
    return found.but(sources=tuple(_placed(each, space, made) for each in found.sources)) if space else found


def _placed(source: Source, space: str, made: dict[int, Any]) -> Source:
    items = source.text.items
    for old, new in zip(items, manifests.in_namespace(items, space, every=True), strict=True):
        made.setdefault(id(old), new)
    return source.but(placed=[made[id(each)] for each in items])


def placed(obj: Object, target: Target) -> Object:
    """One object in that namespace."""
    made: list[Object] = manifests.in_namespace([obj], target.delivery.namespace if target.delivery else "", every=True)
    return made[0]


def objects(target: Target, using: building.Builder, timeout: float) -> Given | None:
    """What a delivery applies, as far as it is in git; None where that can't be built."""
    with entered(target):
        built = building.build(target, using, timeout=timeout, partly=True)
        found = built if isinstance(built, Problem) else given(target, built, {}, [])
    return None if isinstance(found, Problem) else found


def written_at(delivery: Delivery, origin: WritingPlace) -> WritingPlace:
    """Where users write what stands in the kustomization that Flux writes: in theirs, or in the Kustomization of Flux."""
    if origin.file != delivery.generated:
        return origin
    items = yamlio.read_stream(delivery.original).items
    item = next((number for number, each in enumerate(items) if each is not None), -1)
    own = as_map(items[item]) if item >= 0 else {}
    key, *rest = origin.path or ("",)
    spec = as_map(get(delivery.obj, delivery.at))
    of_flux = next((name for name, written in REPLACED.items() if written == key and delivery.is_of_flux), str(key))
    number = rest[0] if rest and isinstance(rest[0], int) else 0
    before = len(as_list(own.get(key))) if key in LISTS else 0
    if spec.get(of_flux) and key not in LISTS and (of_flux in REPLACED or not delivery.is_of_flux):
        return origin._replace(file=delivery.file, item=delivery.item, path=(*delivery.above, *delivery.at, of_flux))
    if key in LISTS and number >= before:
        path = (*delivery.above, *delivery.at, str(key), number - before, *rest[1:])
        return origin._replace(file=delivery.file, item=delivery.item, path=path)
    return origin._replace(item=item) if own else WritingPlace(delivery.file, delivery.item)
