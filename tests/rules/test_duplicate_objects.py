"""Objects of one name: how many findings there are, and how severe they are."""

import pytest

from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging

USER = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "user"},
    "spec": {"template": {"spec": {"volumes": [{"name": each, "secret": {"secretName": each}} for each in "abc"]}}},
}
FOLDER = frozenset(("vms/",))


def secret(name, value, version="v1", kind="Secret"):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "stringData": {"a": value}}


def duplicates(items, places=(), units=()):
    places, units = [*places, ("user.yaml", 0)] if places else (), [*units, FOLDER] if units else ()
    outcome = stages.render([*items, USER], Config(mode="validate"), places=places, judging=Judging(units=units))
    return [
        (each.severity, each.ref.name, each.message.partition(" is ")[2])
        for each in outcome.findings
        if each.rule == "duplicate-object"
    ]


def test_variants_in_two_files_of_a_folder_are_told_once_for_each_kind():
    names = ("a", "b", "c")
    items = [secret(name, value) for value in ("1", "2") for name in names]
    places = [(file, number) for file in ("one.yaml", "two.yaml") for number in range(3)]
    assert duplicates(items, places, [FOLDER] * 6) == [
        ("warning", "a", "in one.yaml (document 0) (2 more of this kind in these two files); delete or rename one")
    ]


def test_what_is_applied_together_is_told_for_each_object():
    items = [secret(name, value) for value in ("1", "2") for name in ("a", "b")]
    assert [each[:2] for each in duplicates(items)] == [("error", "a"), ("error", "b")]


def test_an_object_in_two_api_versions_is_a_warning():
    group, kind = "snapshot.kubevirt.io", "VirtualMachineSnapshot"
    items = [secret("a", "1", version=f"{group}/{version}", kind=kind) for version in ("v1alpha1", "v1beta1")]
    assert [each[:2] for each in duplicates(items)] == [("warning", "a")]


def test_a_size_in_two_api_versions_is_an_error():
    group = "instancetype.kubevirt.io"
    sizes = [
        {
            "apiVersion": f"{group}/{version}",
            "kind": "VirtualMachineInstancetype",
            "metadata": {"name": "small"},
            "spec": {"cpu": {"guest": number}, "memory": {"guest": "1Gi"}},
        }
        for number, version in enumerate(("v1alpha2", "v1beta1"), 1)
    ]
    assert [each[:2] for each in duplicates(sizes)] == [("error", "small")]


@pytest.mark.parametrize(
    ("kind", "version", "name", "count"),
    [
        ("NetworkPolicy", "networking.k8s.io/v1", "a", 0),
        ("Sample", "example.com/v1", "a", 0),
        ("Secret", "v1", "of-another-program", 0),
        ("Secret", "v1", "a", 1),
        ("SealedSecret", "bitnami.com/v1alpha1", "a", 1),
        ("SealedSecret", "bitnami.com/v1alpha1", "of-another-program", 0),
        ("LimitRange", "v1", "limits", 1),
        ("DataVolume", "cdi.kubevirt.io/v1beta1", "disk", 1),
    ],
)
def test_only_what_concerns_vms_is_told(kind, version, name, count):
    assert len(duplicates([secret(name, value, version=version, kind=kind) for value in ("1", "2")])) == count
