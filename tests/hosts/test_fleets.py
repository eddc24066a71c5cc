"""Measured VMs, many of each under other names, are rendered in one list as they are all at once.

Here is the variety that the generators of the benchmarks lack.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from measured import Cases, files
from test_parity import resource_list

from krm_fn.base.errors import InputError
from krm_fn.base.paths import as_list, as_map, copy, get
from krm_fn.hosts import function
from krm_fn.yamlio import dump

FILES = files("matrix", "fuzz", "revisions", "admission", "inference")
FLEETS = 12  # of each file
NAMES = ("vm", "web", "db-x", "5", "y")
LABELS = ("a{}", "no", "{}", "x y", "it's {}", "null")
TEMPLATE = ("spec", "template", "spec")


def another(vm: dict[str, Any], rng: Random, sizes: list[str]) -> dict[str, Any]:
    """The VM under another name, with what often comes with that; now and then it refers to something else."""
    vm, number = copy(vm), rng.randint(0, 2000)
    meta, template = as_map(vm.get("metadata")), as_map(get(vm, TEMPLATE))
    meta["name"] = f"{rng.choice(NAMES)}-{number}"
    if isinstance(meta.get("labels"), dict):
        meta["labels"]["app"] = rng.choice(LABELS).format(number)
    if rng.random() < 0.6:
        template["hostname"] = f"h{number}"
    for volume in as_list(template.get("volumes")):
        for source in ("cloudInitNoCloud", "cloudInitConfigDrive"):
            if isinstance(volume, dict) and isinstance(volume.get(source), dict):
                volume[source]["userData"] = f"#cloud-config\nhostname: h{number}\n" + "runcmd:\n" * rng.choice([1, 1, 2])
    for matcher in ("instancetype", "preference"):
        if isinstance(get(vm, ("spec", matcher)), dict) and rng.random() < 0.1:
            vm["spec"][matcher]["name"] = rng.choice(sizes)
    return vm


def fleet(bundles: list[dict[str, Any]], rng: Random) -> bytes:
    """A list of the objects of some bundles, with each VM up to eight times."""
    mode = rng.choice(["expand", "expand", "annotate"])
    some = rng.sample(bundles, min(rng.randint(1, 6), len(bundles)))
    chosen = [resource_list(case, mode=mode, presets="ignore") for case in some]
    objects = [item for given in chosen for item in given["items"]]
    sizes = [obj["metadata"]["name"] for obj in objects if isinstance(obj, dict) and "type" in str(obj.get("kind"))] or ["none"]
    items = []
    for obj in objects:
        is_vm = isinstance(obj, dict) and obj.get("kind") == "VirtualMachine"
        items += [another(obj, rng, sizes) for _ in range(rng.randint(1, 8))] if is_vm else [obj]
    rng.shuffle(items)
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    return dump({**head, "items": items, "functionConfig": chosen[0]["functionConfig"]}).encode()


def ran(run: Callable[[bytes, Any, Any], int], data: bytes) -> tuple[int, bytes, str]:
    out, err = io.BytesIO(), io.StringIO()
    try:
        return run(data, out, err), out.getvalue(), err.getvalue()
    except InputError as error:
        return -1, out.getvalue(), str(error)


@pytest.mark.parametrize("name", FILES)
def test_measured_vms_in_a_fleet_are_rendered_as_all_at_once(name: str, cases: Cases) -> None:
    bundles = [case for case in cases(name) if isinstance(case.get("items"), list)]
    for seed in range(FLEETS):
        rng = Random(f"{name} {seed}")
        data = fleet(bundles, rng)
        wanted = ran(function.run_all, data)
        assert ran(function.run, data) == wanted
