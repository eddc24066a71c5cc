"""The suggestions for what a command reads, with what a conversion does to VMs that run; and the options for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from krm_fn.base.bundle import effective_namespace, entries
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import put_in
from krm_fn.base.value import Value
from krm_fn.changes.diffing import compare
from krm_fn.changes.owners import key_of
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side
from krm_fn.cli.build_flags import together
from krm_fn.cli.bundles import ReadBundle
from krm_fn.cli.changes_words import sentence
from krm_fn.converting.conversion import CLASSES
from krm_fn.converting.instancetypes import DEFAULT_SCHEME, OWN
from krm_fn.converting.suggesting import ConversionWish, Suggestion
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.templates import is_template, template_of
from krm_fn.pipeline.capacity import facts_of
from krm_fn.pipeline.conversions import Conversions
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.conversions import facts_of_material
from krm_fn.repositories.templated import Beside
from krm_fn.rules.facts.bundles import BundleFacts

NO_EFFECT = "no effect"

wish_options = together(
    click.option(
        "--allow-smaller", is_flag=True, help="Also take instancetypes with which a VM or its pod has less of something."
    ),
    click.option(
        "--preference",
        default="",
        metavar="NAME",
        help="Give this cluster-wide preference to VMs without one. What it changes is told; --accept takes it.",
    ),
    click.option(
        "--accept",
        "accepted",
        multiple=True,
        metavar="PATH",
        help="Take changes of the instance at this path and below, such as /spec/domain/machine. Repeatable.",
    ),
    click.option(
        "--name-scheme",
        default=DEFAULT_SCHEME,
        show_default=True,
        metavar="TEXT",
        help="The names of instancetypes that are made.",
    ),
)


def wish_of(flags: Mapping[str, Any], *, own: bool) -> ConversionWish:
    """What the options say."""
    return ConversionWish(
        own=own,
        scheme=flags["name_scheme"],
        smaller=flags["allow_smaller"],
        preference=flags["preference"],
        accepted=tuple(flags["accepted"]),
    )


class Suggested(Value):
    """A suggestion, and where its VM is: the target, the file with its line, and the template that it stands in."""

    suggestion: Suggestion
    read: ReadBundle
    file: str = ""
    index: int = 0
    template: str = ""
    record: Object = {}  # noqa: RUF012  nobody writes into a Value

    @property
    def target(self) -> str:
        return self.read.unit.name

    @property
    def line(self) -> int:
        """The line of its spec in the file, 0 where that is not known."""
        if not self.file or self.template or self.read.found.is_built:
            return 0
        text, found = self.read.material.places.text(self.file), self.suggestion.facts
        return text.place(self.index, (*found.entry.path, *found.prefix, "spec"))[0] if text else 0

    @property
    def effect(self) -> str:
        """What the conversion does to a VM that runs, in words; "" where nothing is converted."""
        if not self.suggestion.converted:
            return ""
        return sentence(self.record) if self.record else NO_EFFECT

    @property
    def answer(self) -> Object:
        """The suggestion as plain data."""
        each, entry = self.suggestion, self.suggestion.facts.entry
        found: Object = {
            "kind": kind_of(entry.obj),
            "namespace": effective_namespace(entry.obj),
            "name": name_of(entry.obj),
            **{key: value for key, value in (("target", self.target), ("template", self.template)) if value},
            **({"file": self.file, **({"line": line} if (line := self.line) else {})} if self.file else {}),
            "class": each.sort,
        }
        if each.instancetype is None:
            return {**found, "reason": each.reason}
        found["instancetype"] = {**each.instancetype.matcher, "origin": each.instancetype.origin}
        if each.preference:
            found["preference"] = each.preference
        found["changes"] = [{"path": one.path, "old": one.old, "new": one.new} for one in each.proof.changes]
        found |= {key: list(told) for key, told in (("fewer", each.proof.fewer), ("refused", each.refused)) if told}
        if not self.template:
            found["effect"] = self.record.get("effect", ["nothing"])
        return found


def in_order(found: Iterable[Suggested]) -> list[Suggested]:
    """The suggestions by their classes, then by target, namespace and name."""

    def key(each: Suggested) -> tuple[object, ...]:
        obj = each.suggestion.facts.entry.obj
        return CLASSES.index(each.suggestion.sort), each.target, effective_namespace(obj), name_of(obj)

    return sorted(found, key=key)


def suggested(read: ReadBundle, wish: ConversionWish, *, effects: bool = True, more: Sequence[Object] = ()) -> list[Suggested]:
    """The suggestions for the flat VMs of a bundle, and of the templates in it; `more` is in the cluster.

    Raises: ConfigError, as `facts_of`.
    """
    facts, places = facts_of_material(read.material, more), read.found.places
    converting = Conversions(facts, wish)
    found = list(converting.suggestions())
    told = records(facts, converting, found) if effects else [{} for _ in found]
    shown = []
    for each, record in zip(found, told, strict=True):
        file, index = places[each.facts.entry.item]
        shown.append(Suggested(suggestion=each, read=read, file=file, index=index, record=record))
    return [*shown, *_in_templates(read, wish)]


def _in_templates(read: ReadBundle, wish: ConversionWish) -> Iterator[Suggested]:
    """The suggestions for VMs in templates, whose parameters have their default values."""
    holding = list(entries(read.found.items))
    if not any(is_template(each.obj) for each in holding):
        return
    places, settings = read.found.places, read.unit.settings
    around = Beside(holding, places, read.parsed.beside(read.taken, settings))
    for entry in holding:
        if not is_template(entry.obj):
            continue
        objects = [obj for _, obj in template_of(entry).objects]
        beside = around.of(objects)
        place = places[entry.item]
        bundle = bundle_of(objects, [place] * len(objects), (), beside)
        for each in Conversions(facts_of(bundle, settings.config, surroundings=beside), wish).suggestions():
            yield Suggested(suggestion=each, read=read, file=place[0], template=name_of(entry.obj))


def manifests(found: Iterable[Suggestion]) -> list[Object]:
    """The instancetypes and preferences that are made for these VMs, each once."""
    made: dict[tuple[str, str], Object] = {}
    for each in found:
        if each.instancetype and each.instancetype.origin == OWN:
            made |= {(kind_of(obj), name_of(obj)): obj for obj in each.instancetype.manifests}
    return [made[key] for key in sorted(made)]


def records(facts: BundleFacts, converting: Conversions, found: Sequence[Suggestion]) -> list[Object]:
    """What each conversion does to a VM that runs, found once for those with the same key; nothing where there is none."""
    keys = [converting.effect_key(each) or id(each.facts) for each in found]
    shapes = {key: each for key, each in zip(keys, found, strict=True) if each.converted}
    if not shapes:
        return [{} for _ in found]
    kinds = {kind for _, kind in SERVED}
    others = [entry.obj for entry in facts.bundle.entries if kind_of(entry.obj) not in kinds]
    old, new = [*others], [*others, *manifests(shapes.values())]
    told_of = {}
    for key, each in shapes.items():
        obj = each.facts.entry.obj
        told_of[key_of(obj)] = key
        old.append(obj)
        new.append(put_in(obj, each.facts.prefix, each.converted.vm if each.converted else None))
    config = facts.config
    external = facts.surroundings.external
    answer = compare(side(old, config, external), side(new, config, external), Assumptions())
    told = {told_of[record["namespace"], record["name"], record["kind"]]: record for record in answer["vms"]}
    return [told.get(key, {}) for key in keys]
