"""`kubevirt-render capacity`: each format read back by a reader that is not ours, and the table as people see it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import jsonschema
import pytest
import yaml
from functions import instancetype, vm
from markdown_it import MarkdownIt
from running import NEWEST_KUSTOMIZE, fetched

from krm_fn.base.bundle import Bundle
from krm_fn.base.quantity import parse
from krm_fn.cli import run, sizes
from krm_fn.cli.sizes import as_table
from krm_fn.cli.sizes.as_markdown import code
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.capacity import demands_of, facts_of, shown
from krm_fn.sizing.rows import Sized, in_bytes, in_cpus
from krm_fn.sizing.schema import schema

WIDE = "データ"


def machine(name, **spec):
    found = vm(name, namespace="shop")
    found["spec"]["template"]["spec"]["domain"] |= {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}}
    found["spec"] |= spec
    return found


def items():
    gpu = machine("gpu")
    gpu["spec"]["template"]["spec"]["domain"]["devices"] = {"gpus": [{"name": "a", "deviceName": "nvidia.com/A100"}]}
    paged = machine("paged", runStrategy="Halted")
    paged["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "8Gi", "hugepages": {"pageSize": "2Mi"}}
    refers = {**vm("refers", instancetype="absent"), "metadata": {"name": "refers", "namespace": "shop"}}
    sized = vm("sized", instancetype="small", namespace="lab")
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": "shop"},
        "spec": {"hard": {"requests.memory": "6Gi", "requests.cpu": "2", "requests.nvidia.com/A100": "0"}},
    }
    return [machine("plain"), gpu, paged, refers, sized, instancetype("small", namespace="lab"), quota]


@pytest.fixture
def bundle(tmp_path):
    file = tmp_path / "bundle.yaml"
    file.write_text(yaml.safe_dump_all(items()))
    return str(file)


def told(capfd, *arguments):
    assert run(["capacity", *arguments]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


def report(*objects, by="vm", width=0, target=""):
    found = Bundle(objects)
    demands = list(demands_of(facts_of(found, Config(catalogue="none"))))
    sized = tuple(Sized(demand=demand, target=target) for demand in demands)
    return sizes.SizesReport(sized=sized, by=by, answer=shown(found, demands), width=width)


def test_the_table_has_the_heaviest_first_then_the_sum_and_the_quotas(capfd, bundle) -> None:
    assert (
        told(capfd, bundle)
        == """\
NAMESPACE  NAME    VMS  VCPUS  GUEST    CPU  MEMORY  STORAGE  DEVICES
shop       paged     1      2    8Gi  0.205   8.3Gi        0  hugepages-2Mi 8Gi
shop       gpu       1      2    4Gi  0.205   5.3Gi        0  nvidia.com/A100 1
shop       plain     1      2    4Gi  0.205   4.3Gi        0
lab        sized     1      2    2Gi  0.205   2.3Gi        0
shop       refers    1      0      0      0       0        0
TOTAL                5      8   18Gi   0.82  20.2Gi        0  hugepages-2Mi 8Gi, nvidia.com/A100 1

QUOTA       RESOURCE                    USED  HARD   FREE
shop/quota  requests.cpu               0.615     2  1.385
shop/quota  requests.memory           9.91Gi   6Gi      0  over by 3.91Gi
shop/quota  requests.nvidia.com/A100       1     0      0  over by 1

shop/refers: no pod: VirtualMachineInstancetype shop/absent is not found; add it to the bundle, or refer to one that exists
shop/gpu never starts: it needs 1 of requests.nvidia.com/A100, more than the quota has in all (0) (quota shop/quota)
"""
    )


def test_only_running_vms_count_on_request(capfd, bundle) -> None:
    out = told(capfd, bundle, "--running")
    assert "paged" not in out
    assert "TOTAL                4" in out


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("namespace", ["shop", "lab"]),
        ("instancetype", ["-", "small"]),
        ("target", ["-"]),
        ("cluster", ["-"]),
    ],
)
def test_groups(capfd, bundle, by, names) -> None:
    groups = json.loads(told(capfd, bundle, "--by", by, "-o", "json"))["groups"]
    assert [group["name"] for group in groups] == names
    assert sum(group["vms"] for group in groups) == 5


def test_the_needs_of_nodes_tell_groups_apart(capfd, bundle) -> None:
    groups = json.loads(told(capfd, bundle, "--by", "node-needs", "-o", "json"))["groups"]
    usual = "kubernetes.io/arch=amd64, machine-type.node.kubevirt.io/q35=true"
    assert {group["name"]: group["vms"] for group in groups} == {
        usual: 2,
        f"{usual}, nvidia.com/A100": 1,
        f"{usual}, hugepages-2Mi": 1,
        "-": 1,
    }


@pytest.mark.parametrize("by", ["vm", "namespace", "node-needs"])
def test_json_is_of_the_schema(capfd, bundle, by) -> None:
    jsonschema.validate(json.loads(told(capfd, bundle, "-o", "json", "--by", by)), schema())


def test_csv_has_exact_numbers(capfd, bundle) -> None:
    rows = list(csv.DictReader(io.StringIO(told(capfd, bundle, "-o", "csv"))))
    plain = next(row for row in rows if row["name"] == "plain")
    assert (plain["namespace"], plain["vcpus"], plain["guest_bytes"], plain["pod_cpus"]) == ("shop", "2", str(4 << 30), "0.205")
    assert int(plain["pod_memory_bytes"]) == (4 << 30) + 276 * 2**20 + 35_000_000
    assert next(row for row in rows if row["name"] == "refers")["note"].startswith("VirtualMachineInstancetype shop/absent")


@pytest.mark.parametrize("name", ["=1+1", "a,b", 'a"b', "a\nb", "@x", WIDE])
def test_csv_takes_every_name_and_no_spreadsheet_runs_it(name) -> None:
    (row,) = csv.DictReader(io.StringIO(sizes.written("csv", report(machine(name)))))
    assert row["name"].lstrip("'") == name.replace("\n", " ")
    assert row["name"][0] not in "=+-@"


def rows_of(text):
    """The cells of the first table of a page, as text."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines, cells = [], []
    for token in tokens:
        if token.type == "inline":
            cells.append("".join(child.content for child in token.children))
        elif token.type == "tr_close":
            lines.append(cells)
            cells = []
        elif token.type == "table_close":
            return lines
    return lines


@pytest.mark.parametrize("name", ["web", "a|b", "a`b", "<b>", "[x](y)", "@user", WIDE])
def test_markdown_is_a_table_whatever_names_hold(name) -> None:
    head, row, total = rows_of(sizes.written("markdown", report(machine(name))))
    assert len(head) == len(row) == len(total) == 10
    assert row[1] == code(name)[1:-1]
    assert (row[3], total[0]) == ("2", "total")


def test_markdown_of_many_vms_fits_into_a_comment() -> None:
    found = sizes.written("markdown", report(*[machine(f"machine-of-the-fleet-number-{number:04}") for number in range(900)]))
    assert len(found) < 65_536
    assert " more | " in found


@pytest.mark.parametrize("width", [80, 200])
def test_a_table_fits_a_terminal_with_wide_names_too(width) -> None:
    objects = [machine(f"{WIDE * 20}-{number}") for number in range(3)] + items()[3:4]
    lines = as_table.write(report(*objects, width=width)).partition("\n\n")[0].splitlines()
    assert max(map(as_table.columns_of, lines)) <= width
    ends = {as_table.columns_of(line[: line.index("4Gi") + 3]) for line in lines if "4Gi" in line}
    assert len(ends) == 1  # the column of guests ends at one place


def test_where_nobody_looks_nothing_is_cut() -> None:
    name = "long-" * 30
    assert name + "x" in as_table.write(report(machine(name + "x")))


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), (WIDE, 5, "デー…"), (WIDE, 4, "デ…"), ("e\u0301e\u0301e", 2, "e\u0301…")],
)
def test_texts_are_cut_by_columns(text, width, cut) -> None:
    assert as_table.shortened(text, width) == cut


def test_vms_of_several_targets_name_them() -> None:
    assert as_table.write(report(machine("web"), target="apps/dev")).startswith("TARGET    NAMESPACE  NAME")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0"),
        ("500", "500"),
        ("1000", "0.98Ki"),
        ("512Mi", "512Mi"),
        ("1023Mi", "1Gi"),
        ("1355Mi", "1.32Gi"),
        ("100Gi", "100Gi"),
    ],
)
def test_bytes_are_in_units_that_people_read(amount, text) -> None:
    assert in_bytes(parse(amount)) == text


@pytest.mark.parametrize(("amount", "text"), [("105m", "0.105"), ("2", "2"), ("1500m", "1.5"), ("1n", "0.001"), ("0", "0")])
def test_cpus_have_three_decimals(amount, text) -> None:
    assert in_cpus(parse(amount)) == text


@pytest.fixture
def kustomize():
    """The newest one: `tests/repositories/test_building.py` has what the releases do."""
    return fetched(NEWEST_KUSTOMIZE.name)


def test_each_target_of_a_folder_is_a_bundle(tmp_path, capfd, kustomize, monkeypatch) -> None:
    monkeypatch.setenv("PATH", f"{kustomize.rpartition('/')[0]}:{__import__('os').environ['PATH']}")
    for name in ("dev", "prod"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
        (folder / "vm.yaml").write_text(yaml.safe_dump(machine("web")))
    monkeypatch.chdir(tmp_path)
    groups = json.loads(told(capfd, ".", "--by", "target", "-o", "json"))["groups"]
    assert [(group["name"], group["vms"]) for group in groups] == [("dev", 1), ("prod", 1)]


@pytest.fixture
def repository(tmp_path, kustomize, monkeypatch):
    """Targets with a VM each: `a` names an instancetype of the target `base`, `b` one that only the cluster has."""
    monkeypatch.setenv("PATH", f"{kustomize.rpartition('/')[0]}:{__import__('os').environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    machines = {"a": vm("web"), "b": vm("web")}
    for name, typed in (("a", "six"), ("b", "there")):
        machines[name]["spec"]["instancetype"] = {"name": typed}
    six = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "six"},
        "spec": {"cpu": {"guest": 6}, "memory": {"guest": "3Gi"}},
    }
    for name, obj in {**machines, "base": six}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("resources: [it.yaml]\n")
        (tmp_path / name / "it.yaml").write_text(yaml.safe_dump(obj))
    external = [{"kind": "VirtualMachineClusterInstancetype", "name": "there"}]
    cluster = {"name": "one", "targets": ["*"], "external": external}
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": {"clusters": [cluster]}}
    (tmp_path / ".kubevirt-render.yaml").write_text(yaml.safe_dump(config))
    return tmp_path


QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"requests.memory": "1Gi"}}}


def test_clusters_are_told_apart(repository, capfd) -> None:
    clusters = [{"name": name, "targets": [name]} for name in ("a", "b")]
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": {"clusters": clusters}}
    (repository / ".kubevirt-render.yaml").write_text(yaml.safe_dump(config))
    for name in ("a", "b"):
        small = vm("web")
        small["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "2Gi"}
        (repository / name / "it.yaml").write_text(yaml.safe_dump_all([small, QUOTA]))
    out = told(capfd, str(repository))
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("TOTAL")] == [["TOTAL", "a"], ["TOTAL", "b"]]
    assert [line.split()[0] for line in out.splitlines() if "requests.memory  " in line] == ["a/default/q", "b/default/q"]
    assert "b/default/web never starts: it needs 2.29Gi of requests.memory, more than the quota has in all (1Gi)" in out
    markdown = told(capfd, str(repository), "-o", "markdown")
    assert ("| **total** `a` |" in markdown, "| `b/default/q` |" in markdown) == (True, True)


def test_an_instancetype_of_another_target_counts(repository, capfd) -> None:
    records = json.loads(told(capfd, str(repository), "-o", "json"))["vms"]
    assert [(each["target"], each.get("vcpus")) for each in records] == [("a", 6), ("b", None)]


def test_a_vm_whose_instancetype_only_the_cluster_has_is_of_unknown_size(repository, capfd) -> None:
    found = json.loads(told(capfd, str(repository), "-o", "json"))
    jsonschema.validate(found, schema())
    record = found["vms"][1]
    (why,) = record["unknown"]
    assert why == "its needs are not known: VirtualMachineClusterInstancetype there is only in the cluster"
    assert "pod" not in record
    assert f"b/default/web: no pod: {why}" in told(capfd, str(repository))


def test_what_several_targets_have_of_one_name_is_of_unknown_size(repository, capfd) -> None:
    (repository / "other").mkdir()
    text = (repository / "base" / "it.yaml").read_text()
    (repository / "other" / "it.yaml").write_text(text.replace("3Gi", "4Gi"))
    (repository / "other" / "kustomization.yaml").write_text("resources: [it.yaml]\n")
    record = json.loads(told(capfd, str(repository), "-o", "json"))["vms"][0]
    assert record["unknown"] == ["its needs are not known: several targets have another VirtualMachineClusterInstancetype six"]


def test_what_cannot_be_read_writes_nothing(tmp_path, capfd) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("a: [\n")
    assert run(["capacity", str(file)]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert f"error: {file}:2:1: a value is missing here" in err


def test_a_label_of_nodes_that_may_be_secret_is_not_shown(tmp_path, capfd) -> None:
    machine = vm("web")
    machine["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    for secret in ("Canary7Bird", "Canary7Bird and more"):  # the second is no label, so the instance never starts
        machine["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "north", "password": secret}
        (tmp_path / "vm.yaml").write_text(yaml.safe_dump(machine))
        for form in ("json", "table", "markdown", "csv"):
            assert "Canary7Bird" not in told(capfd, str(tmp_path / "vm.yaml"), "-o", form, "--by", "node-needs")


def test_settings_may_come_from_a_pipe_which_can_be_read_once(tmp_path) -> None:
    machine = vm("web")
    machine["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    (tmp_path / "vm.yaml").write_text(yaml.safe_dump(machine))
    read, write = os.pipe()
    os.write(write, b"{developerConfiguration: {cpuAllocationRatio: 2}}")
    os.close(write)
    words = [sys.executable, "-m", "krm_fn", "capacity", str(tmp_path / "vm.yaml"), "-o", "json", "--configuration"]
    ran = subprocess.run([*words, f"/dev/fd/{read}"], capture_output=True, check=True, pass_fds=[read])
    os.close(read)
    assert json.loads(ran.stdout)["vms"][0]["pod"]["containers"][0]["requests"]["cpu"] == "500m"
