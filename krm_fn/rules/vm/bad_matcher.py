"""A matcher is incomplete or contradicts itself.

What it finds: a `spec.instancetype` or `spec.preference` with neither `name` nor `inferFromVolume`, with a name or a kind
beside `inferFromVolume`, with an `inferFromVolumeFailurePolicy` other than Ignore and Reject, or with a value of the wrong
type.

Why it matters: KubeVirt's webhook refuses the VM. KubeVirt writes the inferred name into the stored VM, so applying the
manifest a second time also leaves `inferFromVolume` beside a name.

Fix: keep either the name (with its kind) or `inferFromVolume`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium, inferFromVolume: root}
      template:
        spec:
          domain: {devices: {}}
          volumes: [{name: root, dataVolume: {name: web-root}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.wording import listed
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one


@rule(severity="error", upstream="pkg/instancetype/webhooks/vm/mutator.go:validateMatchers")
def bad_matcher(facts: VmFacts) -> Iterator[Hit]:
    for error in errors(facts, tuple(WORDINGS)):
        yield hit(error, WORDINGS[error.reason](error), the_one(error.candidates))


def _bad_shape(error: ResolutionError) -> str:
    if len(error.path) == 2:
        return f"{error.matcher} is {_type(error.current)}, expected a map; write {error.matcher}: {{name: NAME}}"
    return f"{error.path[-1]} is {_type(error.current)}, expected a string; write a string, or remove it"


def _type(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a map"}
    return names.get(type(value), "something else")


def _no_name(error: ResolutionError) -> str:
    return f"the {error.matcher} has neither name nor inferFromVolume; set one of them, or remove {error.matcher}"


def _name_and_inference(error: ResolutionError) -> str:
    return f"name and inferFromVolume: {detail(error, 'volume')} are both set; remove one of them"


def _kind_and_inference(error: ResolutionError) -> str:
    return f"kind is set beside inferFromVolume: {detail(error, 'volume')}, which determines the kind; remove kind"


def _bad_policy(error: ResolutionError) -> str:
    return f"{error.path[-1]} is {error.current or 'empty'}; use {listed(error.candidates)}"


WORDINGS: dict[str, Callable[[ResolutionError], str]] = {
    "bad-shape": _bad_shape,
    "no-name": _no_name,
    "name-and-inference": _name_and_inference,
    "kind-and-inference": _kind_and_inference,
    "bad-policy": _bad_policy,
}
