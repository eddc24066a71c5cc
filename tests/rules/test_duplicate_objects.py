"""Objects of one name: how many findings there are, and how severe they are."""

from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging

FOLDER = frozenset(("vms/",))


def secret(name, value, version="v1", kind="Secret"):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "stringData": {"a": value}}


def duplicates(items, places=(), units=()):
    outcome = stages.render(items, Config(mode="validate"), places=places, judging=Judging(units=units))
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
    items = [secret("a", "1", version=f"example.com/{version}", kind="Sample") for version in ("v1alpha1", "v1")]
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
