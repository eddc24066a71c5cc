"""No output of `diff` shows a secret, whatever changes around it."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import krm_fn
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side_of
from krm_fn.changes.upgrade import steps
from krm_fn.cli import diff
from krm_fn.cli.changes_markdown import markdown_of
from krm_fn.cli.changes_text import text_of

Object = dict[str, Any]
CANARY = "c4n4ry"


def secret(number: int) -> str:
    return f"{CANARY}{number}"


def spec(number: int, sockets: int, places: frozenset[str]) -> Object:
    """The spec of an instance that has a secret at some places."""
    word = secret(number)
    source: Object = {"userData": f"#cloud-config\npassword: {word}"}
    if "encoded" in places:
        source = {"userDataBase64": base64.b64encode(word.encode()).decode()}
    if "network" in places:
        source["networkData"] = f"auth: {word}"
    kind = "cloudInitConfigDrive" if "drive" in places else "cloudInitNoCloud"
    volumes: list[Object] = [{"name": "init", kind: source}]
    disks: list[Object] = [{"name": "init", "disk": {}}]
    if "unnamed" in places:
        volumes.append({kind: {"userData": word}})  # without a name, lists are compared as a whole
    return {
        "domain": {"cpu": {"sockets": sockets}, "memory": {"guest": "1Gi"}, "devices": {"disks": disks}},
        "volumes": volumes,
    }


def notes(number: int, places: frozenset[str]) -> Object:
    applied = json.dumps({"spec": {"password": secret(number)}})
    found = {"kubectl.kubernetes.io/last-applied-configuration": applied} if "applied" in places else {}
    return {**found, **({"example.com/password": secret(number)} if "noted" in places else {})}


def machines(number: int, name: str, sockets: int, places: frozenset[str], kinds: frozenset[str]) -> list[Object]:
    about = {"name": name, "annotations": notes(number, places)}
    labels = {"labels": {"app": "a"}}
    template = {"metadata": {**labels, "annotations": notes(number, places)}, "spec": spec(number, sockets, places)}
    source = {"http": {"url": f"https://user:{secret(number)}@example.com/disk.img"}}
    disk = {
        "metadata": {"name": "disk"},
        "spec": {"source": source, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
    }
    vm = {"runStrategy": "Always", "template": template, **({"dataVolumeTemplates": [disk]} if "url" in places else {})}
    selector = {"matchLabels": {"app": "a"}}
    specs = {
        ("kubevirt.io/v1", "VirtualMachine"): vm,
        ("pool.kubevirt.io/v1beta1", "VirtualMachinePool"): {
            "selector": selector,
            "virtualMachineTemplate": {"metadata": labels, "spec": vm},
        },
        ("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet"): {"selector": selector, "template": template},
        ("kubevirt.io/v1", "VirtualMachineInstance"): template["spec"],
    }
    made = [
        {"apiVersion": version, "kind": kind, "metadata": about, "spec": given}
        for (version, kind), given in specs.items()
        if kind in kinds
    ]
    data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-s"}, "stringData": {secret(number): secret(1)}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-c"}, "data": {"userdata": secret(number)}}
    return [*made, data, config]


PLACES = st.frozensets(st.sampled_from(["encoded", "network", "drive", "unnamed", "applied", "noted", "url"]))
KINDS = st.frozensets(
    st.sampled_from(["VirtualMachine", "VirtualMachinePool", "VirtualMachineInstanceReplicaSet", "VirtualMachineInstance"]),
    min_size=1,
)
SIDE = st.tuples(st.integers(1, 2), st.sampled_from(["web", "shop"]), st.sampled_from([1, 2]), PLACES)


def outputs(base: list[Object], head: list[Object], *, new: bool, apply: bool) -> str:
    """All that `diff` prints of a change."""
    lists: list[Object] = [{"items": copy.deepcopy(side)} for side in (base, head)]
    answer = krm_fn.diff(*lists, new=new, apply=apply)
    sides = ("", side_of(lists[0]), side_of(lists[1]))
    patched = diff.patch_text([sides], answer)
    later = {"spec": {"kubevirtVersion": "1.8"}, "apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    older = side_of({**lists[0], "functionConfig": later})
    answer = {**answer, "steps": steps([("", older, sides[1])], Assumptions(new=new))}
    texts = [json.dumps(answer), text_of(answer, color=True), markdown_of(answer), patched.text, *patched.left_out]
    return "\n".join(texts)


def test_changed_secrets_are_told_without_their_values() -> None:
    sides = [machines(number, "web", 1, frozenset({"network"}), frozenset({"VirtualMachine"})) for number in (1, 2)]
    printed = outputs(*sides, new=False, apply=True)
    assert "volume init: cloud-init network data changed (hidden), after a restart" in printed


@settings(max_examples=100)
@given(SIDE, SIDE, KINDS, st.booleans(), st.booleans())
def test_no_output_shows_a_secret(one: Any, other: Any, kinds: frozenset[str], new: bool, apply: bool) -> None:
    printed = outputs(machines(*one, kinds), machines(*other, kinds), new=new, apply=apply)
    encoded = [base64.b64encode(secret(number).encode()).decode() for number in (1, 2)]
    assert not any(word in printed for word in (CANARY, *encoded))
