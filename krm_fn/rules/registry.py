"""Rules turn facts into findings. Only they word messages and choose severities.

A rule is one module in a family (a package below this one), named after the defect it finds:

    \"\"\"Title in one line.

    What it finds: ...
    Why it matters: ...
    Fix: ...
    Example: ...
    \"\"\"

    @rule(severity="error", upstream="pkg/instancetype/conflict/conflicts.go:Conflict")
    def instancetype_conflict(facts: VmFacts) -> Iterator[Hit]:
        for conflict in facts.expansion.conflicts:
            yield Hit(message=..., path=conflict.path, current=conflict.current, upstream="admission")

The function has the module's name; the id is the same name with dashes. In the family `admission` a rule is a text. Families:

    vm         facts of one VM that can't be rendered as it is; modules are loaded only when a VM has a problem
    preset     facts of the presets of one instance; modules are loaded only when there is a problem
    schema     flaws of one object against the API of the release; in modes other than `validate` only fields it lacks
    bundle     facts of the bundle, in every mode: what makes rendering fail, or give another result than intended
    admission  causes for which KubeVirt's webhooks refuse an object, in mode `validate` only
    lint       facts of the bundle, in mode `validate` only: what KubeVirt's webhooks don't see
    ignore     facts of the annotations that silence rules; this family runs after all others
    baseline   facts of the command's list of known findings
    input      facts of the documents that the command couldn't read
    repository facts of the config of a whole repository
    migration  facts of what `migrate` rewrites, and of nothing else
"""

from __future__ import annotations

import sys

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Mapping
from krm_fn.base.bundle import Entry
from krm_fn.base.console import one_line
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import Path, dotted
from krm_fn.base.redaction import reach, redact_at, safe_message, shown_path
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding, Related
from krm_fn.findings.limits import InAll
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.ignores import BaselineFacts, IgnoreFacts
from krm_fn.rules.facts.inputs import InputFacts, RepositoryFacts
from krm_fn.rules.facts.migrations import MigrationFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.needs import PACKAGE, modules, relevant_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.facts import PresetFacts
OfBundle = BundleFacts | IgnoreFacts | BaselineFacts | InputFacts | MigrationFacts | RepositoryFacts


FAMILIES = ("admission", "baseline", "bundle", "ignore", "input", "lint", "migration", "preset", "repository", "schema", "vm")
# Families that no annotation silences: they check what silences other rules, or a migration that runs once.
UNSILENCED = ("ignore", "baseline", "input", "migration", "repository")

# The ids of users' own rules and policies have a slash: FAMILY/NAME. The family of policies is POLICY. None has a page of ours.
OWN, POLICY = "/", "policy"
NAMED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")

# `Rule.certain`.
NEVER, CASE, ALWAYS = "", "case", "always"


class Hit(Value):
    """What a rule yields: a Finding without what the runner adds. `path` starts at the VM's root (family `vm`) or at the
    root of `about`, the object that the hit is about (required in the family `bundle`). `severity` overrides the rule's own.
    `related` are other paths that the message names, made with `also`.
    """

    message: str
    path: Path = ()
    current: Any = UNSET
    proposed: Any = UNSET
    upstream: str = ""
    upstream_path: str = ""
    about: Entry | None = None
    severity: str = ""
    related: tuple[Related, ...] = ()


class Rule(Value):
    """A rule as it was declared: `check` yields Hits from the facts of its family, `documentation` has its parts.

    `worst` is the highest severity of its Hits. `on_demand`: the rule is off unless the config gives it a severity. `unless`
    names a rule of that kind; while that one is on, this one is off. `certain` says when the proposed value of a finding is
    surely the one that is meant, so that it may be written without a question: ALWAYS, CASE (only where it differs from the
    wrong one in upper and lower case alone), or NEVER.
    """

    id: str
    family: str
    severity: str
    worst: str
    upstream: str
    since: Version
    until: Version
    documentation: str
    check: Callable[[Any], Iterable[Hit]]
    on_demand: bool = False
    unless: str = ""
    certain: str = NEVER

    def applies(self, release: Release, severity: Mapping[str, str]) -> bool:
        """True where it applies to the release and is not off. `severity` maps rule ids to severities, or "off"."""
        level = severity.get(self.id, "off" if self.on_demand else self.severity)
        if self.unless and severity.get(self.unless, "off") != "off":
            return False
        return level != "off" and release.within(since=self.since, until=self.until)


def rule(
    *,
    severity: str,
    worst: str = "",
    upstream: str = "",
    since: Version = (),
    until: Version = (),
    on_demand: bool = False,
    unless: str = "",
    certain: str = NEVER,
) -> Callable[[Callable[[Any], Iterable[Hit]]], Rule]:
    """Declare the decorated generator a rule; `upstream` is the function in KubeVirt's source that refuses the same.

    `worst` is needed where some of its Hits are more severe than `severity`.
    """

    def declare(check: Callable[[Any], Iterable[Hit]]) -> Rule:
        *_, family, name = ("", *check.__module__.split("."))
        return Rule(
            id=name.replace("_", "-"),
            family=family,
            severity=severity,
            worst=worst or severity,
            upstream=upstream,
            since=since,
            until=until,
            documentation=check.__globals__["__doc__"] or "",
            check=check,
            on_demand=on_demand,
            unless=unless,
            certain=certain,
        )

    return declare


_loaded: dict[str, tuple[Rule, ...]] = {}


def load(family: str) -> tuple[Rule, ...]:
    """The rules of a family, sorted by id; its modules are found by listing the package's folder."""
    if family not in _loaded:
        _loaded[family] = tuple(_declared(family, name) for name in modules(family))
    return _loaded[family]


def ids() -> dict[str, str]:
    """The id of every rule with its family; loads none of them."""
    return {module.replace("_", "-"): family for family in FAMILIES for module in modules(family)}


def declared(rule: str) -> Rule:
    """A rule by its id; loads the rules of its family only. Raises: KeyError for an id that no rule has."""
    if OWN in rule:
        return _own(rule)
    return next(each for each in load(ids()[rule]) if each.id == rule)


def _own(rule: str) -> Rule:
    """A user's rule by its id; one that stands for it if it is a policy, or if its package is not loaded here."""
    packages = sys.modules.get(f"{PACKAGE}.packages")
    family, _, name = rule.partition(OWN)
    return (packages and packages.loaded(rule)) or policy_rule(name, family=family)


def policy_rule(name: str, severity: str = "error", family: str = POLICY) -> Rule:
    """The rule that stands for a user's policy. A name that no policy in a cluster has may hold commands and markup."""
    name = "".join(each if each in NAMED else "_" for each in name)
    return Rule(
        id=f"{family}{OWN}{name}",
        family=family,
        severity=severity,
        worst=severity,
        upstream="",
        since=(),
        until=(),
        documentation=f"The {'policy' if family == POLICY else 'rule'} {name}.",
        check=lambda _: (),
    )


def all_rules() -> dict[str, Rule]:
    """All rules by their ids, sorted; loads their modules."""
    found = {rule.id: rule for family in FAMILIES for rule in load(family)}
    return dict(sorted(found.items()))


def _declared(family: str, name: str) -> Rule:
    """A rule by its name: from the module of that name, or as its family declares it."""
    if (family, name) not in _known:
        package, module = _imported(f"{PACKAGE}.{family}"), f"{PACKAGE}.{family}.{name}"
        _known[family, name] = package.declared(name) if hasattr(package, "declared") else getattr(_imported(module), name)
    return _known[family, name]


# The rules that were looked up: a repository has thousands of bundles.
_known: dict[tuple[str, str], Rule] = {}


def _imported(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def judge(
    family: str,
    facts: VmFacts | PresetFacts | ObjectFacts | AdmissionFacts,
    severity: Mapping[str, str],
    limit: InAll | None = None,
) -> Iterator[Finding]:
    """The findings of a family about one object. `severity` maps rule ids to severities, or "off".

    Rules with too many findings for `limit` are not run.
    """
    if facts.troubled:
        for declared in load(family):
            if limit and limit.is_full(declared.id, severity.get(declared.id) or declared.worst):
                continue
            for hit in _hits(declared, facts, facts.release, severity):
                inside = facts.prefix and hit.path and hit.about is None
                placed = hit.but(path=(*facts.prefix, *hit.path)) if inside else hit
                if facts.prefix and family == "vm" and hit.upstream == "admission":
                    placed = placed.but(upstream="", upstream_path="")  # the pool is admitted, but its VMs are not
                yield finding_of(declared, placed, hit.about or facts.entry, severity)


def judge_bundle(facts: OfBundle, severity: Mapping[str, str], family: str = "bundle") -> Iterator[Finding]:
    """The findings of a family about the bundle."""
    for declared in _relevant(family, facts):
        yield from judge_rule(declared, facts, severity)


def judge_rule(declared: Rule, facts: OfBundle, severity: Mapping[str, str]) -> Iterator[Finding]:
    """The findings of one rule about the bundle."""
    for hit in _hits(declared, facts, facts.release, severity):
        yield finding_of(declared, hit, hit.about, severity)


def _relevant(family: str, facts: Any) -> Iterator[Rule]:
    """The rules of a family that can find something, sorted by id; the others are not loaded."""
    needs = getattr(_imported(f"{PACKAGE}.{family}"), "NEEDS", {})
    return (_declared(family, name) for name in relevant_modules(family, needs, facts))


def _hits(
    declared: Rule,
    facts: VmFacts | PresetFacts | ObjectFacts | AdmissionFacts | OfBundle,
    release: Release,
    severity: Mapping[str, str],
) -> Iterable[Hit]:
    return declared.check(facts) if declared.applies(release, severity) else ()


def finding_of(declared: Rule, hit: Hit, about: Entry | None, severity: Mapping[str, str]) -> Finding:
    """The finding of a hit, without secret values."""
    obj = about.obj if about else None
    reached = reach(hit.path, obj)
    is_shown = reached.shown == hit.path
    return Finding(
        rule=declared.id,
        severity=severity.get(declared.id) or hit.severity or declared.severity,
        message=safe_message(one_line(hit.message), hit.path, reached, obj),  # a name may hold line breaks
        ref=ref_of(obj) if obj is not None else None,
        path=reached.shown,
        deeper=() if is_shown else hit.path[len(reached.shown) :],
        current=hit.current if hit.current is UNSET else redact_at(hit.current, reached.place),
        proposed=hit.proposed if hit.proposed is UNSET else redact_at(hit.proposed, reached.place),
        upstream=hit.upstream,
        upstream_path=hit.upstream_path if is_shown else "",
        item=about.item if about else -1,
        inside=about.path if about else (),
        related=hit.related,
    )


def also(entry: Entry | None, path: Path) -> tuple[Related, ...]:
    """The path in another object of the bundle, for `Hit.related`; () where the object is not in the bundle."""
    if entry is None:
        return ()
    shown = reach(path, entry.obj).shown
    return (Related(ref=ref_of(entry.obj), path=shown, deeper=path[len(shown) :], item=entry.item, inside=entry.path),)


def path_text(path: Path) -> str:
    """A path as messages show it, without the keys below a secret one."""
    return dotted(shown_path(path))
