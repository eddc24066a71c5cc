"""What `krm_fn.explain` and `kubevirt-render explain` answer. `test_causes` and `test_places` hold it against measured data."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from checking import run

import krm_fn
from krm_fn.explaining.schema import schema
from krm_fn.explaining.unset import names, normal

BUNDLE = Path(__file__).resolve().parents[2] / "kustomization-examples" / "quickstart" / "bundle"


def config(spec: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}}
    return {**head, "spec": spec}


VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "size"},
        "preference": {"name": "likes"},
        "template": {
            "spec": {
                "domain": {"devices": {"disks": [{"name": "x", "disk": {"bus": "virtio"}}, {"name": "y", "disk": {}}]}},
                "volumes": [{"name": name, "cloudInitNoCloud": {"userData": "#secret"}} for name in ("x", "y")],
            }
        },
    },
}
GROUP = "instancetype.kubevirt.io/v1beta1"
SIZE = {
    "apiVersion": GROUP,
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "size"},
    "spec": {"cpu": {"guest": 8}, "memory": {"guest": "4Gi"}},
}
LIKES = {
    "apiVersion": GROUP,
    "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "likes"},
    "spec": {
        "cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"ratio": 2}},
        "devices": {"preferredDiskBus": "sata"},
    },
}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return krm_fn.explain({"items": [VM, SIZE, LIKES]})


@pytest.fixture(scope="module")
def fields(answer: dict[str, Any]) -> dict[str, Any]:
    return {each["path"].removeprefix("spec.template.spec.domain."): each for each in answer["vms"][0]["fields"]}


def test_a_value_of_an_instancetype_names_its_field(fields: dict[str, Any]) -> None:
    assert fields["memory.guest"]["source"] == {
        "from": "instancetype",
        "kind": "VirtualMachineClusterInstancetype",
        "name": "size",
        "item": 1,
        "field": "spec.memory.guest",
        "value": "4Gi",
    }


def test_what_wanted_another_value_and_had_no_say_is_named(fields: dict[str, Any]) -> None:
    own, given = fields["devices.disks[0].disk.bus"], fields["devices.disks[1].disk.bus"]
    assert (own["source"]["from"], given["source"]["from"]) == ("vm", "preference")
    assert [(each["from"], each["field"], each["wanted"]) for each in own["lost"]] == [
        ("preference", "spec.devices.preferredDiskBus", "sata")
    ]


def test_a_topology_says_how_it_was_worked_out(fields: dict[str, Any]) -> None:
    assert fields["cpu.sockets"]["how"] == (
        "8 vCPUs as 4 sockets × 2 cores × 1 thread: preference `spread`, ratio 2"  # noqa: RUF001  as it is shown
    )


def test_defaults_name_the_release_and_secrets_are_hidden(answer: dict[str, Any], fields: dict[str, Any]) -> None:
    source = {each["source"]["from"] for each in fields.values()}
    assert source == {"vm", "instancetype", "preference", "default"}
    assert "#secret" not in json.dumps(answer)


def test_a_setting_of_the_cluster_is_a_source() -> None:
    setting = {"developerConfiguration": {}, "machineType": "pc-q35-9"}
    given = {"items": [VM, SIZE, LIKES], "functionConfig": config({"configuration": setting, "defaults": "cluster"})}
    (record,) = krm_fn.explain(given)["vms"]
    found = {each["path"]: each["source"] for each in record["fields"]}
    assert found["spec.template.spec.domain.machine.type"]["from"] in ("configuration", "default")


def test_a_vm_that_cannot_be_rendered_says_so() -> None:
    (record,) = krm_fn.explain({"items": [VM]})["vms"]
    assert "can't be rendered" in record["error"]


def test_the_answer_matches_its_schema(answer: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(answer, schema())


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command in a copy of the bundle: where it is, it is a part of this repository, which is read as a whole."""
    folder = shutil.copytree(BUNDLE, tmp_path_factory.mktemp("quickstart") / "bundle")
    return partial(run, "explain", cwd=folder)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["shop/db", "memory.guest"], 1),
        (["db", "guest"], 1),
        (["memory.guest"], 3),
        (["db", "*.cpu.*"], 3),
        (["db", "spec.template.spec.domain.cpu"], 3),
    ],
)
def test_words_select_vms_and_fields(explained: Command, words: list[str], wanted: int) -> None:
    code, output, _ = explained(".", *words, "-o", "json")
    found = [field for record in json.loads(output)["vms"] for field in record["fields"]]
    assert code == 0
    assert len(found) >= wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shop/bd"], "expected one of"),
        (["db", "memori"], "VirtualMachine has no field memori in KubeVirt 1.9.0; did you mean memory"),
        (["db", "nothing"], "VirtualMachine has no field nothing in KubeVirt 1.9.0; --all shows"),
        (["dbb"], "VirtualMachine has no field dbb in KubeVirt 1.9.0, and no VM has this name; --all shows"),
        (["shopdb"], "VirtualMachine has no field shopdb in KubeVirt 1.9.0, and no VM has this name; did you mean shop/db"),
        (["db", "*.nothing"], "no value has a path like *.nothing"),
        (["db", "x", "y"], "at most a VM and a field"),
    ],
)
def test_wrong_words_are_one_line_with_a_fix(explained: Command, words: list[str], message: str) -> None:
    code, output, error = explained(".", *words)
    assert (code, output, error.count("\n")) == (2, "", 1)
    assert message in error


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_the_other_outputs_name_sources(explained: Command, output: str) -> None:
    _, text, _ = explained(".", "db", "-o", output)
    assert "shop/db" in text.replace("\\", "")
    assert "spec.memory.guest" in text.replace("\\", "")


def test_a_template_without_a_map_as_spec_has_an_answer() -> None:
    about = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}}
    vm = {**about, "spec": {"template": {"spec": "x"}}}
    (record,) = krm_fn.explain({"items": [vm]})["vms"]
    assert {field["path"]: field["value"] for field in record["fields"]}["spec.template.spec"] == "x"


def of(answer: dict[str, Any], path: str) -> dict[str, Any]:
    (record,) = answer["vms"]
    return next(each for each in record["fields"] if each["path"] == path)


def test_an_inferred_instancetype_names_the_volume_and_the_label() -> None:
    label = "instancetype.kubevirt.io/default-instancetype"
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "n", "labels": {label: "size"}},
    }
    source = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "d", "namespace": "n"},
        "spec": {"source": {"pvc": {"name": "c", "namespace": "n"}}},
    }
    vm = {
        **VM,
        "spec": {
            "instancetype": {"inferFromVolume": "x"},
            "template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": "x", "dataVolume": {"name": "d"}}]}},
        },
    }
    (record,) = krm_fn.explain({"items": [vm, SIZE, claim, source]})["vms"]
    assert record["instancetype"]["inferred"] == {
        "volume": "x",
        "through": [{"kind": "DataVolume", "namespace": "n", "name": "d"}],
        "kind": "PersistentVolumeClaim",
        "namespace": "n",
        "name": "c",
        "field": f'metadata.labels["{label}"]',
        "item": 2,
    }


def test_a_stored_revision_is_a_source_by_the_field_that_it_has() -> None:
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "r", "namespace": "n"},
        "data": {**SIZE, "spec": {"cpu": {"guest": 6}, "memory": {"guest": "3Gi"}}},
    }
    vm = {**VM, "spec": {**VM["spec"], "instancetype": {"name": "size", "revisionName": "r"}}}
    found = of(krm_fn.explain({"items": [vm, SIZE, LIKES, revision]}), "spec.template.spec.domain.memory.guest")
    assert (found["value"], found["source"]["revision"], found["source"]["field"], found["source"]["item"]) == (
        "3Gi",
        "r",
        "data.spec.memory.guest",
        3,
    )


def test_a_default_that_is_the_same_is_said() -> None:
    small = {**SIZE, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}}
    vm = {**VM, "spec": {key: value for key, value in VM["spec"].items() if key != "preference"}}
    found = of(
        krm_fn.explain({"items": [vm, small], "functionConfig": config({"defaults": "cluster"})}),
        "spec.template.spec.domain.cpu.cores",
    )
    assert (found["source"]["from"], found["source"]["field"], found["source"]["same"]) == (
        "instancetype",
        "spec.cpu.guest",
        "default",
    )


def test_a_vm_is_rendered_once_however_many_fields_give_values() -> None:
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_name == "expand" and frame.f_code.co_filename.endswith("__init__.py")

    sys.setprofile(count)
    try:
        krm_fn.explain({"items": [VM, SIZE, LIKES]})
    finally:
        sys.setprofile(None)
    assert calls == 1


def test_a_map_that_a_block_of_a_preference_creates_is_of_that_block() -> None:
    likes = {**LIKES, "spec": {"features": {"preferredSmm": {"enabled": True}}, "firmware": {"preferredUseBios": False}}}
    answer = krm_fn.explain({"items": [VM, SIZE, likes]})
    domain = "spec.template.spec.domain"
    assert of(answer, f"{domain}.features.acpi")["source"]["field"] == "spec.features"
    assert of(answer, f"{domain}.firmware.bootloader")["source"]["field"] == "spec.firmware"


def test_a_block_that_the_vm_has_leaves_the_values_of_a_preference_unused() -> None:
    devices = {"tpm": {"persistent": True}}
    vm = {**VM, "spec": {**VM["spec"], "template": {"spec": {"domain": {"devices": devices}}}}}
    likes = {**LIKES, "spec": {"devices": {"preferredTPM": {"persistent": False}}}}
    found = of(krm_fn.explain({"items": [vm, SIZE, likes]}), "spec.template.spec.domain.devices.tpm.persistent")
    assert (found["source"]["from"], [(each["field"], each["wanted"]) for each in found["lost"]]) == (
        "vm",
        [("spec.devices.preferredTPM.persistent", False)],
    )


def test_a_setting_without_which_a_vm_cannot_be_rendered_gives_its_default() -> None:
    network = {"defaultNetworkInterface": "masquerade", "permitBridgeInterfaceOnPodNetwork": False}
    given = {"items": [VM, SIZE, LIKES], "functionConfig": config({"configuration": {"network": network}})}
    found = of(krm_fn.explain(given), "spec.template.spec.domain.devices.interfaces[0].masquerade")["source"]
    assert found["field"] == "spec.configuration.network.defaultNetworkInterface"
    assert "same" not in found


def test_every_operation_of_a_long_patch_is_the_source_of_what_it_writes() -> None:
    operations = [
        {"op": "add", "path": "/metadata/labels", "value": {}},
        *({"op": "add", "path": f"/metadata/labels/l{number}", "value": str(number)} for number in range(400)),
        {"op": "add", "path": "/spec/template/spec/domain/devices/disks/0", "value": {"name": "z", "cdrom": {"bus": "sata"}}},
    ]
    patches = [{"target": {"kind": "VirtualMachine"}, "patch": operations}]
    answer = krm_fn.explain({"items": [VM, SIZE, LIKES], "functionConfig": config({"patches": patches})})
    for number in range(400):
        assert of(answer, f"metadata.labels.l{number}")["source"]["field"] == f"spec.patches[0].patch[{number + 1}]"
    added = of(answer, "spec.template.spec.domain.devices.disks[0].cdrom.bus")["source"]
    assert added["field"] == "spec.patches[0].patch[401]"


def test_a_default_that_is_worked_out_from_another_field_is_said() -> None:
    pages = {**SIZE, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}}}
    found = of(krm_fn.explain({"items": [VM, pages, LIKES]}), "spec.template.spec.domain.memory.guest")["source"]
    assert (found["field"], found.get("same")) == ("spec.memory.guest", "default")


def test_a_pool_is_explained_whole() -> None:
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"replicas": 2, "virtualMachineTemplate": {"spec": VM["spec"]}},
    }
    answer = krm_fn.explain({"items": [pool, SIZE, LIKES]})
    inner = "spec.virtualMachineTemplate.spec.template.spec.domain"
    assert of(answer, "spec.replicas")["source"]["from"] == "vm"
    assert of(answer, f"{inner}.memory.guest")["source"]["from"] == "instancetype"
    assert of(answer, f"{inner}.cpu.sockets")["how"].startswith("8 vCPUs as 4 sockets")


def test_vms_that_differ_in_texts_of_their_own_have_equal_sources() -> None:
    def named(name: str) -> dict[str, Any]:
        return {**VM, "metadata": {"name": name, "namespace": "n", "labels": {name: name}}}

    items = [named(name) for name in "abc"]
    together = krm_fn.explain({"items": [*items, SIZE, LIKES]})["vms"]
    for number, item in enumerate(items):
        (alone,) = krm_fn.explain({"items": [*([None] * number), item, *([None] * (2 - number)), SIZE, LIKES]})["vms"]
        assert together[number] == alone


def test_an_object_in_a_list_says_where_it_is() -> None:
    (record,) = krm_fn.explain({"items": [{"apiVersion": "v1", "kind": "List", "items": [VM, SIZE, LIKES]}]})["vms"]
    assert (record["inside"], record["fields"][0]["source"]["inside"]) == ("items[0]", "items[0]")


DISKS = "spec.template.spec.domain.devices.disks[*]"
EVICTION = (
    "spec.template.spec.evictionStrategy is unset; the KubeVirt object's spec.configuration.evictionStrategy or the VM sets it"
)
MACHINE_TYPE = (
    "spec.template.spec.domain.machine.type is unset; a preference's spec.machine.preferredMachineType, the KubeVirt object's "
    "spec.configuration.architectureConfiguration.amd64.machineType, the KubeVirt object's spec.configuration.machineType or "
    "the VM sets it"
)
CDROM = f"{DISKS}.cdrom.bus is unset; a preference's spec.devices.preferredCdromBus or the VM sets it"


@pytest.mark.parametrize(
    ("field", "line"),
    [
        (
            "subdomain",
            "spec.template.spec.subdomain is unset; a preference's spec.preferredSubdomain or the VM sets it",
        ),
        ("evictionStrategy", EVICTION),
        ("machine.type", MACHINE_TYPE),
        ("hostname", "spec.template.spec.hostname is unset; the VM sets it"),
        (
            "cpu.maxSockets",
            "spec.template.spec.domain.cpu.maxSockets is unset; an instancetype's spec.cpu.maxSockets or the VM sets it",
        ),
        ("cdrom.bus", CDROM),
        ("domain.resources.limits.cpu", "spec.template.spec.domain.resources.limits.cpu is unset; the VM sets it"),
    ],
)
def test_an_unset_field_says_what_would_set_it(explained: Command, field: str, line: str) -> None:
    code, output, error = explained(".", "shop/db", field)
    assert (code, error) == (0, "")
    assert f"  {line}\n" in output
    code, output, _ = explained(".", "shop/db", field, "-o", "json")
    jsonschema.validate(json.loads(output), schema())
    assert json.loads(output)["vms"][0]["unset"][0]["path"] in line


def test_a_setting_of_the_cluster_sets_a_field_where_defaults_are_written(explained: Command) -> None:
    of = ("shop", "sizes.yaml", "shop/db", "template.spec.evictionStrategy")  # flags do not reach the step of the kustomization
    setting = ("--configuration", "{evictionStrategy: LiveMigrate}")
    _, given, _ = explained(*of, *setting)
    assert "spec.template.spec.evictionStrategy: LiveMigrate  configuration spec.configuration.evictionStrategy" in given
    _, without, _ = explained(*of, *setting, "--defaults", "none")
    assert "spec.template.spec.evictionStrategy is unset; the VM sets it" in without


BUS = "spec.template.spec.domain.devices.disks[1].disk.bus"
LABEL = 'metadata.labels["app.kubernetes.io/name"]'


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("bus", BUS),
        ("disk.bus", BUS),
        ("disks", BUS),
        ("disks[1].disk", BUS),
        ("disks.disk.bus", BUS),
        (".spec.template.spec.domain.devices", BUS),
        ("*.bus", BUS),
        ("disks[*].disk.*", BUS),
        ("disks*.bus", BUS),
        ("domain.*.disks", BUS),
        ('labels["app.kubernetes.io/name"]', LABEL),
        ("labels['app.kubernetes.io/name']", LABEL),
        ("app.kubernetes.io/name", LABEL),
        ("labels.*", LABEL),
    ],
)
def test_a_field_names_a_path_as_users_write_it(field: str, path: str) -> None:
    assert names(normal(field), path)


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("us", BUS),
        ("disks.bus", BUS),
        ("disks[0].disk", BUS),
        ("bus.*", BUS),
        ("name", LABEL),
        ("app", LABEL),
        ("labels.app", LABEL),
    ],
)
def test_a_field_names_no_path_with_other_parts(field: str, path: str) -> None:
    assert not names(normal(field), path)


def test_a_field_that_is_set_is_not_said_to_be_unset(explained: Command) -> None:
    for field in ("disks.disk.bus", ".spec.template.spec.domain.cpu"):
        code, output, error = explained(".", "shop/db", field)
        assert (code, error) == (0, "")
        assert "is unset" not in output


def test_vms_of_one_name_in_two_templates_say_which_template_has_them(tmp_path: Path) -> None:
    template = (
        "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {{name: {name}}}\n"
        "parameters: [{{name: NAME, generate: expression, from: '[a-z]{{8}}'}}]\nobjects:\n"
        "- {{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {{name: '${{NAME}}'}}, spec: {{runStrategy: Always, "
        "template: {{spec: {{domain: {{devices: {{}}}}}}}}}}}}\n"
    )
    (tmp_path / "t.yaml").write_text("---\n".join(template.format(name=name) for name in ("server", "desktop")))
    code, output, error = run("explain", "t.yaml", cwd=tmp_path)
    assert (code, error) == (0, "")
    assert output.count("VirtualMachine default/${NAME} in template server, KubeVirt 1.9.0  t.yaml\n") == 1
    assert output.count("VirtualMachine default/${NAME} in template desktop, KubeVirt 1.9.0  t.yaml\n") == 1
    answer = json.loads(run("explain", "t.yaml", "-o", "json", cwd=tmp_path)[1])
    jsonschema.validate(answer, schema())
    assert [each["template"] for each in answer["vms"]] == ["server", "desktop"]


def test_a_name_without_the_prefix_that_a_kustomization_adds_is_answered_with_the_whole_name(explained: Command) -> None:
    code, _, error = explained(".", "lab/uild")
    assert (code, error) == (2, "kubevirt-render: error: there is no VM lab/uild; expected one of builder, lab/builder\n")


@pytest.mark.parametrize(
    ("field", "path", "setting"),
    [
        ("masquerade", "domain.devices.interfaces[*].masquerade", "network.defaultNetworkInterface"),
        ("domain.resources.requests.cpu", "domain.resources.requests.cpu", "cpuRequest"),
    ],
)
def test_the_settings_of_a_default_are_those_of_the_cluster(tmp_path: Path, field: str, path: str, setting: str) -> None:
    (tmp_path / "vm.yaml").write_text(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"
        "spec: {runStrategy: Always, instancetype: {name: u1.medium}, template: {spec: {domain: {devices: {}}}}}\n"
    )
    code, output, error = run("explain", "vm.yaml", "web", field, cwd=tmp_path)
    assert (code, error) == (0, "")
    assert f"spec.template.spec.{path} is unset; the KubeVirt object's spec.configuration.{setting} or the VM sets it" in output


def test_a_setting_of_the_cluster_sets_nothing_in_a_vm_that_is_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: bare}\n"
        "spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}}}}\n"
    )
    code, output, error = run("explain", "vm.yaml", "bare", "template.spec.evictionStrategy", cwd=tmp_path)
    assert (code, error) == (0, "")
    assert "spec.template.spec.evictionStrategy is unset; the VM sets it" in output


def test_a_field_of_another_release_does_not_set_it(explained: Command) -> None:
    _, new, _ = explained(".", "shop/db", "panicDevices.model", "--kubevirt-version", "1.9")
    code, _, error = explained(".", "shop/db", "panicDevices.model", "--kubevirt-version", "1.4")
    assert "preferredPanicDeviceModel" in new
    assert (code, "no field panicDevices.model in KubeVirt 1.4" in error) == (2, True)


def test_the_text_is_a_tree_of_what_others_give(explained: Command) -> None:
    _, output, _ = explained(".", "shop/db")
    lines = output.splitlines()
    assert lines[:4] == [
        "VirtualMachine shop/db of ., KubeVirt 1.9.0  shop/db.yaml",
        "  step of kustomize, mode expand  render.yaml:2:1",
        "  instancetype shop/db.large  shop/sizes.yaml",
        "  preference house.linux  sizes.yaml",
    ]
    assert "      guest: 32Gi                             instancetype spec.memory.guest  shop/sizes.yaml:14:12" in lines
    assert "wanted virtio: preference spec.devices.preferredDiskBus  sizes.yaml:26:23" in output
    assert lines[-1] == "  The other 28 values are the object's own; --all shows them"
    assert "runStrategy: Always" not in output
    assert "runStrategy: Always" in explained(".", "shop/db", "--all")[1]


@pytest.mark.parametrize("value", [None, "", "text", 0, True, [], [None], {}, {"domain": []}, {"domain": {"devices": "x"}}])
@pytest.mark.parametrize("path", [("spec",), ("spec", "template"), ("spec", "template", "spec")])
def test_objects_of_any_shape_are_explained(value: Any, path: tuple[str, ...]) -> None:
    vm: dict[str, Any] = json.loads(json.dumps(VM))
    holder = vm
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    (record,) = krm_fn.explain({"items": [vm, SIZE, LIKES]})["vms"]
    assert "error" in record or {"kind", "metadata.name"} <= {each["path"] for each in record["fields"]}
