"""Whole builds of Flux Kustomizations: every answer that was measured, and what may not happen while building."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from running import fetched
from trees import tree

from krm_fn.deliveries.flux import FluxError, action, applied, build

NEWEST = "5.8.1"
PARTS = 4  # workers share the measured cases
PATCH = "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: /etc/hostname}"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(fetched(NEWEST)).parent}:{os.environ['PATH']}")


def built(folder, files, spec=None, **options):
    kustomization = {"metadata": {"name": "app", "namespace": "flux-system"}, "spec": {"path": "./apps", **(spec or {})}}
    return build(str(tree(folder, files)), kustomization, **options)


def failure(folder, files, spec=None):
    with pytest.raises(FluxError) as raised:
        built(folder, files, spec)
    return raised.value.kind


def names(objects):
    return [obj["metadata"]["name"] for obj in objects]


def comparable(obj, *, is_opaque):
    """An object without an empty timestamp; of an encrypted one only what it is."""
    names = {key: value for key, value in obj["metadata"].items() if (key, value) != ("creationTimestamp", None)}
    if is_opaque:
        return obj["apiVersion"], obj["kind"], names.get("namespace"), names["name"]
    return {**obj, "metadata": names}


def answer(case, folder):
    opaque = case["expect"].get("opaque", ())
    options = {"substitutes": case["substitutes"], "strict": case["strict"], "source_ignore": case.get("sourceIgnore")}
    for name, text in case["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    try:
        found = build(str(folder), case["kustomization"], **options)
    except FluxError as error:
        return error.kind
    return [comparable(obj, is_opaque=number in opaque) for number, obj in enumerate(found)]


def expected(case):
    expect = case["expect"]
    opaque = expect.get("opaque", ())
    return expect.get("error") or [comparable(obj, is_opaque=number in opaque) for number, obj in enumerate(expect["objects"])]


@pytest.mark.parametrize("part", range(PARTS))
def test_measured_builds_agree(cases, tmp_path, part):
    found = list(cases("flux-builds"))[part::PARTS]
    wrong = [case["id"] for case in found if "note" not in case and answer(case, tmp_path / case["id"]) != expected(case)]
    assert wrong == []
    assert found


def sent(obj):
    """An object without an empty timestamp, and without a map of labels that has none."""
    names = {key: value for key, value in obj["metadata"].items() if (key, value) != ("creationTimestamp", None)}
    return {**obj, "metadata": {key: value for key, value in names.items() if key != "labels" or value}}


@pytest.mark.parametrize("name", ["flux-builds"])
def test_what_is_sent_and_how_agrees_with_the_measured_builds(name, cases):
    wrong, count = [], 0
    for case in cases(name):
        expect = case["expect"]
        for number, obj in enumerate(expect.get("objects", ())):
            if number in expect.get("opaque", ()):
                continue
            count += 1
            other, done = expect.get("applied", {}).get(str(number), obj), expect.get("actions", {}).get(str(number), "")
            if (sent(applied(obj)), action(obj)) != (sent(other), done):
                wrong.append((case["id"], number))
    assert wrong == []
    assert count


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": None, "b": "x"}, {"a": "", "b": "x", "c": "y"}),
        ({"a": 1, "b": "x"}, {"c": "y"}),
        (None, {"c": "y"}),
    ],
)
def test_common_labels_keep_the_others_unless_one_is_no_text(tmp_path, given, expected):
    labels = {"a.yaml": json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": given}})}
    found = built(tmp_path, {f"apps/{name}": text for name, text in labels.items()}, {"commonMetadata": {"labels": {"c": "y"}}})
    assert found[0]["metadata"]["labels"] == expected


@pytest.mark.parametrize(
    "text",
    [
        "resources: [a.yaml]\nconfigMapGenerator: [{name: x, files: [/etc/hostname]}]\n",
        "resources: [../../a.yaml]\n",
        f"resources: [a.yaml]\ntransformers: ['{PATCH}']\n",
    ],
)
def test_no_file_outside_the_repository_is_read(tmp_path, text):
    assert failure(tmp_path / "repository", {"apps/kustomization.yaml": text, "apps/a.yaml": CONFIG_MAP}) == "outside"


def test_links_are_no_part_of_a_repository(tmp_path):
    tree(tmp_path, {"secret.yaml": CONFIG_MAP, "repository/apps/b.yaml": CONFIG_MAP.replace("a}", "b}")})
    (tmp_path / "repository/apps/link.yaml").symlink_to(tmp_path / "secret.yaml")
    (tmp_path / "repository/apps/folder").symlink_to(tmp_path)
    assert names(built(tmp_path / "repository", {})) == ["b"]


def test_no_program_of_the_repository_is_run(tmp_path):
    function = "metadata: {name: g, annotations: {config.kubernetes.io/function: 'exec: {path: ./evil}'}}"
    files = {
        "apps/kustomization.yaml": "resources: [a.yaml]\ngenerators: [g.yaml]\n",
        "apps/a.yaml": CONFIG_MAP,
        "apps/g.yaml": f"apiVersion: x/v1\nkind: G\n{function}\n",
        "apps/evil": f"#!/bin/sh\ntouch {tmp_path}/ran\n",
    }
    tree(tmp_path / "repository", files)
    (tmp_path / "repository/apps/evil").chmod(0o755)
    assert failure(tmp_path / "repository", {}) == "build"
    assert not (tmp_path / "ran").exists()


def test_nothing_is_written_into_the_repository(tmp_path):
    built(tmp_path, {"apps/a.yaml": CONFIG_MAP}, {"targetNamespace": "x"})
    assert [file.name for file in (tmp_path / "apps").iterdir()] == ["a.yaml"]


def test_an_origin_names_the_file_where_it_is_in_the_repository(tmp_path):
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [../other/b.yaml]\n"
    files = {"apps/kustomization.yaml": "components: [../c]\n", "c/kustomization.yaml": component, "other/b.yaml": CONFIG_MAP}
    found = built(tmp_path, files)[0]
    assert found["metadata"]["annotations"] == {"config.kubernetes.io/origin": "path: ../other/b.yaml\n"}


def test_a_component_outside_the_repository_counts_as_missing(tmp_path):
    spec = {"components": ["../.."], "ignoreMissingComponents": True}
    assert names(built(tmp_path / "repository", {"apps/a.yaml": CONFIG_MAP}, spec)) == ["a"]


def test_variables_come_from_secrets_and_config_maps_of_the_same_namespace(tmp_path):
    def given(kind, name, data, namespace="flux-system"):
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, **data}

    substitutes = [
        given("ConfigMap", "c", {"data": {"A": "c", "B": "c"}}),
        given("Secret", "s", {"data": {"B": "cw=="}, "stringData": {"C": "t"}}),
        given("ConfigMap", "c", {"data": {"A": "elsewhere"}}, "other"),
    ]
    references = [{"kind": "ConfigMap", "name": "c"}, {"kind": "Secret", "name": "s"}]
    post = {"substituteFrom": [*references, {"kind": "Secret", "name": "absent", "optional": True}]}
    files = {"apps/a.yaml": CONFIG_MAP + "data: {a: '${A}', b: '${B}', c: '${C}', d: '${D:=d}'}\n"}
    found = built(tmp_path, files, {"postBuild": post}, substitutes=substitutes)[0]
    assert found["data"] == {"a": "c", "b": "s", "c": "t", "d": "d"}
