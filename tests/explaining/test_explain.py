"""Each leaf of a rendered VM has a source, and sources are causes: without the field, the value is another one or none."""

from __future__ import annotations

import json
import os
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from checking import run
from measured import SAMPLE, Cases, files

import krm_fn
from krm_fn.base.paths import dotted, drop, get, leaves, steps
from krm_fn.explaining.schema import schema

EVERY = int(os.environ.get("EXPLAIN_EVERY", SAMPLE))  # one measured bundle of so many
SEED = 7
PER_BUNDLE = 5  # leaves of which the source is removed
ABSENT: Any = object()
BUNDLE = Path(__file__).resolve().parents[2] / "kustomization-examples" / "quickstart" / "bundle"


def listing(case: dict[str, Any]) -> dict[str, Any]:
    spec = {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "catalogue": "none", "defaults": "cluster"}
    return {"items": case["items"], "functionConfig": config(spec)}


def config(spec: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}}
    return {**head, "spec": spec}


def rendered(given: dict[str, Any]) -> list[dict[str, Any]]:
    return krm_fn.process(given)["items"]


@pytest.mark.parametrize("name", files("fuzz", "inference", "revisions"))
def test_the_leaves_of_measured_vms_have_sources_that_are_causes(name: str, cases: Cases) -> None:
    rng = random.Random(SEED)
    given = 0
    for case in cases(name, every=EVERY):
        source = listing(case)
        before = deepcopy(source)
        answer, items = krm_fn.explain(source), rendered(source)
        assert source == before
        for record in answer["vms"]:
            if "error" in record:
                continue
            wanted = {dotted(path): value for path, value in leaves(items[record["item"]])}
            assert [field["path"] for field in record["fields"] if field["path"] not in wanted] == [], case["id"]
            assert len(record["fields"]) == len(wanted), case["id"]
            caused = [field for field in record["fields"] if field["source"]["from"] not in ("vm", "default", "preset")]
            for field in rng.sample(caused, min(PER_BUNDLE, len(caused))):
                given += holds_without(source, record, field, wanted)
    assert given or EVERY > 1


def holds_without(source: dict[str, Any], record: dict[str, Any], field: dict[str, Any], wanted: dict[str, Any]) -> int:
    """Check that a leaf is another one without the field that gives it; 1 if that was possible."""
    origin = field["source"]
    if "item" not in origin or origin.get("revision"):
        return 0  # the default configuration, and revisions, of which a change would be another revision
    smaller = deepcopy(source)
    obj = smaller["items"][origin["item"]]
    assert get(obj, steps(origin["field"]), ABSENT) is not ABSENT, (record["name"], field)
    drop(obj, steps(origin["field"]))
    after = rendered(smaller)[record["item"]]
    if get(after, ("spec", "instancetype")) or get(after, ("spec", "preference")):
        return 0  # it can't be rendered without
    assert get(after, steps(field["path"]), ABSENT) != wanted[field["path"]], (record["name"], field)
    return 1


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
        "8 vCPUs of the instancetype as 4 sockets, 2 cores, 1 thread; the preference wants topology spread, ratio 2"
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


def explained(*words: str, folder: Path = BUNDLE) -> tuple[int, str, str]:
    return run("explain", *words, cwd=folder, PATH=os.environ["PATH"])


def test_places_lead_to_the_text_of_the_value() -> None:
    code, output, _ = explained(".", "-o", "json")
    answer = json.loads(output)
    jsonschema.validate(answer, schema())
    checked = 0
    for field in (field for record in answer["vms"] for field in record["fields"]):
        source = field["source"]
        if source["from"] != "vm" or isinstance(field["value"], dict | list | bool) or field["value"] == "(hidden)":
            continue
        line = (BUNDLE / source["file"]).read_text().splitlines()[source["line"] - 1]
        assert str(field["value"]) in line[source["column"] - 1 :], (field, line)
        checked += 1
    assert (code, checked > 20) == (0, True)


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
def test_words_select_vms_and_fields(words: list[str], wanted: int) -> None:
    code, output, _ = explained(".", *words, "-o", "json")
    found = [field for record in json.loads(output)["vms"] for field in record["fields"]]
    assert code == 0
    assert len(found) >= wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shop/bd"], "expected one of"),
        (["db", "memori"], "did you mean memory"),
        (["db", "nothing"], "set it in the VM"),
        (["db", "x", "y"], "at most a VM and a field"),
    ],
)
def test_wrong_words_are_one_line_with_a_fix(words: list[str], message: str) -> None:
    code, output, error = explained(".", *words)
    assert (code, output, error.count("\n")) == (2, "", 1)
    assert message in error


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_the_other_outputs_name_sources(output: str) -> None:
    _, text, _ = explained(".", "db", "-o", output)
    assert "shop/db" in text.replace("\\", "")
    assert "spec.memory.guest" in text.replace("\\", "")


def test_a_template_without_a_map_as_spec_has_an_answer() -> None:
    about = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}}
    vm = {**about, "spec": {"template": {"spec": "x"}}}
    (record,) = krm_fn.explain({"items": [vm]})["vms"]
    assert {field["path"]: field["value"] for field in record["fields"]}["spec.template.spec"] == "x"
