"""Which machines fit on which nodes, and how many nodes a placement needs: amounts are chosen so that people can check them."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import yaml
from functions import vm

from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError
from krm_fn.base.quantity import NANO
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.sizing import draining, nodes
from krm_fn.sizing.fitting import Fits, Needs, needs_of
from krm_fn.sizing.placement import placed
from krm_fn.sizing.rows import Sized

ROOMY = {"cpu": 64, "memory": "256Gi"}


def machine(name="one", domain=None, **spec):
    found = vm(name, namespace="shop")
    inner = found["spec"]["template"]["spec"]
    inner["domain"] |= {"cpu": {"cores": 2}, "memory": {"guest": "4Gi"}, **(domain or {})}
    inner |= spec
    return found


def pool(name, replicas):
    inside = machine(name)
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"a": "b"}},
            "virtualMachineTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": inside["spec"]},
        },
    }


def sized(*objects):
    found = Bundle(objects)
    return [Sized(demand=demand) for demand in demands_of(facts_of(found, Config(catalogue="none")))]


def node(labels=None, taints=None, unschedulable=False, **allocatable):
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    devices = {f"devices.kubevirt.io/{name}": "1k" for name in ("kvm", "tun", "vhost-net")}
    return {
        "kind": "Node",
        "metadata": {
            "name": "n1",
            "labels": {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64", **(labels or {})},
        },
        "spec": {"taints": taints or [], "unschedulable": unschedulable},
        "status": {"allocatable": {**amounts, **devices, **allocatable}},
    }


def why(obj, *given):
    (found,) = sized(obj)
    shapes = nodes.read({"kind": "List", "items": list(given)} if given[0].get("kind") else list(given))
    return [obstacle for obstacle, _ in Fits(shapes[:1]).obstacles(needs_of(found.demand))]


MACHINE_TYPE = {"machine-type.node.kubevirt.io/q35": "true"}


@pytest.mark.parametrize(
    ("obj", "shape", "expected"),
    [
        (machine(), node(MACHINE_TYPE), []),
        (machine(), node({**MACHINE_TYPE, "kubevirt.io/schedulable": "false"}), [("label", "kubevirt.io/schedulable=true")]),
        (machine(), node(MACHINE_TYPE, pods="0"), [("resource", "pods")]),
        (machine(), node(MACHINE_TYPE, memory="4Gi"), [("resource", "memory")]),
        (machine(), node(MACHINE_TYPE, **{"devices.kubevirt.io/kvm": "0"}), [("resource", "devices.kubevirt.io/kvm")]),
        (machine(), node(MACHINE_TYPE, unschedulable=True), [("taint", "node.kubernetes.io/unschedulable:NoSchedule")]),
        (machine(), {"allocatable": ROOMY}, []),
        (machine(nodeSelector={"zone": "a"}), {"allocatable": ROOMY, "labels": {"zone": "b"}}, [("label", "zone=a")]),
        (machine(nodeSelector={"zone": "a"}), {"allocatable": ROOMY, "labels": {"zone": "a"}}, []),
        (
            machine(domain={"memory": {"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}}}),
            {"allocatable": ROOMY},
            [("resource", "hugepages-1Gi")],
        ),
        (
            machine(domain={"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/A100"}]}}),
            {"allocatable": {**ROOMY, "nvidia.com/A100": 0}},
            [("resource", "nvidia.com/A100")],
        ),
    ],
)
def test_a_machine_fits_or_the_obstacles_are_named(obj, shape, expected) -> None:
    assert why(obj, shape) == expected


@pytest.mark.parametrize(
    ("tolerations", "effect", "fits"),
    [
        ([], "NoSchedule", False),
        ([], "NoExecute", False),
        ([], "PreferNoSchedule", True),
        ([{"key": "k", "value": "v"}], "NoSchedule", True),
        ([{"key": "k", "value": "w"}], "NoSchedule", False),
        ([{"key": "k", "operator": "Exists"}], "NoSchedule", True),
        ([{"operator": "Exists"}], "NoExecute", True),
        ([{"key": "k", "operator": "Exists", "effect": "NoExecute"}], "NoSchedule", False),
        ([{"key": "other", "operator": "Exists"}], "NoSchedule", False),
    ],
)
def test_taints_and_tolerations(tolerations, effect, fits) -> None:
    shape = {"allocatable": ROOMY, "taints": [{"key": "k", "value": "v", "effect": effect}]}
    found = why(machine(tolerations=tolerations), shape)
    assert found == ([] if fits else [("taint", f"k=v:{effect}")])


def term(operator, *values, key="size"):
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([term("In", "9", "10")], True),
        ([term("In", "9")], False),
        ([term("NotIn", "9")], True),
        ([term("NotIn", "10")], False),
        ([term("NotIn", "9", key="absent")], True),
        ([term("Exists")], True),
        ([term("Exists", key="absent")], False),
        ([term("DoesNotExist")], False),
        ([term("DoesNotExist", key="absent")], True),
        ([term("Gt", "9")], True),
        ([term("Gt", "10")], False),
        ([term("Lt", "11")], True),
        ([term("Lt", "11", key="absent")], False),
        ([term("In", "9"), term("Exists")], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], True),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}], False),
    ],
)
def test_required_node_affinity(terms, fits) -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    found = why(machine(affinity=affinity), node({**MACHINE_TYPE, "size": "10"}))
    assert found == ([] if fits else [("affinity", "")])


def test_an_empty_term_meets_no_node() -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
    assert Fits(nodes.read([node()])).obstacles(Needs(amounts={}, pod={"affinity": affinity})) == [(("affinity", ""), 1)]


def use(placement):
    return {each.name: (each.nodes, each.needed, each.machines) for each in placement.uses}


def test_nodes_in_use_are_filled_before_the_next_one_is_taken() -> None:
    """Each pod needs 205m of CPU, so four fit on a CPU."""
    shapes = nodes.read(
        [{"name": "a", "count": 2, "allocatable": {"cpu": 1, "memory": "1Ti"}}, {"name": "b", "allocatable": ROOMY}]
    )
    found = placed(sized(pool("p", 11), machine("one")), shapes)
    assert use(found) == {"a": (2, 2, 8), "b": (None, 1, 4)}
    assert found.uses[0].free["cpu"] == 2 * NANO - 8 * 205 * NANO // 1000


def test_machines_without_room_are_counted_and_a_large_pool_takes_no_longer() -> None:
    shapes = nodes.read([{"name": "a", "count": 3, "allocatable": {"cpu": 1000, "memory": "1Pi", "pods": 10}}])
    found = placed(sized(pool("p", 2_000_000_000)), shapes)
    assert use(found) == {"a": (3, 3, 30)}
    assert [number for _, number in found.without_room] == [2_000_000_000 - 30]


def test_what_fits_on_few_shapes_comes_first() -> None:
    gpu = machine("z", domain={"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/A100"}]}})
    shape = {"name": "gpu", "count": 1, "allocatable": {"cpu": 1, "memory": "1Ti", "pods": 1, "nvidia.com/A100": 1}}
    other = {"name": "plain", "count": 1, "allocatable": {"cpu": 1, "memory": "1Ti"}}
    found = placed(sized(machine("a"), gpu), nodes.read([shape, other]))
    assert use(found) == {"gpu": (1, 1, 1), "plain": (1, 1, 1)}


def test_the_order_of_the_bundle_does_not_matter_and_no_node_is_overfull() -> None:
    chance = random.Random(7)
    objects = [machine(f"m{n}", domain={"memory": {"guest": f"{chance.choice((1, 2, 5, 9))}Gi"}}) for n in range(40)]
    shapes = nodes.read(
        [
            {"name": "a", "count": 3, "allocatable": {"cpu": 4, "memory": "24Gi"}},
            {"name": "b", "count": 2, "allocatable": ROOMY},
        ]
    )
    first = placed(sized(*objects), shapes)
    chance.shuffle(objects)
    again = placed(sized(*objects), shapes)
    assert use(first) == use(again)
    assert first.uses[0].free == again.uses[0].free
    assert all(left >= 0 for each in first.uses for left in each.free.values())
    assert sum(each.machines for each in first.uses) + sum(n for _, n in first.without_room) == 40


def test_nodes_of_a_cluster_are_summed_up_by_their_type() -> None:
    items = [node({**MACHINE_TYPE, "node.kubernetes.io/instance-type": "m5"}, cpu="1") for _ in range(3)]
    assert use(placed(sized(pool("p", 5)), nodes.read({"items": items}))) == {"m5": (3, 2, 5)}


TABLE = yaml.safe_load((Path(__file__).parent / "nodes.yaml").read_text())


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["it"])
def test_a_dump_with_pods_has_room_as_worked_out_by_hand(row) -> None:
    def pods(key, phase, labels):
        for name, amount in row.get(key, {}).items():
            about = {"name": f"{key}-{name}", "namespace": "x", "labels": labels, "annotations": {"kubevirt.io/domain": "x"}}
            spec = {"nodeName": name, "containers": [{"resources": {"requests": {"cpu": amount}}}]}
            yield {"kind": "Pod", "metadata": about, "spec": spec, "status": {"phase": phase}}

    items = [
        node(
            MACHINE_TYPE,
            [{"key": "t", "effect": "NoSchedule"}] if given.get("taint") else [],
            given.get("cordoned", False),
            cpu=given.get("cpu", 1),
        )
        | {"metadata": {"name": name, "labels": node(MACHINE_TYPE)["metadata"]["labels"]}}
        for name, given in row.get("nodes", {}).items()
    ]
    items += [
        *pods("pods", "Running", {}),
        *pods("done", "Failed", {}),
        *pods("launchers", "Running", {"kubevirt.io": "virt-launcher"}),
    ]
    amounts = {"memory": "1Ti", "cpu": 1}
    shapes = [
        {key: each[key] for key in ("name", "count") if key in each} | {"allocatable": {**amounts, "cpu": each.get("cpu", 1)}}
        for each in row.get("shapes", [])
    ]
    found = placed(sized(pool("p", row["vms"])), draining.read({"items": items} if items else shapes))
    assert {
        "needed": sum(each.needed for each in found.uses),
        "full": sum(number for _, number in found.without_room),
        "lost": sum(number for _, number in found.lost),
        "nowhere": sum(each.sized.demand.copies for each in found.misfits),
    } == {"nowhere": 0, **{key: row[key] for key in ("needed", "full", "lost", "nowhere") if key in row}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "there are no nodes in it"),
        ({"kind": "List", "items": []}, "there are no nodes in it"),
        (["a"], "[0] is no map"),
        ([{"kind": "Pod"}], "[0] is a Pod"),
        ([{"size": 1}], "[0]: found the key 'size'"),
        ([{"count": "3"}], "[0].count is not a whole number"),
        ([{"count": -1}], "[0].count is -1"),
        ([{"allocatable": {"cpu": 1}}], "[0].allocatable has no memory"),
        ([{"allocatable": {"cpu": "x", "memory": "1Gi"}}], "[0].allocatable.cpu is 'x'"),
        ([{"labels": {"a": True}, "allocatable": ROOMY}], "[0].labels: the value of a is not a text"),
        ([{"taints": [{"key": "a"}], "allocatable": ROOMY}], "[0].taints[0]: expected a key, an effect"),
    ],
)
def test_a_wrong_file_names_the_place(given, message) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        nodes.read(given)
