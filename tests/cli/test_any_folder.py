"""Any folder, also one without kustomizations: what can't be read there is one finding each, and the rest goes on."""

import pytest
from checking import run
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  instancetype:
    name: u1.medium
  template:
    spec:
      domain:
        devices: {}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: ClusterIP}\n"
ANY_FOLDER = {
    "vms/vm.yaml": VM,
    "vms/service.yaml": SERVICE,
    "vms/variant.yaml": SERVICE.replace("ClusterIP", "NodePort"),
    "site.yaml": "- hosts: all\n  vars: {name: {{ name }}}\n",
    "made/service.yaml": SERVICE.replace("web", "{{ .Release.Name }}"),
}
TEMPLATE = "info: made/service.yaml:3:19: a map or list cannot be a key; expected a string; {{ belongs to a template"


def test_a_folder_without_kustomizations_is_rendered_past_templates_and_playbooks(tmp_path):
    code, out, err = run("render", ".", cwd=tree(tmp_path, ANY_FOLDER))
    assert code == 0
    assert (out.count("kind: Service"), out.count("kind: VirtualMachine"), "sockets: 1" in out) == (2, 1, True)
    assert err.startswith(f"kubevirt-render: {TEMPLATE}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [("render", "--in-place"), ("migrate", "--in-place")])
def test_a_template_beside_machines_stays_as_it_is(tmp_path, command):
    root = tree(tmp_path, {"both.yaml": f"{VM}---\nkind: {{{{ kind }}}}\n", "vm.yaml": VM.replace("v1", "v1alpha3")})
    code, _, err = run(*command, ".", cwd=root)
    assert code == 0
    assert "both.yaml:14: left alone: this is a template, not YAML\n" in err
    assert (root / "both.yaml").read_text() == f"{VM}---\nkind: {{{{ kind }}}}\n"
    assert (root / "vm.yaml").read_text() != VM.replace("v1", "v1alpha3")


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_other_commands_get_past_templates_and_unreadable_documents_too(tmp_path, command):
    root = tree(tmp_path, ANY_FOLDER)
    code, out, err = run(command, ".", cwd=root)
    assert (code, "web" in out, TEMPLATE in err) == (0, True, True)
    tree(root, {"broken.yaml": VM + "  - a\n---\n" + VM.replace("web", "db"), "worse.yaml": VM + "  - a\n"})
    code, out, err = run(command, ".", cwd=root)
    assert (code, "web" in out, "db" in out) == (1, True, True)
    assert [line.split(":")[2] for line in err.splitlines() if " error: " in line] == [" broken.yaml", " worse.yaml"]
    assert run(command, "worse.yaml", cwd=root)[:2] == (1, "")


@pytest.mark.parametrize("words", ["capacity .", "explain .", "render .", "render vm.yaml broken.yaml"])
def test_what_is_left_out_can_not_be_silenced(tmp_path, words):
    root = tree(tmp_path, {"vm.yaml": VM, "broken.yaml": VM + "  - a\n", "template.yaml": "kind: {{ kind }}\n"})
    code, out, err = run(*words.split(), "--severity", "unreadable-document=off", cwd=root)
    assert (code, out) == (1, "")
    assert "error: broken.yaml:" in err


@pytest.mark.parametrize("command", ["capacity", "explain", "render"])
def test_templates_can_be_silenced(tmp_path, command):
    root = tree(tmp_path, {"vm.yaml": VM, "template.yaml": "kind: {{ kind }}\n"})
    code, out, err = run(command, ".", "--severity", "unrendered-template=off", cwd=root)
    assert (code, "web" in out, err) == (0, True, "")


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_a_link_that_is_not_followed_is_reported(tmp_path, command):
    root = tree(tmp_path, {"in/vm.yaml": VM, "out/vm.yaml": VM.replace("web", "db")}) / "in"
    (root / "db.yaml").symlink_to("../out/vm.yaml")
    code, out, err = run(command, ".", cwd=root)
    assert (code, "db" in out, err.startswith("kubevirt-render: warning: db.yaml: this link points outside")) == (
        0,
        False,
        True,
    )


def test_an_unreadable_document_beside_machines_is_one_finding_and_nothing_is_printed(tmp_path):
    root = tree(tmp_path, {"vm.yaml": VM.replace("u1.medium", "u1.none"), "broken.yaml": VM + "  - a\n"})
    code, out, err = run("render", ".", cwd=root)
    assert (code, out) == (1, "")
    assert "(unreadable-document)\n" in err
    assert "(unresolved-instancetype)\n" in err
