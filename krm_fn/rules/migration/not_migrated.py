"""An outdated part can't be migrated automatically.

What it finds: when migrating, an object or a field that has no counterpart in the release, or whose counterpart would mean
something else for a VM in the input: a flavor without memory, a preset that sets what no instancetype and no preference can
set, a removed field without a replacement, two objects that would get the same name. It also reports a preset that stays and
that the release refuses, such as one without `domain.devices`.

Why it matters: the migration does not change this part. If the release does not serve it, the cluster refuses it.

Fix: do what the message says; then run `kubevirt-render migrate` again.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: guarded}
    spec:
      selector: {matchLabels: {app: web}}
      domain: {devices: {watchdog: {name: dog, i6300esb: {action: reset}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, MISSING, UNKNOWN
from krm_fn.rules.facts.migrations import Leftover, MigrationFacts
from krm_fn.rules.registry import Hit, path_text, rule


@rule(severity="warning")
def not_migrated(facts: MigrationFacts) -> Iterator[Hit]:
    for left in facts.leftovers:
        if left.reason in WORDINGS:
            message = WORDINGS[left.reason](left, dict(left.detail))
            yield Hit(message=message, path=left.path, current=left.current, about=left.entry)


def _running(left: Leftover, more: dict[str, Any]) -> str:
    if more["strategy"] is not None:
        strategy = show(more["strategy"], left.path)
        return f"running and runStrategy: {strategy} are both set, which no release accepts; remove running"
    return f"running is {show(left.current, left.path)}, expected a boolean; write runStrategy: Always or Halted"


def _removed(left: Leftover, more: dict[str, Any]) -> str:
    return f"KubeVirt {more['gone']} removed {left.path[-1]}; write {more['instead']}"


def _taken(left: Leftover, more: dict[str, Any]) -> str:
    name = show(left.current, left.path)
    return f"another {more['kind']} already has the name {name}; rename one, and change the references to it"


def _flavor_taken(_: Leftover, more: dict[str, Any]) -> str:
    return f"{more['flavor']} can't become an instancetype, because one of that name exists; choose one, and refer to it"


def _secure_boot(_: Leftover, _more: dict[str, Any]) -> str:
    return (
        "preferredUseSecureBoot also applies to VMs that choose EFI themselves, and preferredEfi does not; "
        "set secureBoot in those VMs, and write preferredEfi"
    )


def _conflict(left: Leftover, more: dict[str, Any]) -> str:
    return f"{more['flavor']} is now an instancetype, and a VM with one must not set {path_text(left.path[-2:])}; remove it"


def _preset(why: str) -> Callable[[Leftover, dict[str, Any]], str]:
    def worded(_: Leftover, more: dict[str, Any]) -> str:
        return f"the preset is not migrated: {why.format(**more)}"

    return worded


def _preset_field(left: Leftover, _: dict[str, Any]) -> str:
    return f"the preset is not migrated: no instancetype or preference can set {path_text(left.path[2:])}; set it in the VMs"


def _preset_refused(left: Leftover, more: dict[str, Any]) -> str:
    flaw, name = more["flaw"], left.path[-1]
    if flaw.kind == MISSING:
        least = "it" if flaw.proposed is UNSET else f"at least {name}: {show(flaw.proposed, flaw.path)}"
        why = f"{name} is missing; add {least}"
    elif flaw.kind in (UNKNOWN, ELSEWHERE):
        why = f"there is no field {name} here; remove it"
    else:
        why = f"{name} has a value that is not allowed; `kubevirt-render check` reports what is"
    return f"the preset is not migrated, and KubeVirt {more['release']} refuses it: {why}"


WORDINGS: dict[str, Callable[[Leftover, dict[str, Any]], str]] = {
    "running": _running,
    "removed-field": _removed,
    "no-successor": lambda left, _: f"nothing replaces {left.current}; remove it",
    "name-taken": _taken,
    "flavor-name-taken": _flavor_taken,
    "flavor-unresolved": lambda _left, _: (
        "the flavor is not found, or conflicts with the VM; `kubevirt-render check` reports why"
    ),
    "flavor-without-memory": lambda _left, _: (
        "an instancetype needs memory, which this flavor does not set: its values are now in the VMs of the input "
        "that referred to it; remove it, or add memory"
    ),
    "secure-boot": _secure_boot,
    "conflict": _conflict,
    "preset-field": _preset_field,
    "preset-refused": _preset_refused,
    "preset-topology": _preset("no preferred topology sets several sockets, cores and threads; set cpu in the VMs"),
    "preset-without-memory": _preset("an instancetype needs memory; add requests.memory, or set cpu in the VMs"),
    "preset-without-effect": _preset("it sets nothing that applies to a VM; remove it, or set its values in the instances"),
    "preset-without-name": _preset("it has no name that VMs can refer to; add one"),
    "preset-selector": _preset("its selector is not valid; correct it"),
    "preset-name-taken": _preset("an instancetype or preference of its name exists; rename it"),
    "preset-of-instances": _preset("it also matches {kind} {other}, which can't refer to an instancetype"),
    "preset-beside-matchers": _preset("it matches {kind} {other}, which already has an instancetype or a preference"),
    "preset-among-several": _preset("other presets also match {kind} {other}; merge them into one"),
    "preset-conflict": _preset("it matches {kind} {other}, which sets some of the same fields"),
}
