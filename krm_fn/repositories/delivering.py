"""How what applies a target changes it: the kustomization that Flux writes, and what it does to the objects that are built."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.paths import as_list, as_map, copy, get, put
from krm_fn.base.redaction import looks_secret
from krm_fn.base.wording import listed
from krm_fn.flux import steps
from krm_fn.flux.generator import REPLACED
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import building
from krm_fn.repositories.traces import SEPARATOR, given_of
from krm_fn.repositories.types import Problem
from krm_fn.repositories.writers import Origin
from krm_fn.sources.files import with_more_unsaved
from krm_fn.yamlio.go_text import go_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krm_fn.base.objects import Object
    from krm_fn.repositories.building import Built
    from krm_fn.repositories.types import Delivery, Target
    from krm_fn.sources.reading import Given

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


def given(target: Target, built: Built, stated: Mapping[str, str], unknown: list[str]) -> Given | Problem:
    """The text that is applied of what was built, with the file that each object comes from; or why nothing is applied.

    `stated` are values of variables that somebody states. Names of variables without a known value go into `unknown`.
    """
    found, delivery = given_of(target, built), target.delivery
    if delivery is None:
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
        return refused(delivery, error)
    texts = [part.removesuffix(b"\n") + b"\n" for part in found.data.split(SEPARATOR)]
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


def refused(delivery: Delivery, error: InputError) -> Problem:
    """What Flux refuses, at the place of the Kustomization."""
    detail = error.message if isinstance(error, FluxError) else f"what is built can't be read: {error.message}"
    return Problem(file=delivery.file, reason="flux", detail=detail, line=delivery.line, column=delivery.column)


def notes(target: Target | None, unknown: Iterable[str]) -> list[str]:
    """What there is to say of a delivery: what is not known of it, and that it is switched off."""
    delivery = target.delivery if target else None
    if delivery is None:
        return []
    names = sorted(unknown)
    about = f"git has no value for {listed(names, 'and')}, which Flux takes from {listed(delivery.missing, 'and')}"
    suspended = f"the Kustomization {delivery.name} is suspended, so Flux applies nothing of it"
    return [*([f"{about}; state values with --variables"] if names else []), *([suspended] if delivery.is_suspended else [])]


def objects(target: Target, using: building.Builder, timeout: float) -> Given | None:
    """What a delivery applies, None where it can't be built."""
    with entered(target):
        built = building.build(target, using, timeout=timeout)
        found = built if isinstance(built, Problem) else given(target, built, {}, [])
    return None if isinstance(found, Problem) else found


def written_at(delivery: Delivery, origin: Origin) -> Origin:
    """Where users write what stands in the kustomization that Flux writes: in theirs, or in the Kustomization of Flux."""
    if origin.file != delivery.generated:
        return origin
    items = yamlio.read_stream(delivery.original).items
    item = next((number for number, each in enumerate(items) if each is not None), -1)
    own = as_map(items[item]) if item >= 0 else {}
    key, *rest = origin.path or ("",)
    spec = as_map(delivery.obj.get("spec"))
    of_flux = next((name for name, written in REPLACED.items() if written == key), str(key))
    number = rest[0] if rest and isinstance(rest[0], int) else 0
    before = len(as_list(own.get(key))) if key in LISTS else 0
    if of_flux in REPLACED and spec.get(of_flux):
        return origin._replace(file=delivery.file, item=delivery.item, path=("spec", of_flux))
    if key in LISTS and number >= before:
        return origin._replace(file=delivery.file, item=delivery.item, path=("spec", str(key), number - before, *rest[1:]))
    return origin._replace(item=item) if own else Origin(delivery.file, delivery.item)
