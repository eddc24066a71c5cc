"""Line and column of findings: in files, lists and stdin, behind kustomizations and in packages."""

import json
import stat

import pytest
from checking import CONFLICT, SIZE, check, run, write

ORIGIN = "  annotations: {config.kubernetes.io/origin: 'path: %s'}\n"


def places(*arguments, **more):
    """(rule, file, line, column) of each finding."""
    _, out, err = check("-o", "json", *arguments, **more)
    assert err == ""
    return [
        (each["tags"]["rule"], each.get("file", {}).get("path", ""), each.get("line", 0), each.get("column", 0))
        for each in json.loads(out)["results"]
    ]


def related(*arguments, **more):
    """(file, line, column) of the places that the first finding speaks of besides its own."""
    first = json.loads(check("-o", "json", *arguments, **more)[1])["results"][0]
    return [(each.get("file", ""), each.get("line", 0), each.get("column", 0)) for each in first["related"]]


def test_a_finding_leads_to_the_value_and_to_that_of_the_instancetype(tmp_path):
    write(tmp_path, all=f"# two documents\n{SIZE}---\n{CONFLICT}")
    assert places("all.yaml", cwd=tmp_path) == [("instancetype-conflict", "all.yaml", 21, 22)]
    assert related("all.yaml", cwd=tmp_path) == [("all.yaml", 7, 12)]


def test_a_missing_field_leads_to_what_is_around_it(tmp_path):
    text = CONFLICT.replace("cpu: {cores: 4}", "machine: {type: q35}").replace("kind: VirtualMachineInstancetype, ", "")
    write(tmp_path, all=f"{SIZE}---\n{text}")
    code, out, _ = check("all.yaml", "-o", "json", cwd=tmp_path)
    first = json.loads(out)["results"][0]
    assert (code, first["field"]["path"], first["line"], first["column"]) == (1, "spec.instancetype.kind", 16, 17)


def test_an_object_in_a_list_has_its_own_place(tmp_path):
    items = [CONFLICT.replace("name: web", f"name: {name}") for name in ("a", "b")]
    inside = "".join("- " + text.replace("\n", "\n  ").rstrip(" ") for text in (SIZE, *items))
    write(tmp_path, all=f"apiVersion: v1\nkind: List\nitems:\n{inside}")
    assert places("all.yaml", cwd=tmp_path) == [
        ("instancetype-conflict", "all.yaml", 22, 24),
        ("instancetype-conflict", "all.yaml", 35, 24),
    ]
    assert related("all.yaml", cwd=tmp_path) == [("all.yaml", 9, 14)]


def test_equal_findings_of_two_objects_in_a_list_are_two(tmp_path):
    items = [{**json.loads(POOL), "metadata": {"name": name}} for name in ("a", "b")]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert [each[0] for each in places("all.json", cwd=tmp_path)].count("bad-matcher") == 2


POOL = """\
{"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "spec": {"selector": {"matchLabels": {"a": "b"}},
 "virtualMachineTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"runStrategy": "Always", "instancetype": {},
 "template": {"spec": {"domain": {"devices": {}}}}}}}}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_make_no_difference(tmp_path, newline, mark):
    text = (mark + CONFLICT + "---\n" + SIZE).replace("\n", newline)
    (tmp_path / "all.yaml").write_bytes(text.encode())
    assert places("all.yaml", cwd=tmp_path) == [("instancetype-conflict", "all.yaml", 12, 22)]


def test_stdin_has_lines_but_no_file(tmp_path):
    assert places("-", cwd=tmp_path, stdin=f"{SIZE}---\n{CONFLICT}") == [("instancetype-conflict", "", 20, 22)]
    _, out, _ = check("-", cwd=tmp_path, stdin=f"{SIZE}---\n{CONFLICT}")
    assert out.startswith("error: stdin:20:22: VirtualMachine shop/web: ")


def test_render_names_the_place_as_well(tmp_path):
    write(tmp_path, all=f"{SIZE}---\n{CONFLICT}")
    _, out, err = run("render", "all.yaml", cwd=tmp_path)
    assert (out, err.startswith("kubevirt-render: error: all.yaml:20:22: VirtualMachine shop/web: ")) == ("", True)


# ---- kustomizations


@pytest.fixture
def overlay(tmp_path, monkeypatch):
    """A base and an overlay, and a kustomize that prints built.yaml of the folder it is called for."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kustomize"
    program.write_text('#!/bin/sh\nexec /bin/cat "$2/built.yaml"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "base").mkdir()
    (tmp_path / "lab").mkdir()
    write(tmp_path / "base", web=f"# the base\n{CONFLICT}", sizes=SIZE)
    return tmp_path


def built(folder, vm="../base/web.yaml", size="../base/sizes.yaml", prefix=""):
    conflict = CONFLICT.replace("  name: web\n", f"  name: {prefix}web\n{ORIGIN % vm}")
    sized = SIZE.replace(
        "metadata: {name: small, namespace: shop}\n", f"metadata:\n  name: small\n  namespace: shop\n{ORIGIN % size}"
    )
    (folder / "built.yaml").write_text(f"{sized}---\n{conflict}")


def test_what_is_built_leads_to_the_files_it_was_made_of(overlay):
    built(overlay / "lab")
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "base/web.yaml", 13, 22)]
    assert related("-k", "lab", cwd=overlay) == [("base/sizes.yaml", 6, 12)]


def test_a_name_that_the_kustomization_has_prefixed_is_found(overlay):
    built(overlay / "lab", prefix="lab-")
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "base/web.yaml", 13, 22)]


def test_a_file_that_is_not_here_keeps_its_name_and_has_no_line(overlay):
    built(overlay / "lab", vm="../elsewhere/web.yaml")
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "../elsewhere/web.yaml", 0, 0)]


def test_a_file_of_another_repository_is_not_sought_here(overlay):
    built(overlay / "lab", vm="../base/web.yaml\n\n    repo: https://example.com/vms")
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "../base/web.yaml", 0, 0)]


def test_what_is_built_without_origins_has_no_place(overlay):
    (overlay / "lab" / "built.yaml").write_text(f"{SIZE}---\n{CONFLICT}")
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "", 0, 0)]


@pytest.mark.parametrize("text", ["{{ broken", "a: 1\n", f"{CONFLICT}---\n{CONFLICT.replace('name: web', 'name: b')}"])
def test_a_file_that_has_changed_gives_no_line(overlay, text):
    built(overlay / "lab", prefix="lab-")
    write(overlay / "base", web=text)
    assert places("-k", "lab", cwd=overlay) == [("instancetype-conflict", "base/web.yaml", 0, 0)]


# ---- packages


def listing(*items):
    value = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": list(items)}
    return json.dumps(value)


def test_kpts_paths_are_those_of_the_package(tmp_path):
    write(tmp_path, web=f"{SIZE}---\n{CONFLICT}")
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "annotations": {"internal.config.kubernetes.io/path": "web.yaml", "internal.config.kubernetes.io/index": "1"},
        },
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"cpu": {"cores": 4}, "devices": {}}}},
        },
    }
    assert places("-", cwd=tmp_path, stdin=listing(vm)) == [("instancetype-conflict", "web.yaml", 20, 22)]


def test_results_in_a_resource_list_keep_to_what_hosts_know(tmp_path):
    write(tmp_path, all=f"{SIZE}---\n{CONFLICT}")
    _, out, _ = run("render", "-o", "resourcelist", "all.yaml", cwd=tmp_path)
    said = out.partition("\nresults:\n")[2]
    assert "path: all.yaml" in said
    assert [key for key in ("line", "column", "fingerprint", "related") if f"{key}:" in said] == []
