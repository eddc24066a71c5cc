"""`check --fix`: what is certain is written into the file that has it, its text is kept, and the rest is reported."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from checking import check, write
from trees import tree

from krm_fn import yamlio
from krm_fn.repositories.fixes import Fix, fixed

ROOT = Path(__file__).resolve().parents[2]
BAD = sorted(path for path in (ROOT / "fixtures" / "rules").glob("*/bad/*") if path.is_file() or path.is_dir())

VM = """\
# the web server
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web   # its name
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {cores: "2"}  # as many as it needs
        memory:
          guest: 8 GiB
        devices: {}
"""
FIXED = VM.replace('"2"', "2").replace("8 GiB", "8Gi")
MISSPELT = VM.replace("Always", "Always\n  instancetype: {name: u1.smalll}").replace('cpu: {cores: "2"}', "cpu: {}")


def text(folder: Path, file: str = "vm.yaml") -> str:
    return (folder / file).read_text()


def test_certain_values_are_written_and_nothing_else_changes(tmp_path):
    write(tmp_path, vm=VM)
    assert check("--fix", ".", cwd=tmp_path) == (0, "", "kubevirt-render: note: vm.yaml: fixed 2 values\n")
    assert text(tmp_path) == FIXED


def test_a_second_run_changes_nothing(tmp_path):
    write(tmp_path, vm=VM)
    check("--fix", "vm.yaml", cwd=tmp_path)
    before = (tmp_path / "vm.yaml").stat()
    assert check("--fix", "vm.yaml", cwd=tmp_path) == (0, "", "")
    assert (tmp_path / "vm.yaml").stat() == before


def test_a_guess_is_reported_and_not_written(tmp_path):
    write(tmp_path, vm=MISSPELT)
    code, out, err = check("--fix", ".", cwd=tmp_path)
    assert (code, err) == (1, "kubevirt-render: note: vm.yaml: fixed 1 value\n")
    assert "u1.smalll is not found; use u1.small" in out
    assert text(tmp_path) == MISSPELT.replace("8 GiB", "8Gi")


def test_a_finding_behind_another_one_is_fixed_too(tmp_path):
    """A number that is no number hides what else is wrong with the field."""
    write(tmp_path, vm=VM.replace("devices: {}", "devices: {disks: [{name: a, disk: {}, bootOrder: '1'}]}"))
    check("--fix", ".", cwd=tmp_path)
    assert "bootOrder: 1}" in text(tmp_path)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ('cpu: {cores: &cores "2", sockets: *cores}', "an anchor and its alias"),
        ('cpu: &cpu {cores: "2"}', "an anchor above it"),
        ('cpu: {cores: !!str "2"}', "a tag"),
        ("cpu:\n          cores:", "a key without a value"),
    ],
    ids=lambda given: given.partition("\n")[0] if given.startswith(("a", "an")) else "",
)
def test_what_is_not_written_at_one_place_alone_is_left(tmp_path, written, left):
    original = VM.replace('cpu: {cores: "2"}', written).replace("8 GiB", "8Gi")
    write(tmp_path, vm=original)
    check("--fix", ".", cwd=tmp_path)
    assert text(tmp_path) == original, left


def test_a_merge_is_left_and_a_value_beside_it_is_fixed(tmp_path):
    shared = 'x: &x {cores: "2"}\n'
    original = shared + VM.replace('{cores: "2"}', '{<<: *x, sockets: "1"}').removeprefix("# the web server\n")
    write(tmp_path, vm=original)
    check("--fix", ".", cwd=tmp_path)
    assert text(tmp_path) == original.replace('sockets: "1"', "sockets: 1").replace("8 GiB", "8Gi")


def test_a_key_that_was_null_is_not_fixed(tmp_path):
    original = FIXED.replace("devices: {}", "devices:\n          rng:")
    write(tmp_path, vm=original)
    _, out, err = check("--fix", ".", cwd=tmp_path)
    assert ("(wrong-type)" in out, err, text(tmp_path)) == (True, "", original)


def test_line_ends_byte_order_marks_lists_and_json_are_kept(tmp_path):
    (tmp_path / "dos.yaml").write_bytes(b"\xef\xbb\xbf" + VM.replace("\n", "\r\n").encode())
    (tmp_path / "list.yaml").write_text(
        "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems:\n- " + VM.replace("\n", "\n  ").replace("web", "db")
    )
    (tmp_path / "vm.json").write_text(json.dumps(yamlio.read_value(VM.replace("web", "js"))))
    assert check("--fix", ".", cwd=tmp_path)[0] == 0
    assert (tmp_path / "dos.yaml").read_bytes() == b"\xef\xbb\xbf" + FIXED.replace("\n", "\r\n").encode()
    assert "    cpu: {cores: 2}  # as many as it needs\n" in text(tmp_path, "list.yaml")
    assert text(tmp_path, "vm.json") == json.dumps(yamlio.read_value(FIXED.replace("web", "js")))


@pytest.mark.parametrize("words", [["-"], [".", "-"], ["-k", "."]], ids=" ".join)
def test_what_is_in_no_file_can_not_be_fixed(tmp_path, words):
    write(tmp_path, vm=VM)
    code, out, err = check("--fix", *words, cwd=tmp_path, stdin=VM)
    fact = "--fix needs files, but stdin and builds have no file to write to; remove --fix"
    assert (code, out, err) == (2, "", f"kubevirt-render: error: {fact}\n")
    assert text(tmp_path) == VM


def test_an_ignored_finding_and_a_known_one_are_left(tmp_path):
    ignored = VM.replace("  name: web", "  annotations: {kubevirt-render.dev/ignore: 'wrong-type: later'}\n  name: web")
    write(tmp_path, vm=ignored, old=VM.replace("web", "old"))
    check("--baseline", "known.yaml", "--update-baseline", ".", cwd=tmp_path)
    assert check("--baseline", "known.yaml", "--fix", ".", cwd=tmp_path) == (0, "", "")
    assert (text(tmp_path), text(tmp_path, "old.yaml")) == (ignored, VM.replace("web", "old"))


def test_a_file_that_can_not_be_replaced_stops_before_any_is(tmp_path):
    write(tmp_path, a=VM.replace("web", "a"), b=VM.replace("web", "b"))
    os.link(tmp_path / "b.yaml", tmp_path / "hard")
    code, out, err = check("--fix", ".", cwd=tmp_path)
    assert (code, out, "b.yaml: the file has 2 hard links" in err) == (1, "", True)
    assert text(tmp_path, "a.yaml") == VM.replace("web", "a")


def test_a_quiet_run_does_not_name_the_files(tmp_path):
    write(tmp_path, vm=VM)
    assert check("--fix", "-q", ".", cwd=tmp_path) == (0, "", "")
    assert text(tmp_path) == FIXED


@pytest.mark.parametrize("bad", BAD, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_no_example_of_a_rule_changes_but_in_the_lines_of_its_findings(tmp_path, bad):
    (shutil.copytree if bad.is_dir() else shutil.copy)(bad, tmp_path / bad.name)
    (tmp_path / "beside.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside, namespace: beside}\n")
    before = {file: file.read_text().splitlines() for file in tmp_path.rglob("*") if file.is_file()}
    code, out, err = check("-o", "json", ".", cwd=tmp_path)
    if not out:  # a config that is wrong, or files without an object
        assert (code in (1, 2), check("--fix", ".", cwd=tmp_path)) == (True, (code, out, err))
        return
    places = {(tmp_path / each["file"]["path"], each["line"]) for each in json.loads(out)["results"] if "line" in each}
    again = json.loads(check("--fix", "-o", "json", ".", cwd=tmp_path)[1])["results"]
    after = {file: file.read_text().splitlines() for file in before}
    changed = {
        (file, number)
        for file in before
        for number, pair in enumerate(zip(before[file], after[file], strict=True), 1)
        if pair[0] != pair[1]
    }
    assert changed <= places
    assert len(again) <= len(json.loads(out)["results"])
    states = {file: file.stat() for file in before}
    assert check("--fix", ".", cwd=tmp_path)[2] == ""
    assert {file: file.stat() for file in before} == states


SIZES = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"
INLINE = """\
resources: [../../base]
namespace: north
patches:
- target: {kind: VirtualMachine}
  patch: |-
    # more
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata:
      name: web
    spec:
      template:
        spec:
          domain:
            cpu:
              sockets: "1"   # one
- target: {kind: VirtualMachine}
  patch: |
    - {op: add, path: /spec/template/spec/domain/cpu/threads, value: "1"}
"""
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: more.yaml}]\n"
REPOSITORY = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": VM,
    "overlays/north/kustomization.yaml": INLINE,
    "overlays/south/kustomization.yaml": "resources: [../../base]\nnamespace: south\ncomponents: [../../component]\n",
    "component/kustomization.yaml": COMPONENT,
    "component/more.yaml": SIZES + 'spec: {template: {spec: {domain: {cpu: {threads: "2"}}}}}\n',
}
CLUSTERS = [
    {"name": "north", "targets": ["overlays/north"], "severity": {"wrong-type": "off"}},
    {"name": "south", "targets": ["overlays/south"]},
]


@pytest.fixture
def here(tmp_path, monkeypatch, kustomize):
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


newest = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)


@newest
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_value_is_fixed_in_the_file_that_wrote_it(here, jobs):
    code, out, err = check("--fix", "-j", jobs, ".", cwd=here)
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "kubevirt-render: note: base/vm.yaml: fixed 2 values",
        "kubevirt-render: note: component/more.yaml: fixed 1 value",
        "kubevirt-render: note: overlays/north/kustomization.yaml: fixed 2 values",
    ]
    assert text(here, "base/vm.yaml") == FIXED
    assert text(here, "overlays/north/kustomization.yaml") == INLINE.replace('"1"', "1")
    assert text(here, "component/more.yaml") == REPOSITORY["component/more.yaml"].replace('"2"', "2")
    assert check("--fix", ".", cwd=here) == (0, "", "")


@newest
def test_a_patch_in_quotes_keeps_its_quotes(here):
    add = """[{"op": "add", "path": "/spec/template/spec/domain/cpu/threads", "value": "1"}]"""
    quoted = f"resources: [../../base]\npatches: [{{target: {{kind: VirtualMachine}}, patch: '{add}'}}]\n"
    tree(here, {"overlays/north/kustomization.yaml": quoted})
    check("--fix", ".", cwd=here)
    assert text(here, "overlays/north/kustomization.yaml") == quoted.replace('"1"', "1")


@newest
def test_a_cached_run_is_fixed_too(here):
    assert check(".", cwd=here)[0] == 1
    assert check("--fix", ".", cwd=here)[0] == 0
    assert check(".", cwd=here) == (0, "", "")


@newest
def test_a_file_on_which_targets_do_not_agree_is_left(here):
    tree(here, {".kubevirt-render.yaml": json.dumps({"kind": "RenderVirtualMachines", "spec": {"clusters": CLUSTERS}})})
    code, out, err = check("--fix", ".", cwd=here)
    assert (code, err) == (1, "kubevirt-render: note: component/more.yaml: fixed 1 value\n")
    assert "base/vm.yaml:11:22" in out
    assert text(here, "base/vm.yaml") == VM


@newest
def test_a_target_that_can_not_be_built_agrees_to_nothing(here):
    tree(here, {"broken/kustomization.yaml": "resources: [../base, gone.yaml]\n"})
    assert check("--fix", ".", cwd=here)[0] == 1
    assert text(here, "base/vm.yaml") == VM
    assert text(here, "component/more.yaml") != REPOSITORY["component/more.yaml"]


@newest
def test_no_file_outside_of_the_paths_is_fixed(here):
    code, _, err = check("--fix", "overlays", cwd=here)
    assert (code, err) == (1, "kubevirt-render: note: overlays/north/kustomization.yaml: fixed 2 values\n")
    assert text(here, "base/vm.yaml") == VM


REPLACED = """\
resources: [../../base, size.yaml]
replacements:
- source: {kind: ConfigMap, name: size, fieldPath: data.cores}
  targets:
  - select: {kind: VirtualMachine}
    fieldPaths: [spec.template.spec.domain.cpu.cores]
"""


@newest
def test_a_value_that_kustomize_put_in_its_place_is_left(here):
    """The base has another value than the one that was judged, so its target does not agree."""
    size = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: size}\ndata: {cores: '3'}\n"
    tree(here, {"overlays/south/kustomization.yaml": REPLACED, "overlays/south/size.yaml": size})
    code, out, _ = check("--fix", ".", cwd=here)
    assert (code, out.count("(wrong-type)")) == (1, 2)
    assert text(here, "base/vm.yaml") == VM.replace("8 GiB", "8Gi")
    assert text(here, "overlays/south/size.yaml") == size


def fix(path, current, proposed, inside=None, item=0):
    return Fix(file="f.yaml", item=item, path=path, inside=inside, current=current, proposed=proposed)


@pytest.mark.parametrize(
    "wanted",
    [
        fix(("spec", "a"), "3", 3),
        fix(("spec", "gone"), "2", 2),
        fix(("spec", "a"), "2", 2, item=7),
        fix(("spec", "a"), 2, 3),
        fix(("spec", "a"), "2", 2, inside=(0, ("a",))),
        fix(("spec", "p"), "2", 2, inside=(1, ("a",))),
    ],
)
def test_a_place_that_has_not_the_value_is_left(wanted):
    data = b"kind: A\napiVersion: v1\nspec: {a: '2', p: 'a: \"2\"'}\n"
    assert fixed(data, [wanted]) == (data, [])


def test_several_fixes_of_one_file_are_made_together():
    data = b"kind: A\napiVersion: v1\nspec:\n  a: '2' # a\n  p: |-\n    # inside\n    a: \"2\"\n---\nkind: B\nb: '1'\n"
    fixes = [
        fix(("spec", "a"), "2", 2),
        fix(("spec", "p"), "2", 2, inside=(0, ("a",))),
        fix(("b",), "1", 1, item=1),
        fix(("gone",), "1", 1, item=1),
    ]
    new, made = fixed(data, fixes)
    assert new == b"kind: A\napiVersion: v1\nspec:\n  a: 2 # a\n  p: |-\n    # inside\n    a: 2\n---\nkind: B\nb: 1\n"
    assert made == fixes[:3]
