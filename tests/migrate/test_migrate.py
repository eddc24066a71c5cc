"""Migration: every old kind and form against what it becomes, and the laws that hold for all of them.

A folder of fixtures/migrate holds the input, what comes of it, the findings as lines, and the release where that is not 1.9.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import put
from krm_fn.findings import results
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.api_versions import KINDS, SUCCESSORS
from krm_fn.kubevirt.settings import Config
from krm_fn.migrate import RENAMED_KEYS, REWRITES, migrate
from krm_fn.pipeline import stages
from krm_fn.rules.migration.migration_to_review import WORDINGS as TO_REVIEW
from krm_fn.rules.migration.not_migrated import WORDINGS as NOT_MIGRATED

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "fixtures" / "migrate").iterdir())


def release_of(case):
    file = case / "release"
    return releases.parse(file.read_text().strip() if file.exists() else "1.9")


def migrated(data, release):
    """The text and the lines of findings of a migration."""
    text = yamlio.read_stream(data, file="input.yaml")
    places = [("input.yaml", number) for number in range(len(text.items))]
    text.successors = RENAMED_KEYS
    items, findings = migrate(text.items, release, places=places)
    return yamlio.write_stream(text, items), [results.line(finding) for finding in findings]


def named(case):
    return case.name


@pytest.mark.parametrize("case", CASES, ids=named)
def test_each_old_form_becomes_what_is_expected(case):
    text, findings = migrated((case / "input.yaml").read_bytes(), release_of(case))
    assert text.decode() == (case / "expected.yaml").read_text()
    assert findings == (case / "findings.txt").read_text().splitlines()


@pytest.mark.parametrize("case", CASES, ids=named)
def test_migrating_twice_changes_nothing_more(case):
    once = (case / "expected.yaml").read_bytes()
    assert migrated(once, release_of(case))[0] == once


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_input_items_do_not_change(case):
    items = yamlio.read_stream((case / "input.yaml").read_bytes()).items
    before = repr(items)
    migrate(items, release_of(case))
    assert repr(items) == before


def rendered(items, release, **config):
    """What comes of the items, None where something is wrong with them but that the release doesn't serve them any more."""
    outcome = stages.render(items, Config(release=release, severity={"unserved-api-version": "off"}, **config))
    failed = any(finding.severity == "error" for finding in outcome.findings)
    return None if failed else outcome.items


def vms(items):
    found = [entry.obj for entry in Bundle(items).entries]
    return [obj for obj in found if obj["kind"] in ("VirtualMachine", "VirtualMachinePool")]


def instance_specs(items, release):
    """The specs of the instances that the VMs would start as, by name."""
    found = rendered(items, release, instances="include")
    instances = [item for item in found or () if item["kind"] == "VirtualMachineInstance"]
    return {item["metadata"]["name"]: item["spec"] for item in instances}


def before_and_after(case):
    items, release = yamlio.read_stream((case / "input.yaml").read_bytes()).items, release_of(case)
    return items, migrate(items, release)[0], release


# A preset becomes a reference, which expanding writes out; a flavor without memory is written out before anything is expanded.
COMMUTING = [case for case in CASES if not case.name.startswith(("preset", "flavor-of-0.47", "flavor-of-0.53"))]


@pytest.mark.parametrize("case", [case for case in COMMUTING if "without-memory" not in case.name], ids=named)
def test_migrating_and_expanding_may_change_places(case):
    old, new, release = before_and_after(case)
    first, second = rendered(old, release), rendered(new, release)
    if first is not None and second is not None:
        assert vms(migrate(first, release)[0]) == vms(second)


# No release of today understands a disk that names its volume.
STARTING = [case for case in CASES if not case.name.startswith(("preset", "vm-of-v1alpha2"))]


@pytest.mark.parametrize("case", STARTING, ids=named)
def test_migrated_vms_start_as_the_same_instances(case):
    old, new, release = before_and_after(case)
    first, second = instance_specs(old, release), instance_specs(new, release)
    assert {name: first[name] for name in first.keys() & second} == {name: second[name] for name in first.keys() & second}


def test_flavors_are_among_what_starts_before_and_after():
    both = [case.name for case in CASES if all(instance_specs(i, r) for *its, r in [before_and_after(case)] for i in its)]
    assert [name for name in both if "flavor" in name] == [
        "flavor-beside-an-instancetype",
        "flavor-in-a-pool",
        "flavor-of-0.47-with-profiles",
        "flavor-of-0.53-with-a-cpu",
        "flavor-of-0.54",
        "flavor-of-0.54-without-memory",
        "flavor-of-0.55-with-a-revision",
        "flavor-whose-name-is-taken",
        "preference-beside-flavors",
    ]


@pytest.mark.parametrize("release", ["1.4", "1.5", "1.6", "1.7", "1.8", "1.9"])
def test_what_is_of_today_stays_the_very_object(release):
    items = yamlio.read_stream((ROOT / "fixtures/migrate/today/input.yaml").read_bytes()).items[:2]
    found, findings = migrate(items, releases.parse(release))
    assert [new is old for new, old in zip(found, items, strict=True)] == [True, True]
    assert findings == ()


@pytest.mark.parametrize(("release", "version"), [("1.6", "v1alpha1"), ("1.7", "v1beta1")])
def test_a_pool_gets_the_version_that_the_release_serves(release, version):
    pool = {
        "apiVersion": "pool.kubevirt.io/v1alpha1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "a"},
        "spec": {"virtualMachineTemplate": {"spec": {"template": {"spec": {"domain": {"devices": {}}}}}}},
    }
    assert migrate([pool], releases.parse(release))[0][0]["apiVersion"] == f"pool.kubevirt.io/{version}"


OF_ALL_KINDS = sorted({*KINDS, *SUCCESSORS, ("apps", "ControllerRevision")})
MISSHAPEN = (None, "text", 7, [], [1], {"template": "text"}, {"Template": [], "Running": 1}, {"domain": 1, "flavor": []})


def is_settled_by_one_migration(obj):
    once = migrate([obj], releases.NEWEST)[0]
    return migrate(once, releases.NEWEST)[0] == once


@pytest.mark.parametrize(("group", "kind"), OF_ALL_KINDS)
def test_objects_of_any_shape_are_taken(group, kind):
    frame = {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    assert [spec for spec in MISSHAPEN if not is_settled_by_one_migration({**frame, "spec": spec, "data": spec})] == []


DEEP = (
    ("spec", "flavor"),
    ("spec", "cpu"),
    ("spec", "firmware"),
    ("spec", "template", "spec", "volumes"),
    ("spec", "template", "spec", "domain", "devices", "disks"),
    ("spec", "template", "metadata"),
    ("spec", "selector"),
    ("spec", "domain", "features"),
    ("spec", "domain", "cpu"),
)


VALUES = ("text", 7, [None, 1, "a"], {"a": [1]}, {"name": 1, "kind": []})


@pytest.mark.parametrize(("group", "kind"), OF_ALL_KINDS)
def test_fields_of_any_shape_are_taken(group, kind):
    for path in DEEP:
        for value in VALUES:
            obj = {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
            put(obj, path, value)
            assert is_settled_by_one_migration(obj), (path, value)


def test_every_row_names_kinds_that_there_are():
    known = {*KINDS, *SUCCESSORS, ("apps", "ControllerRevision")}
    assert [row.step.__name__ for row in REWRITES if not set(row.of) <= known] == []


def test_every_reason_has_a_case():
    lines = "".join((case / "findings.txt").read_text() for case in CASES)
    told = {
        "running": "which no release accepts",
        "removed-field": "KubeVirt 0.13 removed",
        "no-successor": "nothing replaces",
        "name-taken": "already has the name",
        "flavor-name-taken": "can't become an instancetype",
        "flavor-unresolved": "is not found, or conflicts",
        "flavor-without-memory": "which this flavor does not set",
        "secure-boot": "and preferredEfi does not",
        "conflict": "a VM with one must not set",
        "preset-field": "no instancetype or preference can set",
        "preset-topology": "no preferred topology",
        "preset-refused": "refuses it: devices is missing",
        "preset-without-memory": "add requests.memory",
        "preset-without-effect": "nothing that applies to a VM",
        "preset-without-name": "no name that VMs can refer to",
        "preset-selector": "its selector is not valid",
        "preset-name-taken": "of its name exists",
        "preset-of-instances": "can't refer to an instancetype",
        "preset-beside-matchers": "already has an instancetype or a preference",
        "preset-among-several": "other presets also match",
        "preset-conflict": "sets some of the same fields",
        "flavor-elsewhere": "is not in the input",
        "secure-boot-chosen": "check that no VM outside the input relied on it",
        "flavor-outdone": "never had one",
        "preset-taken": "the preset became",
    }
    assert set(told) == {*NOT_MIGRATED, *TO_REVIEW}
    assert [reason for reason, words in told.items() if words not in lines] == []


PREFERENCE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata:
  name: cores
spec:
  cpu:
    preferredCPUTopology: preferCores
  firmware:
    preferredUseEfi: true
"""


@pytest.mark.parametrize(("release", "kept"), [("1.3", True), ("1.4", False)])
def test_forms_that_a_release_does_not_know_are_not_written(release, kept):
    text, findings = migrated(PREFERENCE.encode(), releases.parse(release))
    new = PREFERENCE.replace("preferCores", "cores").replace("preferredUseEfi: true", "preferredEfi: {}")
    assert (text.decode(), findings) == (PREFERENCE if kept else new, [])
