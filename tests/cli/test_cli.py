"""The command: what it reads, what it prints, and with which exit code it ends."""

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest
from checking import run as called
from running import NEWEST_KUSTOMIZE, ROOT, on_path

VM = """\
# the shop's web server
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always # it must always run
  instancetype:
    kind: VirtualMachineInstancetype
    name: small
  template:
    spec:
      domain:
        devices: {autoattachPodInterface: false}
"""

RENDERED = """\
# the shop's web server
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always # it must always run
  template:
    spec:
      domain:
        devices: {autoattachPodInterface: false}
        cpu:
          sockets: 2
          cores: 1
          threads: 1
        memory:
          guest: 4Gi
"""

SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: shop} # in braces
spec: {cpu: {guest: 2}, memory: {guest: 4Gi}}
"""

MISSING = VM.replace("name: small", "name: smal").replace("name: web", "name: api")
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {answer: '0777'}\n"


def run(*arguments, cwd, stdin="", **more):
    return subprocess.CompletedProcess(arguments, *called(*arguments, cwd=cwd, stdin=stdin, **more))


def render(*arguments, cwd, **more):
    return run("render", "--defaults", "none", *arguments, cwd=cwd, **more)


@pytest.fixture
def folder(tmp_path):
    """A folder with a VM and its instancetype in two files, beside texts that are no Kubernetes objects."""
    (tmp_path / "vm.yaml").write_text(VM)
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "small.yml").write_text(SIZE)
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "README.md").write_text("kind: nothing\n")
    (tmp_path / ".hidden.yaml").write_text("{{ broken")
    return tmp_path


# ---- render


def test_a_folder_is_rendered_and_the_rest_of_its_text_stays(folder):
    done = render(".", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == SIZE + "---\n" + RENDERED


def test_files_come_in_the_order_given_and_once(folder):
    done = render("vm.yaml", ".", "./vm.yaml", cwd=folder)
    assert done.stdout == RENDERED + "---\n" + SIZE


def test_verbose_says_what_is_left_alone(folder):
    (folder / "kustomization.yaml").write_text("resources: [vm.yaml, sizes/small.yml]\n")
    done = render("--verbose", "kustomization.yaml", "values.yaml", "vm.yaml", "sizes", cwd=folder)
    assert done.stderr == (
        "kubevirt-render: note: kustomization.yaml: document 1 is skipped: it is a kustomization; to build it, use `-k` "
        "with its folder\n"
        "kubevirt-render: note: values.yaml: document 1 is skipped: it has no apiVersion and kind\n"
        "kubevirt-render: note: the target release is KubeVirt 1.9.0\n"
    )


def test_what_only_tools_read_is_left_out(tmp_path):
    own = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: render}\n"
    (tmp_path / "all.yaml").write_text(f"{own}---\n{CONFIG_MAP}")
    done = render("-v", "all.yaml", cwd=tmp_path)
    assert done.stdout == CONFIG_MAP
    assert done.stderr == (
        "kubevirt-render: note: all.yaml: document 1 is skipped: only tools use a RenderVirtualMachines\n"
        "kubevirt-render: note: the target release is KubeVirt 1.9.0\n"
    )


def test_links_that_lead_back_up_are_followed_once(folder):
    (folder / "sizes" / "up").symlink_to(folder)
    assert render(".", cwd=folder).stdout == SIZE + "---\n" + RENDERED


def test_documents_of_one_file_stay_together(tmp_path):
    (tmp_path / "all.yaml").write_text(f"{VM}---\n{CONFIG_MAP}---\n{SIZE}")
    assert render("all.yaml", cwd=tmp_path).stdout == f"{RENDERED}---\n{CONFIG_MAP}---\n{SIZE}"


def test_a_stream_on_stdin_is_read_with_a_dash(tmp_path):
    assert render("-", cwd=tmp_path, stdin=f"{VM}---\n{SIZE}").stdout == f"{RENDERED}---\n{SIZE}"


def test_a_resource_list_on_stdin_brings_its_config_and_a_flag_beats_it(tmp_path):
    listing = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "validate", "failOn": "never"}},
        "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}],
    }
    done = run("render", "-", "-o", "json", "--mode", "expnd", cwd=tmp_path, stdin=json.dumps(listing))
    assert done.stderr == (
        "kubevirt-render: error: --mode: found 'expnd'; expected one of expand, validate, annotate, snapshot; "
        "did you mean expand\n"
    )
    assert run("render", "-", cwd=tmp_path, stdin=json.dumps(listing)).returncode == 0


def test_json_is_a_list_as_kubectl_prints_it(folder):
    listing = json.loads(render("-o", "json", ".", cwd=folder).stdout)
    assert (listing["apiVersion"], listing["kind"]) == ("v1", "List")
    assert [item["kind"] for item in listing["items"]] == ["VirtualMachineInstancetype", "VirtualMachine"]
    assert listing["items"][1]["spec"]["template"]["spec"]["domain"] == {
        "devices": {"autoattachPodInterface": False},
        "cpu": {"sockets": 2, "cores": 1, "threads": 1},
        "memory": {"guest": "4Gi"},
    }


def test_a_resource_list_carries_the_findings_even_where_it_fails(tmp_path):
    (tmp_path / "vm.yaml").write_text(MISSING)
    done = render("-o", "resourcelist", "vm.yaml", cwd=tmp_path)
    assert done.returncode == 1
    again = run("render", "-o", "json", "--mode", "validate", "--fail-on", "never", "-", cwd=tmp_path, stdin=done.stdout)
    assert json.loads(again.stdout)["items"][0]["spec"]["instancetype"]["name"] == "smal"
    assert "\nresults:\n" in done.stdout
    assert "rule: unresolved-instancetype" in done.stdout
    assert "path: vm.yaml" in done.stdout


def test_a_resource_list_that_was_read_keeps_its_text(tmp_path):
    listing = "kind: ResourceList # no apiVersion\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a} # kept\n"
    assert run("render", "-o", "resourcelist", "-", cwd=tmp_path, stdin=listing).stdout == listing


def test_findings_leave_stdout_empty(folder):
    (folder / "api.yaml").write_text(MISSING)
    done = render(".", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kubevirt-render: error: api.yaml:11:11: VirtualMachine shop/api: spec.instancetype.name: ")
    assert done.stderr.count("\n") == 1


def test_findings_that_need_not_fail_leave_the_result(folder):
    (folder / "api.yaml").write_text(MISSING)
    done = render("--fail-on", "never", ".", cwd=folder)
    assert done.returncode == 0
    assert done.stdout == MISSING + "---\n" + SIZE + "---\n" + RENDERED


def test_broken_yaml_stops_it_and_names_the_place(folder):
    (folder / "broken.yaml").write_text("kind: [\n")
    done = render("--in-place", ".", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kubevirt-render: error: broken.yaml:2:1: ")
    assert (folder / "vm.yaml").read_text() == VM


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "stdin is empty; pipe the manifests into the command"),
        (["absent.yaml"], "absent.yaml: No such file or directory"),
        (["empty"], "no Kubernetes object found in empty; expected YAML or JSON with apiVersion and kind"),
        (["linked"], "linked/gone.yaml: can't be read: No such file or directory; correct or remove it (unreadable-file)"),
    ],
)
def test_nothing_to_read_is_an_error(tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "gone.yaml").symlink_to("elsewhere.yaml")
    (tmp_path / "linked" / "note.txt").symlink_to("elsewhere.txt")
    done = render(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"kubevirt-render: error: {message}\n")


TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  {{- range .Values.files }}\n  a: b\n  {{- end }}\n"


@pytest.mark.parametrize("command", ["render", "check"])
def test_a_template_is_called_one(tmp_path, command):
    (tmp_path / "map.yaml").write_text(TEMPLATE)
    done = run(command, "map.yaml", cwd=tmp_path)
    assert done.returncode == 1
    said = (done.stderr + done.stdout).removeprefix("kubevirt-render: ")
    assert said.startswith("error: map.yaml:5:4: a map or list cannot be a key; expected a string; {{ belongs to a template: ")
    assert "render it first, for example with `helm template`" in said
    (tmp_path / "map.yaml").write_text(TEMPLATE.replace("data:", "data: [").replace("{{-", "#"))
    assert "template" not in run(command, "map.yaml", cwd=tmp_path).stderr


# ---- render --in-place


def test_in_place_writes_only_what_changed_and_keeps_its_mode(folder):
    (folder / "vm.yaml").chmod(0o640)
    before = (folder / "sizes" / "small.yml").stat().st_ino
    done = render("--in-place", ".", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "kubevirt-render: note: vm.yaml: written\n")
    assert (folder / "vm.yaml").read_text() == RENDERED
    assert stat.S_IMODE((folder / "vm.yaml").stat().st_mode) == 0o640
    assert (folder / "sizes" / "small.yml").stat().st_ino == before
    assert sorted(path.name for path in folder.iterdir()) == [
        ".hidden.yaml",
        "README.md",
        "sizes",
        "values.yaml",
        "vm.yaml",
    ]


def test_in_place_twice_changes_nothing_more(folder):
    render("--in-place", ".", cwd=folder)
    before = (folder / "vm.yaml").stat()
    assert render("--in-place", ".", cwd=folder).returncode == 0
    after = (folder / "vm.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_in_place_leaves_files_alone_in_which_nothing_changed(folder):
    for text in (SIZE.rstrip("\n"), f"\ufeff{SIZE}"):
        (folder / "sizes" / "small.yml").write_text(text)
        render("--in-place", ".", cwd=folder)
        assert (folder / "sizes" / "small.yml").read_text() == text


def test_in_place_keeps_a_byte_order_mark(folder):
    (folder / "vm.yaml").write_text(f"\ufeff{VM}")
    render("--in-place", ".", cwd=folder)
    assert (folder / "vm.yaml").read_text() == f"\ufeff{RENDERED}"


def test_in_place_writes_the_good_ones_and_fails_for_the_others(folder):
    (folder / "api.yaml").write_text(MISSING)
    assert render("--in-place", ".", cwd=folder).returncode == 1
    assert (folder / "api.yaml").read_text() == MISSING
    assert (folder / "vm.yaml").read_text() == RENDERED


def test_in_place_leaves_other_documents_of_the_file_as_they_are(tmp_path):
    text = f"%s---\nno: object # here\n---\n{SIZE}"
    (tmp_path / "all.yaml").write_text(text % VM)
    render("--in-place", "all.yaml", cwd=tmp_path)
    assert (tmp_path / "all.yaml").read_text() == text % RENDERED


def test_in_place_puts_what_was_added_before_what_needs_it(folder):
    assert render("--in-place", "--mode", "snapshot", ".", cwd=folder).returncode == 0
    text = (folder / "vm.yaml").read_text()
    assert "    revisionName: web-small-" in text
    assert text.startswith("apiVersion: apps/v1\nkind: ControllerRevision\n")
    assert text.partition("---\n")[2].startswith("# the shop's web server\napiVersion: kubevirt.io/v1\n")
    assert (folder / "sizes" / "small.yml").read_text() == SIZE


def test_in_place_changes_a_file_that_is_a_resource_list(tmp_path):
    text = "kind: ResourceList\nitems:\n- %s- %s"
    pieces = [piece.replace("\n", "\n  ").rstrip(" ") for piece in (VM, RENDERED, SIZE)]
    (tmp_path / "list.yaml").write_text(text % (pieces[0], pieces[2]))
    assert render("--in-place", "list.yaml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "list.yaml").read_text() == text % (pieces[1], pieces[2])


def test_in_place_leaves_everything_where_the_disk_is_full(folder):
    (folder / "a.yaml").write_text(VM.replace("name: web", "name: api"))
    command = [sys.executable, "-m", "krm_fn", "render", "--in-place", "."]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kubevirt-render: error: a.yaml: no new file can be created in its folder: File too large\n"
    assert (folder / "vm.yaml").read_text() == VM
    assert not list(folder.glob(".*.tmp"))


def test_in_place_leaves_empty_documents_and_what_is_no_object(tmp_path):
    around = "# ours\na: 1\n---\n\n---\n%s---\n# nothing\n---\nb: 2\n...\n"
    (tmp_path / "vm.yaml").write_text(around % (VM + "---\n" + SIZE))
    assert render("--in-place", "vm.yaml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "vm.yaml").read_text() == around % (RENDERED + "---\n" + SIZE)


def test_in_place_writes_through_a_link(folder):
    (folder / "vm.yaml").rename(folder / "real.txt")
    (folder / "vm.yaml").symlink_to("real.txt")
    render("--in-place", ".", cwd=folder)
    assert (folder / "vm.yaml").is_symlink()
    assert (folder / "real.txt").read_text() == RENDERED


@pytest.mark.parametrize("arguments", [["-"], ["-k", "."]])
def test_in_place_needs_files(tmp_path, arguments):
    done = render("--in-place", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "kubevirt-render: error: --in-place needs files, but stdin and builds have no file to write to; remove --in-place\n"
    )


# ---- kustomize


@pytest.fixture
def build(monkeypatch):
    """A command that builds a kustomization, and is on the PATH."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{NEWEST_KUSTOMIZE}")
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else [on_path("kustomize"), "build"]


@pytest.mark.usefixtures("build")
def test_a_kustomization_is_built_and_rendered(folder):
    (folder / "kustomization.yaml").write_text("namePrefix: my-\nresources: [vm.yaml, sizes/small.yml]\n")
    done = render("-k", ".", "--fail-on", "never", "-o", "json", cwd=folder)
    assert [item["metadata"]["name"] for item in json.loads(done.stdout)["items"]] == ["my-small", "my-web"]


@pytest.mark.usefixtures("build")
def test_a_build_that_fails_is_passed_on(folder, capfd):
    (folder / "kustomization.yaml").write_text("resources: [absent.yaml]\n")
    done = render("-k", ".", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "absent.yaml" in capfd.readouterr().err  # what the program itself has written
    assert done.stderr.splitlines()[-1].endswith("failed with exit code 1; see its message above")


def test_no_kustomize_on_the_path_is_an_error(folder):
    done = render("-k", ".", cwd=folder, PATH="/nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == "kubevirt-render: error: neither kustomize nor kubectl is on the PATH to build .; install one of them\n"
    )


def test_a_patch_is_what_kustomize_needs_to_render_the_same(folder, build):
    patches = render("-o", "patch", ".", cwd=folder).stdout
    kustomization = "resources: [vm.yaml, sizes/small.yml]\npatches:\n" + patches
    (folder / "kustomization.yaml").write_text(kustomization)
    built = subprocess.run([*build, "."], cwd=folder, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    direct = render(".", "-o", "json", cwd=folder).stdout
    patched = render("-", "-o", "json", cwd=folder, stdin=built.stdout).stdout
    assert {json.dumps(item, sort_keys=True) for item in json.loads(patched)["items"]} == {
        json.dumps(item, sort_keys=True) for item in json.loads(direct)["items"]
    }


def test_a_patch_of_nothing_is_an_empty_list(tmp_path):
    assert render("-o", "patch", "-", cwd=tmp_path, stdin=CONFIG_MAP).stdout == "[]\n"


def test_a_patch_says_what_it_cannot_carry(folder):
    done = render("-o", "patch", "--mode", "snapshot", ".", cwd=folder)
    assert done.stdout.count("- target:\n") == 1
    assert (
        done.stderr
        == "kubevirt-render: note: added objects (1) are left out, because a patch cannot add objects; -o yaml prints them\n"
    )


# ---- config


def test_a_flag_beats_the_config_file(folder):
    (folder / "api.yaml").write_text(MISSING)
    (folder / "config").mkdir()
    (folder / "config" / "fn.yml").write_text("apiVersion: v1\nkind: ConfigMap\ndata: {failOn: never, mode: validate}\n")
    quiet = run("render", "--config", "config/fn.yml", "api.yaml", cwd=folder)
    assert (quiet.returncode, quiet.stdout) == (0, MISSING)
    assert run("render", "--config", "config/fn.yml", "--fail-on", "error", "api.yaml", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kubevirt-version", "0.2"], "--kubevirt-version: unknown KubeVirt release 0.2; expected one of 1.0, 1.1"),
        (["--kubevirt-version", "0.2", "absent.yaml"], "--kubevirt-version: unknown KubeVirt release 0.2; expected one of"),
        (["--severity", "null-itm=off"], "--severity null-itm: unknown rule 'null-itm'; did you mean null-item; "),
        (["--severity", "null-item"], "--severity: found 'null-item'; expected RULE=LEVEL such as some-rule=off"),
        (["--severity", "null-item=of"], "--severity null-item: found 'of'; expected one of error, warning, info, off"),
        (["--configuration", "[1]"], "--configuration: found a list; expected a map"),
        (["--configuration", "absent.yaml"], "--configuration: there is no file absent.yaml; expected a file"),
        (["--config", "absent.yaml"], "absent.yaml: No such file or directory"),
        (["--config", "latin.txt"], "latin.txt:1:4: the byte 0xE9 is not valid UTF-8"),
        (["--config", "fn.txt"], "fn.txt:3:8: data.mode: found 'x'; expected one of expand, validate, annotate, snapshot"),
        (["--config", "two.txt"], "two.txt:3:1: there is a second document; expected only one"),
        (["--config", "broken.txt"], "broken.txt:2:1: a value is missing here"),
        (["--configuration", "broken.txt"], "broken.txt:2:1: a value is missing here"),
        (["--configuration", "list.txt"], "list.txt:2:1: --configuration: found a list; expected a map"),
    ],
)
def test_a_wrong_flag_is_named_and_nothing_is_rendered(tmp_path, arguments, message):
    (tmp_path / "vm.yaml").write_text(VM)
    (tmp_path / "fn.txt").write_text("apiVersion: v1\nkind: ConfigMap\ndata: {mode: x}\n")
    (tmp_path / "latin.txt").write_bytes(b"a: \xe9\n")
    (tmp_path / "two.txt").write_text("a: 1\nb: 2\n---\nc: 3\n")
    (tmp_path / "broken.txt").write_text("a: [\n")
    (tmp_path / "list.txt").write_text("# settings\n- a\n")
    done = run("render", *arguments, "vm.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kubevirt-render: error: {message}")
    assert done.stderr.count("\n") == 1


def test_a_wrong_config_of_a_resource_list_is_named_with_its_place(tmp_path):
    (tmp_path / "list.yaml").write_text(
        "# two\nkind: ResourceList\napiVersion: config.kubernetes.io/v1\nfunctionConfig:\n  apiVersion: v1\n"
        "  kind: ConfigMap\n  data:\n    severity.null-item: 'eror'\n"
        "items:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n"
    )
    done = run("check", "list.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "kubevirt-render: error: list.yaml:8:5: functionConfig data[\"severity.null-item\"]: found 'eror'; "
        "expected one of error, warning, info, off; did you mean error\n"
    )


def test_all_keys_of_the_config_are_flags(tmp_path):
    (tmp_path / "kv.yaml").write_text("network: {defaultNetworkInterface: masquerade}\n")
    done = run(
        "check",
        *("--mode", "validate", "--kubevirt-version", "1.8", "--catalogue", "none", "--defaults", "cluster"),
        *("--presets", "instance", "--instances", "omit", "--configuration", "kv.yaml", "--no-provenance"),
        "--pod-size",
        *("--fail-on", "warning", "--severity", "null-item=off", "--severity", "duplicate-object=warning", "-"),
        cwd=tmp_path,
        stdin=CONFIG_MAP,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- check


def test_check_prints_findings_with_their_rules_and_nothing_else(folder):
    (folder / "kustomization.yaml").write_text("resources: [vm.yaml, sizes/small.yml]\n")
    (folder / "apart").mkdir()
    (folder / "apart" / "api.yaml").write_text(MISSING)
    done = run("check", "--summary", ".", "--severity", "unresolved-instancetype=error", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    first, last = done.stdout.splitlines()
    assert first.startswith("error: apart/api.yaml:11:11: VirtualMachine shop/api: spec.instancetype.name: ")
    assert first.endswith(" (unresolved-instancetype)")
    assert last == "1 error, 0 warnings, 0 info in 3 objects of 3 files and 1 target, KubeVirt 1.9.0"


def test_check_is_silent_where_all_is_well(folder):
    done = run("check", ".", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_writes_several_formats_at_once(folder):
    (folder / "api.yaml").write_text(CONFIG_MAP + "---\n" + MISSING)
    done = run("check", "-o", "text", "-o", "json=report.json", ".", cwd=folder)
    assert done.stdout.startswith("error: api.yaml:16:11: ")
    report = json.loads((folder / "report.json").read_text())
    assert report["summary"] == {"error": 1, "warning": 0, "info": 0, "objects": 4, "files": 3, "kubevirt": "1.9.0"}
    assert report["results"][0]["file"] == {"path": "api.yaml", "index": 1}
    assert report["results"][0]["resourceRef"] == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "name": "api",
        "namespace": "shop",
    }


def test_check_has_one_stdout(folder):
    done = run("check", "-o", "text", "-o", "json", ".", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "kubevirt-render: error: -o: only one output can be written to stdout; write the others to files with -o FORMAT=FILE\n"
    )


def test_a_rule_that_is_off_finds_nothing(folder):
    (folder / "api.yaml").write_text(MISSING)
    assert run("check", "--severity", "unresolved-instancetype=off", ".", cwd=folder).stdout == ""


# ---- rules, schema


def test_rules_are_listed_by_id_with_severity_and_title(tmp_path):
    lines = run("rules", cwd=tmp_path).stdout.splitlines()
    assert lines == sorted(lines)
    assert any(line.split() == ["null-item", "warning", "An", "item", "of", "the", "list", "is", "null"] for line in lines)


def test_a_rule_is_explained(tmp_path):
    text = run("rules", "null-item", cwd=tmp_path).stdout
    assert text.startswith("null-item (warning)\n\n")
    assert "What it finds: " in text
    assert "Fix: " in text


def test_the_schema_is_printed(tmp_path):
    schema = json.loads(run("schema", cwd=tmp_path).stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("glob", ["[", "vms/[ab/**", "a/**/[!c"])
def test_a_glob_with_an_open_bracket_is_refused(folder, glob):
    ran = run("check", "--exclude", glob, ".", cwd=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"kubevirt-render: error: --exclude: {glob!r} has a [ that no ] closes; write [[] for the character\n"
    assert run("check", "--exclude", "[ab]/**", ".", cwd=folder).returncode == 0
