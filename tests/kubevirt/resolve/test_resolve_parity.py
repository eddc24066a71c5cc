"""Resolving against what KubeVirt itself answered."""

import re

import pytest
from measured import files

from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.resolve import Resolver

REFUSED_AT_ONCE = {
    *("bad-shape", "no-name", "name-and-inference", "kind-and-inference", "bad-policy"),
    *("unknown-volume", "unsupported-volume", "unsupported-source", "missing-label", "missing-source"),
}
NOT_FOUND = re.compile(r"not found$|got unexpected kind|ControllerRevision")


@pytest.mark.parametrize("name", files("inference", "revisions", "fuzz"))
def test_every_case_is_refused_found_and_stored_as_kubevirt_does(name, cases):
    assert [difference for case in cases(name) for difference in _differences(case)] == []


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
