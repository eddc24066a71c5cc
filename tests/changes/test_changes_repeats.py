"""VMs that are alike get the record that each of them would get alone."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measuring import calls

import krm_fn

Object = dict[str, Any]

TYPE = "VirtualMachineInstancetype"


def machine(name: str, shape: Object, own: Object) -> Object:
    """A VM of a shape with texts of its own."""
    disks = [{"name": "root", **shape["disk"]}, {"name": "init", "disk": {"bus": "virtio"}}]
    volumes = [
        {"name": "root", "persistentVolumeClaim": {"claimName": f"{name}-root"}},
        {"name": "init", "cloudInitNoCloud": {"userData": f"#cloud-config\nhostname: {name}"}},
    ]
    interface = {"name": "default", "masquerade": {}, **({"macAddress": own["mac"]} if own["mac"] else {})}
    domain = {"devices": {"disks": disks, "interfaces": [interface]}, **shape["domain"]}
    networks = [{"name": "default", "pod": {}}]
    template = {
        "metadata": {"labels": {"vm": name}},
        "spec": {"domain": domain, "networks": networks, "volumes": volumes},
    }
    made = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": own["namespace"], "labels": {"app": name}, "annotations": own["notes"]},
        "spec": {"runStrategy": shape["strategy"], **shape["matchers"], "template": template},
    }
    if not own["pin"]:
        return made
    made["metadata"]["uid"] = "u"
    ref = {"name": "small", "kind": TYPE, "controllerRevisionRef": {"name": own["pin"]}}
    return {**made, "status": {"instancetypeRef": ref}}


def claim(name: str, own: Object, inferred: str) -> Object:
    """The claim of a VM's disk, which says what the VM's instancetype is."""
    key = "instancetype.kubevirt.io/default-instancetype"
    meta = {"name": f"{name}-root", "namespace": own["namespace"], "labels": {key: inferred, f"{key}-kind": TYPE}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {"accessModes": [own["mode"]]}}


def revision(namespace: str, name: str, cpus: int) -> Object:
    meta = {"name": name, "namespace": namespace, "labels": {"instancetype.kubevirt.io/object-name": "small"}}
    data = instancetype(namespace, {"cpu": {"guest": cpus}, "memory": {"guest": "1Gi"}})
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": data, "revision": 0}


def instancetype(namespace: str, spec: Object) -> Object:
    meta = {"name": "small", "namespace": namespace}
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": TYPE, "metadata": meta, "spec": spec}


def preference(namespace: str, spec: Object) -> Object:
    meta = {"name": "fast", "namespace": namespace}
    kind = "VirtualMachinePreference"
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": meta, "spec": spec}


SHAPE = st.fixed_dictionaries(
    {
        "domain": st.sampled_from([{}, {"ioThreadsPolicy": "auto"}, {"cpu": {"sockets": 2}}]),
        "strategy": st.sampled_from(["Always", "Halted"]),
        "disk": st.sampled_from([{"disk": {}}, {"lun": {"bus": "scsi", "reservation": True}}]),
        "matchers": st.sampled_from(
            [
                {},
                {"instancetype": {"name": "small", "kind": TYPE}},
                {"instancetype": {"inferFromVolume": "root"}},
                {
                    "instancetype": {"name": "small", "kind": TYPE},
                    "preference": {"name": "fast", "kind": "VirtualMachinePreference"},
                },
            ]
        ),
    }
)
OWN = st.fixed_dictionaries(
    {
        "mac": st.sampled_from(["", "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:00"]),
        "namespace": st.sampled_from(["a", "b"]),
        "pin": st.sampled_from(["", "", "rev-1", "rev-2"]),
        "mode": st.sampled_from(["ReadWriteOnce", "ReadWriteMany"]),
        "inferred": st.tuples(*[st.sampled_from(["small", "large"])] * 2),
        "notes": st.sampled_from([{}, {"about": "x"}, {"kubevirt.io/skip-backup-hooks": "true"}]),
    }
)
FLEET = st.lists(SHAPE, min_size=1, max_size=2).flatmap(
    lambda shapes: st.lists(st.tuples(st.sampled_from(shapes), OWN), min_size=1, max_size=6)
)
TYPES = st.fixed_dictionaries(
    {
        "cpu": st.fixed_dictionaries({"guest": st.sampled_from([1, 2, 4])}),
        "memory": st.fixed_dictionaries({"guest": st.sampled_from(["1Gi", "2Gi"])}),
    }
)
PREFERENCES = st.sampled_from(
    [
        {"devices": {"preferredDiskBus": "virtio"}},
        {"devices": {"preferredDiskBus": "sata", "preferredInterfaceModel": "e1000e"}},
        {"devices": {"preferredInterfaceModel": "virtio", "preferredInterfaceMasquerade": {}}},
        {"firmware": {"preferredEfi": {}}, "preferredTerminationGracePeriodSeconds": 3},
    ]
)
SETTINGS = st.sampled_from(
    [{}, {"cpuModel": "Haswell"}, {"instancetype": {"referencePolicy": "expand"}}, {"evictionStrategy": "LiveMigrate"}]
)


def answer(vms: list[Object], sides: list[list[Object]], *, new: bool) -> list[Object]:
    found: list[Object] = krm_fn.diff(*({"items": [*copy.deepcopy(vms), *side]} for side in sides), new=new)["vms"]
    return found


def at(vm: Object, *path: Any) -> Any:
    return at(vm[path[0]], *path[1:]) if path else vm


def volume(vm: Object, name: str, source: str) -> Any:
    """The source of a volume, wherever another edit moved the volume."""
    return next(entry for entry in at(vm, *VOLUMES) if entry["name"] == name)[source]


DOMAIN = ("spec", "template", "spec", "domain")
VOLUMES = ("spec", "template", "spec", "volumes")
# Edits of a VM: of fields that all VMs of a shape have alike, and of its own texts.
EDITS = {
    "nothing": lambda vm: None,
    "strategy": lambda vm: vm["spec"].update(runStrategy="Manual"),
    "vcpus": lambda vm: at(vm, *DOMAIN).update(cpu={"sockets": 4, "maxSockets": 8}),
    "device": lambda vm: at(vm, *DOMAIN, "devices").update(rng={}),
    "grace": lambda vm: at(vm, "spec", "template", "spec").update(terminationGracePeriodSeconds=9),
    "order": lambda vm: at(vm, *DOMAIN, "devices", "disks", 0).update(bootOrder=1),
    "reference": lambda vm: vm["spec"].update(instancetype={"name": "large", "kind": TYPE}),
    "refused": lambda vm: at(vm, *DOMAIN, "devices", "disks", 1).update(name="other"),
    "label": lambda vm: at(vm, "spec", "template", "metadata").update(labels={"vm": "all"}),
    "note": lambda vm: at(vm, "spec", "template", "metadata").update(annotations={"of": vm["metadata"]["name"]}),
    "hostname": lambda vm: at(vm, "spec", "template", "spec").update(hostname=vm["metadata"]["name"]),
    "data": lambda vm: volume(vm, "init", "cloudInitNoCloud").update(userData="#cloud-config"),
    "claim": lambda vm: volume(vm, "root", "persistentVolumeClaim").update(claimName="vm-0-root"),
    "volume": lambda vm: at(vm, *VOLUMES).append({"name": "more", "persistentVolumeClaim": {"claimName": "more"}}),
    "turned": lambda vm: at(vm, *VOLUMES).reverse(),
    "uuid": lambda vm: at(vm, *DOMAIN).update(firmware={"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223"}),
    "mac": lambda vm: at(vm, *DOMAIN, "devices", "interfaces", 0).update(macAddress="02:00:00:00:00:09"),
    "model": lambda vm: at(vm, *DOMAIN, "devices", "interfaces", 0).update(model="e1000e"),
}
EDITED = st.lists(st.lists(st.sampled_from(sorted(EDITS)), min_size=1, max_size=2), min_size=1, max_size=2)


def work(sizes: Iterable[int]) -> int:
    """The calls of `diff` for an edit of VMs that are alike but for the size of their memory, one for each size."""
    own = {"mac": "", "namespace": "a", "notes": {}, "pin": "", "mode": "ReadWriteOnce", "inferred": "small"}
    shape = {"strategy": "Always", "disk": {"disk": {}}, "matchers": {}}
    shapes = [{**shape, "domain": {"memory": {"guest": f"{size}Gi"}}} for size in sizes]
    befores = [machine(f"vm-{number}", shape, own) for number, shape in enumerate(shapes)]
    afters = copy.deepcopy(befores)
    for vm in afters:
        EDITS["device"](vm)
    return calls(lambda: krm_fn.diff({"items": befores}, {"items": afters}))


def test_a_further_vm_that_is_edited_alike_takes_a_fifth_of_one_like_no_other() -> None:
    work([1])  # loads what it needs
    alike, other = work([1] * 45) - work([1] * 5), work(range(1, 46)) - work(range(1, 6))
    assert alike <= min(other / 5, 40 * 3_000)


def test_an_edit_of_a_vm_like_no_other_takes_a_bounded_number_of_calls() -> None:
    work([1])  # loads what it needs
    assert work(range(1, 26)) - work(range(1, 6)) < 20 * 20_000


def sized(name: str, cpus: int) -> Object:
    made = instancetype("a", {"cpu": {"guest": cpus}, "memory": {"guest": "1Gi"}})
    return {**made, "metadata": {"name": name, "namespace": "a"}}


def alike_but_for(key: str, values: list[str], matcher: Object, *, new: bool) -> list[Object]:
    """The records of VMs that are alike but for one text of their own, while the instancetypes small and large are edited."""
    shape = {"domain": {}, "strategy": "Always", "disk": {"disk": {}}, "matchers": {"instancetype": matcher}}
    own = {"mac": "", "namespace": "a", "notes": {}, "pin": "", "mode": "ReadWriteOnce", "inferred": "small"}
    owns = [{**own, key: value} for value in values]
    vms = [machine(f"vm-{number}", shape, each) for number, each in enumerate(owns)]
    claims = [claim(f"vm-{number}", each, each["inferred"]) for number, each in enumerate(owns)]
    around = [*claims, revision("a", "rev-1", 1), revision("a", "rev-2", 2)]
    sides = [[*around, sized("small", small), sized("large", large)] for small, large in ((4, 8), (5, 9))]
    return answer(vms, sides, new=new)


def test_vms_keep_the_revision_that_their_own_status_names() -> None:
    found = alike_but_for("pin", ["rev-1", "rev-2"], {"name": "small", "kind": TYPE}, new=False)
    assert [each["keeps"][0]["fields"][0]["kept"] for each in found] == [1, 2]


def test_vms_start_with_what_their_own_claims_say() -> None:
    found = alike_but_for("inferred", ["small", "large"], {"inferFromVolume": "root"}, new=True)
    assert [each["guest"]["vcpus"] for each in found] == [{"old": 4, "new": 5}, {"old": 8, "new": 9}]


@pytest.mark.parametrize("new", [False, True])
@settings(max_examples=100)
@given(FLEET, st.tuples(TYPES, TYPES), st.tuples(PREFERENCES, PREFERENCES), st.tuples(SETTINGS, SETTINGS))
def test_each_vm_of_a_fleet_gets_the_record_that_it_gets_alone(
    new: bool, fleet: list[Any], types: Any, preferences: Any, clusters: Any
) -> None:
    vms = [machine(f"vm-{number}", shape, own) for number, (shape, own) in enumerate(fleet)]
    revisions = [revision(space, f"rev-{number}", number) for space in ("a", "b") for number in (1, 2)]
    large = {"cpu": {"guest": 8}, "memory": {"guest": "8Gi"}}
    sides = [
        [
            *revisions,
            *(claim(f"vm-{number}", own, own["inferred"][side]) for number, (_, own) in enumerate(fleet)),
            *({**instancetype(space, large), "metadata": {"name": "large", "namespace": space}} for space in ("a", "b")),
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "KubeVirt",
                "metadata": {"name": "kubevirt"},
                "spec": {"configuration": cluster},
            },
            *(part for space in ("a", "b") for part in (instancetype(space, size), preference(space, wish))),
        ]
        for side, (size, wish, cluster) in enumerate(zip(types, preferences, clusters, strict=True))
    ]
    alone = [record for vm in vms for record in answer([vm], sides, new=new)]

    def place(record: Object) -> tuple[str, str]:
        return record["namespace"], record["name"]

    assert answer(vms, sides, new=new) == sorted(alone, key=place)


@pytest.mark.parametrize("new", [False, True])
@settings(max_examples=80, deadline=None)
@given(FLEET, EDITED, st.tuples(TYPES, TYPES), SETTINGS)
def test_each_edited_vm_of_a_fleet_gets_the_record_that_it_gets_alone(
    new: bool, fleet: list[Any], edits: list[list[str]], types: Any, cluster: Any
) -> None:
    befores = [machine(f"vm-{number}", shape, own) for number, (shape, own) in enumerate(fleet)]
    afters = copy.deepcopy(befores)
    for number, vm in enumerate(afters):
        for edit in edits[number % len(edits)]:
            EDITS[edit](vm)
    around = [
        *(revision(space, f"rev-{number}", number) for space in ("a", "b") for number in (1, 2)),
        *(claim(f"vm-{number}", own, own["inferred"][0]) for number, (_, own) in enumerate(fleet)),
        *({**instancetype(space, types[1]), "metadata": {"name": "large", "namespace": space}} for space in ("a", "b")),
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"name": "kubevirt"},
            "spec": {"configuration": cluster},
        },
        *(part for space in ("a", "b") for part in (instancetype(space, types[0]), preference(space, {}))),
    ]

    def records(olds: list[Object], news: list[Object]) -> list[Object]:
        found: list[Object] = krm_fn.diff({"items": [*olds, *around]}, {"items": [*news, *around]}, new=new)["vms"]
        return found

    alone = [record for old, now in zip(befores, afters, strict=True) for record in records([old], [now])]
    assert records(befores, afters) == sorted(alone, key=lambda record: (record["namespace"], record["name"]))
