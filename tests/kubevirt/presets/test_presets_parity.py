"""Presets against what KubeVirt's own merge, filter and conflict functions answered in four spans of releases."""

from __future__ import annotations

import re

import measured
import pytest

from krm_fn.base.bundle import Entry
from krm_fn.kubevirt.presets import apply_presets
from krm_fn.kubevirt.releases import Release

RELEASES = {
    "v0.3": Release(version=(0, 3, 0)),
    "v0.4-v0.8": Release(version=(0, 6, 0)),
    "v0.9-v0.49": Release(version=(0, 9, 0)),
    "v0.50-v1.9": Release(version=(1, 9, 0)),
}
# The answers are as Go prints them: quantities in the shortest form, empty structures left out, fields that the structures of
# the time lacked gone.
SHORTEST = {"1024Mi": "1Gi", "64000k": "64M"}
YOUNGER = {"ioThreadsPolicy": ("v0.3", "v0.4-v0.8")}


def cases():
    return [
        pytest.param(case, profile, expect, id=f"{case['case']}, {profile}")
        for case in measured.preset_cases()
        for expect in case["expect"]
        for profile in expect["profiles"]
    ]


@pytest.mark.parametrize(("case", "profile", "expect"), cases())
def test_presets_apply_as_kubevirt_applied_them(case, profile, expect):
    vm = case["vm"]
    metadata = {"labels": vm["labels"], "annotations": vm.get("annotations", {})}
    presets = [Entry(obj=measured.preset_of(one), item=n) for n, one in enumerate(case["presets"])]
    found = apply_presets({"metadata": metadata, "spec": {"domain": vm["domain"]}}, presets, release=RELEASES[profile])

    assert as_go_prints(found.instance["spec"]["domain"], profile) == expect["domain"]
    assert sorted(found.applied) == expect["presetAnnotations"]
    assert annotated(found.instance) == expect["presetAnnotations"]
    assert found.excluded == expect.get("excluded", False)
    assert (found.refused == "disagreement") == (expect.get("phase") == "Failed" or is_disagreement(expect.get("rejected", "")))
    assert (found.refused == "selector") == ("rejected" in expect and not is_disagreement(expect["rejected"]))
    assert reported(found) == expected_messages(expect)


def as_go_prints(domain, profile):
    known = {key: value for key, value in domain.items() if profile not in YOUNGER.get(key, ())}
    requests = known.get("resources", {}).get("requests")
    if requests is not None:
        shortest = {key: SHORTEST.get(amount, amount) for key, amount in requests.items()}
        known["resources"] = {"requests": shortest} if shortest else {}
    return {key: value for key, value in known.items() if value or key not in ("devices", "resources", "machine")}


def annotated(instance):
    prefix = "virtualmachinepreset.kubevirt.io/"
    return sorted(key.removeprefix(prefix) for key in instance["metadata"]["annotations"] if key.startswith(prefix))


def reported(found):
    """Every complaint as (what, preset, other preset, places as KubeVirt names them)."""
    name = lambda entry: entry.obj["metadata"]["name"]  # noqa: E731
    places = lambda fact: tuple(clash.upstream for clash in fact.clashes)  # noqa: E731
    return sorted(
        [("some" if one.partial else "none", name(one.preset), "", places(one)) for one in found.conflicts]
        + [("none", name(one), "", ()) for one in found.idle]
        + [("disagree", name(one.preset), name(one.other), places(one)) for one in found.disagreements]
        + [("invalid", name(one.preset), "", ()) for one in found.invalid if not found.refused]
    )


def expected_messages(expect):
    texts = [event["message"] for event in expect.get("events", ())] + expect.get("warnings", [])
    texts += [expect["rejected"]] if is_disagreement(expect.get("rejected", "")) else []
    return sorted(read(text) for text in texts)


def read(text):
    places = tuple(re.findall(r"(spec\.[\w.]+(?:\[\w+\])?): ", text))
    if is_disagreement(text):
        later, earlier = re.search(r"presets '(.*?)' and '(.*?)' conflict", text).groups()
        return "disagree", later, earlier, places
    name = re.search(r"'(.*?)':", text)[1]
    if text.startswith("Invalid Preset"):
        return "invalid", name, "", ()
    return "none" if text.startswith("Unable") else "some", name, "", places


def is_disagreement(text):
    return text.startswith("VirtualMachinePresets cannot be applied due to conflicts")
