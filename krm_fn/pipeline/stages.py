"""The core: items and a config in, rendered items and findings out. It has no I/O, no clock, and no environment."""

from __future__ import annotations

from itertools import chain

from krm_fn import config
from krm_fn.base.annotations import Any, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import IGNORE, Object, Ref, annotations_of
from krm_fn.base.paths import with_integers
from krm_fn.base.value import Value
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.findings.limits import InAll, limited
from krm_fn.kubevirt import schema
from krm_fn.kubevirt.releases import NEWEST, Release
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import modes
from krm_fn.pipeline.facts import Write, gather
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS, BundleFacts, Surroundings
from krm_fn.rules.needs import any_speaks
from krm_fn.yamlio.order import in_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.pipeline.stopped import Instances
    from krm_fn.rules.facts.admission import AdmissionFacts
    from krm_fn.rules.facts.policies import Unevaluated


# The modes in which patches are applied, or at least tried.
PATCHING = ("expand", "validate")

# The kinds of policies and bindings that a bundle may have, with their API group.
POLICY = ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io")
BINDING = ("ValidatingAdmissionPolicyBinding", POLICY[1])


class Outcome(Value):
    """The result of a run: all items and the findings in order. An item that does not change is the same object as before.

    New items come last. `before` has, for each of them, the number of the item that must follow it; it is empty if the order
    does not matter. `in_order` are the items in the order in which they must be applied.
    `release` is the target release. `ignored` are the findings that annotations of the objects silence, `off` those of rules
    that the config turns off, if `Judging.off` is set. `external` are the objects outside of git that the items refer to.
    `instances` are those that the items start, None in other modes than `validate`.
    """

    items: list[Any]
    findings: tuple[Finding, ...]
    release: Release = NEWEST
    ignored: tuple[Suppressed, ...] = ()
    off: tuple[Finding, ...] = ()
    before: tuple[int, ...] = ()
    external: tuple[Ref, ...] = ()
    instances: Instances | None = None

    @property
    def in_order(self) -> list[Any]:
        return in_order(self.items, self.before)


class Before(Value):
    """What the items of a run replace: older items with their config. `is_whole` is False if a part of them is not known."""

    items: Sequence[Any]
    config: Config
    is_whole: bool = True


class Judging(Value):
    """Options for judging the items, in addition to the config.

    `ignores`: annotations of the objects silence rules. `definitions`: use the CustomResourceDefinitions of the bundle for
    KubeVirt's kinds, too. `off`: the outcome has the findings of rules that the config turns off. `following`: it has the
    consequences of other findings, too. `units` has, for each item, what applies it to a cluster, such as the kustomizations
    that build it. `surroundings` is what is known outside of the items. `raw` are the items with their numbers as they
    came: for policies, 1.0 is no integer. `before` is what the items replace, for policies.
    """

    ignores: bool = True
    definitions: bool = True
    off: bool = False
    following: bool = False
    units: Sequence[frozenset[str]] = ()
    surroundings: Surroundings = NO_SURROUNDINGS
    raw: Sequence[Any] = ()
    before: Before | None = None


def process(resource_list: Object) -> Object:
    """The ResourceList with its VMs rendered and `results` filled. The argument does not change.

    Floats that are whole numbers become integers, as Kubernetes reads them. In mode `validate` the results have everything that
    KubeVirt refuses, including consequences of other results; hosts and the command leave consequences out.
    Raises: ConfigError if the functionConfig is wrong, InputError if `items` is no list.
    """
    from krm_fn.findings import results

    settings, items = config.of_list(resource_list)
    judging = Judging(following=settings.mode == "validate", raw=items)
    outcome = render([with_integers(item) for item in items], settings, judging=judging)
    return {
        **resource_list,
        "items": [item for item in outcome.in_order if item is not None],
        "results": results.merge(resource_list.get("results"), outcome.findings),
    }


def render(
    items: Sequence[Any],
    settings: Config,
    places: Sequence[tuple[str, int]] = (),
    schemas: Sequence[Object] = (),
    judging: Judging = Judging(),  # noqa: B008  a Value never changes
    *,
    write: Write | None = None,
) -> Outcome:
    """Render each VM of the items, or leave it as it is, and report the findings.

    `places` has file and index of each item, if the caller knows them. Otherwise the annotations of the items give them.
    `schemas` are CustomResourceDefinitions in addition to those of the bundle. With `write`, items may be late: it gets the new
    value of each late VM that is rendered without findings, whose item stays as it is in the outcome.
    """
    facts = gather(_bundle(items, places, judging), settings, judging.surroundings, write=write)
    if settings.mode == "snapshot":
        from krm_fn.pipeline import snapshots  # the other modes store nothing

        facts = snapshots.with_revisions(facts)
    if settings.patches and settings.mode in PATCHING:
        facts = _patched(facts)
    severity = _without_off(settings) if judging.off else settings.severity
    of_policies: tuple[Finding, ...] = ()
    if _has_policies(facts):
        facts, of_policies = _with_policies(facts, severity, judging)
    instances = None
    if settings.mode == "validate":
        from krm_fn.pipeline import stopped  # rendering starts nothing

        instances = stopped.Instances(facts)
    found = [*limited(of_policies), *_found(facts, instances, schemas, severity, judging)]
    on = [finding for finding in found if not _is_off(finding, settings)]
    placed = [_placed(finding, facts) for finding in _roots(on, facts, following=judging.following)]
    kept, ignored = _silenced(placed, facts, effective=judging.ignores)
    off = [finding for finding in found if _is_off(finding, settings)] if len(on) < len(found) else []
    outcome = Outcome(
        items=modes.apply([*items, *judging.surroundings.context], facts),
        findings=_ordered(kept),
        release=facts.release,
        ignored=ignored,
        off=_ordered(off),
        before=tuple(each.vm.entry.item for each in facts.storing for _ in each.revisions),
        instances=instances,
    )
    if judging.surroundings is NO_SURROUNDINGS:
        return outcome
    return _without_surroundings(outcome, facts, len(items))


def _ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings in the order in which they are reported."""
    if not findings:
        return ()
    from krm_fn.findings import results  # most runs find nothing

    return results.ordered(findings)


def _bundle(items: Sequence[Any], places: Sequence[tuple[str, int]], judging: Judging) -> Bundle:
    beside = judging.surroundings
    if not (beside.context or beside.affixes or beside.external):
        return Bundle(items, places, units=judging.units)
    from krm_fn.pipeline import surroundings  # only repositories have them

    return surroundings.bundle_of(items, places, judging.units, beside)


def _patched(facts: BundleFacts) -> BundleFacts:
    """The facts with what the config's patches make of the VMs, as mode `expand` renders them."""
    from krm_fn.pipeline import patching

    config = facts.config
    expanding = facts if config.mode == "expand" else gather(facts.bundle, config.but(mode="expand"), facts.surroundings)
    return patching.with_patches(facts, expanding)


def _has_policies(facts: BundleFacts) -> bool:
    config = facts.config
    given = config.policies or config.schema_policies or config.rule_packages or config.barred_packages
    return bool(given) or _has_admission_policies(facts)


def _has_admission_policies(facts: BundleFacts) -> bool:
    return bool(facts.config.policies or facts.bundle.of_kind(*POLICY) or facts.bundle.of_kind(*BINDING))


def _placed(finding: Finding, facts: BundleFacts) -> Finding:
    """The finding with the files of its places. Items below -1 are the config's policies."""
    from krm_fn.findings import results

    if finding.item >= -1:
        return results.placed(finding, facts.bundle)
    given = facts.config.policies[-2 - finding.item]
    return finding.but(item=-1, file=given.file, index=given.index)


def _with_policies(
    facts: BundleFacts, severity: Mapping[str, str], judging: Judging
) -> tuple[BundleFacts, tuple[Finding, ...]]:
    """The facts with the policies that can't be evaluated, and the findings of the others."""
    from krm_fn.pipeline import schema_policies
    from krm_fn.pipeline.policy_subjects import begin
    from krm_fn.rules.facts.policies import together

    begin(facts)
    found = schema_policies.verdicts(facts, severity)
    own, failed = _of_own_rules(facts, severity)
    if _has_admission_policies(facts):
        of_bundle, unevaluated = _of_admission_policies(facts, severity, judging)
        own, failed = [*own, *of_bundle], [*failed, *unevaluated]
    return facts.but(unevaluated=tuple(together([*found.unevaluated, *failed]))), (*found.findings, *own)


def _of_own_rules(facts: BundleFacts, severity: Mapping[str, str]) -> tuple[list[Finding], list[Unevaluated]]:
    if not (facts.config.rule_packages or facts.config.barred_packages):
        return [], []
    from krm_fn.pipeline import own_rules  # few configs name a package

    return own_rules.verdicts(facts, severity)


def _of_admission_policies(
    facts: BundleFacts, severity: Mapping[str, str], judging: Judging
) -> tuple[list[Finding], list[Unevaluated]]:
    from krm_fn.pipeline import admission_policies  # few bundles have some

    older = judging.before
    if older and not older.is_whole:
        return [], admission_policies.without_base(facts)
    before = gather(Bundle(older.items), older.config) if older else None
    return admission_policies.verdicts(facts, severity, judging.raw, before)


def _without_surroundings(outcome: Outcome, facts: BundleFacts, own: int) -> Outcome:
    """The outcome without objects of other targets and findings about them, and with the external objects that were found."""
    from krm_fn.pipeline import surroundings

    bundle = facts.bundle
    return outcome.but(
        items=surroundings.without_context(outcome.items, facts.surroundings, own),
        findings=tuple(surroundings.own(outcome.findings, bundle)),
        ignored=tuple(each for each in outcome.ignored if not bundle.is_context(each.finding.item)),
        off=tuple(surroundings.own(outcome.off, bundle)),
        external=surroundings.external_refs(facts),
    )


def _without_off(settings: Config) -> dict[str, str]:
    """The severities of a config without those that turn a rule off."""
    return {rule: level for rule, level in settings.severity.items() if level != "off"}


def _is_off(finding: Finding, settings: Config) -> bool:
    return settings.severity.get(finding.rule) == "off"


def _roots(found: list[Finding], facts: BundleFacts, *, following: bool) -> list[Finding]:
    """The findings without those that follow from others; all findings with `following`."""
    validating = facts.config.mode == "validate"
    if following or len(found) < (1 if validating else 2):  # one may follow from a placeholder
        return found
    from krm_fn.pipeline import consequences  # most runs find nothing

    objects = {(entry.item, entry.path): entry.obj for entry in facts.bundle.entries} if validating else {}
    return consequences.roots(found, facts.vms, objects)


def _found(
    facts: BundleFacts, instances: Instances | None, schemas: Sequence[Object], severity: Mapping[str, str], judging: Judging
) -> Iterator[Finding]:
    limit = InAll(len(facts.bundle.entries))
    sound = {(vm.entry.item, vm.entry.path) for vm in facts.vms if vm.sound}
    handed_on = facts.config.mode in modes.HANDING_ON
    scope = {"complete": instances is not None, "handed_on": handed_on, "definitions": judging.definitions}
    flawed = schema.examine(facts.bundle, facts.release, **scope, schemas=schemas, sound=sound)
    # the family `schema` counts the flaws itself
    of_schema = (finding for each in flawed for finding in _judged("schema", each, severity, limit))
    yield from limit.first(chain(of_schema, limited(_of_other_families(facts, instances, severity, limit))))
    yield from limit.left_out()


def _judged(family: str, facts: Any, severity: Mapping[str, str], limit: InAll) -> Iterator[Finding]:
    """The findings of a family about one object."""
    if facts.troubled:
        from krm_fn.rules import registry  # most runs find nothing

        yield from registry.judge(family, facts, severity, limit)


def _of_other_families(
    facts: BundleFacts, instances: Instances | None, severity: Mapping[str, str], limit: InAll
) -> Iterator[Finding]:
    """The findings of all families except `schema`."""
    for vm in facts.vms:
        yield from _judged("vm", vm, severity, limit)
    for presets in (*(vm.presets for vm in facts.vms), *(instance.presets for instance in facts.instances)):
        if presets:
            yield from _judged("preset", presets, severity, limit)
    if any_speaks(facts):
        from krm_fn.rules import registry  # most runs find nothing

        yield from registry.judge_bundle(facts, severity)
    if instances:
        from krm_fn.pipeline import linting  # rendering needs neither
        from krm_fn.pipeline import refusals as webhooks  # a large part of the program
        from krm_fn.rules import registry

        refusals = tuple(_refusals(facts))
        for refused in refusals:
            yield from _judged("admission", refused, severity, limit)
        gated = tuple(refused for refused in refusals if refused.gated)
        facts = linting.completed(facts.but(faults=webhooks.faults(facts, refusals), gated=gated), instances, refusals)
        yield from registry.judge_bundle(facts, severity, "lint")


def _refusals(facts: BundleFacts) -> Iterable[AdmissionFacts]:
    from krm_fn.pipeline import refusals

    found = refusals.examine(facts)
    if facts.surroundings is NO_SURROUNDINGS and not any(vm.resolution.errors for vm in facts.vms):
        return found
    from krm_fn.pipeline import surroundings

    return surroundings.certain(found, facts)


def _silenced(found: list[Finding], facts: BundleFacts, *, effective: bool) -> tuple[list[Finding], tuple[Suppressed, ...]]:
    """The findings that count, including those about ignores, and the findings that are ignored.

    `effective`: ignores have an effect.
    """
    if not any(annotations_of(entry.obj).get(IGNORE) is not None for entry in facts.remaining):
        return found, ()
    from krm_fn.pipeline import ignores  # needed only if there is an ignore

    return ignores.silenced(found, facts, effective=effective)
