"""Every rule is found by its file, and asked unless it is known to have nothing to say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from krm_fn.kubevirt.admission.parts import IN_INSTANCE, IN_VM, OTHER
from krm_fn.rules import bundle, lint
from krm_fn.rules.needs import modules
from krm_fn.rules.registry import FAMILIES

PACKAGE = Path(__file__).resolve().parents[2] / "krm_fn"

RULE = '''\
"""A rule that always has something to say."""

from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def talkative(facts):
    yield Hit(message="here", about=facts.bundle.entries[0])
'''
PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import krm_fn
from krm_fn.rules.registry import ids
config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
found = {mode: krm_fn.process({**json.load(open(sys.argv[2])), "functionConfig": {**config, "spec": {"mode": mode}}})["results"]
         for mode in ("expand", "validate")}
said = {mode: [each["message"] for each in results if each["tags"]["rule"] == "talkative"] for mode, results in found.items()}
json.dump([ids().get("talkative"), said], sys.stdout)
"""
FUNCTION = "import sys; sys.path.insert(0, sys.argv.pop()); from krm_fn.__main__ import run; sys.exit(run([]))"
LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: web
  spec:
    template:
      spec:
        domain:
          devices: {}
"""


def test_the_families_are_the_packages_of_rules():
    found = {path.parent.name for path in (PACKAGE / "rules").glob("*/__init__.py")}
    assert found - {"facts", "shared"} == set(FAMILIES)


@pytest.mark.parametrize("family", [bundle, lint])
def test_what_is_known_of_when_rules_speak_is_of_rules_that_there_are(family):
    assert sorted(set(family.NEEDS) - set(modules(family.__name__.rpartition(".")[2]))) == []


def test_each_part_of_an_object_has_a_rule_for_what_is_refused_there():
    parts = {part for part, _ in (*IN_INSTANCE, *IN_VM)} | {"label", OTHER}
    assert {f"refused_{part.replace('-', '_')}" for part in parts} == set(modules("admission"))


@pytest.mark.parametrize(("family", "modes"), [("bundle", ["expand", "validate"]), ("lint", ["validate"])])
def test_a_rule_of_which_nothing_is_known_is_asked(family, modes, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "krm_fn" / "rules" / family / "talkative.py").write_text(RULE)
    items = {"items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}
    (tmp_path / "items.json").write_text(json.dumps(items))
    command = [sys.executable, "-I", "-B", "-c", PROCESS, str(tmp_path), str(tmp_path / "items.json")]
    listed, said = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert listed == family
    assert said == {mode: ["here"] if mode in modes else [] for mode in ("expand", "validate")}
    function = [sys.executable, "-I", "-B", "-c", FUNCTION, str(tmp_path)]
    written = subprocess.run(function, input=LIST, capture_output=True, check=True, text=True).stdout
    assert ("message: here" in written) == ("expand" in modes)
