"""Argo CD's side of things as plain data: what applications set, what leaves, what will differ."""

from __future__ import annotations

import json

import pytest
from functions import instancetype, vm

from krm_fn.base.errors import ConfigError, InputError
from krm_fn.cli.argocd import printed
from krm_fn.hosts.argocd import build
from krm_fn.kubevirt.releases import parse
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import drift, stages
from krm_fn.repositories import manifests, parameters
from krm_fn.sources.reading import of_bytes
from krm_fn.yamlio import read_stream

LOCAL = "config.kubernetes.io/local-config"


def as_json(*given):
    return {"ARGOCD_APP_PARAMETERS": json.dumps(given)}


def read(environment):
    return parameters.read(environment).over(Config())


def config_map(**annotations):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": annotations}}


def test_parameters_are_keys_of_the_config():
    given = as_json(
        {"name": "kubevirtVersion", "string": "1.6"},
        {"name": "provenance", "string": "true"},
        {"name": "severity", "map": {"null-item": "off"}},
        {"name": "configuration", "map": {"developerConfiguration.memoryOvercommit": "150"}},
    )
    assert read(given) == Config(
        release=parse("1.6"),
        provenance=True,
        severity={"null-item": "off"},
        configuration={"developerConfiguration": {"memoryOvercommit": 150}},
    )


def test_an_applications_env_says_the_same_in_upper_case():
    assert read({"ARGOCD_ENV_FAIL_ON": "warning", "ARGOCD_ENV_KUBEVIRT_VERSION": "1.7"}) == Config(
        fail_on="warning", release=parse("1.7")
    )


def test_parameters_lie_over_env():
    assert read({"ARGOCD_ENV_MODE": "annotate", **as_json({"name": "mode", "string": "snapshot"})}).mode == "snapshot"


def test_single_variables_do_where_there_is_no_json():
    environment = {
        "PARAM_KUBEVIRTVERSION": "1.8",
        "PARAM_SEVERITY_NULL_ITEM": "off",
        "PARAM_BUILDOPTIONS_0": "--enable-helm",
        "PARAM_BUILDOPTIONS_1": "--helm-command=/tools/helm",
    }
    assert read(environment) == Config(release=parse("1.8"), severity={"null-item": "off"})
    assert parameters.read(environment).build_options == ("--enable-helm", "--helm-command=/tools/helm")


def test_the_json_is_believed_before_single_variables():
    assert read({"PARAM_MODE": "annotate", "ARGOCD_APP_PARAMETERS": "null"}) == Config()


def test_build_options_of_the_env_are_split_as_a_shell_does():
    assert parameters.read({"ARGOCD_ENV_BUILD_OPTIONS": "--enable-helm --set 'a=b c'"}).build_options == (
        "--enable-helm",
        "--set",
        "a=b c",
    )


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (as_json({"name": "failon", "string": "never"}), "parameters: unknown parameter 'failon'; expected one of mode, "),
        (as_json({"name": "mode", "string": "expnad"}), "parameter mode: found 'expnad'; expected one of expand, "),
        (as_json({"name": "mode", "array": ["a"]}), "parameter mode: found a list; expected a string"),
        (as_json({"name": "allowEmpty", "string": "si"}), "parameter allowEmpty: found 'si'; expected true or false"),
        (
            as_json({"name": "buildOptions", "map": {"a": "b"}}),
            "parameter buildOptions: found a map; expected a list of strings",
        ),
        ({"ARGOCD_APP_PARAMETERS": "{"}, "ARGOCD_APP_PARAMETERS: not JSON; "),
        ({"ARGOCD_APP_PARAMETERS": "[1]"}, "ARGOCD_APP_PARAMETERS: found a list; "),
        ({"ARGOCD_ENV_FAIL_ON": "waring"}, "ARGOCD_ENV_FAIL_ON: found 'waring'; "),
    ],
)
def test_a_wrong_parameter_is_named_with_its_place(environment, told):
    with pytest.raises(ConfigError) as caught:
        read(environment)
    assert str(caught.value).startswith(told)


def test_a_misspelt_variable_is_noticed():
    assert parameters.unknown_variables({"ARGOCD_ENV_FAILON": "never", "ARGOCD_ENV_MODE": "expand", "HOME": "/"}) == [
        "ARGOCD_ENV_FAILON"
    ]


def test_every_parameter_that_is_read_is_announced_with_what_is_in_force():
    announced = {one["name"]: one for one in parameters.announcement(Config(mode="annotate", severity={"null-item": "off"}))}
    assert list(announced) == list(parameters.NAMES)
    assert (announced["mode"]["string"], announced["severity"]["map"]) == ("annotate", {"null-item": "off"})
    assert announced["failOn"]["title"] == "Fail on"
    assert announced["provenance"]["itemType"] == "boolean"
    assert announced["buildOptions"]["collectionType"] == "array"


@pytest.mark.parametrize(
    "item",
    [
        config_map(**{LOCAL: "true"}),
        config_map(**{LOCAL: "yes"}),
        config_map(**{"config.kubernetes.io/function": "exec: {path: x}"}),
        {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}},
        {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "p"}},
        {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"},
        {"apiVersion": "v1", "kind": "List", "items": [config_map(**{LOCAL: "true"})]},
        None,
    ],
)
def test_what_only_tools_read_stays_here(item):
    assert manifests.leaving(item, notes=True) is None


def test_annotations_of_tools_are_taken_away_and_others_stay():
    given = config_map(
        **{
            "internal.config.kubernetes.io/path": "a.yaml",
            "config.kubernetes.io/origin": "path: a.yaml",
            LOCAL: "false",
            "config.k8s.io/id": "1",
            "kustomize.config.k8s.io/id": "x",
            "kubevirt-render.dev/instancetype": "u1.small",
            "example.com/a": "b",
        }
    )
    assert manifests.leaving(given, notes=False) == config_map(**{"example.com/a": "b"})
    notes = {"kubevirt-render.dev/instancetype": "u1.small", "example.com/a": "b"}
    assert manifests.leaving(given, notes=True) == config_map(**notes)


def test_no_empty_annotations_are_left():
    assert manifests.leaving(config_map(**{"config.k8s.io/id": "1"}), notes=False)["metadata"] == {"name": "a"}


def test_an_object_without_such_annotations_is_the_same_object():
    given = vm()
    assert manifests.leaving(given, notes=False) is given


def test_a_list_leaves_without_what_only_tools_read():
    web = vm()
    given = {"apiVersion": "v1", "kind": "List", "items": [web, instancetype(annotations={LOCAL: "true"})]}
    assert manifests.leaving(given, notes=False) == {"apiVersion": "v1", "kind": "List", "items": [web]}


def test_what_names_no_namespace_is_in_the_applications():
    items = [vm(), vm("other", namespace="b"), instancetype(kind="VirtualMachineClusterInstancetype"), config_map()]
    placed = manifests.in_namespace(items, "shop")
    assert [item["metadata"].get("namespace") for item in placed] == ["shop", "b", None, None]


def with_templates(*metadata, **kept):
    given = vm(**kept)
    given["spec"]["dataVolumeTemplates"] = [
        {"metadata": each, "spec": {"source": {"blank": {}}, "storage": {"resources": {}}}} for each in metadata
    ]
    return given


def of(release, **config):
    return Config(release=parse(release), catalogue="none", **config)


CREATION = {
    "group": "kubevirt.io",
    "kind": "VirtualMachine",
    "jqPathExpressions": [".spec.dataVolumeTemplates[]?.metadata.creationTimestamp"],
}


@pytest.mark.parametrize(("release", "expected"), [("1.7", [CREATION]), ("1.8", [])])
def test_go_writes_an_empty_creation_time_up_to_one_seven(release, expected):
    items = [with_templates({"name": "a"}, {"name": "b"}), vm("other")]
    assert drift.ignored(items, of(release)) == expected


def test_keys_that_the_cluster_adds_to_maps_are_no_difference():
    assert drift.ignored([vm()], of("1.9")) == []


def test_a_place_that_other_vms_use_is_ignored_by_name():
    cluster = {"instancetype": {"referencePolicy": "expand"}}
    named = vm("a", instancetype="small", namespace="x")
    items = [named, instancetype(namespace="x"), vm("b", namespace="x")]
    entry = {"group": "kubevirt.io", "kind": "VirtualMachine", "jsonPointers": ["/spec/instancetype"]}
    assert drift.ignored(items, of("1.9", configuration=cluster)) == [entry]
    both = [*items, {**vm("c", namespace="x"), "spec": {**named["spec"], "instancetype": {"name": "gone"}}}]
    assert drift.ignored(both, of("1.9", configuration=cluster)) == [entry]


def test_before_one_six_the_clusters_policy_needs_its_gate():
    items = [vm("a", instancetype="small"), instancetype()]
    cluster = {"instancetype": {"referencePolicy": "expandAll"}}
    assert drift.ignored(items, of("1.5", configuration=cluster)) == []
    gated = {**cluster, "developerConfiguration": {"featureGates": ["InstancetypeReferencePolicy"]}}
    assert drift.ignored(items, of("1.5", configuration=gated))[0]["jsonPointers"] == ["/spec/instancetype"]


def test_a_volume_to_infer_from_is_gone_after_admission():
    given = vm("a")
    given["spec"]["preference"] = {"inferFromVolume": "root"}
    given["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": "root"}}]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "root", "labels": {"instancetype.kubevirt.io/default-preference": "linux"}},
    }
    linux = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "linux"},
        "spec": {},
    }
    entries = drift.ignored([given, claim, linux], of("1.9"))
    assert [entry["jsonPointers"] for entry in entries] == [["/spec/preference/inferFromVolume"]]


def test_amounts_in_another_spelling_are_reported_and_not_ignored():
    given = vm()
    given["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "2048Mi"}
    given["spec"]["template"]["spec"]["domain"]["resources"] = {"requests": {"cpu": "1000m", "memory": "1Gi"}}
    told = [(one.path[4:], one.current, one.stored) for _, one in drift.respelt([given], of("1.9"))]
    assert told == [(("memory", "guest"), "2048Mi", "2Gi"), (("resources", "requests", "cpu"), "1000m", "1")]
    assert drift.ignored([given], of("1.9")) == []


def command(folder, *options, **environment):
    return build.command_for(folder, options=options, environment=environment)


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("kustomize", "helm", "kubectl"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def test_a_kustomization_is_built_by_kustomize(tmp_path, tools):
    (tmp_path / "Kustomization").write_text("resources: []\n")
    assert command(tmp_path, "--enable-helm", PATH=str(tools)) == ["kustomize", "build", "--enable-helm", "."]
    (tools / "kustomize").unlink()
    assert command(tmp_path, PATH=str(tools)) == ["kubectl", "kustomize", "."]


def test_a_chart_is_built_as_argo_cd_builds_it(tmp_path, tools):
    (tmp_path / "Chart.yaml").write_text("name: shop\n")
    assert command(
        tmp_path,
        "--values=prod.yaml",
        PATH=str(tools),
        ARGOCD_APP_NAME="shop",
        ARGOCD_APP_NAMESPACE="ns",
        KUBE_VERSION="1.33.1",
        KUBE_API_VERSIONS="v1,kubevirt.io/v1",
    ) == [
        *("helm", "template", "shop", ".", "--include-crds", "--namespace", "ns", "--kube-version", "1.33.1"),
        *("--api-versions", "v1", "--api-versions", "kubevirt.io/v1", "--values=prod.yaml"),
    ]


def test_a_folder_is_read_where_there_is_nothing_to_build(tmp_path):
    assert command(tmp_path, PATH="") == []


@pytest.mark.parametrize(("file", "told"), [("kustomization.yaml", "neither kustomize nor kubectl"), ("Chart.yaml", "helm")])
def test_a_program_that_is_not_there_is_named(tmp_path, file, told):
    (tmp_path / file).write_text("name: x\n")
    with pytest.raises(InputError, match=told):
        command(tmp_path, PATH="")


def test_a_revision_is_generated_before_its_vm_though_what_only_tools_read_stays_here():
    items = [
        config_map(**{LOCAL: "true"}),
        vm("first"),
        config_map(**{LOCAL: "true"}),
        instancetype(),
        vm(instancetype="small"),
    ]
    found = of_bytes("".join(f"---\n{json.dumps(item)}\n" for item in items).encode())
    outcome = stages.render(found.items, Config(mode="snapshot", catalogue="none"))
    written = read_stream(printed(found, outcome, notes=False)).items
    assert [item["kind"] for item in written] == [
        "VirtualMachine",
        "VirtualMachineInstancetype",
        "ControllerRevision",
        "VirtualMachine",
    ]


def test_the_instances_that_show_what_vms_become_are_not_generated():
    items = [vm(instancetype="small"), instancetype()]
    found = of_bytes("".join(f"---\n{json.dumps(item)}\n" for item in items).encode())
    outcome = stages.render(found.items, Config(instances="include", catalogue="none"))
    assert [item["kind"] for item in outcome.items[len(items) :]] == ["VirtualMachineInstance"]
    written = read_stream(printed(found, outcome, notes=False)).items
    assert [item["kind"] for item in written] == ["VirtualMachine", "VirtualMachineInstancetype"]
