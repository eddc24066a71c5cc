"""A kind that holds a VM is one row of `kubevirt.holders`: with it, the kind is rendered, judged and migrated.

The row of an invented kind is added to a copy of the package, since all tables are made from the rows when they are loaded.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "krm_fn"
FIRST = '    _of_vm(CORE, "VirtualMachine"),\n'
ROW = '    _of_vm("fleet.example.com", "VirtualMachineFleet", ("spec", "vmTemplate"), copies=True),\n'

PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import krm_fn
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.migrate import migrate
given = json.load(sys.stdin)
config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
answers = {}
for mode in ("expand", "validate"):
    found = krm_fn.process({"items": given, "functionConfig": {**config, "spec": {"mode": mode, "kubevirtVersion": "1.9.0"}}})
    said = {(each["tags"]["rule"], each.get("field", {}).get("path", "")) for each in found["results"]
            if each["resourceRef"]["kind"] == "VirtualMachineFleet"}
    answers[mode] = [found["items"][-1]["spec"], sorted(said)]
answers["migrate"] = migrate(given, NEWEST)[0][-1]["spec"]
json.dump(answers, sys.stdout)
"""
FUNCTION = "import sys; sys.path.insert(0, sys.argv.pop()); from krm_fn.__main__ import run; sys.exit(run([]))"

SIZE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "small"},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}},
}


def fleet(spec, **template):
    """A fleet of two VMs with this instance spec."""
    vm = {"spec": {"instancetype": {"name": "small"}, "running": True, "template": {**template, "spec": spec}}}
    return {
        "apiVersion": "fleet.example.com/v1",
        "kind": "VirtualMachineFleet",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "vmTemplate": vm},
    }


SOUND = fleet({"domain": {"devices": {}}})
UNSOUND = fleet(
    {
        "domain": {
            "cpu": {"cores": 4},
            "devices": {
                "disks": [{"name": "root", "disk": {}}],
                "interfaces": [{"name": "default", "bridge": {}, "macAddress": "02:00:00:00:00:01"}],
            },
        },
        "networks": [{"name": "default", "pod": {}}],
        "volumes": [{"name": "root", "secret": {"secretName": "seed"}}, {"name": "old", "registryDisk": {"image": "a"}}],
    },
    metadata={"labels": {"site": "New York"}},
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two folders with a copy of the package: as it is, and with the row."""
    folders = {}
    for name in ("without", "with"):
        folders[name] = tmp_path_factory.mktemp(name)
        copied = folders[name] / "krm_fn"
        shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
        table = copied / "kubevirt" / "holders.py"
        source = table.read_text()
        assert source.count(FIRST) == 1
        table.write_text(source.replace(FIRST, FIRST + ROW) if name == "with" else source)
    return folders


def ran(folder, program, given):
    command = [sys.executable, "-I", "-B", "-c", program, str(folder)]
    return subprocess.run(command, input=given, capture_output=True, check=True, text=True).stdout


def processed(folder, *items):
    return json.loads(ran(folder, PROCESS, json.dumps(items)))


def test_the_kind_is_rendered(packages):
    spec, said = processed(packages["with"], SIZE, SOUND)["expand"]
    vm = spec["vmTemplate"]["spec"]
    assert said == []
    assert "instancetype" not in vm
    assert vm["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}


def test_the_function_renders_it_as_text(packages):
    items = json.dumps({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [SIZE, SOUND]})
    with_row, without = (json.loads(ran(packages[name], FUNCTION, items))["items"][1] for name in ("with", "without"))
    assert with_row["spec"]["vmTemplate"]["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}
    assert without == SOUND


def test_its_vm_is_judged_as_that_of_a_pool(packages):
    _, said = processed(packages["with"], SIZE, UNSOUND)["validate"]
    vm = "spec.vmTemplate.spec"
    instance = f"{vm}.template.spec"
    assert [tuple(each) for each in said] == [
        ("deprecated-field", f"{vm}.running"),
        ("duplicate-mac-address", f"{instance}.domain.devices.interfaces[0].macAddress"),
        ("instancetype-conflict", f"{instance}.domain.cpu.cores"),
        ("invalid-label", f"{vm}.template.metadata.labels.site"),
        ("missing-object", f"{instance}.volumes[0].secret.secretName"),
    ]


def test_removed_fields_are_reported_and_migrated(packages):
    answers = processed(packages["with"], SIZE, UNSOUND)
    place = "spec.vmTemplate.spec.template.spec.volumes[1].registryDisk"
    assert ["removed-field", place] in answers["expand"][1]
    migrated = answers["migrate"]["vmTemplate"]["spec"]
    assert migrated["runStrategy"] == "Always"
    assert migrated["template"]["spec"]["volumes"][1] == {"name": "old", "containerDisk": {"image": "a"}}


def test_without_the_row_nothing_is_known_of_the_kind(packages):
    answers = processed(packages["without"], SIZE, UNSOUND)
    assert answers == {"expand": [UNSOUND["spec"], []], "validate": [UNSOUND["spec"], []], "migrate": UNSOUND["spec"]}
