"""An ignore that silences nothing.

What it finds: an annotation `kubevirt-render.dev/ignore` that names a rule which doesn't exist or can't be silenced, that gives
no reason, or that is no text.

Why it matters: whoever wrote it believes that a finding is dealt with. A misspelt rule silences nothing, and an ignore without
a reason tells the next reader nothing, so it isn't honoured either.

Fix: write `RULE,RULE: REASON`, with ids as `kubevirt-render rules` lists them; several ignores stand on lines of their own.

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

from krm_fn.base.objects import IGNORE
from krm_fn.base.suggestions import meant
from krm_fn.base.wording import show
from krm_fn.findings.limits import counted, first
from krm_fn.rules.registry import UNSILENCED, Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import Ignore, IgnoreFacts

PATH = ("metadata", "annotations", IGNORE)


@rule(severity="warning")
def bad_ignore(facts: IgnoreFacts) -> Iterator[Hit]:
    for entry, value in facts.misshapen:
        yield Hit(
            message=f"an ignore is text, not {show(value, PATH)}; write RULE: REASON", path=PATH, current=value, about=entry
        )
    for (ignore, named), more in first(_bad(facts), lambda bad: id(bad[0].entry)):
        message = counted(_problem(ignore, named, facts.families), more)
        yield Hit(message=message, path=PATH, current=ignore.annotation, about=ignore.entry)


def _bad(facts: IgnoreFacts) -> Iterator[tuple[Ignore, str]]:
    """The ignores with which something is wrong: with the rule that can't be ignored, "" where it is the ignore itself."""
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
        return f"{named} is no rule; {f'did you mean {likely}' if likely else '`kubevirt-render rules` lists them'}"
    if ignore.rules:
        listed = ", ".join(ignore.rules)
        return f"the ignore of {listed} gives no reason, so it silences nothing; write {listed}: REASON"
    return "the ignore names no rule; write RULE: REASON"
