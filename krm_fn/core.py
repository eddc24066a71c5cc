"""The core: items and a config in, rendered items and findings out. No I/O, no clock, no environment."""

from __future__ import annotations

from krm_fn import config, expand, modes, results, rules
from krm_fn.bundle import Bundle, effective_namespace
from krm_fn.cluster import Cluster, of_bundle
from krm_fn.facts import BundleFacts, VmFacts
from krm_fn.paths import get
from krm_fn.resolve import Resolver
from krm_fn.resource import group_of, kind_of
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.config import Config
    from krm_fn.facts import Expansion, Resolution
    from krm_fn.findings import Finding
    from krm_fn.paths import Path
    from krm_fn.resource import Object

# Where the VM stands in the kinds that hold one, by API group and kind.
VM_IN: dict[tuple[str, str], Path] = {
    ("kubevirt.io", "VirtualMachine"): (),
    ("pool.kubevirt.io", "VirtualMachinePool"): ("spec", "virtualMachineTemplate"),
}


class Outcome(Value):
    """What a run led to: all items, the untouched ones as the very objects that came, and the findings in order."""

    items: list[Any]
    findings: tuple[Finding, ...]


def process(resource_list: Object) -> Object:
    """The ResourceList with its VMs rendered and `results` filled. The argument is left as it was.

    Raises: ConfigError where the functionConfig is wrong.
    """
    settings = config.read(resource_list.get("functionConfig"))
    outcome = render(resource_list.get("items") or [], settings)
    return {
        **resource_list,
        "items": [item for item in outcome.items if item is not None],
        "results": results.merge(resource_list.get("results"), outcome.findings),
    }


def render(items: Sequence[Any], settings: Config, places: Sequence[tuple[str, int]] = ()) -> Outcome:
    """Every VM of the items rendered or left as it came, and what there is to say of them.

    `places` gives file and index of each item where the caller knows them; else the items' own annotations tell.
    """
    bundle = Bundle(items)
    cluster = of_bundle(bundle, settings.configuration)
    facts = tuple(_facts(bundle, settings, cluster))
    everything = BundleFacts(bundle=bundle, config=settings, release=settings.release, vms=facts)
    found = [finding for each in facts for finding in rules.judge(each, settings.severity)]
    found += rules.judge_bundle(everything, settings.severity)
    placed = results.ordered(_with_place(finding, items, places) for finding in found)
    return Outcome(items=modes.leave(items, facts, settings), findings=placed)


def _facts(bundle: Bundle, settings: Config, cluster: Cluster) -> Iterator[VmFacts]:
    resolver = Resolver(bundle=bundle, release=settings.release, catalogue=_catalogue(settings, cluster))
    for entry in bundle.entries:
        prefix = VM_IN.get((group_of(entry.obj), kind_of(entry.obj)))
        vm = None if prefix is None else get(entry.obj, prefix)
        if prefix is None or not isinstance(vm, dict):
            continue
        resolution = resolver.resolve(vm, namespace=effective_namespace(entry.obj))
        yield VmFacts(
            entry=entry,
            vm=vm,
            release=settings.release,
            cluster=cluster,
            resolution=resolution,
            expansion=_expansion(resolution, settings, cluster),
            prefix=prefix,
        )


def _expansion(resolution: Resolution, settings: Config, cluster: Cluster) -> Expansion | None:
    """None where a reference failed, and where the VM refers to nothing: KubeVirt leaves such a VM alone."""
    if resolution.errors or not (resolution.instancetype or resolution.preference):
        return None
    return expand.expand(
        resolution.vm,
        instancetype=resolution.instancetype.spec if resolution.instancetype else None,
        preference=resolution.preference.spec if resolution.preference else None,
        cluster=cluster,
        release=settings.release,
        defaults=settings.defaults != "none",
    )


def _catalogue(settings: Config, cluster: Cluster) -> Any:
    if settings.catalogue == "none" or not cluster.deploys_catalogue:
        return None
    from krm_fn import catalogue  # only where a bundle may need it

    return catalogue.of(settings.release)


def _with_place(finding: Finding, items: Sequence[Any], places: Sequence[tuple[str, int]]) -> Finding:
    if finding.item < 0:
        return finding
    file, index = places[finding.item] if places else results.place_of(items[finding.item])
    return finding.but(file=file, index=index) if file else finding
