"""What is known beside a bundle: objects of other targets, and objects that are only in the cluster."""

import pytest

from krm_fn.base.bundle import Bundle
from krm_fn.base.external import External, Externals
from krm_fn.findings import results
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.drift import with_drifts
from krm_fn.pipeline.facts import gather
from krm_fn.rules.facts.bundles import Ambiguous, Surroundings

SIZE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "small", "annotations": {"kubevirt-render.dev/ignore": "no-such-rule: x"}},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}, "unknown": 1},
}
WIDE = {**SIZE, "spec": {"cpu": {"guest": 2, "dedicatedCPUPlacement": True, "isolateEmulatorThread": True}}}
VOLUME = {
    "apiVersion": "cdi.kubevirt.io/v1beta1",
    "kind": "DataVolume",
    "metadata": {"name": "root", "namespace": "shop"},
    "spec": {"source": {"http": {"url": "https://example.com", "secretRef": "lost"}}, "storage": {}},
}


def vm(cores=None, name="web", **spec):
    domain = {"devices": {"disks": [{"name": "root", "disk": {}}]}, **({"cpu": {"cores": cores}} if cores else {})}
    volumes = [
        {"name": "root", "dataVolume": {"name": "root"}},
        {"name": "key", "secret": {"secretName": "lost"}},
    ]
    template = {"spec": {"domain": domain, "volumes": volumes}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"runStrategy": "Always", "instancetype": {"name": "small"}, "template": template, **spec},
    }


def render(items, mode="validate", release=None, external=(), **beside):
    beside["external"] = (Externals(external),) if external else ()
    settings = Config(mode=mode, release=parse(release) if release else None)
    judging = stages.Judging(surroundings=Surroundings(**beside))
    return stages.render(items, settings, judging=judging)


def reported(findings):
    return [(each.rule, str(each.ref), each.path, each.message.partition(" is not in the bundle")[0]) for each in findings]


@pytest.mark.parametrize("mode", ["validate", "expand", "annotate"])
@pytest.mark.parametrize("items", [[vm()], [vm(cores=4)], [vm(), vm(cores=4, name="db")]])
def test_own_objects_are_judged_as_with_the_others_beside_them(mode, items):
    whole = stages.render([*items, SIZE, VOLUME], Config(mode=mode))
    found = render(items, mode, context=(SIZE, VOLUME))
    own = [each for each in whole.findings if each.item < len(items)]
    assert reported(own) == reported(found.findings)
    assert found.items == whole.items[: len(items)]
    assert all(each.item < len(items) for each in found.findings)


def test_without_the_others_more_is_wrong():
    rules = {each.rule for each in render([vm(cores=4)]).findings}
    assert {"unresolved-instancetype", "missing-object"} <= rules
    assert {each.rule for each in render([vm(cores=4)], context=(SIZE, VOLUME)).findings} == {
        "instancetype-conflict",
        "missing-object",
    }


def test_a_fault_of_a_foreign_instancetype_is_reported_at_the_vm():
    own = {each.rule for each in render([vm(), WIDE, VOLUME]).findings}
    beside = {each.rule for each in render([vm()], context=(WIDE, VOLUME)).findings}
    assert "unusable-instancetype" in own
    assert "unusable-instancetype" not in beside
    assert any(rule.startswith("refused-") for rule in beside)


def test_places_in_other_targets_have_their_file_and_no_item():
    beside = Surroundings(context=(SIZE,), places=(("types/small.yaml", 3),))
    judging = stages.Judging(surroundings=beside)
    found = stages.render([vm(cores=4)], Config(mode="validate"), places=[("web.yaml", 0)], judging=judging)
    (conflict,) = [each for each in found.findings if each.rule == "instancetype-conflict"]
    assert (conflict.file, conflict.message.endswith("(see types/small.yaml)")) == ("web.yaml", True)
    assert [(each.file, each.index, each.item) for each in conflict.related] == [("types/small.yaml", 3, -1)]


def test_the_ignores_of_foreign_objects_say_nothing():
    assert not [each for each in render([vm()], context=(SIZE, VOLUME)).findings if each.rule.endswith("ignore")]


def test_snapshots_store_a_foreign_instancetype_behind_the_own_items():
    left = render([vm()], "snapshot", context=(SIZE,)).items
    assert [each["kind"] for each in left] == ["VirtualMachine", "ControllerRevision"]


EXTERNAL = (External(kind="VirtualMachineClusterInstancetype", name="sm*"), External(kind="DataVolume"))


@pytest.mark.parametrize("release", ["1.4", "1.9"])
def test_external_objects_have_no_findings(release):
    found = render([vm(cores=4)], release=release, external=(*EXTERNAL, External(kind="Secret", namespace="shop")))
    assert results.ordered(found.findings) == ()
    assert [str(each) for each in found.external] == [
        "DataVolume shop/root",
        "Secret shop/lost",
        "VirtualMachineClusterInstancetype small",
    ]


def test_a_vm_with_an_external_instancetype_is_not_rendered():
    given = vm(cores=4)
    found = render([given], "expand", external=EXTERNAL)
    assert found.items == [given]
    assert found.findings == ()


def test_what_an_external_instancetype_cannot_change_is_still_reported():
    found = render([vm(runStrategy="Sometimes")], external=(*EXTERNAL, External(kind="Secret")))
    assert {each.rule for each in found.findings} == {"refused-run-strategy"}


def test_what_no_entry_covers_is_reported():
    found = render([vm()], external=(External(kind="VirtualMachineClusterInstancetype", name="large"),))
    assert "unresolved-instancetype" in {each.rule for each in found.findings}
    assert found.external == ()


@pytest.mark.parametrize(
    ("spec", "external"),
    [
        ({"instancetype": {"name": "small", "revisionName": "r"}}, External(kind="ControllerRevision", namespace="shop")),
        ({"instancetype": {"inferFromVolume": "root"}}, External(kind="DataVolume", name="root")),
        ({"preference": {"kind": "VirtualMachinePreference", "name": "p"}}, External(kind="VirtualMachinePreference")),
    ],
)
def test_all_ways_to_refer_to_something_count(spec, external):
    others = (External(kind="Secret"), External(kind="DataVolume"))
    found = render([vm(**spec)], external=(external, *others), context=(SIZE,))
    assert found.findings == ()
    assert found.external


def test_an_ambiguous_name_is_a_warning_and_nothing_more():
    unclear = Ambiguous(kind="VirtualMachineClusterInstancetype", namespace="", name="small", where=("a", "b"))
    found = render([vm(cores=4)], ambiguous=(unclear,), external=(External(kind="Secret"), External(kind="DataVolume")))
    assert [(each.rule, each.severity) for each in found.findings] == [("ambiguous-reference", "warning")]


@pytest.mark.parametrize(
    "expression", [f".{'a' * 5000}!", f".{'a.' * 5000}!", f".spec{'[]' * 5000}!", '"' * 5001, ".a | del(.b)"]
)
def test_an_expression_that_leads_to_no_place_is_taken_for_all_places(expression):
    """It is read once from its start to its end, however long it is."""
    entry = {"group": "*", "kind": "*", "jqPathExpressions": [expression]}
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"memory": {"guest": "1024Mi"}, "devices": {}}}}},
    }
    bundle = Bundle([vm])

    def drifting(*ignored):
        return len(with_drifts(gather(bundle, Config(), Surroundings(ignored=ignored))).drifts)

    assert (drifting(), drifting(entry)) == (1, 0)
