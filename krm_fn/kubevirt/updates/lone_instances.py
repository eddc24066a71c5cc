"""Instances that no VM owns: what an update of one comes to, and what a template makes of one.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-update-admitter.go:Admit
"""

from __future__ import annotations

from krm_fn.base.objects import Object, labels_of, metadata
from krm_fn.base.paths import as_map, copy, get
from krm_fn.kubevirt.admission.causes import Cause
from krm_fn.kubevirt.admission.fields.metadata import RESERVED_LABELS
from krm_fn.kubevirt.instance import complete
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.kubevirt.presets import apply_presets
from krm_fn.kubevirt.updates.applying import applied
from krm_fn.kubevirt.updates.machine import Running, World
from krm_fn.kubevirt.updates.paths_of_change import ENTRY, compared
from krm_fn.kubevirt.updates.starting import Start, running_of
from krm_fn.kubevirt.updates.stored_form import stored_spec

INSTANCE = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance"}

FIXED = "the spec of an instance cannot be changed; delete the instance and create it again, or use a VirtualMachine"
RESERVED = "the label is reserved for KubeVirt; keep it as it is"


def made_from(template: Object, name: str, namespace: str, world: World) -> Running | None:
    """The instance that is made of a template with metadata and spec, None where presets refuse it or it has no domain."""
    meta = {**metadata(template), "name": name, "namespace": namespace}
    given = {**template, **INSTANCE, "metadata": meta}
    if not isinstance(get(given, ("spec", "domain")), dict):
        return None
    made = given
    if world.presets:
        found = apply_presets(given, world.presets, release=world.release, namespace=namespace)
        if found.refused:
            return None
        made = found.instance
    completed = copy(made)
    complete(completed, world.cluster, world.release)
    return running_of(completed)


def start_of(template: Object, name: str, namespace: str, world: World) -> Start:
    """What a template makes, or why no instance starts."""
    made = made_from(template, name, namespace, world)
    if made is None:
        return Start(running=None, error="presets conflict with the instance, or it has no domain")
    instance = {**INSTANCE, "metadata": {"name": name, "namespace": namespace}, "spec": made.spec}
    causes = [cause for cause in start_causes(instance, cluster=world.cluster, release=world.release) if cause.sure]
    return Start(running=None, error=causes[0].message) if causes else Start(running=made)


def update_causes(old: Object, new: Object, live: Running, *, apply: bool) -> tuple[Cause, ...]:
    """Why KubeVirt refuses the update of an instance that runs, from one manifest to another; () where it lets it pass.

    An instance has defaults that no manifest names, so that a manifest which replaces the old one changes the spec, too.
    """
    before, after = (stored_spec(as_map(each.get("spec"))) for each in (old, new))
    edits = compared(before, after)
    sent = applied({"spec": before}, {"spec": after}, {"spec": live.spec}) if apply else {"spec": after}
    if edits and sent and stored_spec(sent["spec"]) != live.spec:
        return tuple(Cause(path=("spec", *_shown(each.steps)), message=FIXED) for each in edits)
    labels = (labels_of(each) for each in (old, new))
    had, has = ({key: each[key] for key in RESERVED_LABELS & each.keys()} for each in labels)
    keys = sorted(key for key in {*had, *has} if had.get(key) != has.get(key))
    return tuple(Cause(path=("metadata", "labels", key), message=RESERVED) for key in keys)


def _shown(steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The steps to a difference, without those inside a list, of whose entries the places are not known."""
    return steps[: steps.index(ENTRY)] if ENTRY in steps else steps
