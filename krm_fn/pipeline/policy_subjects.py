"""What policies are evaluated on: objects as they are written, VMs as they are rendered, their instances and pods.

A VM may repeat an earlier one in all that policies read of it, rendered or started. Policies that say nothing of the first VM
say nothing of those that repeat it, so these need not be rendered and started. Two such VMs differ only in texts that
rendering and starting pass on unread (`equivalents`), and that no policy reads where they go.
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import LOCAL_CONFIG, Object, annotations_of, kind_of, labels_of, metadata, name_of
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.base.work import WORK
from krm_fn.config.schema_policies import INSTANCE, POD, RENDERED, WRITTEN
from krm_fn.kubevirt.holders import TEMPLATE, holder_of
from krm_fn.pipeline.analysis import VM
from krm_fn.pipeline.equivalents import DOMAIN, EACH, KEY, READINGS, TEXTS, Numbers, Reading, Row, compiled, dumped
from krm_fn.pipeline.facts import Wanted, every, gather
from krm_fn.policies import reads as reading
from krm_fn.policies.reads import Reads
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts


class PolicySubject(Value):
    """One value to evaluate. `entry` is the object that it comes from, `prefix` the path to the VM in that object.

    `state` is one of `config.schema_policies.STATES`. `template` is the path to metadata and spec of the instance.
    """

    entry: Entry
    state: str
    value: Any
    prefix: Path = ()
    template: Path = ()

    def place(self, path: Path) -> Path:
        """The path in the object as it is written, of a path in the value; that of the VM if there is no such path."""
        if self.state in (WRITTEN, RENDERED):
            return (*self.prefix, *path)
        if self.state == INSTANCE and path[:1] in (("spec",), ("metadata",)):
            return (*self.template, *path)
        return self.prefix


class Subjects:
    """The subjects of wanted objects, each sort made when it is first asked for. VMs that can't be rendered are left out."""

    def __init__(self, facts: BundleFacts, wanted: Wanted = every) -> None:
        self._facts, self._wanted = facts, wanted
        self._made: dict[str, tuple[PolicySubject, ...]] = {}
        self._started: BundleFacts | None = None
        self._labels: dict[str, Object] | None = None

    def on(self, state: str) -> tuple[PolicySubject, ...]:
        """The subjects of a state."""
        makers: dict[str, Callable[[], Iterator[PolicySubject]]] = {
            WRITTEN: self._written,
            RENDERED: self._rendered,
            INSTANCE: self._instances,
            POD: self._pods,
        }
        if state not in self._made:
            self._made[state] = tuple(makers[state]())
        return self._made[state]

    def namespace_labels(self, namespace: str) -> Object:
        """The labels of a namespace in the bundle; empty if the bundle does not have it."""
        if self._labels is None:
            named = self._facts.bundle.of_kind("Namespace", "")
            self._labels = {str(get(each.obj, ("metadata", "name"))): labels_of(each.obj) for each in named}
        return self._labels.get(namespace, {})

    def _written(self) -> Iterator[PolicySubject]:
        return (PolicySubject(entry=entry, state=WRITTEN, value=entry.obj) for entry in self._entries())

    def _entries(self) -> Iterator[Entry]:
        return filter(self._wanted, self._facts.bundle.entries)

    def _rendered(self) -> Iterator[PolicySubject]:
        facts = self._facts
        for vm in rendered_facts(facts, self._started, self._wanted).vms:
            if vm.rendered is not None and self._wanted(vm.entry):
                value = _pooled(vm.entry.obj, vm.rendered) if vm.prefix else vm.rendered
                yield PolicySubject(entry=vm.entry, state=RENDERED, value=value, prefix=vm.prefix)

    def unrendered(self) -> Iterator[PolicySubject]:
        """The objects that hold no VM, in the state RENDERED: as they are written, instances with their presets."""
        held = {id(vm.entry) for vm in self._facts.vms}
        with_presets = {id(each.entry): each.rendered for each in self._facts.instances}
        for entry in self._entries():
            if id(entry) not in held:
                yield PolicySubject(entry=entry, state=RENDERED, value=with_presets.get(id(entry), entry.obj))

    def _instances(self) -> Iterator[PolicySubject]:
        for vm in self._starting().vms:
            if vm.instance is not None:
                place = (*vm.prefix, *TEMPLATE)
                yield PolicySubject(
                    entry=vm.entry, state=INSTANCE, value=_as_stored(vm.instance), prefix=vm.prefix, template=place
                )
        yield from self._own_instances()

    def _own_instances(self) -> Iterator[PolicySubject]:
        """The instances that no VM makes: those that stand for themselves, and those of replica sets."""
        from krm_fn.pipeline.stopped import Instances

        instances = Instances(self._facts)
        for entry in self._entries():
            holder = holder_of(entry.obj)
            if holder and holder.is_served and holder.vm is None and isinstance(get(entry.obj, holder.instance), dict):
                instance = instances.with_presets(entry, holder)
                if instance is not None:
                    value = instances.completed(instance)
                    value["metadata"]["namespace"] = effective_namespace(entry.obj)
                    yield PolicySubject(entry=entry, state=INSTANCE, value=_as_stored(value), template=holder.template)

    def _pods(self) -> Iterator[PolicySubject]:
        for each in self.on(INSTANCE):
            pod = self._pod(each)
            if pod is not None:
                yield each.but(state=POD, value=pod)

    def _pod(self, subject: PolicySubject) -> Object | None:
        from krm_fn.kubevirt.pods import LaunchContext, PodError, launcher_pod

        facts, namespace = self._facts, effective_namespace(subject.entry.obj)
        around = LaunchContext(bundle=facts.bundle, cluster=facts.cluster, release=facts.release, namespace=namespace)
        try:
            return launcher_pod(subject.value, around)
        except PodError:
            return None  # the rules about the instance say why

    def _starting(self) -> BundleFacts:
        if self._started is None:
            self._started = _gathered(self._facts, "include", self._wanted)
        return self._started


def _pooled(pool: Object, vm: Object) -> Object:
    """The first VM that a pool makes of its template."""
    own = {"name": f"{name_of(pool)}-0", "namespace": effective_namespace(pool)}
    return {**vm, "apiVersion": "kubevirt.io/v1", "kind": VM, "metadata": {**metadata(vm), **own}}


def _as_stored(instance: Object) -> Object:
    """The instance without the mark that it is not to be applied."""
    annotations = {key: each for key, each in annotations_of(instance).items() if key != LOCAL_CONFIG}
    rest = {key: each for key, each in metadata(instance).items() if key != "annotations"}
    return {**instance, "metadata": {**rest, **({"annotations": annotations} if annotations else {})}}


def begin(facts: BundleFacts, runs: int = 1) -> None:
    """Begin to judge a bundle by policies: the work that is allowed grows with its size."""
    config, bundle = facts.config, facts.bundle
    policies = [*config.schema_policies, *config.policies, *bundle.of_kind("ValidatingAdmissionPolicy")]
    runs *= facts.surroundings.runs
    given = sum(_size(each.obj) for each in config.policies) + _size(config.schema_policies)
    WORK.begin(sum(_size(each.obj) for each in bundle.entries) + given // runs, len(policies), runs)


def _size(value: Any) -> int:
    """About the number of bytes of a value; 0 for one that is no JSON or too deep."""
    try:
        return len(json.dumps(value, ensure_ascii=False, skipkeys=True, default=str))
    except (RecursionError, ValueError):
        return 0


def rendered_facts(facts: BundleFacts, started: BundleFacts | None = None, wanted: Wanted = every) -> BundleFacts:
    """The facts of the same bundle in mode `expand`, with the config's patches applied to the VMs. `started`: these facts with
    instances, where they are known.

    VMs to which they can't be applied are left out, and those that are not wanted may be.
    """
    patched = {id(each.entry): each.obj for each in facts.patched}
    failed = {id(each.entry) for each in facts.unpatched}
    expanding = started or (facts if facts.config.mode == "expand" else _gathered(facts, "omit", wanted))
    vms = [
        vm.but(rendered=get(patched[id(vm.entry)], vm.prefix)) if id(vm.entry) in patched else vm
        for vm in expanding.vms
        if id(vm.entry) not in failed
    ]
    return expanding.but(vms=tuple(vms)) if patched or failed else expanding


def _gathered(facts: BundleFacts, instances: str, wanted: Wanted) -> BundleFacts:
    config = facts.config.but(mode="expand", instances=instances)
    return gather(facts.bundle, config, facts.surroundings, wanted)


NAME = ("metadata", "name")
UUID = (*DOMAIN, "firmware", "uuid")  # made of the name of a VM that sets none


def repeats(facts: BundleFacts, reads: Sequence[Reads]) -> dict[int, int]:
    """The id of the entry of each VM that repeats another one, with the id of the first one's entry.

    `reads` is what policies read of the rendered VM or of its instance. The facts are those of a bundle without presets and
    patches: these choose VMs by texts.
    """
    if any(each.named for each in reads):
        return {}
    paths = [path for each in reads for path in each.verdict]
    read = compiled(_rows(paths, {label for each in reads for label in each.labels}))
    firsts: dict[tuple[Any, ...], int] = {}
    found = {}
    for vm in facts.vms:
        key = _key(vm, read)
        number = id(vm.entry)
        if key is not None and firsts.setdefault(key, number) != number:
            found[number] = firsts[key]
    return found


def _key(vm: VmFacts, read: Reading) -> tuple[Any, ...] | None:
    """All that decides what policies say of a VM; None if that may be more than is looked at here."""
    resolution = vm.resolution
    if kind_of(vm.entry.obj) != VM or resolution.errors:
        return None
    sources = [each and (id(each.spec), each.table) for each in (resolution.instancetype, resolution.preference)]
    given = dumped(read(resolution.vm, {}))
    return None if given is None else (effective_namespace(vm.entry.obj), given, *sources)


def _rows(paths: Iterable[Path], labels: Iterable[str]) -> list[Row]:
    """What is read of the texts of a VM: those at paths that policies read whole, and of labels the ones that are named."""
    kept, found = _labels(frozenset(labels)), []
    for place, sort in TEXTS:
        path = tuple(step for step in place if step != KEY)
        if not any(_meets(goal, each) for goal in _goals(path) for each in paths):
            found.append((path, kept if path[-1] == "labels" else READINGS[sort]))
    return found


def _labels(names: frozenset[str]) -> Reading:
    def read(value: Any, numbers: Numbers) -> Any:
        rest = READINGS["label"](value, numbers)
        return {key: each for key, each in value.items() if key in names} if rest == () else rest

    return read


def _goals(path: Path) -> list[Path]:
    """Where the text at a path of a VM is in the rendered VM, and in the instance."""
    if path == NAME:
        return [NAME, UUID, UUID[len(TEMPLATE) :]]
    return [path, path[len(TEMPLATE) :]] if path[: len(TEMPLATE)] == TEMPLATE else [path]


def _meets(goal: Path, read: Path) -> bool:
    """True if the value at one path may depend on the value at the other one."""
    is_presence = read[-1:] == (reading.PRESENT,)
    steps = read[:-1] if is_presence else read
    if is_presence and len(steps) <= len(goal):
        return False  # a text does not decide whether it is there
    return all(one in (EACH, other) or other == reading.EACH for one, other in zip(goal, steps, strict=False))
