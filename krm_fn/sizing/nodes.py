"""Nodes as shapes: what `kubectl get nodes -o json` lists, or a list of shapes that a person writes."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, labels_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.nodes import ARCHITECTURE, SCHEDULABLE
from krm_fn.sizing.rows import USUAL_DEVICES

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
UNSCHEDULABLE: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
EXPECTED = "expected a list of shapes, or what `kubectl get nodes -o json` prints"
# The keys of a shape that a person writes, and what their values are.
KEYS = {
    "name": (str, "a text"),
    "count": (int, "a whole number"),
    "labels": (dict, "a map"),
    "taints": (list, "a list"),
    "allocatable": (dict, "a map"),
}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# What a shape of a person has unless it states something else.
PODS = "110"  # the default of the kubelet
LABELS = {SCHEDULABLE: "true", ARCHITECTURE: "amd64", "kubernetes.io/os": "linux"}
UNSTATED = USUAL_DEVICES | {"ephemeral-storage"}  # not counted


class NodeShape(Value):
    """Nodes that are equal. `count` is how many there are, None for as many as needed.

    `allocatable` is in billionths. `node` is the name of a node of the cluster, "" for a shape that a person wrote.
    """

    name: str
    count: int | None
    labels: dict[str, str]
    taints: tuple[Object, ...]
    allocatable: dict[str, int]
    node: str = ""

    def counts(self, resource: str) -> bool:
        """True for a resource of which a node of this shape has a known amount, which may be none."""
        return bool(self.node) or resource in self.allocatable or resource not in UNSTATED


def read(given: Any) -> list[NodeShape]:
    """The shapes of a document. Raises: InputError that names the place."""
    items = given.get("items") if isinstance(given, dict) else given
    if isinstance(given, dict) and given.get("kind") == "Node":
        items = [given]
    if not isinstance(items, list) or not items:
        raise InputError(f"there are no nodes in it; {EXPECTED}")
    return [_shape(item, f"[{place}]") for place, item in enumerate(items)]


def _shape(item: Any, place: str) -> NodeShape:
    if not isinstance(item, dict):
        raise InputError(f"{place} is no map; {EXPECTED}")
    if "kind" not in item:
        return _written(item, place)
    if item["kind"] != "Node":
        raise InputError(f"{place} is a {text(item['kind']) or 'malformed object'}; {EXPECTED}")
    return _node(item, place)


def _node(node: Object, place: str) -> NodeShape:
    labels, name = labels_of(node), name_of(node)
    taints = [as_map(taint) for taint in as_list(get(node, ("spec", "taints")))]
    if get(node, ("spec", "unschedulable")) is True and all(taint.get("key") != UNSCHEDULABLE["key"] for taint in taints):
        taints.append(UNSCHEDULABLE)
    return NodeShape(
        name=text(labels.get(INSTANCE_TYPE)) or name,
        count=1,
        labels={key: str(value) for key, value in labels.items()},
        taints=tuple(taints),
        allocatable=_amounts(get(node, ("status", "allocatable")), f"{place}.status.allocatable"),
        node=name or place,
    )


def _written(item: Object, place: str) -> NodeShape:
    for key, value in item.items():
        if key not in KEYS:
            raise InputError(f"{place}: found the key {key!r}; expected one of {', '.join(KEYS)}")
        if type(value) is not KEYS[key][0]:
            raise InputError(f"{place}.{key} is not {KEYS[key][1]}; expected one")
    count = item.get("count")
    if count is not None and count < 0:
        raise InputError(f"{place}.count is {count}; expected 0 or more")
    allocatable = {"pods": PODS, **as_map(item.get("allocatable"))}
    return NodeShape(
        name=item.get("name") or place,
        count=count,
        labels={**LABELS, **_labels(as_map(item.get("labels")), f"{place}.labels")},
        taints=tuple(_taint(taint, f"{place}.taints[{i}]") for i, taint in enumerate(as_list(item.get("taints")))),
        allocatable=_amounts(allocatable, f"{place}.allocatable"),
    )


def _labels(given: Object, place: str) -> dict[str, str]:
    for key, value in given.items():
        if not isinstance(value, str):
            raise InputError(f"{place}: the value of {key} is not a text; put it in quotes")
    return given


def _taint(given: Any, place: str) -> Object:
    taint = as_map(given)
    if not text(taint.get("key")) or taint.get("effect") not in EFFECTS:
        raise InputError(f"{place}: expected a key, an effect ({', '.join(EFFECTS)}), and a value if there is one")
    return taint


def _amounts(given: Any, place: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in as_map(given).items():
        amount = parse(value)
        if amount is None or amount.nanos < 0:
            raise InputError(f"{place}.{name} is {value!r}; expected an amount such as 64 or 256Gi")
        found[name] = amount.nanos
    if "cpu" not in found or "memory" not in found:
        raise InputError(f"{place} has no {'memory' if 'cpu' in found else 'cpu'}; state the cpu and the memory of a node")
    return found
