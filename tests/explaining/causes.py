"""Whether what `krm_fn.explain` says is so, found out without it: the field is removed from the user's object, and
`krm_fn.process` renders the bundle again.

As a program: `python tests/explaining/causes.py --leaves 20000 --seed 7 --part 0/2`; the last line is the figure.
"""

from __future__ import annotations

import argparse
import base64
import collections
import json
import random
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measured import cases as measured_cases
from measured import files

import krm_fn
from krm_fn.base.paths import dotted, get, steps
from krm_fn.base.redaction import shown_path

ABSENT: Any = object()
GIVING = ("instancetype", "preference", "preset", "configuration", "patch")
KINDS = ("fuzz", "hand", "inference", "revisions", "matrix", "pods", "stored", "changes", "admission", "objects", "pods-matrix")

# Why a value may stay when the field that gives it is removed. Each rule is checked, not believed.
RULES = {
    "default": "KubeVirt's default is the same value: with `defaults: none` the value changes",
    "layout": "an instancetype writes sockets, cores and threads, for any number of vCPUs: without it they are gone, or others",
    "another": "another field gives the same value: if that one is removed too, the value changes",
    "required": "the object can't be rendered without the field",
}


def resource_list(items: list[Any], kubevirt: str, spec: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}}
    given = {"kubevirtVersion": kubevirt.removeprefix("v"), "catalogue": "none", **spec}
    return {"items": items, "functionConfig": {**head, "spec": given}}


def bundles(case: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    """The bundles of a measured case, each with one of the ways to render it."""
    for key in ("items", "old", "new"):
        if key in case:
            spec: dict[str, Any] = {"defaults": rng.choice(("cluster", "auto", "none", "pinned"))}
            if case.get("config"):
                spec["configuration"] = case["config"]
            spec["presets"] = rng.choice(("fold", "instance"))
            yield resource_list(case[key], case["kubevirt"], spec)
    if "object" in case:
        yield resource_list([case["object"]], case["kubevirt"], {"presets": "fold"})


def rendered(given: dict[str, Any]) -> list[dict[str, Any]]:
    return krm_fn.process(given)["items"]


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The leaves of a value by the texts of their paths."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not below or not value:
        return {path: value}
    found = {}
    for key, each in below:
        found |= leaves(each, dotted((*steps(path), key)) if path else dotted((key,)))
    return found


def removed(given: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """The list without the field that a source names."""
    other = deepcopy(given)
    at = other["functionConfig"] if "item" not in source else other["items"][source["item"]]
    for step in steps(source.get("inside", "")):
        at = at[step]
    *way, last = steps(source["field"])
    for step in way:
        at = at[step]
    if "decoded" in source:
        spec = json.loads(base64.b64decode(at[last]))
        *inner, key = steps(source["decoded"])
        below = spec
        for step in inner:
            below = below.get(step, {})
        below.pop(key, None)
        at[last] = base64.b64encode(json.dumps(spec).encode()).decode()
    elif isinstance(at, list) and at[last]["op"] == source["value"]["op"]:
        del at[last]
    else:
        del at[last]
    return other


def with_spec(given: dict[str, Any], **spec: Any) -> dict[str, Any]:
    config = given["functionConfig"]
    return {**given, "functionConfig": {**config, "spec": {**config["spec"], **spec}}}


def value_in(items: list[Any], record: dict[str, Any], path: str) -> Any:
    return get(items[record["item"]], (*steps(record.get("inside", "")), *steps(path)), ABSENT)


def is_rendered(items: list[Any], given: dict[str, Any], record: dict[str, Any]) -> bool:
    """False for an object that came back with its references, because it can't be rendered."""
    holder = value_in(items, record, "spec.virtualMachineTemplate") if "Pool" in record["kind"] else value_in(items, record, "")
    spec = get(holder, ("spec",), {})
    return not any(isinstance(spec, dict) and spec.get(each) for each in ("instancetype", "preference"))


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def judged(given: dict[str, Any], record: dict[str, Any], field: dict[str, Any]) -> str:
    """What became of a leaf without the field that gives it: "changed", a key of RULES, or "WRONG"."""
    source, path = field["source"], field["path"]
    wanted = value_in(rendered(given), record, path)
    without = removed(given, source)
    items = rendered(without)
    if not is_rendered(items, without, record):
        return "required"
    if not same(value_in(items, record, path), wanted):
        return "changed"
    if source.get("same") == "default":
        bare = value_in(rendered(with_spec(given, defaults="none")), record, path)
        if same(bare, wanted) and not same(value_in(rendered(with_spec(without, defaults="none")), record, path), wanted):
            return "default"
    if source.get("same") == "layout" and _is_laid_out(given, record, path, wanted):
        return "layout"
    return "another" if source.get("same") and _is_given_alone(given, record, field) else "WRONG"


def _is_laid_out(given: dict[str, Any], record: dict[str, Any], path: str, wanted: Any) -> bool:
    """True if the value is gone, or another, when the VM does not refer to an instancetype."""
    if not path.endswith((".cpu.sockets", ".cpu.cores", ".cpu.threads")):
        return False
    other = with_spec(deepcopy(given), defaults="none")
    holder = other["items"][record["item"]]
    vm = holder["spec"]["virtualMachineTemplate"] if "Pool" in record["kind"] else holder
    vm["spec"].pop("instancetype", None)
    return not same(value_in(rendered(other), record, path), wanted)


def _is_given_alone(given: dict[str, Any], record: dict[str, Any], field: dict[str, Any]) -> bool:
    """True if the field, but not the bundle without it, gives the value where all other fields of its kind are removed."""
    source = field["source"]
    spec = {"defaults": "none"} if source["same"] == "default" else {}
    alone = with_spec(only(given, source), **spec)
    wanted = value_in(rendered(given), record, field["path"])
    kept, gone = rendered(alone), rendered(removed(alone, source))
    return same(value_in(kept, record, field["path"]), wanted) and not same(value_in(gone, record, field["path"]), wanted)


def only(given: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """The list in which instancetypes, preferences and presets have no field but the one that a source names."""
    other = deepcopy(given)
    for number, item in enumerate(other["items"]):
        kind = item.get("kind", "") if isinstance(item, dict) else ""
        kept = steps(source["field"]) if number == source.get("item") else ()
        if kind.endswith(("Instancetype", "Preference")) and isinstance(item.get("spec"), dict):
            item["spec"] = _only(item["spec"], kept[1:])
        elif kind.endswith("Preset"):
            item["spec"] = {**item["spec"], "domain": _only(item["spec"].get("domain", {}), kept[2:])}
        elif kind == "ControllerRevision" and isinstance(get(item, ("data", "spec")), dict):
            item["data"]["spec"] = _only(item["data"]["spec"], kept[2:])
    return other


def _only(value: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    if not path or path[0] not in value:
        return {}
    below = value[path[0]]
    return {path[0]: below if len(path) == 1 else _only(below, path[1:])}


def losers(given: dict[str, Any], record: dict[str, Any], field: dict[str, Any]) -> Iterator[str]:
    """For each field that had no say, "unchanged", or "WRONG" if the leaf changes without it."""
    wanted = value_in(rendered(given), record, field["path"])
    for lost in field.get("lost", ()):
        if lost["from"] == "instancetype" and "catalogue" in lost:
            continue
        without = removed(given, lost)
        if errors(without) > errors(given):  # a patch that replaces a value needs one
            yield "required"
            continue
        yield "unchanged" if same(value_in(rendered(without), record, field["path"]), wanted) else "WRONG"


def errors(given: dict[str, Any]) -> int:
    return sum(each["severity"] == "error" for each in krm_fn.process(given)["results"])


def mismatch(given: dict[str, Any], record: dict[str, Any], items: list[Any]) -> str:
    """How the leaves of a record differ from those of the rendered object; "" if they are the same set.

    All that is below a secret is one leaf.
    """
    found = leaves(value_in(items, record, ""))
    wanted = {dotted(shown_path(tuple(steps(path)))): value for path, value in found.items()}
    shown = [field["path"] for field in record["fields"]]
    extra, missing = sorted(set(shown) - set(wanted)), sorted(set(wanted) - set(shown))
    if extra or missing or len(shown) != len(wanted):
        return f"{record['name']}: more {extra}, less {missing}"
    hidden = [
        field["path"]
        for field in record["fields"]
        if "(hidden)" not in json.dumps(field["value"]) and not same(field["value"], wanted[field["path"]])
    ]
    return f"{record['name']}: other values at {hidden}" if hidden else ""


def say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Tally:
    """What was found, and the first of what is wrong."""

    def __init__(self) -> None:
        self.objects = self.leaves = self.errors = self.judged = 0
        self.of: collections.Counter[str] = collections.Counter()
        self.sources: collections.Counter[str] = collections.Counter()
        self.rules: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []

    def look(self, name: str, given: dict[str, Any], rng: random.Random, most: int) -> None:
        """Compare the leaves of a bundle, and judge some of those that its inputs give."""
        before = deepcopy(given)
        answer = krm_fn.explain(given)
        items = rendered(given)
        if given != before:
            self.wrong.append(f"{name}: the argument changed")
        candidates = []
        for record in answer["vms"]:
            if "error" in record:
                self.errors += 1
                if is_rendered(items, given, record) and krm_fn.process(given)["results"] == []:
                    self.wrong.append(f"{name}: {record['name']} is rendered, but not explained")
                continue
            self.objects += 1
            self.leaves += len(record["fields"])
            self.sources.update(field["source"]["from"] for field in record["fields"])
            if why := mismatch(given, record, items):
                self.wrong.append(f"{name}: {why}")
            candidates += [
                (record, field) for field in record["fields"] if field["source"]["from"] in GIVING or "lost" in field
            ]
        for record, field in rng.sample(candidates, min(most, len(candidates))):
            self._judge(name, given, record, field)

    def _judge(self, name: str, given: dict[str, Any], record: dict[str, Any], field: dict[str, Any]) -> None:
        verdicts = []
        if field["source"]["from"] in GIVING:
            verdict = judged(given, record, field)
            self.judged += 1
            verdicts.append(verdict)
            self.of[verdict] += 1
            if verdict in RULES:
                self.rules[f"{verdict}: {field['source']['from']} {field['source']['field'].rpartition('.')[2]}"] += 1
        for verdict in losers(given, record, field):
            self.of[f"loser {verdict}"] += 1
            verdicts.append(verdict)
        if "WRONG" in verdicts:
            self.wrong.append(
                f"{name}: {record['kind']} {record['name']}: {json.dumps(field)} {given['functionConfig']['spec']}"
            )


def looked_at(tally: Tally, names: tuple[str, ...], *, leaves: int, seed: int, every: int, part: tuple[int, int]) -> None:
    """Look at the measured bundles of some files until so many leaves were judged."""
    number, parts = part
    for name in names:
        before, rng = tally.judged, random.Random(f"{seed} {name}")
        listed = list(measured_cases(name, every=every))
        mine = [case for index, case in enumerate(listed) if index % parts == number]
        most = leaves // parts // len(names) + 1
        each = max(1, -(-2 * most // max(len(mine), 1)))
        for case in mine:
            for given in bundles(case, rng):
                left = most - (tally.judged - before)
                tally.look(f"{name} {case['id']}", given, rng, min(each, max(left, 0)))
        say(f"{name}: {tally.objects} objects, {tally.leaves} leaves, {tally.judged} judged, {len(tally.wrong)} wrong")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--leaves", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--kinds", default=",".join(KINDS))
    given, tally = parser.parse_args(), Tally()
    number, parts = map(int, given.part.split("/"))
    names = files(*given.kinds.split(","))
    looked_at(tally, names, leaves=given.leaves, seed=given.seed, every=given.every, part=(number, parts))
    for line in tally.wrong[:40]:
        say(line)
    for rule, count in tally.rules.most_common(60):
        say(f"{count:6} {rule}")
    say(dict(tally.sources))
    say(f"{tally.objects} objects, {tally.leaves} leaves, {tally.errors} not rendered; {tally.judged} judged: {dict(tally.of)}")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
