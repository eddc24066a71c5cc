"""Equivalents: VMs that differ only in texts that nobody reads have the same findings as each of them alone."""

import pytest
from measured import cases, files
from test_parity import resource_list

from krm_fn import config
from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import copy, get, put
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.schema import table
from krm_fn.pipeline import stages
from krm_fn.pipeline.equivalents import EACH, LARGEST, PATIENCE, REFERENCES, ROWS, Equivalents, dumped, read
from krm_fn.pipeline.facts import gather
from krm_fn.rules import registry

FLEET = "fleet"
FILES = (*files("admission", "matrix", "fuzz"), *(f"{FLEET} {minor}" for minor in ("1.4", "1.9")))
MOST = 4  # cases of a file
ALONE = {
    rule for rule, family in registry.ids().items() if family in ("vm", "schema", "admission") or rule == "never-starts"
}  # they judge one VM by itself
VM = "VirtualMachine"
MEMORY = ("spec", "template", "spec", "domain", "memory")

# What checks may tell apart: lengths in characters and in bytes, forms, what stands elsewhere in the VM, and no text.
TEXTS = (
    *("", "a", "A", "-a", "a_b", "a.b", "a" * 63, "a" * 64, "a" * 256, "a" * 257, "é" * 128, "é" * 129),
    *("x" * 2048, "x" * 2049, "é" * 1024, "é" * 1025, "YQ==", "YQ", "QUJD" * 682, "QUJD" * 683),
    *("02:00:00:00:00:00", "02:00:00:00:00:01", "02-00-00-00-00-01", "02:00:00:00:00", "020000000001"),
    "00:00:00:00:00:00:00:01",
    *("true", "root", "web-root", None, 1, False, [], {}),
)
LABELS = ({}, {"a": "b"}, {"a": None}, {"a": 1}, {"kubevirt.io/nodeName": "a"}, {"app": "é"}, None, "a", [])


def places(value, pattern, path=()):
    """The places in a value that a row means and that can be set."""
    if not pattern:
        yield path
    elif pattern[0] == EACH:
        for index in range(len(get(value, path)) if isinstance(get(value, path), list) else 0):
            yield from places(value, pattern[1:], (*path, index))
    elif isinstance(get(value, path), dict):
        yield from places(value, pattern[1:], (*path, pattern[0]))


def variants(vm):
    """The VM with other texts in each place that a row is about."""
    for pattern, _ in ROWS:
        for path in places(vm, pattern):
            for text in LABELS if path[-1] in ("labels", "annotations") else TEXTS:
                changed = copy(vm)
                put(changed, path, text)
                yield changed


@pytest.fixture
def patient(monkeypatch):
    """Looking for repeats goes on however few there are."""
    monkeypatch.setattr("krm_fn.pipeline.equivalents.PATIENCE", 1 << 60)


def repeats(vm):
    """True for a VM that was not judged, because it repeats another."""
    return vm.sound and vm.expansion is None


def rendered(case, items):
    listing = resource_list({**case, "items": items}, mode="validate")
    return config.read(listing["functionConfig"]), items


def reported(case, items):
    """The findings of each VM alone, by the number of the item."""
    settings, items = rendered(case, items)
    found = {number: [] for number, item in enumerate(items) if item["kind"] == VM}
    for each in stages.render(items, settings).findings:
        if each.rule in ALONE and each.item in found:
            found[each.item].append((each.rule, each.severity, each.path, each.message, each.current, each.upstream_path))
    return found


def machine(source, data):
    """A VM with all that the rows are about; a cloud-init volume of that source holds the data."""
    devices = {
        "disks": [{"name": name, "disk": {}} for name in ("root", "data", "init")],
        "interfaces": [{"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:02"}],
    }
    root, other = ({"dataVolume": {"name": "web-root"}}, {"persistentVolumeClaim": {"claimName": "web-data"}})
    if source == "cloudInitConfigDrive":
        root, other = ({"persistentVolumeClaim": {"claimName": "web-root"}}, {"dataVolume": {"name": "web-data"}})
    volumes = [{"name": "root", **root}, {"name": "data", **other}, {"name": "init", source: data}]
    domain = {"memory": {"guest": "1Gi"}, "devices": devices, "firmware": {"uuid": "a", "serial": "b"}}
    spec = {"hostname": "web", "domain": domain, "networks": [{"name": "default", "pod": {}}], "volumes": volumes}
    template = {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": VM,
        "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": {"note": "a"}},
        "spec": {
            "runStrategy": "Always",
            "dataVolumeTemplates": [{"metadata": {"name": "web-root"}, "spec": template}],
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
        },
    }


FLEET_OF = [
    machine(source, data)
    for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
    for data in (
        {"userData": "a", "networkData": "b"},
        {"userDataBase64": "YQ==", "networkDataBase64": "YQ=="},
        {"secretRef": {"name": "a"}},
        {"networkDataSecretRef": {"name": "b"}},
    )
]


def sized(vm):
    """The VM with some memory, without which no VM is sound."""
    if "instancetype" in vm["spec"] or get(vm, MEMORY):
        return vm
    found = copy(vm)
    put(found, MEMORY, {"guest": "1Gi"})
    return found


def sound(name):
    """Some cases with a VM without findings: (case, its other objects, the VM)."""
    found = 0
    if name.startswith(FLEET):
        yield from (({"kubevirt": name.split()[1]}, [], vm) for vm in FLEET_OF)
        return
    for case in cases(name):
        others = [item for item in case["items"] if item["kind"] not in (VM, "KubeVirt")]
        vm = next((sized(item) for item in case["items"] if item["kind"] == VM), None)
        if vm and reported(case, [*others, vm]) == {len(others): []}:
            yield case, others, vm
            found += 1
            if found == MOST:
                return


@pytest.mark.parametrize("name", FILES)
def test_each_of_many_vms_has_the_findings_that_it_has_alone(name, patient):
    repeated = 0
    for case, others, vm in sound(name):
        many = [vm, *variants(vm)]
        together = reported(case, [*others, *many])
        for number, each in enumerate(many, len(others)):
            (alone,) = reported(case, [*others, each]).values()
            assert together[number] == alone
        settings, items = rendered(case, [*others, *many])
        repeated += sum(map(repeats, gather(Bundle(items), settings).vms))
    assert repeated > 20


def test_the_fleet_has_all_texts_of_the_rows_and_no_findings():
    assert all(any(get(vm, path) for vm in FLEET_OF for path in places(vm, pattern)) for pattern, _ in ROWS)
    assert [reported({"kubevirt": "1.9"}, [vm]) for vm in FLEET_OF] == [{0: []}] * len(FLEET_OF)


NOTES = (
    None,
    {},
    {"k": "1"},
    {"k": "2"},
    {"k": "3"},
    {"k": ""},
    {"k": 1},
    {"kubevirt.io/ignitiondata": ""},
    {"kubevirt.io/ignitiondata": "a"},
    {"hooks.kubevirt.io/hookSidecars": "[]"},
    {"kubevirt.io/multiThreadedQemuMigration": "1"},
    {"kubevirt.io/multiThreadedQemuMigration": "8"},
    {"kubevirt.io/disablePCIHole64": "true"},
    {"kubevirt.io/disablePCIHole64": "false"},
)
NOTES_OF_VMS = (None, {}, {"k": "1"})


def sources(kind, *specs):
    """Cluster-wide objects of a kind, one with each of the specs."""
    group = "instancetype.kubevirt.io/v1beta1"
    return [
        {"apiVersion": group, "kind": kind, "metadata": {"name": f"n{number}"}, "spec": spec}
        for number, spec in enumerate(specs)
    ]


def referring(number, notes, instancetype, preference):
    """A VM that refers to these, or to no preference; its template has annotations, or None."""
    matchers = {"instancetype": instancetype, "preference": preference}
    devices = {"gpus": [{"name": "gpu", "deviceName": "example.com/grace"}]} if number % 2 else {}
    template = {"metadata": {"annotations": notes}, "spec": {"domain": {"devices": devices}}}
    if notes is None:
        del template["metadata"]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": VM,
        "metadata": {"name": f"vm-{number}"},
        "spec": {
            "runStrategy": "Always",
            "template": template,
            **{matcher: {"name": found["metadata"]["name"]} for matcher, found in matchers.items() if found},
        },
    }


def catalogue():
    """Pairs of an instancetype and a preference; most differ in annotations alone."""
    size = {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}
    sizes = ({**size, "annotations": notes} for notes in NOTES)
    plain, large, *noted = sources("VirtualMachineClusterInstancetype", size, {**size, "cpu": {"guest": 2}}, *sizes)
    wanted = ({}, {"requirements": {"cpu": {"guest": 2}}}, *({"annotations": notes} for notes in NOTES))
    empty, asking, *others = sources("VirtualMachineClusterPreference", *wanted)
    return [
        *((each, empty) for each in (plain, *noted)),
        *((plain, each) for each in (asking, *others, None)),
        (large, asking),
    ]


@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_each_of_the_vms_with_equal_references_has_the_findings_that_it_has_alone(release, patient, monkeypatch):
    permitted = {"pciHostDevices": [{"resourceName": "example.com/grace", "pciVendorSelector": "10DE:2342"}]}
    case = {"kubevirt": release, "config": {"permittedHostDevices": permitted}}
    pairs = catalogue()
    given = [(notes, pair) for notes in NOTES_OF_VMS for pair in pairs for _ in range(2)]
    vms = [referring(number, notes, *pair) for number, (notes, pair) in enumerate(given)]
    others = list({id(each): each for pair in pairs for each in pair if each}.values())
    together = reported(case, [*others, *vms])
    for number, (vm, (_, pair)) in enumerate(zip(vms, given, strict=True)):
        (alone,) = reported(case, [*filter(None, pair), vm]).values()
        assert together[len(others) + number] == alone
    settings, items = rendered(case, [*others, *vms])
    found = []

    def noted(self, first, *rest):
        found.append((first, repeating(self, first, *rest)))
        return found[-1][1]

    repeating = Equivalents._repeating
    monkeypatch.setattr(Equivalents, "_repeating", noted)
    gather(Bundle(items), settings)
    assert sum(vm.resolution.instancetype != first.resolution.instancetype for first, vm in found) > 4
    assert sum(vm.resolution.preference != first.resolution.preference for first, vm in found) > 4


def plain_vm(name="web", **metadata):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": VM,
        "metadata": {"name": name, **metadata},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}}}},
    }


def facts(*items, **spec):
    settings = config.read({"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec})
    return gather(Bundle(items), settings).vms


def test_a_vm_that_repeats_another_is_not_expanded_and_has_its_own_object():
    first, second = facts(plain_vm("a"), plain_vm("b"), mode="validate")
    assert (first.sound, repeats(first), repeats(second)) == (True, False, True)
    assert second.vm is second.entry.obj is second.resolution.vm
    assert second.vm["metadata"] == {"name": "b"}
    assert not second.troubled


def test_what_has_a_flaw_or_is_refused_is_not_repeated():
    flawed, refused = plain_vm("a"), plain_vm("b")
    flawed["spec"]["template"]["spec"]["domain"]["unknown"] = 1
    refused["spec"]["template"]["spec"]["hostname"] = "-"
    vms = [copy(vm) for vm in (flawed, refused) for _ in range(3)]
    assert not any(vm.sound for vm in facts(*vms, mode="validate"))


def test_looking_for_repeats_ends_where_it_does_not_pay(monkeypatch):
    looked_at = []
    monkeypatch.setattr("krm_fn.pipeline.equivalents.read", lambda *reported: looked_at.append(reported) or read(*reported))
    vms = [plain_vm(f"vm-{number}") for number in range(3 * PATIENCE)]
    for number, vm in enumerate(vms):
        vm["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = f"{number + 1}Gi"
    assert not any(map(repeats, facts(*vms, mode="validate")))
    assert len(looked_at) == PATIENCE + 1


def test_looking_for_repeats_goes_on_where_half_of_them_do():
    vms = [plain_vm(f"vm-{number}") for number in range(4 * PATIENCE)]
    for number, vm in enumerate(vms[::2]):
        vm["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = f"{number + 2}Gi"
    assert sum(map(repeats, facts(*vms, mode="validate"))) == 2 * PATIENCE - 1


@pytest.mark.parametrize(
    "spec",
    [
        {"mode": "expand"},
        {"mode": "validate", "defaults": "pinned"},
        {"mode": "validate", "instances": "include"},
    ],
)
def test_where_something_is_made_of_each_vm_none_repeats_another(spec):
    assert not any(vm.sound for vm in facts(plain_vm("a"), plain_vm("b"), **spec))


def test_where_presets_are_applied_no_vm_repeats_another():
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "all"},
        "spec": {"selector": {}, "domain": {"cpu": {"cores": 2}}},
    }
    assert not any(vm.sound for vm in facts(plain_vm("a"), plain_vm("b"), preset, mode="validate"))


def key_of(vm):
    return dumped(read(vm, {}))


def test_vms_of_two_namespaces_do_not_repeat_one_another():
    assert key_of(plain_vm()) != key_of(plain_vm(namespace="other"))


def test_the_names_of_claims_count_by_which_are_the_same():
    def disks(*names):
        vm = plain_vm()
        vm["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": names[0]}}]
        vm["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "dataVolume": {"name": name}} for name in names[1:]]
        return key_of(vm)

    assert disks("a", "a", "b") == disks("c", "c", "d")
    assert disks("a", "a", "b") != disks("a", "b", "a")
    assert disks("a", "a", "b") != disks("a", "a", "a")
    assert disks("a", "a", "b") != disks("a", "a", "")


def test_a_vm_that_is_no_plain_data_repeats_none():
    assert key_of(plain_vm(labels=object())) is None


@pytest.mark.parametrize(
    "much",
    [
        "x" * (LARGEST + 1),
        ["x" * 100] * 1000,
        ["a"] * (LARGEST + 1),
        {str(number): 1 for number in range(LARGEST + 1)},
        {"x" * 8 * LARGEST: 1},
    ],
)
def test_a_large_vm_repeats_none(much):
    assert key_of({**plain_vm(), "spec": {"much": much}}) is None
    assert key_of({**plain_vm(), "spec": {"much": "x" * 50_000}}) is not None


def test_what_nobody_reads_makes_no_vm_large():
    vm = plain_vm(labels={"note": "x" * LARGEST})
    assert key_of(vm) == key_of(plain_vm(labels={"note": "y"}))


@pytest.mark.parametrize("release", ["1.4", "1.5", "1.6", "1.7", "1.8", "1.9"])
def test_the_schema_requires_only_text_at_the_place_of_a_row(release):
    for pattern, _ in (*ROWS, *REFERENCES):
        node = table.of(parse(release)).node("v1.VirtualMachine")
        for step in pattern:
            node = node.items if step == EACH else node.fields[step]
        last = node.values if node.of_map and node.fields is not None else node
        assert (last.plain, last.judge) == (frozenset((str,)), None)


def test_each_vm_is_held_against_a_definition_that_comes_with_the_bundle():
    hostname = {"type": "string", "pattern": "^web"}
    shape = {"type": "object", "properties": {"hostname": hostname}, "x-kubernetes-preserve-unknown-fields": True}
    for key in ("spec", "template", "spec"):
        shape = {"type": "object", "properties": {key: shape}, "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": shape}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "virtualmachines.kubevirt.io"},
        "spec": {"group": "kubevirt.io", "names": {"kind": VM}, "versions": [version]},
    }
    vms = [plain_vm(name) for name in ("a", "b", "c")]
    for vm, name in zip(vms, ("web", "db", "web"), strict=True):
        vm["spec"]["template"]["spec"]["hostname"] = name
    found = reported({"kubevirt": "1.9"}, [definition, *vms])
    assert {number: [each[0] for each in said] for number, said in found.items()} == {1: [], 2: ["value-not-allowed"], 3: []}
