"""An ignore annotation silences nothing.

What it finds: an annotation `kubevirt-render.dev/ignore` that names a rule which does not exist or can't be silenced, that
gives no reason, or that is not a string.

Why it matters: its author believes that the finding is handled. A misspelt rule silences nothing. An ignore without a reason
explains nothing to the next reader, so it has no effect either.

Fix: write `RULE,RULE: REASON`, with ids from the list of `kubevirt-render rules`. Write each ignore on its own line.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata:
      name: web
      annotations:
        kubevirt-render.dev/ignore: "instancetype-conflct: moves to u1.large next month"
    spec:
      instancetype: {name: u1.medium}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import IGNORE
from krm_fn.base.suggestions import meant
from krm_fn.base.wording import show
from krm_fn.findings.limits import counted, first
from krm_fn.rules.facts.ignores import Ignore, IgnoreFacts
from krm_fn.rules.registry import UNSILENCED, Hit, rule

PATH = ("metadata", "annotations", IGNORE)


@rule(severity="warning")
def bad_ignore(facts: IgnoreFacts) -> Iterator[Hit]:
    for entry, value in facts.misshapen:
        yield Hit(
            message=f"the ignore is {show(value, PATH)}, expected a string; write RULE: REASON",
            path=PATH,
            current=value,
            about=entry,
        )
    for (ignore, named), more in first(_bad(facts), lambda bad: id(bad[0].entry)):
        message = counted(_problem(ignore, named, facts.families), more)
        yield Hit(message=message, path=PATH, current=ignore.annotation, about=ignore.entry)


def _bad(facts: IgnoreFacts) -> Iterator[tuple[Ignore, str]]:
    """The invalid ignores, each with the rule that can't be ignored, or "" where the ignore itself is invalid."""
    for ignore in facts.ignores:
        if not ignore.rules or not ignore.reason:
            yield ignore, ""
        for each in ignore.rules:
            if facts.families.get(each, UNSILENCED[0]) in UNSILENCED:
                yield ignore, each


def _problem(ignore: Ignore, named: str, families: dict[str, str]) -> str:
    if named in families:
        return f"{named} can't be silenced by an annotation; set its severity in the config"
    if named:
        likely = meant(named, tuple(families))
        return f"{named} is not a rule; {f'did you mean {likely}' if likely else '`kubevirt-render rules` lists all rules'}"
    if ignore.rules:
        listed = ", ".join(ignore.rules)
        return f"the ignore of {listed} gives no reason, so it has no effect; write {listed}: REASON"
    return "the ignore names no rule; write RULE: REASON"
