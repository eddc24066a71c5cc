"""kustomize's older kind of plugin: a config's file as first argument, bare documents in and out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from krm_fn.cli.install_plugin import program

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: r}\n"
CALLED = {"KUSTOMIZE_PLUGIN_CONFIG_STRING": CONFIG, "KUSTOMIZE_PLUGIN_CONFIG_ROOT": "/app"}

DOCUMENTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: 0777} # as it is
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  preference:
    name: fedora
  template:
    spec:
      domain:
        devices:
          autoattachPodInterface: false
        memory: {guest: 2Gi}
"""


@pytest.fixture
def place(tmp_path):
    """Where the plugin stands."""
    plugin = tmp_path / "RenderVirtualMachines"
    plugin.write_text(program(sys.executable, str(ROOT)))
    plugin.chmod(0o755)
    return plugin


def called(place, config, stdin=DOCUMENTS, **environment):
    file = place.parent / "config"
    file.write_text(config)
    environment = {"PATH": os.environ["PATH"], **(environment or CALLED)}
    return subprocess.run([place, file, "--further"], input=stdin, env=environment, capture_output=True, text=True, check=False)


def test_other_documents_do_not_change_and_the_vm_is_rendered(place):
    ran = called(place, CONFIG)
    first, _, vm = ran.stdout.partition("---\n")
    assert (first, ran.returncode, ran.stderr) == (DOCUMENTS.partition("---\n")[0], 0, "")
    assert "preference:" not in vm
    assert "secureBoot: true" in vm


def test_an_error_leaves_stdout_empty_so_that_kustomize_deletes_nothing(place):
    ran = called(place, CONFIG, DOCUMENTS.replace("fedora", "fedoora"))
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert ran.stderr.startswith("kubevirt-render: error: VirtualMachine web: spec.preference.name: ")


def test_a_wrong_config_is_named_by_its_key(place):
    ran = called(place, CONFIG + "spec: {mode: expnad}\n")
    assert (ran.stdout, ran.returncode) == ("", 2)
    assert ran.stderr.startswith("kubevirt-render: error: functionConfig spec.mode: found 'expnad'; ")


def test_no_documents_are_no_error(place):
    ran = called(place, CONFIG, "")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_without_kustomizes_variables_a_file_is_no_config(place):
    ran = called(place, CONFIG, HOME="/")
    assert (ran.stdout, ran.returncode) == ("", 2)
    assert "to render it, run `kubevirt-render render " in ran.stderr


@pytest.mark.parametrize("folder", ["with blanks", "long" * 40])
def test_an_interpreter_that_the_kernel_takes_not_is_started_by_a_shell(tmp_path, folder):
    (tmp_path / folder).mkdir()
    interpreter = tmp_path / folder / "python"
    interpreter.symlink_to(sys.executable)
    text = program(str(interpreter), str(ROOT))
    assert text.startswith("#!/bin/sh\n")
    plugin = tmp_path / "RenderVirtualMachines"
    site = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    plugin.write_text(text)
    plugin.chmod(0o755)
    ran = called(plugin, CONFIG, PYTHONPATH=site, **CALLED)
    assert (ran.returncode, ran.stderr) == (0, "")
