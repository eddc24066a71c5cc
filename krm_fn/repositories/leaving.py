"""What leaves a unit for the cluster where this program is a step on the way there: the objects as it renders them.

A step of a kustomization, of a kpt package or of Argo CD sees only the list that its host sends it. So it knows nothing of what
the other units of the cluster have, and its config may lack lines to render as the cluster does. A pipeline calls the command,
which knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import PREVIOUS_NAMES, Object, annotations_of, metadata, name_of
from krm_fn.base.paths import Path, copy, put
from krm_fn.config import merged
from krm_fn.config.keys import KIND
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import Finding
from krm_fn.findings.limits import ProductLimit
from krm_fn.kubevirt.holders import holder_of
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.analysis import analysis_of
from krm_fn.pipeline.stages import Judging
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories import manifests
from krm_fn.repositories.fixes import Fix
from krm_fn.repositories.origins import WritingPlace, located
from krm_fn.rules import registry
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS
from krm_fn.rules.facts.inputs import RepositoryFacts, UnseenConfiguration
from krm_fn.sources.reading import stream
from krm_fn.sources.steps import ARGOCD, Leaving, Stage, Step, is_local
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.order import in_order

if TYPE_CHECKING:
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.loading import Parsed
    from krm_fn.repositories.sharing import Taken


# How often the steps may render an object, on average. To look whether a step gets an object takes so much less.
RENDERED, LOOKS = 10, 100


def leaving(parsed: Parsed, taken: Taken, settings: TargetSettings) -> Leaving:
    """What the steps of a unit make of its objects, one after the other; without any, the objects.

    `taken` is what the unit takes of others. Raises: ConfigError for a step whose config is wrong, InputError where the steps
    take more work than the objects allow.
    """
    items: Sequence[Any] = parsed.found.items
    if parsed.names:
        numbers = [number for source in parsed.found.sources for number in source.objects]
        items = [_renamed(item, parsed.names[number]) for item, number in zip(items, numbers, strict=True)]
    found, places = Leaving(items=items, numbers=range(len(items))), parsed.found.places
    many = f"{parsed.folder}: found {len(parsed.steps):,} calls of this program for {len(items):,} objects"
    budget = ProductLimit(RENDERED * LOOKS * len(items), f"{many}, which take too much work; call it fewer times")
    for step in parsed.steps:
        budget.take(len(found.items) * (1 + len(step.selectors) + len(step.exclude)))
        beside = Judging(surroundings=taken.surroundings(settings.externals)) if step.sees_cluster else Judging()
        found = found if found.fails else _rendered(found, step, beside, places, budget)
    return _applied(found) if any(not step.sees_cluster for step in parsed.steps) else found


def _rendered(found: Leaving, step: Step, judging: Judging, places: Sequence[tuple[str, int]], budget: ProductLimit) -> Leaving:
    """What one step makes of what the steps before it have left. `places` are those of the objects that were read."""
    config = step.config
    at = [places[number] if number >= 0 else (step.file, 0) for number in found.numbers]
    seen = step.sees(found.items, at)
    budget.take(LOOKS * len(seen))
    given = manifests.in_namespace([found.items[number] for number in seen], step.namespace)
    outcome = stages.render(given, config, judging=judging, places=[at[number] for number in seen])
    numbers = [found.numbers[number] for number in seen]
    findings = (*found.findings, *(each.but(item=_in(numbers, each.item)) for each in outcome.findings))
    if results.exit_code(outcome.findings, config.fail_on):
        return Leaving(items=(), findings=findings, fails=True)
    if step.discards:
        return found.but(findings=findings)
    made = list(zip(found.items, found.numbers, strict=True))
    for number, item in zip(seen, outcome.items, strict=False):
        made[number] = item, found.numbers[number]
    made += [(item, -1) for item in outcome.items[len(seen) :]]
    if step.host == ARGOCD:
        notes = config.provenance or config.pod_size or config.mode == "annotate"
        made = [(left, number) for item, number in made if (left := manifests.leaving(item, notes=notes)) is not None]
    else:
        made = in_order(made, [seen[number] for number in outcome.before], len(found.items))
    got = dict(zip(numbers, given, strict=True))
    stage = Stage(step, got, {number: item for item, number in made if number >= 0})
    return found.but(
        items=[item for item, _ in made],
        numbers=[number for _, number in made],
        findings=findings,
        stages=(*found.stages, stage),
    )


def _in(numbers: Sequence[int], item: int) -> int:
    return numbers[item] if 0 <= item < len(numbers) else -1


def _applied(found: Leaving) -> Leaving:
    """What is applied of what leaves: nothing that only hosts read."""
    made = [(bare(item), number) for item, number in zip(found.items, found.numbers, strict=False) if not is_local(item)]
    return found.but(items=[item for item, _ in made], numbers=[number for _, number in made])


def _renamed(item: Any, name: str) -> Any:
    """The object as kustomize gives it to a step: with the name that it has in its file, if another one was made of it."""
    if not name or name == name_of(item):
        return item
    found = copy(item)
    put(found, ("metadata", "annotations", PREVIOUS_NAMES), name)
    return found


def bare(item: Any) -> Any:
    """The object without what kustomize writes for steps alone."""
    if not isinstance(item, dict) or PREVIOUS_NAMES not in annotations_of(item):
        return item
    kept = {key: value for key, value in annotations_of(item).items() if key != PREVIOUS_NAMES}
    bare = {key: value for key, value in metadata(item).items() if key != "annotations"}
    return {**item, "metadata": {**bare, **({"annotations": kept} if kept else {})}}


VERSION, CONFIGURATION = "kubevirtVersion", "configuration"


def lacking(left: Leaving, taken: Taken, settings: TargetSettings) -> Iterator[tuple[Finding, Fix | None]]:
    """A finding for each step that renders VMs otherwise than the settings of its cluster say, and what fixes it."""
    for stage in left.stages:
        if stage.step.sees_cluster or stage.step.config.mode != "expand":
            continue
        items = list(stage.seen.values())
        release, lines = _lines(items, stage.step.config, taken, settings)
        if not lines:
            continue
        own = _rendered_by(items, stage.step.config)
        if vms := _differing(own, _rendered_by(items, _with(stage.step.config, lines))):
            needed = _needed(items, stage, lines)
            facts = RepositoryFacts(release=release, unseen=(UnseenConfiguration(lines=needed, vms=vms),))
            for each in registry.judge_bundle(facts, settings.config.severity, "repository"):
                finding = fingerprints.printed([each.but(**placed(stage.step))])[0]
                yield finding, _lines_fix(stage.step, needed, finding.fingerprint)


def placed(step: Step, path: Path = ()) -> Object:
    """File, index, line and column of a value in the config of a step, of the nearest one around it that is there."""
    if not step.file:
        return {}
    item, at = (step.inside[0], (*step.inside[1], *path)) if step.inside else (step.item, (*step.path, *path))
    origin = WritingPlace(step.file, step.item, step.path, (item, at)) if step.inside else WritingPlace(step.file, item, at)
    line, column = located(origin, stream(step.file))
    return {"file": step.file, "index": step.item, **({"line": line, "column": column} if line else {})}


def _lines_fix(step: Step, lines: Object, fingerprint: str) -> Fix | None:
    """The config with the lines; None for one that has another form than a text with `spec`."""
    obj = step.written
    if not isinstance(obj, dict) or obj.get("kind") != KIND or not isinstance(spec := obj.get("spec", {}), dict):
        return None
    at: Path = ("spec",)
    current, proposed = spec, merged(lines, spec)
    if "spec" not in obj:
        at, current, proposed = (), obj, {**obj, "spec": lines}
    place: dict[str, Any] = {"file": step.file, "item": step.item, "path": (*step.path, *at)}
    if step.inside:
        place = {"file": step.file, "item": step.item, "path": step.path, "inside": (step.inside[0], at)}
    return Fix(**place, current=current, proposed=proposed, fingerprint=fingerprint)


def _lines(items: Sequence[Any], config: Config, taken: Taken, settings: TargetSettings) -> tuple[Any, Object]:
    """The cluster's release, and the lines of a config with all that is known of the cluster and that a step does not see."""
    beside = NO_SURROUNDINGS.but(context=taken.surroundings().context)
    stated = config.but(release=settings.stated.release, configuration=settings.stated.configuration)
    cluster = analysis_of(bundle_of(items, (), (), beside), stated, beside)
    seen = analysis_of(bundle_of(items, (), (), NO_SURROUNDINGS), config, NO_SURROUNDINGS)
    lines: Object = {}
    if cluster.release != seen.release and config.release is None:
        lines[VERSION] = str(cluster.release)
    if cluster.cluster.known:
        own = config.configuration or {}
        lines |= {key: value for key, value in cluster.cluster.configuration.items() if key not in own}
    return cluster.release, lines


def _with(config: Config, lines: Object) -> Config:
    from krm_fn.kubevirt.releases import parse

    configuration = {key: value for key, value in lines.items() if key != VERSION}
    release = parse(lines[VERSION]) if VERSION in lines else config.release
    return config.but(release=release, configuration=merged(configuration, config.configuration or {}))


def _rendered_by(items: Sequence[Any], config: Config) -> Sequence[Any]:
    return stages.render(items, config, judging=Judging()).items


def _differing(one: Sequence[Any], other: Sequence[Any]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(isinstance(a, dict) and holder_of(a) is not None and not same(a, b) for a, b in pairs)


def _needed(items: Sequence[Any], stage: Stage, lines: Object) -> Object:
    """Those of the lines without which a VM is rendered otherwise, in the form of a config."""
    config, needed = stage.step.config, dict(lines)
    whole = _rendered_by(items, _with(config, needed))
    for key in lines:
        fewer = {name: value for name, value in needed.items() if name != key}
        if not _differing(whole, _rendered_by(items, _with(config, fewer))):
            needed = fewer
    version = {VERSION: needed.pop(VERSION)} if VERSION in needed else {}
    return {**version, **({CONFIGURATION: needed} if needed or not version else {})}
