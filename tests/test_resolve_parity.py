"""Resolving against what KubeVirt itself answered."""

import gzip
import json
import re
from pathlib import Path

import pytest

from krm_fn import releases
from krm_fn.bundle import Bundle, effective_namespace
from krm_fn.resolve import Resolver

PARITY = Path(__file__).resolve().parents[1].parent / "shared" / "parity"
FILES = (
    "inference-v1.9.0",
    "revisions-v1.6.6",
    "fuzz-v1.4.1",
    "fuzz-v1.5.3",
    "fuzz-v1.6.6",
    "fuzz-v1.7.4",
    "fuzz-v1.8.4",
    "fuzz-v1.9.0",
)
REFUSED_AT_ONCE = {
    *("bad-shape", "no-name", "name-and-inference", "kind-and-inference", "bad-policy"),
    *("unknown-volume", "unsupported-volume", "unsupported-source", "missing-label", "missing-source"),
}
NOT_FOUND = re.compile(r"not found$|got unexpected kind|ControllerRevision")


@pytest.mark.parametrize("name", FILES)
def test_every_case_is_refused_found_and_stored_as_kubevirt_does(name):
    file = PARITY / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there: parity cases are kept outside the repository")
    with gzip.open(file, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert [difference for case in cases for difference in _differences(case)] == []


def _differences(case):
    release, bundle = releases.parse(case["kubevirt"]), Bundle(case["items"])
    resolver = Resolver(bundle=bundle, release=release, catalogue=None)
    vms = {
        (effective_namespace(entry.obj), entry.obj["metadata"]["name"]): entry.obj for entry in bundle.of_kind("VirtualMachine")
    }
    for key, answer in case["expect"].items():
        namespace, name = key.split("/")
        resolution = resolver.resolve(vms[namespace, name], namespace=namespace)
        at_once = {error.reason for error in resolution.errors} & REFUSED_AT_ONCE
        later = {error.reason for error in resolution.errors} - REFUSED_AT_ONCE
        if bool(at_once) != ("refused" in answer):
            yield case["id"], key, resolution.errors, answer.get("refused")
        elif not at_once and "upstreamCrashes" not in answer:
            if bool(later) != bool(NOT_FOUND.search(answer.get("expandError", ""))):
                yield case["id"], key, resolution.errors, answer.get("expandError")
            yield from _stored_differences(case["id"], answer.get("admitted"), resolution.vm, release)


def _stored_differences(case, admitted, vm, release):
    for matcher in ("instancetype", "preference") if admitted else ():
        want, have = admitted["spec"].get(matcher), vm["spec"].get(matcher)
        if have and not have.get("kind") and release.within(until=(1, 7)):
            have = {**have, "kind": f"virtualmachinecluster{matcher}"}  # written by admission, inferred or not
        if want != have:
            yield case, matcher, want, have
