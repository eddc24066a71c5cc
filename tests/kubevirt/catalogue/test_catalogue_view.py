"""The builtin catalogue as the command shows it."""

from __future__ import annotations

import json

import pytest
import yaml
from click.testing import CliRunner

from krm_fn.__main__ import guarded
from krm_fn.base.errors import ConfigError
from krm_fn.cli import run as run_command
from krm_fn.cli.catalogue import catalogue as command
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE, view
from krm_fn.kubevirt.releases import MINORS, NEWEST, Release

LAST = ".".join(map(str, catalogue.releases()[-1]))

API = "instancetype.kubevirt.io/v1beta1"
U1_MEDIUM = {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}


def release(text):
    major, minor, patch = map(int, text.split("."))
    return Release(version=(major, minor, patch))


def test_a_row_names_size_and_traits():
    row = {row.name: row for row in view.rows(NEWEST, INSTANCETYPE)}["rt1.medium"]
    traits = ("dedicated CPUs", "isolated emulator thread", "NUMA passthrough", "realtime", "hugepages 1Gi")
    assert row == view.CatalogueRow(name="rt1.medium", kind=INSTANCETYPE, vcpus="1", memory="4Gi", traits=traits)


def test_a_row_of_a_preference_names_what_it_requires():
    row = {row.name: row for row in view.rows(NEWEST, PREFERENCE)}["windows.11.virtio"]
    assert row == view.CatalogueRow(
        name="windows.11.virtio",
        kind=PREFERENCE,
        vcpus="2",
        memory="4Gi",
        disk_bus="virtio",
        interface="virtio",
        traits=("topology sockets", "video virtio", "EFI", "secure boot", "TPM", "Hyper-V"),
    )


def test_a_deprecated_row_says_so_and_names_its_gpu():
    row = {row.name: row for row in view.rows(release("1.4.1"), INSTANCETYPE)}["gn1.xlarge"]
    assert row.traits == ("deprecated", "GPU nvidia.com/A400")


def test_instancetypes_are_listed_by_class_and_size():
    names = [row.name for row in view.rows(NEWEST, INSTANCETYPE) if row.name.startswith("u1")]
    assert names[:6] == ["u1.nano", "u1.micro", "u1.small", "u1.medium", "u1.2xmedium", "u1.large"]
    assert names[6:] == ["u1.xlarge", "u1.2xlarge", "u1.4xlarge", "u1.8xlarge"]


def test_the_pairs_that_fit_are_as_many_as_kubevirt_admits():
    fitting = sum(len(view.satisfying(row.name, NEWEST)) for row in view.rows(NEWEST, PREFERENCE))
    assert 65 * 54 - fitting == 419


def test_a_spread_over_threads_needs_twice_the_ratio():
    names = view.satisfying("rhel.9.realtime", release("1.4.1"))
    assert "u1.large" not in names
    assert "u1.xlarge" in names


def test_memory_is_compared_as_an_amount():
    names = view.satisfying("centos.stream9", NEWEST)
    assert "u1.small" in names
    assert "u1.micro" not in names


def test_without_requirements_every_instancetype_fits():
    assert len(view.satisfying("legacy", NEWEST)) == 65


def test_the_shown_object_is_the_callers_own():
    view.show("u1.medium", NEWEST)["spec"]["cpu"]["guest"] = 99
    assert catalogue.of(NEWEST).find(INSTANCETYPE, "u1.medium") == U1_MEDIUM


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.9", (1, 9, 0)), ("v1.6.3", (1, 6, 3)), ("1.6", (1, 6, 6)), ("1.3", (1, 3, 1)), ("1.1.0", (1, 1, 0))],
)
def test_a_release_is_read_back_to_the_first_with_a_catalogue(text, version):
    assert view.release_of(text).version == version


@pytest.mark.parametrize("text", ["1.0", "1.99", "1", "1.9.0.1", "latest", "", "1.x", "1." + "9" * 5000])
def test_another_release_is_refused(text):
    with pytest.raises(ConfigError, match=rf"expected a KubeVirt release from 1\.1 to {MINORS[-1]}"):
        view.release_of(text)


# The command


def run(*args):
    return CliRunner().invoke(command, list(args))


def test_list_prints_both_tables():
    lines = run("list").output.splitlines()
    assert lines[0] == "INSTANCETYPE     VCPUS   MEMORY   TRAITS"
    assert "u1.medium        1       4Gi      -" in lines
    assert "PREFERENCE                 VCPUS FROM   MEMORY FROM   ARCHITECTURE   DISK BUS   INTERFACE   TRAITS" in lines
    assert len(lines) == 1 + 65 + 1 + 1 + 54


def test_list_of_one_kind_and_release():
    assert len(run("list", "--kind", "preference", "--kubevirt-version", "1.4.1").output.splitlines()) == 1 + 37


def test_list_prints_a_list_object_as_kubectl_does():
    found = json.loads(run("list", "-o", "json").output)
    assert (found["apiVersion"], found["kind"], len(found["items"])) == ("v1", "List", 119)


def test_yaml_output_has_no_aliases():
    text = run("list", "-o", "yaml", "--kubevirt-version", "1.1").output
    assert "&id" not in text
    assert len(yaml.safe_load(text)["items"]) == 66


def test_list_what_satisfies_a_preference():
    found = json.loads(run("list", "--satisfies", "rhel.9.dpdk", "-o", "json").output)
    assert len(found["items"]) == 65 - 37
    assert {item["kind"] for item in found["items"]} == {INSTANCETYPE}


def test_preferences_satisfy_no_preference():
    assert run("list", "--satisfies", "fedora", "--kind", "preference").exit_code == 2


def test_show_prints_the_object_as_yaml():
    assert run("show", "u1.medium").output == (
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata:\n  name: u1.medium\n"
        "spec:\n  cpu:\n    guest: 1\n  memory:\n    guest: 4Gi\n"
    )


def test_show_prints_the_object_as_json():
    assert json.loads(run("show", "u1.medium", "-o", "json").output) == {
        "apiVersion": API,
        "kind": INSTANCETYPE,
        "metadata": {"name": "u1.medium"},
        "spec": U1_MEDIUM,
    }


def test_show_as_text_names_the_releases():
    assert run("show", "windows.2k12", "-o", "text").output.splitlines()[-2:] == [
        f"In KubeVirt:     1.1.0 to 1.3.1, 1.6.0 to {LAST}",
        f"With this spec:  1.6.0 to {LAST}",
    ]


def failed(capsys, *args):
    """The exit code and stderr of the command, which leaves stdout empty."""
    code = guarded(lambda: run_command(["catalogue", *args]))
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


def test_without_a_subcommand_it_prints_its_help():
    assert run().exit_code == 0
    assert run().output == run("--help").output
    assert run().output.startswith("Usage: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("u1.mediun",), f"instancetype or preference 'u1.mediun'; did you mean u1.medium (in KubeVirt 1.1.0 to {LAST})?"),
        (
            ("gn1.xlarge", "--kind", "instancetype"),
            "instancetype 'gn1.xlarge'; it is in KubeVirt 1.1.0 to 1.4.1; choose one of these with --kubevirt-version",
        ),
        (
            ("u1.medium", "--kind", "preference"),
            "preference 'u1.medium'; `kubevirt-render catalogue list` lists all names",
        ),
        (
            ("highperformance.larg", "--kind", "instancetype"),
            "instancetype 'highperformance.larg'; did you mean highperformance.large (in KubeVirt 1.1.0 to 1.1.1)?",
        ),
    ],
)
def test_an_unknown_name_is_one_line_and_exit_code_1(capsys, args, message):
    assert failed(capsys, "show", *args) == (1, f"kubevirt-render: error: KubeVirt {NEWEST} has no builtin {message}\n")


def test_an_unknown_preference_to_satisfy_is_an_error(capsys):
    message = f"kubevirt-render: error: KubeVirt {NEWEST} has no builtin preference 'fedroa'; "
    suggestion = f"did you mean fedora (in KubeVirt 1.1.0 to {LAST})?\n"
    assert failed(capsys, "list", "--satisfies", "fedroa") == (1, message + suggestion)


def test_an_unknown_release_is_wrong_usage(capsys):
    expected = "expected a KubeVirt release from 1.1 to 1.9, or a patch release of one"
    message = f"kubevirt-render: error: no catalogue for '1.0'; {expected}\n"
    assert failed(capsys, "list", "--kubevirt-version", "1.0") == (2, message)
