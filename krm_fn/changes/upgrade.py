"""An upgrade of KubeVirt, one minor release after the other: what happens at which step."""

from __future__ import annotations

from itertools import pairwise

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.changes.diffing import compare_all
from krm_fn.changes.opened_gates import OPENED
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side, side
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.releases import MINORS, Release, parse
from krm_fn.pipeline import stages
from krm_fn.sizing.schema import TEXT, TEXTS

Sides = tuple[str, Side, Side]
Named = tuple[str, Side]


# The rules whose findings the records tell, with the gates that are opened.
OF_GATES = ("missing-resource-injector",)


class UpgradeStep(Value):
    """One step: both releases, and the targets that take it, each with its name and its side before the upgrade."""

    old: Release
    new: Release
    targets: tuple[Named, ...]


class ShownFinding(Value):
    """A finding of `check` in a target, and how it is shown."""

    target: str
    finding: Finding
    shown: Object

    def is_about_the_same_as(self, other: ShownFinding) -> bool:
        """True for a finding of the same rule about the same object, at a place around or below."""
        one, another = self.finding, other.finding
        if (self.target, one.rule, one.severity, one.ref) != (other.target, another.rule, another.severity, another.ref):
            return False
        return all(step == beside for step, beside in zip(one.path, another.path, strict=False))


TYPE_CHECKING = False
if TYPE_CHECKING:
    Findings = dict[tuple[str, str], ShownFinding]  # by target and fingerprint


def route(start: Release, end: Release) -> tuple[Release, ...]:
    """The releases of an upgrade: the newest patch release of each minor release between start and end, and both ends."""
    minors = (parse(minor) for minor in MINORS)
    between = (each for each in minors if start.version[:2] < each.version[:2] < end.version[:2])
    return (start, *between, end) if start != end else (start,)


def steps(targets: Sequence[Sides], assumptions: Assumptions) -> list[Object]:
    """What happens at each step of the upgrade, in order. Each target has its name and both sides, with the same objects.

    A step has `from` and `to`, the answer of `diff` about the VMs that exist (`vms`, `summary`) and about new ones (`newVms`),
    the `findings` of `check` that are new and gone, and the names of the `catalogue` that are gone, added or changed.
    """
    return [_told(step, assumptions) for step in _steps(targets)]


def _steps(targets: Sequence[Sides]) -> Iterator[UpgradeStep]:
    taking: dict[tuple[Release, Release], list[Named]] = {}
    for name, base, head in targets:
        releases = route(base.analysis.release, head.analysis.release)
        for pair in pairwise(releases):
            taking.setdefault(pair, []).append((name, base))
    for old, new in sorted(taking, key=lambda pair: [release.version for release in pair]):
        yield UpgradeStep(old=old, new=new, targets=tuple(taking[old, new]))


def _told(step: UpgradeStep, assumptions: Assumptions) -> Object:
    pairs = [(name, _at(base, step.old), _at(base, step.new)) for name, base in step.targets]
    answer = compare_all(pairs, assumptions)
    findings = _new_and_gone(_findings(pairs, 1), _findings(pairs, 2))
    builtin = any(base.analysis.settings.catalogue == "builtin" for _, base in step.targets)
    return {
        "from": str(step.old),
        "to": str(step.new),
        "vms": answer["vms"],
        "newVms": [each for each in compare_all(pairs, assumptions.but(new=True))["vms"] if each["effect"] != [OPENED]],
        "summary": answer["summary"],
        "findings": findings,
        "catalogue": catalogue_changes(step.old, step.new) if builtin else {"gone": [], "added": [], "changed": []},
    }


def _at(given: Side, release: Release) -> Side:
    """A side under another release."""
    items = [entry.obj for entry in given.analysis.bundle.entries]
    return side(items, given.analysis.settings.but(release=release))


def _findings(pairs: Sequence[Sides], number: int) -> Findings:
    """The findings of `check` on one side of all targets, by target and fingerprint."""
    found: Findings = {}
    for pair in pairs:
        name, analysis = pair[0], (pair[1] if number == 1 else pair[2]).analysis
        items = [entry.obj for entry in analysis.bundle.entries]
        outcome = stages.render(items, analysis.settings.but(mode="validate"))
        for each in fingerprints.printed([each for each in outcome.findings if each.rule not in OF_GATES]):
            named = {"target": name} if name else {}
            shown = {**named, "line": results.line(each), "rule": each.rule, "severity": each.severity}
            found[name, each.fingerprint] = ShownFinding(target=name, finding=each, shown=shown)
    return found


def _new_and_gone(before: Findings, after: Findings) -> Object:
    """The findings of each side that the other does not have, without pairs that say the same of places one in the other."""
    new, gone = _only(after, before), _only(before, after)
    for each in list(new):
        same = next((other for other in gone if each.is_about_the_same_as(other)), None)
        if same:
            new.remove(each)
            gone.remove(same)
    return {"new": [each.shown for each in new], "gone": [each.shown for each in gone]}


def _only(one: Findings, other: Findings) -> list[ShownFinding]:
    """The findings of one side that the other does not have.

    Findings with the same line are the same. Others are if they have one fingerprint: a release may word a finding anew.
    """
    lines = _lines(one), _lines(other)
    worded_anew = {key for key, each in other.items() if (key[0], each.shown["line"]) not in lines[0]}
    return [each for key, each in one.items() if (key[0], each.shown["line"]) not in lines[1] and key not in worded_anew]


def _lines(found: Findings) -> set[tuple[str, str]]:
    return {(name, each.shown["line"]) for (name, _), each in found.items()}


def catalogue_changes(old: Release, new: Release) -> Object:
    """The cluster instancetypes and preferences that are gone, added, or have another spec: `Kind name`, by kind and name."""
    before, after = catalogue.of(old), catalogue.of(new)
    changes: dict[str, list[str]] = {"gone": [], "added": [], "changed": []}
    for kind in catalogue.KINDS:
        for name in catalogue.names(kind):
            was, now = before.run(kind, name), after.run(kind, name)
            if was and not now:
                changes["gone"].append(f"{kind} {name}")
            elif now and not was:
                changes["added"].append(f"{kind} {name}")
            elif was and now and was.form != now.form:
                changes["changed"].append(f"{kind} {name}")
    return changes


def steps_schema(summary: Object) -> Object:
    """The steps of an upgrade; `summary` is the schema of the figures."""
    vms = {"type": "array", "items": {"$ref": "#/$defs/vm"}}
    finding = _object({"target": TEXT, "line": TEXT, "rule": TEXT, "severity": {"enum": ["error", "warning", "info"]}})
    finding["required"] = ["line", "rule", "severity"]
    step = _object(
        {
            "from": {**TEXT, "description": "the release before the step"},
            "to": {**TEXT, "description": "the release after the step"},
            "vms": {**vms, "description": "what the step does to the VMs that exist"},
            "newVms": {**vms, "description": "what new VMs start as before and after the step"},
            "summary": summary,
            "findings": _object({key: {"type": "array", "items": finding} for key in ("new", "gone")}),
            "catalogue": _object(dict.fromkeys(("gone", "added", "changed"), TEXTS)),
        }
    )
    about = "the steps of an upgrade; only with --to-kubevirt-version and without a second side"
    return {"type": "array", "items": step, "description": about}


def _object(properties: Object) -> Object:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(properties)}
