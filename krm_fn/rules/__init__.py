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

The function has the module's name; the id is the same name with dashes. Families:

    vm         facts of one VM that can't be rendered as it is; modules are loaded only when a VM has a problem
    preset     facts of the presets of one instance; modules are loaded only when there is a problem
    schema     flaws of one object against the API of the release; in modes other than `validate` only fields it lacks
    bundle     facts of the whole bundle, in every mode: what makes rendering fail, or give another result than intended
    admission  causes for which KubeVirt's webhooks refuse an object, in mode `validate` only
    lint       facts of the whole bundle, in mode `validate` only: what KubeVirt's webhooks don't see
    ignore     facts of the annotations that silence rules, judged after all other families
    baseline   facts of the command's list of known findings
    input      facts of the documents that the command couldn't read
    migration  facts of what `migrate` rewrites, and of nothing else
"""

from __future__ import annotations

import sys

from krm_fn.console import one_line
from krm_fn.findings import UNSET, Finding, Related
from krm_fn.paths import dotted
from krm_fn.redaction import HIDDEN, reach, redact, redact_at, safe_message, shown_path
from krm_fn.resource import ref_of
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping
    from typing import Any

    from krm_fn.bundle import Entry
    from krm_fn.cli.baseline import BaselineFacts
    from krm_fn.cli.salvage import InputFacts
    from krm_fn.facts import AdmissionFacts, BundleFacts, VmFacts
    from krm_fn.ignores import IgnoreFacts
    from krm_fn.limits import InAll
    from krm_fn.migrate.facts import MigrationFacts
    from krm_fn.paths import Path
    from krm_fn.presets.facts import PresetFacts
    from krm_fn.releases import Release, Version
    from krm_fn.schema import ObjectFacts


# Values in messages are cut to this length: the message must stay a line, and `currentValue` has the whole.
LONGEST_SHOWN = 60
# Families that no annotation silences: they judge what silences others, or a migration that is run once.
UNSILENCED = ("ignore", "baseline", "input", "migration")


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
    """A rule as it was declared: `check` yields Hits from the facts of its family.

    `worst` is the highest severity of its Hits. `on_demand`: the rule is off unless the config gives it a severity.
    """

    id: str
    family: str
    severity: str
    worst: str
    upstream: str
    since: Version
    until: Version
    module: str
    check: Callable[[Any], Iterable[Hit]]
    on_demand: bool = False

    def speaks(self, release: Release, severity: Mapping[str, str]) -> bool:
        """True where it applies to the release and is not off. `severity` maps rule ids to severities, or "off"."""
        level = severity.get(self.id, "off" if self.on_demand else self.severity)
        return level != "off" and release.within(since=self.since, until=self.until)


def rule(
    *,
    severity: str,
    worst: str = "",
    upstream: str = "",
    since: Version = (),
    until: Version = (),
    on_demand: bool = False,
) -> Callable[[Callable[[Any], Iterable[Hit]]], Rule]:
    """Declare the decorated generator a rule; `upstream` is the function in KubeVirt's source that refuses the same.

    `worst` is needed where some of its Hits are more severe than `severity`.
    """

    def declare(check: Callable[[Any], Iterable[Hit]]) -> Rule:
        _, _, family, name = check.__module__.rsplit(".", 3)
        return Rule(
            id=name.replace("_", "-"),
            family=family,
            severity=severity,
            worst=worst or severity,
            upstream=upstream,
            since=since,
            until=until,
            module=check.__module__,
            check=check,
            on_demand=on_demand,
        )

    return declare


_loaded: dict[str, tuple[Rule, ...]] = {}


def load(family: str) -> tuple[Rule, ...]:
    """The rules of a family, sorted by id; its modules are found by listing the package's folder."""
    if family not in _loaded:
        _loaded[family] = tuple(_declared(f"{__name__}.{family}.{name}", name) for name in _modules(family))
    return _loaded[family]


def _modules(family: str) -> list[str]:
    from os import listdir  # rendering does not need it where nothing is wrong

    folder = f"{__path__[0]}/{family}"
    return sorted({name.partition(".")[0] for name in listdir(folder)} - {"__init__", "__pycache__"})  # noqa: PTH208


def ids() -> dict[str, str]:
    """The id of every rule with its family; loads none of them."""
    from os import listdir

    here = listdir(__path__[0])  # noqa: PTH208
    families = sorted(name for name in here if "." not in name and not name.startswith("_"))
    return {module.replace("_", "-"): family for family in families for module in _modules(family)}


def _declared(module: str, name: str) -> Rule:
    __import__(module)
    found: Rule = getattr(sys.modules[module], name)
    return found


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
                yield _finding(declared, placed, hit.about or facts.entry, severity)


def judge_bundle(
    facts: BundleFacts | IgnoreFacts | BaselineFacts | InputFacts | MigrationFacts,
    severity: Mapping[str, str],
    family: str = "bundle",
    *,
    silent: Container[str] = (),
) -> Iterator[Finding]:
    """The findings of a family about the whole bundle. Rules whose modules are `silent` are known to find nothing."""
    for declared in _asked(family, facts, silent):
        for hit in _hits(declared, facts, facts.release, severity):
            yield _finding(declared, hit, hit.about, severity)


def _asked(family: str, facts: Any, silent: Container[str]) -> Iterator[Rule]:
    """The rules of a family that can find something, sorted by id; the others are not loaded."""
    package = f"{__name__}.{family}"
    __import__(package)
    needs = getattr(sys.modules[package], "NEEDS", None)
    for name in _modules(family) if needs is None else needs:
        if name not in silent and (needs is None or needs[name](facts)):
            yield _declared(f"{package}.{name}", name)


def _hits(
    declared: Rule,
    facts: VmFacts
    | PresetFacts
    | ObjectFacts
    | AdmissionFacts
    | BundleFacts
    | IgnoreFacts
    | BaselineFacts
    | InputFacts
    | MigrationFacts,
    release: Release,
    severity: Mapping[str, str],
) -> Iterable[Hit]:
    return declared.check(facts) if declared.speaks(release, severity) else ()


def _finding(declared: Rule, hit: Hit, about: Entry | None, severity: Mapping[str, str]) -> Finding:
    """The finding of a hit, without secret values."""
    obj = about.obj if about else None
    reached = reach(hit.path, obj)
    whole = reached.shown == hit.path
    return Finding(
        rule=declared.id,
        severity=severity.get(declared.id) or hit.severity or declared.severity,
        message=safe_message(one_line(hit.message), hit.path, reached, obj),  # a name may hold line breaks
        ref=ref_of(obj) if obj is not None else None,
        path=reached.shown,
        deeper=() if whole else hit.path[len(reached.shown) :],
        current=hit.current if hit.current is UNSET else redact_at(hit.current, reached.place),
        proposed=hit.proposed if hit.proposed is UNSET else redact_at(hit.proposed, reached.place),
        upstream=hit.upstream,
        upstream_path=hit.upstream_path if whole else "",
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


def show(value: object, path: Path = ()) -> str:
    """The value at `path` as messages show it: short flow text on one line, secrets redacted."""
    text = _flow(redact(_beginning(value, iter(range(LONGEST_SHOWN))), path))
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _beginning(value: Any, left: Iterator[int]) -> Any:
    """The value with only as many entries as `left` has; its kind is kept, because it identifies Secrets."""
    if isinstance(value, dict):
        kept = {key: _beginning(below, left) for (key, below), _ in zip(value.items(), left, strict=False)}
        return {**kept, "kind": value["kind"]} if isinstance(value.get("kind"), str) else kept
    if isinstance(value, list):
        return [_beginning(below, left) for below, _ in zip(value, left, strict=False)]
    return value


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if value == HIDDEN:
        return HIDDEN
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return " ".join(str(value).split()) if not isinstance(value, str) else repr(value)
