"""An upgrade over several releases: what happens at which step."""

import copy
import json

import checking
import measured
import pytest
from jsonschema import Draft202012Validator
from trees import tree

from krm_fn.changes.schema import schema
from krm_fn.changes.upgrade import catalogue_changes, route
from krm_fn.kubevirt.releases import parse

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"namespace": "default"},
    "spec": {
        "runStrategy": "Always",
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
INSTANCETYPE, PREFERENCE = "VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference"


def vm(name, **matchers):
    made = copy.deepcopy(VM)
    return {**made, "metadata": {"name": name, **made["metadata"]}, "spec": {**made["spec"], **matchers}}


def steps(folder, start, end, *items):
    """The steps of an upgrade, by their releases."""
    tree(folder, {"base.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})
    flags = ("--kubevirt-version", start, "--to-kubevirt-version", end, "--fail-on", "never")
    code, out, err = checking.run("diff", "base.json", *flags, "-o", "json", cwd=folder)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    Draft202012Validator(schema()).validate(answer)
    return {(step["from"], step["to"]): step for step in answer["steps"]}


def test_an_upgrade_goes_through_the_newest_release_of_each_minor_release():
    assert list(route(parse("1.6.3"), parse("1.9"))) == [parse(each) for each in ("1.6.3", "1.7", "1.8", "1.9")]
    assert [str(each) for each in route(parse("1.6.3"), parse("1.6.6"))] == ["1.6.3", "1.6.6"]
    assert [str(each) for each in route(parse("1.9"), parse("1.9"))] == ["1.9.0"]
    assert [str(each) for each in route(parse("1.9"), parse("1.6"))] == ["1.9.0", "1.6.6"]


def differing(old, new):
    """The names that two releases both deploy, with different specs, as the catalogue's own data has them."""
    facts = measured.catalogue()
    order = list(facts["releases"])

    def specs(release):
        at = order.index(release)
        return {
            f"{kind} {name}": run["spec"]
            for kind, names in facts["kinds"].items()
            for name, runs in names.items()
            for run in runs
            if order.index(run["releases"][0]) <= at <= order.index(run["releases"][1])
        }

    before, after = specs(old), specs(new)
    return {name for name in before.keys() & after.keys() if before[name] != after[name]}


def test_all_specs_that_differ_from_1_8_to_1_9_are_told_and_no_other():
    found = catalogue_changes(parse("1.8"), parse("1.9"))["changed"]
    assert set(found) == differing("v1.8.4", "v1.9.0")
    assert len(found) == 21
    assert {name.split()[0] for name in found} == {PREFERENCE}


# From one release to another: instancetypes and preferences that go, those that come, and how many specs of both change.
KNOWN = [
    ("1.1.0", "1.2.0", (8, 0), (8, 4), (0, 4)),
    ("1.2.0", "1.2.1", (0, 0), (1, 0), (5, 8)),
    ("1.2.2", "1.3.0", (0, 0), (0, 0), (0, 5)),
    ("1.3.0", "1.3.1", (0, 0), (9, 10), (0, 32)),
    ("1.3.1", "1.4.0", (0, 2), (0, 2), (0, 19)),
    ("1.4.0", "1.4.1", (0, 5), (0, 0), (0, 5)),
    ("1.4.1", "1.5.0", (4, 0), (0, 2), (0, 1)),
    ("1.5.0", "1.5.1", (0, 0), (0, 4), (0, 0)),
    ("1.5.3", "1.6.0", (0, 0), (11, 11), (0, 8)),
    ("1.6.2", "1.6.3", (0, 0), (0, 0), (12, 0)),
    ("1.6.6", "1.7.0", (0, 0), (0, 0), (0, 0)),
    ("1.7.4", "1.8.0", (0, 0), (10, 0), (0, 0)),
    ("1.8.4", "1.9.0", (0, 0), (0, 0), (0, 21)),
]


def by_kind(names):
    """How many instancetypes and preferences there are among names of the catalogue."""
    return tuple(sum(name.startswith(f"{kind} ") for name in names) for kind in (INSTANCETYPE, PREFERENCE))


@pytest.mark.parametrize(("old", "new", "gone", "added", "changed"), KNOWN)
def test_what_comes_goes_and_changes_is_known_of_each_release(old, new, gone, added, changed):
    found = catalogue_changes(parse(old), parse(new))
    assert [by_kind(found[key]) for key in ("gone", "added", "changed")] == [gone, added, changed]


@pytest.mark.parametrize(
    ("old", "new", "key", "names"),
    [
        ("1.1.0", "1.2.0", "gone", {"highperformance.small", "server.tiny"}),
        ("1.2.0", "1.2.1", "added", {"n1.medium"}),
        ("1.3.0", "1.3.1", "added", {"rt1.small", "u1.2xmedium"}),
        ("1.3.1", "1.4.0", "gone", {"windows.2k12", "windows.2k12.virtio"}),
        ("1.3.1", "1.4.0", "added", {"windows.2k25", "windows.2k25.virtio"}),
        ("1.4.0", "1.4.1", "gone", {"centos.7", "centos.stream8"}),
        ("1.4.1", "1.5.0", "added", {"fedora.s390x", "rhel.9.s390x"}),
        ("1.5.0", "1.5.1", "added", {"debian", "legacy", "linux", "linux.efi"}),
        ("1.5.3", "1.6.0", "added", {"cx1.medium1gi", "oraclelinux", "windows.2k12", "windows.xp"}),
        ("1.7.4", "1.8.0", "added", {"d1.small"}),
        ("1.8.4", "1.9.0", "changed", {"fedora", "rhel.9", "rhel.10", "windows.11.virtio"}),
    ],
)
def test_the_names_are_those_of_the_releases(old, new, key, names):
    assert names <= {name.split()[1] for name in catalogue_changes(parse(old), parse(new))[key]}


def test_a_patch_release_may_change_specs():
    assert [name for name in catalogue_changes(parse("1.6.2"), parse("1.6.3"))["changed"] if "cx1." not in name] == []
    assert len(catalogue_changes(parse("1.6.2"), parse("1.6.3"))["changed"]) == 12


def test_the_step_tells_when_a_name_goes(tmp_path):
    old = vm("old", instancetype={"name": "gn1.xlarge"})
    found = steps(tmp_path, "1.4", "1.7", old)
    assert list(found) == [("1.4.1", "1.5.3"), ("1.5.3", "1.6.6"), ("1.6.6", "1.7.4")]
    first, *others = found.values()
    assert f"{INSTANCETYPE} gn1.xlarge" in first["catalogue"]["gone"]
    assert [each["severity"] for each in first["findings"]["new"] if "gn1.xlarge" in each["line"]] == ["error"]
    assert [vm["keeps"][0]["change"] for vm in first["vms"]] == ["removed"]
    assert not any("gn1.xlarge" in name for step in others for name in step["catalogue"]["gone"])


def test_existing_vms_keep_a_preference_that_changes_and_new_ones_do_not(tmp_path):
    typed = vm("web", instancetype={"name": "u1.large"}, preference={"name": "windows.11.virtio"})
    (step,) = steps(tmp_path, "1.8", "1.9", typed).values()
    assert [(each["name"], each["keeps"][0]["change"]) for each in step["vms"]] == [("web", "edited")]
    paths = [change["path"] for each in step["newVms"] for change in each["changes"]]
    assert any("video" in path for path in paths)


DOMAIN = {"devices": {}}


def test_specs_of_a_patch_release_reach_new_vms(tmp_path):
    (step,) = steps(tmp_path, "1.6.2", "1.6.3", vm("web", instancetype={"name": "cx1.large"})).values()
    assert [each["keeps"][0]["fields"] for each in step["vms"]] == [[{"field": "spec.cpu.maxSockets", "new": 2}]]


def test_an_architecture_that_a_preference_requires_is_a_finding_of_its_release(tmp_path):
    wanted = vm("web", instancetype={"name": "u1.large"}, preference={"name": "rhel.9"})
    wanted["spec"]["template"]["spec"] = {"architecture": "arm64", "domain": DOMAIN}
    (step,) = steps(tmp_path, "1.8", "1.9", wanted).values()
    assert [each["severity"] for each in step["findings"]["new"] if "amd64" in each["line"]] == ["error"]


def test_huge_pages_beside_an_instancetype_are_accepted_from_1_7_on(tmp_path):
    beside = vm("web", instancetype={"name": "u1.large"})
    beside["spec"]["template"]["spec"] = {"domain": {**DOMAIN, "memory": {"hugepages": {"pageSize": "2Mi"}}}}
    (step,) = steps(tmp_path, "1.6", "1.7", beside).values()
    assert [each["rule"] for each in step["findings"]["gone"]] == ["instancetype-conflict"]
    assert step["findings"]["new"] == []


def test_an_api_version_that_a_release_no_longer_serves_is_a_finding_of_its_step(tmp_path):
    old = {"apiVersion": "instancetype.kubevirt.io/v1alpha2", "kind": "VirtualMachineInstancetype"}
    size = {
        **old,
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    }
    found = steps(tmp_path, "1.5", "1.8", size)
    assert [bool([each for each in step["findings"]["new"] if each["severity"] == "error"]) for step in found.values()] == [
        True,
        False,
        False,
    ]


def test_an_unknown_name_passes_admission_from_1_6_on(tmp_path):
    (step,) = steps(tmp_path, "1.5", "1.6", vm("web", instancetype={"name": "nowhere"})).values()
    assert step["newVms"] == []
    assert [each["line"] for each in step["findings"]["new"] if each["severity"] == "error"] == []


def test_a_conflict_that_another_release_names_at_another_path_is_neither_new_nor_gone(tmp_path):
    beside = vm("web", instancetype={"name": "u1.large"})
    beside["spec"]["template"]["spec"] = {"domain": {**DOMAIN, "memory": {"guest": "1Gi"}}}
    (step,) = steps(tmp_path, "1.6", "1.7", beside).values()
    assert step["findings"] == {"new": [], "gone": []}
    assert step["newVms"] == []


def test_a_sidecar_without_its_gate_is_an_error_from_1_6_on(tmp_path):
    """The first example of KubeVirt that an upgrade stops: since 1.6 the controller writes to each VM."""
    hooked = vm("web", runStrategy="Halted")
    notes = {"hooks.kubevirt.io/hookSidecars": '[{"image": "registry/hook"}]'}
    hooked["spec"]["template"] = {"metadata": {"annotations": notes}, "spec": {"domain": DOMAIN}}
    (step,) = steps(tmp_path, "1.5", "1.6", hooked).values()
    assert ["error" in each["effect"] for each in step["vms"]] == [True]


SRIOV = {
    "apiVersion": "k8s.cni.cncf.io/v1",
    "kind": "NetworkAttachmentDefinition",
    "metadata": {"name": "sriov", "annotations": {"k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov"}},
    "spec": {"config": "{}"},
}
# Since 1.9 this writes the resource into pods, and KubeVirt does not.
INJECTOR = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "network-resources-injector"}, "spec": {}}


def test_machines_of_which_only_the_pod_changes_are_one_line_of_a_step(tmp_path):
    networks = [{"name": "fast", "multus": {"networkName": "sriov"}}]
    domain = {"memory": {"guest": "1Gi"}, "devices": {"interfaces": [{"name": "fast", "sriov": {}}]}}
    fast = {"spec": {"domain": domain, "networks": networks}}
    steps(tmp_path, "1.8", "1.9", vm("a", template=fast), vm("b", template=fast), SRIOV, INJECTOR)
    text = checking.run("diff", "base.json", "--kubevirt-version", "1.8", "--to-kubevirt-version", "1.9", cwd=tmp_path)[1]
    assert "\n  2 start with other pods, and else as before\n" in text
    assert "if created anew" not in text


def test_a_vm_that_stays_refused_is_in_no_step(tmp_path):
    small = vm("web", instancetype={"name": "u1.medium"}, preference={"name": "windows.11.virtio"})
    assert [step["newVms"] for step in steps(tmp_path, "1.6", "1.9", small).values()] == [[], [], []]


def test_text_and_markdown_show_the_steps(tmp_path):
    steps(tmp_path, "1.4", "1.6", vm("old", instancetype={"name": "gn1.xlarge"}))
    flags = ("--kubevirt-version", "1.4", "--to-kubevirt-version", "1.6", "--fail-on", "never")
    text = checking.run("diff", "base.json", *flags, cwd=tmp_path)[1]
    assert "\n\nKubeVirt 1.4.1 → 1.5.3: none of 1 VM changes; 1 keeps a stored revision\n" in text
    assert f"  4 gone in the catalogue: {INSTANCETYPE} gn1." in text
    markdown = checking.run("diff", "base.json", *flags, "-o", "markdown", cwd=tmp_path)[1]
    assert markdown.count("<summary>KubeVirt 1.") == 2
    assert len(markdown) < 65_536


def test_a_change_of_the_objects_has_no_steps(tmp_path):
    tree(tmp_path, {"a.json": json.dumps(vm("web")), "b.json": json.dumps(vm("web"))})
    out = checking.run("diff", "a.json", "b.json", "--to-kubevirt-version", "1.9", "-o", "json", cwd=tmp_path)[1]
    assert "steps" not in json.loads(out)


def test_of_two_findings_about_one_value_the_one_that_goes_is_told(tmp_path):
    devices = {"interfaces": [{"name": "default", "slirp": {}}]}
    spec = {"domain": {"devices": devices, "memory": {"guest": "1Gi"}}, "networks": [{"name": "default", "pod": {}}]}
    instance = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "old"}, "spec": spec}
    (step,) = steps(tmp_path, "1.5", "1.6", instance).values()
    assert step["findings"]["new"] == []
    (gone,) = step["findings"]["gone"]
    assert "the cluster does not permit slirp" in gone["line"]
