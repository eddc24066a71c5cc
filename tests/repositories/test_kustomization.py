"""What a kustomization names, by role."""

import pytest

from krm_fn import yamlio
from krm_fn.repositories.kustomization import is_kustomization, is_remote, joined, kustomization

ALL = """
resources: [vm.yaml, ../base]
bases: [../old]
components: [../comp]
generators: [generator.yaml]
transformers:
  - transformer.yaml
  - |
    apiVersion: example.com/v1
    kind: Rename
    metadata: {name: a}
validators: [checks]
patches:
  - path: patch.yaml
    target: {kind: VirtualMachine}
  - patch: |
      - op: remove
        path: /spec/running
    target: {kind: VirtualMachine}
patchesStrategicMerge:
  - merge.yaml
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
patchesJson6902:
  - path: json.yaml
    target: {version: v1, kind: VirtualMachine, name: web}
replacements:
  - path: replacement.yaml
  - source: {kind: ConfigMap}
crds: [crd.json]
configurations: [names.yaml]
openapi: {path: schema.json}
configMapGenerator:
  - name: a
    files: [plain.txt, key=keyed.txt]
    envs: [many.env]
    env: one.env
secretGenerator:
  - name: b
    files: [secret.txt]
helmGlobals: {chartHome: ../charts}
helmCharts:
  - name: web
    valuesFile: values.yaml
    additionalValuesFiles: [more.yaml]
helmChartInflationGenerator:
  - chartName: old
    chartHome: oldcharts
    values: oldvalues.yaml
vars:
  - name: A
    objref: {kind: ConfigMap, name: a, apiVersion: v1}
"""


def named(text, folder="overlays/north"):
    return kustomization(yamlio.read_value(text), folder, f"{folder}/kustomization.yaml")


def test_every_role_names_its_files():
    found = named(ALL)
    assert [(each.role, each.path) for each in found.includes] == [
        ("resources", "overlays/north/vm.yaml"),
        ("resources", "overlays/base"),
        ("bases", "overlays/old"),
        ("components", "overlays/comp"),
        ("generators", "overlays/north/generator.yaml"),
        ("transformers", "overlays/north/transformer.yaml"),
        ("validators", "overlays/north/checks"),
    ]
    inside = ("merge.yaml", "crd.json", "names.yaml", "patch.yaml", "json.yaml", "replacement.yaml", "schema.json", "plain.txt")
    more = ("keyed.txt", "many.env", "one.env", "secret.txt", "values.yaml", "more.yaml", "oldvalues.yaml", "oldcharts/old")
    assert found.uses == {f"overlays/north/{name}" for name in (*inside, *more)} | {"overlays/charts/web"}
    assert found.remote == ()


def test_the_folder_of_charts_is_the_usual_one_unless_another_is_named():
    assert [each.path for each in named("helmCharts: [{name: web}]").charts] == ["overlays/north/charts/web"]


@pytest.mark.parametrize(
    "path",
    [
        "https://example.com/a.yaml",
        "github.com/a/b//c?ref=v1",
        "github.com:a/b",
        "git@example.com:a/b.git",
        "git::https://example.com/a",
        "ssh://git@example.com/a",
        "gitlab.example.com/a/b.git//c",
        "dev.example.com/a/_git/b",
        "file:///a?ref=v1",
        "../base?ref=v1",
    ],
)
def test_a_reference_to_another_machine_is_no_file(path):
    found = kustomization({"resources": [path], "patches": [{"path": path}]}, ".", "kustomization.yaml")
    assert is_remote(path)
    assert (found.includes, found.files) == ((), ())
    assert [each.path for each in found.remote] == [path, path]


@pytest.mark.parametrize("path", ["../base", "vm.yaml", "a.git-like/b", "base@2", "./x", "gh-pages", "github.com.yaml"])
def test_a_path_is_on_this_machine(path):
    assert not is_remote(path)


@pytest.mark.parametrize("key", ["resources", "patches", "configMapGenerator", "helmCharts", "openapi", "components", "crds"])
@pytest.mark.parametrize("value", [None, 3, "text", [None, 3, [], {}], {"a": 1}, [{"path": 3, "files": 3}]])
def test_a_key_of_any_shape_names_nothing(key, value):
    found = kustomization({key: value}, ".", "kustomization.yaml")
    assert (found.includes, found.uses, found.remote) == ((), frozenset(), ())


def test_an_object_of_flux_is_no_kustomization():
    assert is_kustomization({"resources": []})
    assert is_kustomization({"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"})
    assert not is_kustomization({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"})
    assert not is_kustomization([])


def test_a_path_runs_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert [joined("a", path) for path in ("b", "./b", "../b/", "b//c", "..", "../../b", "../../here/b")] == [
        "a/b",
        "a/b",
        "b",
        "a/b/c",
        ".",
        "../b",
        "b",
    ]
    assert joined(".", str(tmp_path / "here" / "x")) == "x"
    assert [joined("", path) for path in ("x", "./x")] == ["x", "x"]
    assert joined(".", str(tmp_path / "x")) == str(tmp_path / "x")


def test_a_patch_that_lacks_its_key_is_no_object_of_its_own():
    obj = {"patches": ["patch.yaml", "- op: remove\n  path: /spec\n"], "patchesJson6902": ["json.yaml"]}
    assert kustomization(obj, "web", "web/kustomization.yaml").uses == {"web/patch.yaml", "web/json.yaml"}
