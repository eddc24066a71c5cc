"""What machines cost: cases worked out by hand, and exact sums."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from fractions import Fraction

import jsonschema
import pytest
import yaml
from functions import vm

from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli import run
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.sizing import prices, schema


def machine(name="one", *, gpu=False, templates=()):
    found = vm(name, namespace="shop")
    domain = found["spec"]["template"]["spec"]["domain"]
    domain |= {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}}
    if gpu:
        domain["devices"] = {"gpus": [{"name": "a", "deviceName": "nvidia.com/A100"}]}
    names = [f"{name}-{number}" for number in range(len(templates))]
    found["spec"]["template"]["spec"]["volumes"] = [{"name": each, "dataVolume": {"name": each}} for each in names]
    domain.setdefault("devices", {})["disks"] = [{"name": each, "disk": {"bus": "virtio"}} for each in names]
    found["spec"]["dataVolumeTemplates"] = [
        {
            "metadata": {"name": f"{name}-{number}"},
            "spec": {
                "source": {"blank": {}},
                "storage": {"resources": {"requests": {"storage": size}}, **({"storageClassName": kind} if kind else {})},
            },
        }
        for number, (kind, size) in enumerate(templates)
    ]
    return found


def cost(obj, **given):
    (demand,) = demands_of(facts_of(Bundle([obj]), Config(catalogue="none")))
    return prices.cost(demand, prices.read(given))


STORED = machine(templates=[("fast", "10Gi"), ("", "20Gi"), ("fast", "1Gi"), ("slow", "5Gi")])


@pytest.mark.parametrize(
    ("obj", "given", "expected"),
    [
        (machine(), {"vcpu": 0.1}, "0.2"),
        (machine(), {"vcpu": "0.1", "guestGiB": "0.3"}, "1.4"),
        (machine(), {"cpu": 10}, "2.05"),
        (machine(gpu=True), {"devices": {"nvidia.com/A100": 900.25}}, "900.25"),
        (machine(), {"devices": {"nvidia.com/A100": 900.25}}, "0"),
        (STORED, {"storageGiB": {"fast": 0.1, "": 0.01}}, "1.3"),
        (vm("refers", instancetype="absent"), {"vcpu": 1, "memoryGiB": 1}, "0"),
    ],
)
def test_the_cost_is_exact(obj, given, expected) -> None:
    found = cost(obj, **given)
    assert (found, prices.exact(found)) == (Fraction(expected), expected)


def test_memory_of_the_pod_is_that_of_its_requests() -> None:
    (demand,) = demands_of(facts_of(Bundle([machine()]), Config(catalogue="none")))
    requested = demand.pods[0].requests["memory"].nanos
    assert cost(machine(), memoryGiB="1") == Fraction(requested, 2**30 * 10**9)


@pytest.mark.parametrize(("amount", "shown"), [("0", "0.00"), ("0.005", "0.01"), ("12.344999", "12.34"), ("1000", "1000.00")])
def test_amounts_are_rounded_half_up_where_they_are_shown(amount, shown) -> None:
    assert prices.rounded(Fraction(amount)) == shown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "there are no prices in it"),
        ([1], "there are no prices in it"),
        ({"vCPU": 1}, "found the key 'vCPU'"),
        ({"vcpu": -1}, "vcpu is no price"),
        ({"vcpu": True}, "vcpu is no price"),
        ({"vcpu": "4 EUR"}, "vcpu is no price"),
        ({"vcpu": float("nan")}, "vcpu is no price"),
        ({"vcpu": "1e999999999"}, "vcpu is no price"),
        ({"devices": 3}, "devices is no map"),
        ({"storageGiB": {"fast": None}}, "storageGiB.fast is no price"),
        ({"currency": 3}, "currency is not a text"),
    ],
)
def test_a_wrong_file_names_the_key(given, message) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        prices.read(given)


@pytest.mark.parametrize("given", [{}, {"vCPU": 1}, {"vcpu": -1}, {"devices": 3}, {"currency": 3}])
def test_the_schema_refuses_what_reading_refuses(given) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, prices.schema())


GIVEN = {"currency": "E|R", "vcpu": 4.5, "memoryGiB": "0.8", "storageGiB": {"fast": 0.1}}


@pytest.fixture
def files(tmp_path):
    bundle, file = tmp_path / "bundle.yaml", tmp_path / "prices.yaml"
    small = machine("small", gpu=True)
    small["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    bundle.write_text(yaml.safe_dump_all([small, machine("large", templates=[("fast", "10Gi"), ("slow", "1Gi")])]))
    file.write_text(yaml.safe_dump(GIVEN))
    return str(bundle), "--prices", str(file)


def answer(capfd, *arguments):
    assert run(["capacity", *arguments]) == 0
    return capfd.readouterr().out


def test_every_format_has_the_cost_and_the_sum_of_the_parts_is_the_total(capfd, files) -> None:
    jsonschema.validate(GIVEN, prices.schema())
    found = json.loads(answer(capfd, *files, "-o", "json", "--by", "namespace"))
    jsonschema.validate(found, schema.schema())
    costs = [Decimal(record["cost"]) for record in found["vms"]]
    assert sum(costs) == Decimal(found["cost"]["total"]) == Decimal(found["groups"][0]["cost"])
    assert found["cost"]["unpriced"] == ["device nvidia.com/A100", "storage class slow"]
    rows = list(csv.DictReader(io.StringIO(answer(capfd, *files, "-o", "csv"))))
    assert [row["name"] for row in rows] == ["large", "small"]
    assert sorted(Decimal(row["cost"]) for row in rows) == sorted(costs)
    table = answer(capfd, *files)
    assert "COST E|R" in table.splitlines()[0]
    assert f"{sum(costs):.2f}" in table
    assert "no price, counted as 0: device nvidia.com/A100, storage class slow\n" in table
    assert "| cost er |" in answer(capfd, *files, "-o", "markdown")


def test_without_prices_nothing_has_a_cost(capfd, files) -> None:
    found = json.loads(answer(capfd, files[0], "-o", "json"))
    assert "cost" not in found
    assert "cost" not in found["vms"][0]
    assert "COST" not in answer(capfd, files[0])


def test_a_matrix_has_no_prices(files) -> None:
    with pytest.raises(UsageError, match="--prices does not go with --matrix"):
        run(["capacity", "--matrix", *files])
