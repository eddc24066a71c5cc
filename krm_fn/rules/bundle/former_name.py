"""A reference uses a name that kustomize has changed.

What it finds: a VM, pool, DataVolume or label that refers to an object in the bundle by the name that it had before a
namePrefix, a nameSuffix, a replacement or a generator's hash. kustomize rewrites only the references that it knows, and it
knows none of KubeVirt's fields.

Why it matters: the cluster has only the new name, so the VM waits for an object that never appears. `check` of a folder builds
the kustomization, and there it is an error where the VM can't start. In the function it is a warning: the reference resolves
there, because kustomize keeps the earlier names until the build is done. A matcher does no harm if the same build renders the
VMs, because rendering removes it.

Fix: add the field to a file that the kustomization lists under `configurations`:

    nameReference:
    - kind: VirtualMachineInstancetype
      group: instancetype.kubevirt.io
      fieldSpecs: [{kind: VirtualMachine, path: spec/instancetype/name}]

`kustomization-examples/overlays-with-prefix/name-references.yaml` has all fields of KubeVirt, ready to copy. Don't write the
new name into the file: another overlay has another one. kustomize changes references after its functions, so a function
can't see whether the kustomization has the configuration. If it has, turn the rule off in the function's config.

For a generated Secret or ConfigMap, `generatorOptions: {disableNameSuffixHash: true}` also works.

In modes other than `validate` the rule checks only references to DataVolumes, claims, Secrets and the like, and matchers that
nothing resolves any more.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: lab-small, annotations: {internal.config.kubernetes.io/previousNames: small}}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: lab-web}
    spec:
      runStrategy: Always
      instancetype: {kind: VirtualMachineInstancetype, name: small}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Ref, kind_of, name_of
from krm_fn.base.paths import Path, get
from krm_fn.kubevirt.holders import holder_of
from krm_fn.rules.facts.bundles import RENAMED, BundleFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.available_objects import API_VERSIONS, available_objects
from krm_fn.rules.shared.labels import defaults
from krm_fn.rules.shared.object_references import missing

PULLING = "imagePullSecret"  # a pod starts without the Secret that it names


@rule(severity="warning", worst="error")
def former_name(facts: BundleFacts) -> Iterator[Hit]:
    if facts.config.mode == "validate":  # else matchers are rendered, and nothing reads the labels
        yield from _of_matchers(facts)
        yield from _of_labels(facts)
    for vm in facts.vms:
        yield from stopping(vm)
    yield from _of_objects(facts)


def stopping(vm: VmFacts) -> Iterator[Hit]:
    """The matchers of a VM that nothing can resolve any more."""
    for error in vm.resolution.errors:
        if error.reason == RENAMED and error.wanted:
            at, wanted = (*vm.prefix, "spec", error.matcher, "name"), error.wanted
            yield _hit(vm.entry, at, wanted.name, wanted, error.candidates[0], stops=True)


def _of_matchers(facts: BundleFacts) -> Iterator[Hit]:
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if found is None or found.origin != "bundle":
                continue
            path: Path = ("spec", matcher, "name")
            written = get(vm.vm, path)
            if isinstance(written, str) and written != found.ref.name:
                yield _hit(vm.entry, (*vm.prefix, *path), written, found.ref, found.ref.name)


def _of_labels(facts: BundleFacts) -> Iterator[Hit]:
    for default in defaults(facts.bundle):
        namespace = "" if "Cluster" in default.kind else effective_namespace(default.entry.obj)
        found = facts.bundle.find(default.kind, namespace, default.name) if default.kind else None
        if found and name_of(found.obj) != default.name:
            ref = Ref(api_version="", kind=default.kind, name=default.name, namespace=namespace)
            yield _hit(default.entry, default.path, default.name, ref, name_of(found.obj))


def _of_objects(facts: BundleFacts) -> Iterator[Hit]:
    there, beside = available_objects(facts.bundle), facts.surroundings
    judged = beside.affixes and facts.config.mode == "validate"  # else only what prevents rendering is an error
    for (kind, namespace, name, optional), references in missing(facts.bundle).items():
        now = "" if beside.is_external(kind, namespace, name) else there.now(kind, namespace, name)
        for reference in references if now else ():
            ref = Ref(api_version=API_VERSIONS[kind], kind=kind, name=name, namespace=namespace)
            stops = judged and not optional and holder_of(reference.owner.obj) and reference.path[-1] != PULLING
            yield _hit(reference.owner, reference.path, reference.written, ref, now, stops=bool(stops))


def _hit(owner: Entry, path: Path, written: str, ref: Ref, now: str, *, stops: bool = False) -> Hit:
    """`stops`: the VM can't start, since nothing changes the reference any more."""
    field = "/".join(step.replace("/", "\\/") for step in path if isinstance(step, str))
    fix = f"add a nameReference for {ref.kind} with the field {field} of {kind_of(owner.obj)} to the kustomization"
    return Hit(
        message=f"kustomize renamed {ref.kind} {written} to {now}, but not this reference to it; {fix}",
        path=path,
        current=written,
        about=owner,
        severity="error" if stops else "",
    )
