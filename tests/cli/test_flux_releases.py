"""What a HelmRelease of Flux makes of a chart of the repository is what commands judge."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import running
from checking import run
from committing import git
from delivered import VM, check, vms
from trees import tree

from krm_fn import yamlio
from krm_fn.flux.releases import named, values
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import building, charts
from krm_fn.repositories.flux_targets import made_of_chart
from krm_fn.repositories.types import ChartRelease, Delivery

CHART = {
    "charts/vms/Chart.yaml": "apiVersion: v2\nname: vms\nversion: 1.0.0\n",
    "charts/vms/values.yaml": "memory: 1Gi\nname: web\n",
    "charts/vms/large.yaml": "memory: 8Gi\n",
    "charts/vms/templates/vm.yaml": VM % ("{{ .Release.Name }}-{{ .Values.name }}", "{{ .Values.memory }}"),
}
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %s, namespace: shop}
spec:
  interval: 1h
  chart:
    spec:
      chart: ./charts/vms
      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
%s"""
FROM_GIT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: sizes, namespace: shop}
data:
  values.yaml: 'memory: 3Gi'
  guest: 5Gi
"""


def release(spec: str = "", name: str = "a") -> str:
    return RELEASE % (name, "".join(f"  {line}\n" for line in spec.splitlines()))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(running.helm()).parent}:{Path(kustomize).parent}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


OPTIONS = {
    "nothing": ("", [("shop", "a-web", "1Gi")]),
    "a namespace": ("targetNamespace: lab", [("lab", "lab-a-web", "1Gi")]),
    "a name": ("targetNamespace: lab\nreleaseName: b", [("lab", "b-web", "1Gi")]),
    "values": ("values: {memory: 2Gi}", [("shop", "a-web", "2Gi")]),
    "values of git": ("valuesFrom: [{kind: ConfigMap, name: sizes}]", [("shop", "a-web", "3Gi")]),
    "values of git, less than its own": (
        "values: {memory: 2Gi}\nvaluesFrom: [{kind: ConfigMap, name: sizes}]",
        [("shop", "a-web", "2Gi")],
    ),
    "one value of git": (
        "valuesFrom: [{kind: ConfigMap, name: sizes, valuesKey: guest, targetPath: memory}]",
        [("shop", "a-web", "5Gi")],
    ),
    "values that may be missing": ("valuesFrom: [{kind: Secret, name: none, optional: true}]", [("shop", "a-web", "1Gi")]),
}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(("spec", "expected"), OPTIONS.values(), ids=[*OPTIONS])
def test_helm_makes_the_release_that_flux_makes(here: Path, spec: str, expected: list[tuple[str, str, str]]) -> None:
    files = {**CHART, "releases/a.yaml": release(spec), "sizes/map.yaml": FROM_GIT}
    assert vms(tree(here, files), "--helm") == expected


FILES = {
    "another one": ("[charts/vms/values.yaml, charts/vms/large.yaml]", "8Gi"),
    "its own alone": ("[charts/vms/values.yaml]", "1Gi"),
}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(("listed", "memory"), FILES.values(), ids=[*FILES])
def test_files_of_values_are_paths_from_the_root(here: Path, listed: str, memory: str) -> None:
    with_files = release().replace("      sourceRef", f"      valuesFiles: {listed}\n      sourceRef")
    assert vms(tree(here, {**CHART, "a.yaml": with_files}), "--helm") == [("shop", "a-web", memory)]


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_chart_is_judged_once_for_each_release(here: Path) -> None:
    files = {**CHART, "a.yaml": release(), "b.yaml": release("values: {memory: 2Gi}", name="b")}
    assert vms(tree(here, files), "--helm") == [("shop", "a-web", "1Gi"), ("shop", "b-web", "2Gi")]


KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./releases
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  targetNamespace: north
  postBuild: {substitute: {GUEST: 6Gi}}
"""


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_kustomization_changes_the_release_that_it_applies(here: Path) -> None:
    files = {**CHART, "flux/apps.yaml": KUSTOMIZATION, "releases/a.yaml": release("values: {memory: '${GUEST}'}")}
    assert vms(tree(here, files), "--helm") == [("north", "a-web", "6Gi")]


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_suspended_release_is_not_counted(here: Path) -> None:
    assert vms(tree(here, {**CHART, "a.yaml": release("suspend: true")}), "--helm") == []


WRONG = {
    "a key that is missing": (
        "valuesFrom: [{kind: ConfigMap, name: sizes, valuesKey: none}]",
        "ConfigMap sizes of valuesFrom has no key none",
    ),
    "a flag as a name": ("releaseName: --post-renderer=sh", "helm takes no name such as '--post-renderer=sh'"),
    "values that are no map": (
        "valuesFrom: [{kind: ConfigMap, name: sizes, valuesKey: guest}]",
        "the values of ConfigMap sizes are no map",
    ),
}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=[*WRONG])
def test_what_flux_refuses_is_an_error_at_the_release(here: Path, spec: str, message: str) -> None:
    found = check(tree(here, {**CHART, "a.yaml": release(spec), "map.yaml": FROM_GIT}), "--helm")
    assert "error: a.yaml:1:1: " in found
    assert message in found


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize("name", ["../outside.yaml", "charts/vms/link.yaml", "charts/vms/none.yaml"])
def test_no_file_from_outside_gives_values(here: Path, name: str) -> None:
    (here.parent / "outside.yaml").write_text("memory: 9Gi\n")
    listed = release().replace("      sourceRef", f"      valuesFiles: [charts/vms/values.yaml, {name}]\n      sourceRef")
    found = check(tree(here, {**CHART, "charts/vms/link.yaml": f"-> {here.parent}/outside.yaml", "a.yaml": listed}), "--helm")
    assert f"the values file {name} is not in the repository" in found


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_what_is_not_known_of_a_release_is_told(here: Path) -> None:
    given = release("valuesFrom: [{kind: Secret, name: none}]")
    _, _, err = run("capacity", ".", "--helm", "--verbose", cwd=tree(here, {**CHART, "a.yaml": given}))
    assert "the HelmRelease shop/a also takes Secret none, which is not read here" in err


# ---- what Flux does to what helm makes

MEMORY = """\
  - kustomize:
      patches:
      - target: {%s}
        patch: |
          - {op: replace, path: /spec/template/spec/domain/memory/guest, value: %s}
"""
LABEL = """\
  - kustomize:
      patches:
      - target: {kind: VirtualMachine}
        patch: |
          - {op: add, path: /metadata/labels, value: {size: large}}
"""
MERGED = """\
  - kustomize:
      patches:
      - patch: |
          apiVersion: kubevirt.io/v1
          kind: VirtualMachine
          metadata: {name: a-web}
          spec: {template: {spec: {domain: {memory: {guest: 4Gi}}}}}
"""
HOOK = {
    "charts/vms/templates/vm.yaml": CHART["charts/vms/templates/vm.yaml"].replace(
        "metadata:\n", "metadata:\n  annotations: {helm.sh/hook: post-install}\n", 1
    )
}
OF_VMS = MEMORY % ("kind: VirtualMachine", "4Gi")
POSTRENDERED: dict[str, tuple[str, dict[str, str], list[tuple[str, str, str]]]] = {
    "a JSON patch": (f"postRenderers:\n{OF_VMS}", {}, [("shop", "a-web", "4Gi")]),
    "a patch that is merged": (f"postRenderers:\n{MERGED}", {}, [("shop", "a-web", "4Gi")]),
    "nothing": ("postRenderers: [{kustomize: {}}, {}]", {}, [("shop", "a-web", "1Gi")]),
    "a patch of other objects": (f"postRenderers:\n{MEMORY % ('kind: Pod', '4Gi')}", {}, [("shop", "a-web", "1Gi")]),
    "in order": (
        f"postRenderers:\n{LABEL}{MEMORY % ('labelSelector: size=large', '5Gi')}{OF_VMS}",
        {},
        [("shop", "a-web", "4Gi")],
    ),
    "the earlier sees nothing of the later": (
        f"postRenderers:\n{MEMORY % ('labelSelector: size=large', '5Gi')}{LABEL}",
        {},
        [("shop", "a-web", "1Gi")],
    ),
    "before it has a namespace": (f"postRenderers:\n{MEMORY % ('namespace: shop', '4Gi')}", {}, [("shop", "a-web", "1Gi")]),
    "common labels come last": (
        f"commonMetadata: {{labels: {{size: large}}}}\npostRenderers:\n{MEMORY % ('labelSelector: size=large', '5Gi')}",
        {},
        [("shop", "a-web", "1Gi")],
    ),
    "hooks, too": (f"postRenderers:\n{OF_VMS}", HOOK, [("shop", "a-web", "4Gi")]),
    "no hooks": (f"postRenderStrategy: nohooks\npostRenderers:\n{OF_VMS}", HOOK, [("shop", "a-web", "1Gi")]),
    "hooks apart": (f"postRenderStrategy: separate\npostRenderers:\n{OF_VMS}", HOOK, [("shop", "a-web", "4Gi")]),
}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(("spec", "files", "expected"), POSTRENDERED.values(), ids=[*POSTRENDERED])
def test_what_helm_makes_is_patched_as_flux_patches_it(
    here: Path, spec: str, files: dict[str, str], expected: list[tuple[str, str, str]]
) -> None:
    assert vms(tree(here, {**CHART, **files, "a.yaml": release(spec)}), "--helm") == expected


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: helper, labels: {app: helper}}
spec: {containers: [{name: helper, image: "example.com/helper:1"}]}
"""
COMMON = """\
commonMetadata: {labels: {app: web}, annotations: {team: shop}}
postRenderers: [{kustomize: {images: [{name: example.com/helper, newName: example.org/aid, newTag: "2"}]}}]"""


def built(folder: Path, spec: str, files: dict[str, str] | None = None) -> dict[str, Any]:
    """What is delivered, by kind."""
    tree(folder, {**CHART, "charts/vms/templates/pod.yaml": POD, **(files or {}), "a.yaml": release(spec)})
    chart = charts.chart_of(f"{folder}/charts/vms", map(str, (folder / "charts/vms").rglob("*.*")))
    helm = ChartRelease("a", words=("--include-crds",))
    own = Delivery(yamlio.read_value((folder / "a.yaml").read_text()), "a.yaml", 0, 1, 1, release=helm)
    data = made_of_chart(chart._replace(delivery=own), building.builder(), 60)
    assert isinstance(data, bytes), data
    return {each["kind"]: each for each in yamlio.read_stream(data).items if each}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_images_are_replaced_and_all_objects_get_common_metadata(here: Path) -> None:
    found = built(here, COMMON)
    assert found["Pod"]["spec"]["containers"][0]["image"] == "example.org/aid:2"
    for each in found.values():
        assert each["metadata"]["labels"] == {"app": "web"}
        assert each["metadata"]["annotations"] == {"team": "shop"}
    assert "metadata" not in found["VirtualMachine"]["spec"]["template"]


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_definitions_of_a_chart_are_left_as_they_are(here: Path) -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: tests.example.com}\n"
    found = built(here, COMMON, {"charts/vms/crds/crd.yaml": crd})
    assert found["CustomResourceDefinition"]["metadata"] == {"name": "tests.example.com"}
    assert found["Pod"]["metadata"]["labels"] == {"app": "web"}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize("common", ["", "commonMetadata: {labels: {app: web}}\n"])
def test_a_patched_object_keeps_its_template(here: Path, common: str) -> None:
    spec = f"{common}postRenderers:\n{MEMORY % ('kind: VirtualMachine', '4Gb')}"
    found = check(tree(here, {**CHART, "charts/vms/templates/pod.yaml": POD, "a.yaml": release(spec)}), "--helm")
    assert "error: charts/vms/templates/vm.yaml" in found
    assert "4Gb" in found


REFUSED = {
    "a patch of nothing": (
        f"postRenderers:\n{MERGED.replace('a-web', 'none')}",
        "kustomize does not build this: no resource matches strategic merge patch",
    ),
    "a path to a file": (
        "postRenderers: [{kustomize: {patches: [{path: /etc/hostname, target: {kind: Pod}}]}}]",
        "kustomize does not build this: ",
    ),
    "no list": (
        "postRenderers: {kustomize: {}}",
        "the API server refuses this HelmRelease: spec.postRenderers",
    ),
}


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=[*REFUSED])
def test_what_flux_can_not_patch_is_an_error_at_the_release(here: Path, spec: str, message: str) -> None:
    found = check(tree(here, {**CHART, "a.yaml": release(spec)}), "--helm")
    assert "error: a.yaml:1:1: " in found
    assert f"Flux can't build this: {message}" in found
    assert str(here) not in found


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_chart_without_vms_that_flux_can_not_patch_is_no_error(here: Path) -> None:
    files = {**CHART, "charts/vms/templates/vm.yaml": POD, "a.yaml": release(f"postRenderers:\n{MERGED}")}
    assert check(tree(here, files), "--helm") == ""


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_without_kustomize_patches_are_an_error_and_common_metadata_is_not(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = tmp_path_factory.mktemp("bin")
    (alone / "helm").symlink_to(running.helm())
    monkeypatch.setenv("PATH", str(alone))
    both = {"a.yaml": release(f"postRenderers:\n{OF_VMS}"), "b.yaml": release("commonMetadata: {labels: {a: b}}", name="b")}
    found = check(tree(here, {**CHART, **both}), "--helm")
    assert "error: a.yaml:1:1: " in found
    assert "spec.postRenderers need kustomize" in found
    assert "b.yaml" not in found


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_the_steps_of_a_release_are_listed(here: Path) -> None:
    spec = f"{COMMON}\nvaluesFrom: [{{kind: ConfigMap, name: sizes}}]"
    folder = tree(here, {**CHART, "a.yaml": release(spec), "map.yaml": FROM_GIT})
    (row,) = json.loads(run("deliveries", "-o", "json", "--helm", cwd=folder)[1])["deliveries"]
    assert row["steps"] == ["build", "values", "patches", "metadata", "namespace"]


# ---- values, as upstream's tests of the same have them

HELD = {
    "values.yaml": "flat: value\nnested:\n  configuration: value\n",
    "literal": "a,b={c}",
    "text": "'1'",
    "number": "12",
    "truth": "true",
}
VALUES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "merged": ([{}], {"nested": {"own": 1}}, {"flat": "value", "nested": {"configuration": "value", "own": 1}}),
    "a map for a text": ([{}], {"flat": {"own": 1}}, {"flat": {"own": 1}, "nested": {"configuration": "value"}}),
    "null stays": ([{}], {"nested": None}, {"flat": "value", "nested": None}),
    "a number": ([{"valuesKey": "number", "targetPath": "a.b"}], {}, {"a": {"b": 12}}),
    "a truth": ([{"valuesKey": "truth", "targetPath": "a"}], {}, {"a": True}),
    "a text in quotes": ([{"valuesKey": "text", "targetPath": "a"}], {}, {"a": "1"}),
    "a literal": ([{"valuesKey": "literal", "targetPath": "a", "literal": True}], {}, {"a": "a,b={c}"}),
    "an entry": ([{"valuesKey": "number", "targetPath": "list[0].size"}], {}, {"list": [{"size": 12}]}),
    "a dot": ([{"valuesKey": "number", "targetPath": "a\\.b/c"}], {}, {"a.b/c": 12}),
    "its own values win": ([{"valuesKey": "number", "targetPath": "a.b"}], {"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 2}}),
}


@pytest.mark.parametrize(("given", "own", "expected"), VALUES.values(), ids=[*VALUES])
def test_values_are_merged_as_flux_merges_them(given: list[dict[str, Any]], own: dict[str, Any], expected: object) -> None:
    refs = [{"kind": "ConfigMap", "name": "held", **each} for each in given]
    obj = {"kind": "HelmRelease", "metadata": {"name": "a"}, "spec": {"valuesFrom": refs, "values": own}}
    held = yamlio.read_value(yamlio.dump({"kind": "ConfigMap", "metadata": {"name": "held"}, "data": HELD}))
    assert values(obj, lambda _kind, _name: held, []) == expected


def test_a_value_that_helm_takes_apart_is_refused() -> None:
    refs = [{"kind": "ConfigMap", "name": "held", "valuesKey": "literal", "targetPath": "a"}]
    held = {"kind": "ConfigMap", "metadata": {"name": "held"}, "data": HELD}
    with pytest.raises(FluxError, match="set literal: true"):
        values({"metadata": {"name": "a"}, "spec": {"valuesFrom": refs}}, lambda _kind, _name: held, [])


@pytest.mark.parametrize(
    "path", ["...", "\\", "[0]", "[" + "9" * 5000 + "]", "a[" + "9" * 5000 + "]", ".".join("a" * 5000), "a" + "[0]" * 5000]
)
def test_a_target_path_that_leads_nowhere_is_an_error(path: str) -> None:
    spec = {"valuesFrom": [{"kind": "ConfigMap", "name": "c", "targetPath": path}]}
    with pytest.raises(FluxError, match="leads to no value; expected names, joined by dots"):
        values({"spec": spec}, lambda kind, name: {"kind": kind, "data": {"values.yaml": "x"}}, [])


def test_a_number_that_no_integer_holds_stays_text() -> None:
    spec = {"valuesFrom": [{"kind": "ConfigMap", "name": "c", "targetPath": "a"}]}
    assert values({"spec": spec}, lambda kind, name: {"kind": kind, "data": {"values.yaml": "9" * 5000}}, []) == {
        "a": "9" * 5000
    }


def test_a_long_name_of_a_release_is_cut() -> None:
    name, _ = named({"metadata": {"name": "some-front-appended-namespace-release-with-a-very-long-name-indeed"}})
    assert name == "some-front-appended-namespace-release-wi-" + name[-12:]
    assert len(name) == 53
