"""A VM does not meet a requirement of its preference.

What it finds: a preference that requires more vCPUs or memory than the instancetype has (or, without an instancetype, than
the VM's own domain has), or another architecture than the VM's. Without an instancetype, the preferred topology decides
which field of `domain.cpu` counts as vCPUs: a preference for cores counts `cores` only.

Why it matters: KubeVirt refuses such a VM. The guest would fail to install or to boot.

Fix: choose a larger instancetype, or set the required size or architecture.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: desktop}
    spec:
      instancetype: {name: u1.nano}     # 1 vCPU, 512Mi
      preference: {name: windows.11}    # requires 2 vCPUs and 4Gi
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get, is_set
from krm_fn.base.wording import brief
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import Unmet
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.parties import in_source, the_instancetype, the_preference, the_vm

REQUIRED = {"vcpus": "{} vCPUs", "memory": "{} of memory", "architecture": "the architecture {}"}


@rule(severity="error", upstream="pkg/instancetype/preference/requirements/checker.go:Check")
def unmet_requirement(facts: VmFacts) -> Iterator[Hit]:
    for unmet in facts.expansion.unmet if facts.expansion else ():
        if unmet.kind in REQUIRED:
            current = get(facts.vm, unmet.path)
            yield Hit(
                message=_message(unmet, facts),
                path=unmet.path,
                current=current if is_set(current) else UNSET,
                proposed=unmet.required if unmet.path[-1] in ("sockets", "cores", "threads", "architecture") else UNSET,
                upstream="admission",
                upstream_path=unmet.upstream_path,
                related=in_source(facts.resolution.preference, unmet.source_path),
            )


def _message(unmet: Unmet, facts: VmFacts) -> str:
    by_type = facts.resolution.instancetype is not None and unmet.kind != "architecture"
    holder = the_instancetype(facts) if by_type else the_vm(facts)
    required = REQUIRED[unmet.kind].format(brief(unmet.required))
    return (
        f"{the_preference(facts)} requires {required}, but {holder} has {brief(unmet.actual)}; {_fix(unmet, by_type=by_type)}"
    )


def _fix(unmet: Unmet, *, by_type: bool) -> str:
    if by_type:
        return "choose a larger instancetype"
    if unmet.kind == "architecture":
        return f"set architecture to {brief(unmet.required)}"
    counted = dict(unmet.detail).get("counted", ())
    verb, around = ("set", "cpu.") if counted and not unmet.actual else ("raise", "")  # 0: there is no block cpu yet
    fields = " and ".join(f"{around}{field}" for field in counted) or "domain.memory.guest"
    return f"{verb} {fields} {'until their product is' if len(counted) > 1 else 'to'} {brief(unmet.required)}"
