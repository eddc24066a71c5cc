"""Admission against what KubeVirt's own webhooks answered."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from krm_fn import admission, releases
from krm_fn.admission.judged import judge
from krm_fn.bundle import Bundle, effective_namespace
from krm_fn.cluster import Cluster
from krm_fn.paths import dotted
from krm_fn.resolve import Resolver
from krm_fn.resource import name_of

PARITY = Path(__file__).resolve().parents[1].parent / "shared" / "parity"
FILES = (
    "admission-v1.9.0",
    "matrix-v1.9.0",
    *(f"fuzz-v{release}" for release in ("1.4.1", "1.5.3", "1.6.6", "1.7.4", "1.8.4", "1.9.0")),
)


@pytest.mark.parametrize("name", FILES)
def test_every_case_is_judged_as_kubevirt_does(name):
    file = PARITY / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there: parity cases are kept outside the repository")
    with gzip.open(file, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert [difference for case in cases for difference in _differences(case)] == []


def _differences(case):
    bundle, release = Bundle(case["items"]), releases.parse(case["kubevirt"])
    cluster = Cluster(configuration=case.get("config") or {})
    resolver = Resolver(bundle=bundle, release=release, catalogue=None)
    for entry in bundle.of_kind("VirtualMachine", "kubevirt.io"):
        namespace = effective_namespace(entry.obj)
        answer = case["expect"].get(f"{namespace}/{name_of(entry.obj)}", {}).get("admission")
        if answer is None:
            continue
        resolution = resolver.resolve(entry.obj, namespace=namespace)
        judged = judge(resolution, namespace=namespace, bundle=bundle, cluster=cluster, release=release)
        causes = admission.admit_vm(resolution.vm, expanded=judged.vm, cluster=cluster, release=release)
        found = [cause for cause in causes if cause.severity == "error"]
        named = {cause.upstream_path or dotted(cause.path) for cause in (*found, *judged.conflicts, *judged.unmet)}
        # up to 1.5 admission refuses what refers to nothing, at the matcher
        named |= {f"spec.{error.matcher}" for error in resolution.errors if error.upstream == "admission"}
        refused = bool(named or judged.refusals)
        missing = {cause["field"] for cause in answer["causes"] if cause["field"]} - named
        if refused is answer["allowed"] or missing:
            yield case["id"], answer, named
