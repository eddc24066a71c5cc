"""What a step on the way to the cluster does not see of it: the lines that its config lacks to render as the cluster does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.config import merged
from krm_fn.config.keys import KIND
from krm_fn.findings import fingerprints
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.holders import holder_of
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.analysis import analysis_of
from krm_fn.pipeline.stages import Judging
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.fixes import Fix
from krm_fn.rules import registry
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, Surroundings
from krm_fn.rules.facts.inputs import RepositoryFacts, UnseenConfiguration
from krm_fn.sources.steps import PIPELINE
from krm_fn.yamlio.compare import same

if TYPE_CHECKING:
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.sharing import Taken
    from krm_fn.sources.steps import Leaving, Stage, Step


VERSION, CONFIGURATION = "kubevirtVersion", "configuration"


def lacking(left: Leaving, taken: Taken, settings: TargetSettings) -> Iterator[tuple[Finding, Fix | None]]:
    """A finding for each step that renders VMs otherwise than the settings of its cluster say, and what fixes it."""
    for stage in left.stages:
        if stage.step.host == PIPELINE or stage.step.config.mode != "expand":
            continue
        items = list(stage.seen.values())
        around = NO_SURROUNDINGS.but(context=taken.surroundings().context)
        seen = around if stage.step.sees_cluster else NO_SURROUNDINGS
        release, lines = _lines(items, stage.step.config, settings, around, seen)
        if not lines:
            continue
        own = _rendered(items, stage.step.config, seen)
        if vms := _differing(own, _rendered(items, _with(stage.step.config, lines), seen)):
            needed = _needed(items, stage, lines, seen)
            facts = RepositoryFacts(release=release, unseen=(UnseenConfiguration(lines=needed, vms=vms),))
            for each in registry.judge_bundle(facts, settings.config.severity, "repository"):
                from krm_fn.repositories.explained import placed  # few steps lack something

                finding = fingerprints.printed([each.but(**placed(stage.step))])[0]
                yield finding, _fix(stage.step, needed, finding.fingerprint)


def _fix(step: Step, lines: Object, fingerprint: str) -> Fix | None:
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


def _lines(
    items: Sequence[Any], config: Config, settings: TargetSettings, around: Surroundings, own: Surroundings
) -> tuple[Any, Object]:
    """The cluster's release, and the lines of a config with all that is known of the cluster and that a step does not see."""
    stated = config.but(release=settings.stated.release, configuration=settings.stated.configuration)
    cluster = analysis_of(bundle_of(items, (), (), around), stated, around)
    seen = analysis_of(bundle_of(items, (), (), own), config, own)
    lines: Object = {}
    if cluster.release != seen.release and config.release is None:
        lines[VERSION] = str(cluster.release)
    if cluster.cluster.known:
        known = config.configuration or {}
        lines |= {key: value for key, value in cluster.cluster.configuration.items() if key not in known}
    return cluster.release, lines


def _with(config: Config, lines: Object) -> Config:
    from krm_fn.kubevirt.releases import parse

    configuration = {key: value for key, value in lines.items() if key != VERSION}
    release = parse(lines[VERSION]) if VERSION in lines else config.release
    return config.but(release=release, configuration=merged(configuration, config.configuration or {}))


def _rendered(items: Sequence[Any], config: Config, seen: Surroundings) -> Sequence[Any]:
    return stages.render(items, config, judging=Judging(surroundings=seen)).items


def _differing(one: Sequence[Any], other: Sequence[Any]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(isinstance(a, dict) and holder_of(a) is not None and not same(a, b) for a, b in pairs)


def _needed(items: Sequence[Any], stage: Stage, lines: Object, seen: Surroundings) -> Object:
    """Those of the lines without which a VM is rendered otherwise, in the form of a config."""
    config, needed = stage.step.config, dict(lines)
    whole = _rendered(items, _with(config, needed), seen)
    for key in lines:
        fewer = {name: value for name, value in needed.items() if name != key}
        if not _differing(whole, _rendered(items, _with(config, fewer), seen)):
            needed = fewer
    version = {VERSION: needed.pop(VERSION)} if VERSION in needed else {}
    return {**version, **({CONFIGURATION: needed} if needed or not version else {})}
