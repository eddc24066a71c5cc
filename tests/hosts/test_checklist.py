"""The conformance list of a KRM function, statement by statement: each test runs what its number says.

docs/hosts.md says where a statement is not kept to the letter, and why.
"""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from running import ROOT, passed, run, wait_until_it_reads
from test_kpt import KPTFILE, ODDITIES, commit, diff, settled
from test_kustomize import RENDER, SMALL, VM, objects, write

from krm_fn import yamlio

PROGRAM = [sys.executable, "-m", "krm_fn"]
GROUP = "kubevirt-render.dev/v1alpha1"
TYPED = f"functionConfig:\n  apiVersion: {GROUP}\n  kind: RenderVirtualMachines\n  metadata: {{name: render}}\n  spec: "
STRINGS = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: render}\n  data: "
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

Ran = subprocess.CompletedProcess[bytes]


def call(data: str | bytes, *arguments: str, **env: str) -> Ran:
    """What the program makes of stdin."""
    sent = data.encode() if isinstance(data, str) else data
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled
    return subprocess.run([*PROGRAM, *arguments], input=sent, env=environment, capture_output=True, check=False, timeout=60)


def listing(*items: str, config: str = "", version: str = "apiVersion: config.kubernetes.io/v1\n") -> str:
    """A ResourceList as text, each item as it is written."""
    listed = "".join("- " + "\n  ".join(item.rstrip("\n").split("\n")) + "\n" for item in items)
    return f"{version}kind: ResourceList\n{'items:' if items else 'items: []'}\n{listed}{config}"


def processor_time() -> float:
    """The seconds of it that ended programs took: on a busy machine they take longer, but no more of it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def answer(data: str | bytes) -> dict[str, Any]:
    """The ResourceList that comes back from a run that succeeds."""
    ran = call(data)
    assert ran.returncode == 0, ran.stderr.decode()
    return dict(yamlio.read_value(ran.stdout.decode()))


def refused(data: str | bytes) -> str:
    """The one line with which input is refused, with nothing on stdout."""
    ran = call(data)
    assert (ran.returncode != 0, ran.stdout) == (True, b"")
    (line,) = ran.stderr.decode().splitlines()
    return line


def memory(vm: dict[str, Any]) -> object:
    domain = vm["spec"]["template"]["spec"]["domain"]
    return domain["memory"]["guest"] if "instancetype" not in vm["spec"] else None


def rules(found: dict[str, Any]) -> list[str]:
    return [result["tags"]["rule"] for result in found.get("results", [])]


EMPTY = listing()
BOTH = listing(VM, SMALL)
WRONG = listing(VM.replace("name: small", "name: smal"), SMALL)


def test_01_without_arguments_it_reads_stdin_to_its_end_whatever_the_environment() -> None:
    reading = subprocess.Popen(
        PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert reading.stdin is not None
    for part in (BOTH[:40], BOTH[40:]):
        reading.stdin.write(part.encode())
        reading.stdin.flush()
        time.sleep(0.2)
    assert reading.poll() is None
    out, _ = reading.communicate()
    assert out == call(BOTH, LOG_TO_STDERR="true", FOO="bar", KUSTOMIZE="1").stdout
    assert memory(yamlio.read_value(out.decode())["items"][0]) == "1Gi"


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_02_all_versions_of_a_resource_list_are_taken(version: str) -> None:
    found = answer(listing(VM, SMALL, version=f"apiVersion: config.kubernetes.io/{version}\n"))
    assert (found["apiVersion"], memory(found["items"][0])) == (f"config.kubernetes.io/{version}", "1Gi")


def test_02_a_missing_version_and_a_future_one_are_taken_and_another_kind_is_refused() -> None:
    missing = call(listing(VM, SMALL, version=""))
    assert (memory(yamlio.read_value(missing.stdout.decode())["items"][0]), missing.stderr) == ("1Gi", b"")
    future = call(listing(VM, SMALL, version="apiVersion: config.kubernetes.io/v3\n"))
    assert (future.returncode, memory(yamlio.read_value(future.stdout.decode())["items"][0])) == (0, "1Gi")
    assert (
        b"warning: the apiVersion of the ResourceList is config.kubernetes.io/v3, but it is read as config.kubernetes.io/v1"
        in future.stderr
    )
    assert "ResourceList" in refused("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")


@pytest.mark.parametrize(
    "sent",
    [
        json.dumps(yamlio.read_value(BOTH)),
        "\ufeff" + BOTH,
        BOTH.replace("\n", "\r\n"),
        "---\n" + BOTH,
        BOTH + "...\n",
        "# written by a host\n# which comments\n" + BOTH,
    ],
    ids=["JSON", "BOM", "CRLF", "a leading ---", "a closing ...", "comments first"],
)
def test_03_all_forms_of_a_document_are_read(sent: str) -> None:
    assert memory(answer(sent)["items"][0]) == "1Gi"


@pytest.mark.parametrize("sent", ["", "\n", "  \n\n"])
def test_04_nothing_on_stdin_is_an_empty_list_for_the_function_and_an_error_for_the_command(sent: str) -> None:
    assert answer(sent)["items"] == []
    ran = call(sent, "render", "-")
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (1, b"", 1)


@pytest.mark.parametrize("items", ["", "items:\n", "items: null\n", "items: []\n"])
def test_05_items_that_are_missing_null_or_none_come_back_as_none(items: str) -> None:
    assert answer("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + items)["items"] == []


@pytest.mark.parametrize(
    "config",
    ["", "functionConfig:\n", "functionConfig: {}\n", STRINGS + "{}\n", STRINGS + "null\n", STRINGS[: STRINGS.index("  data")]],
)
def test_06_without_a_config_the_defaults_count(config: str) -> None:
    assert memory(answer(listing(VM, SMALL, config=config))["items"][0]) == "1Gi"


@pytest.mark.parametrize(
    ("typed", "strings"),
    [
        ("{mode: annotate, provenance: true}", '{provenance: "true", mode: annotate}'),
        (
            '{severity: {unused-instancetype: "off"}, kubevirtVersion: "1.8"}',
            '{severity: "{unused-instancetype: off}", kubevirtVersion: "1.8"}',
        ),
        (
            '{kubevirtVersion: "1.8", severity: {unused-instancetype: "off"}}',
            '{kubevirtVersion: "1.8", severity.unused-instancetype: "off"}',
        ),
    ],
)
def test_07_strings_of_a_config_map_and_our_own_kind_say_the_same(typed: str, strings: str) -> None:
    own, by_strings = (answer(listing(VM, SMALL, config=config + "\n")) for config in (TYPED + typed, STRINGS + strings))
    assert own["items"] == by_strings["items"]
    assert own.get("results") == by_strings.get("results")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (TYPED + "{mood: expand}\n", ("spec.mood", "mode")),
        (STRINGS + "{mood: expand}\n", ("data.mood", "mode")),
        (TYPED + "{mode: expnd}\n", ("spec.mode", "expand")),
        (TYPED + "{provenance: [yes]}\n", ("spec.provenance", "true")),
        (TYPED.replace("v1alpha1", "v9") + "{}\n", ("apiVersion", "v1alpha1")),
    ],
)
def test_08_a_wrong_config_names_its_place_and_the_nearest_word(config: str, told: tuple[str, str]) -> None:
    ran = call(listing(VM, SMALL, config=config))
    (result,) = yamlio.read_value(ran.stdout.decode())["results"]
    assert (ran.returncode, result["severity"]) == (2, "error")
    assert all(word in result["message"] for word in told), result["message"]


def test_08_the_published_schema_is_the_one_that_counts() -> None:
    schema = json.loads(call("", "schema").stdout)
    for spec in ({"mode": "expand"}, {"mode": "expnd"}, {"mood": "x"}, {"provenance": "perhaps"}, {"kubevirtVersion": "0.1"}):
        config = {"apiVersion": GROUP, "kind": "RenderVirtualMachines", "metadata": {"name": "r"}, "spec": spec}
        held = jsonschema.Draft202012Validator(schema).is_valid(config)
        ran = call(listing(VM, SMALL, config=TYPED + json.dumps(spec) + "\n"))
        assert (ran.returncode == 0) == held, spec


def test_09_the_config_among_the_items_is_passed_through() -> None:
    config = yamlio.read_value(TYPED + "{}\n")["functionConfig"]
    sent = listing(VM, SMALL, json.dumps(config), config=TYPED + "{}\n")
    found = answer(sent)
    assert found["items"][2] == config
    assert found["items"][2]["spec"] == {}
    alone = answer(listing(json.dumps(config), config=TYPED + "{}\n"))
    assert alone["items"] == [config]


def test_10_null_items_are_skipped_with_a_warning_and_what_is_no_object_passes() -> None:
    kustomization, scalar, a_list = "resources: [vm.yaml] # flow", "just words", "[1, 0777, yes]"
    ran = call(listing(VM, SMALL, kustomization, scalar, a_list) + "-\n")
    out = ran.stdout.decode()
    assert ran.returncode == 0
    assert f"- {kustomization}\n- {scalar}\n- {a_list}\n" in out
    assert None not in yamlio.read_value(out)["items"]
    assert "null-item" in rules(yamlio.read_value(out))
    assert b"warning" in ran.stderr


@pytest.mark.parametrize(("version", "kind"), [("v1", "List"), ("kubevirt.io/v1", "VirtualMachineList")])
def test_11_what_a_list_holds_is_seen_and_the_list_stays(version: str, kind: str) -> None:
    held = [yamlio.read_value(VM), *([yamlio.read_value(SMALL)] if kind == "List" else [])]
    holder = {"apiVersion": version, "kind": kind, "metadata": {"name": "l"}, "items": held}
    found = answer(listing(json.dumps(holder), *([] if kind == "List" else [SMALL])))
    assert (found["items"][0]["kind"], len(found["items"][0]["items"])) == (kind, len(held))
    assert memory(found["items"][0]["items"][0]) == "1Gi"


def test_12_the_same_item_twice_is_fine_and_two_different_ones_are_named_with_their_files() -> None:
    assert answer(listing(VM, VM, SMALL)).get("results", []) == []
    places = [
        SMALL.replace("name: small\n", f"name: small\n  annotations: {{config.kubernetes.io/path: {file}}}\n")
        for file in ("a.yaml", "b.yaml")
    ]
    ran = call(listing(VM, places[0], places[1].replace("1Gi", "2Gi")))
    (result,) = yamlio.read_value(ran.stdout.decode())["results"]
    assert (ran.returncode, result["tags"]["rule"]) == (1, "duplicate-object")
    assert "a.yaml" in result["message"] + result["file"]["path"]
    assert "b.yaml" in result["message"] + result["file"]["path"]


def test_13_many_documents_are_for_the_command_and_an_error_for_the_function() -> None:
    assert call(f"{VM}---\n{SMALL}", "render", "-").returncode == 0
    assert "document" in refused(f"{BOTH}---\n{BOTH}")


def test_14_anchors_may_have_the_same_name_and_none_is_written_across_items() -> None:
    first = CONFIG_MAP + "data: &data\n  a: &value one\n  b: *value\n"
    second = CONFIG_MAP.replace("name: a", "name: b") + "data: &data\n  a: &value two\n  b: *value\n"
    ran = call(listing(first, second, VM, SMALL))
    out = ran.stdout.decode()
    assert [item["data"]["b"] for item in yamlio.read_value(out)["items"][:2]] == ["one", "two"]
    assert not re.search(r"^- [&*]", out, re.MULTILINE)


def test_15_merge_keys_are_resolved_and_odd_scalars_raise_nothing() -> None:
    base = "  template: &t\n    spec: {domain: {devices: {}}}\n"
    merged = VM.partition("  template:")[0] + base.replace("devices: {}", "devices: {}, <<: {ioThreadsPolicy: auto}")
    odd = CONFIG_MAP + "data: {a: =, b: 2024-01-01, c: 12:30:45, d: 0o7, e: ~}\n"
    found = answer(listing(merged, SMALL, odd))
    assert found["items"][0]["spec"]["template"]["spec"]["domain"]["ioThreadsPolicy"] == "auto"
    assert memory(found["items"][0]) == "1Gi"


def test_16_bombs_depth_and_size_are_bounded() -> None:
    bomb = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 11))
    assert "aliases" in refused(listing(bomb))
    assert "deep" in refused(listing("a: " + "[" * 5000 + "]" * 5000))
    large = listing(VM, SMALL, CONFIG_MAP + "data:\n  a: " + "x" * (64 << 20) + "\n")
    assert len(call(large).stdout) > 64 << 20
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert used < 1 << 20  # KiB


@pytest.mark.parametrize(
    "sent",
    [
        BOTH.encode() + b"# \xff\xfe\n",
        BOTH.encode() + b"# \x00\n",
        listing("a:\n\tb: 1"),
        listing("a: 1\na: 2"),
        listing("a: [1"),
    ],
    ids=["no UTF-8", "NUL", "a tab", "a key twice", "cut off"],
)
def test_17_what_is_no_yaml_is_one_line_with_its_place(sent: bytes | str) -> None:
    line = refused(sent)
    assert re.match(r"kubevirt-render: error: stdin:\d+:\d+: ", line), line
    assert "Traceback" not in line


@pytest.mark.parametrize("tag", ["!x", "!!python/object/apply:os.system"])
def test_17_tags_mean_nothing_as_in_go_and_nothing_is_run(tag: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    found = answer(listing(VM.replace("devices: {}", f"devices: {tag} {{a: ['touch {told}']}}"), SMALL))
    assert memory(found["items"][0]) == "1Gi"
    assert not told.exists()


def test_18_scalars_are_typed_as_go_does_and_written_as_they_were() -> None:
    numbers = "b: 0777, c: 0o777, d: 1e3, e: 9223372036854775807, f: 99999999999999999999999"
    scalars = f'data: {{a: yes, {numbers}, g: "0123", h: "1e3", i: "y"}}'
    ran = call(
        listing(CONFIG_MAP + scalars + "\n", VM.replace("devices: {}", "devices:\n          autoattachPodInterface: no"), SMALL)
    )
    assert scalars in ran.stdout.decode()
    data, vm = (item for item in yamlio.read_value(ran.stdout.decode())["items"][:2])
    values = {key: data["data"][key] for key in "abcde"}
    assert values == {"a": True, "b": 511, "c": 511, "d": 1000, "e": 9223372036854775807}
    assert [data["data"][key] for key in "ghi"] == ["0123", "1e3", "y"]
    domain = vm["spec"]["template"]["spec"]["domain"]
    assert (domain["devices"]["autoattachPodInterface"], "interfaces" in domain["devices"]) == (False, False)


def test_19_annotations_may_be_numbers() -> None:
    numbered = VM.replace("name: web\n", "name: web\n  annotations:\n    internal.config.kubernetes.io/index: 2\n", 1)
    assert memory(answer(listing(numbered, SMALL))["items"][0]) == "1Gi"
    wrong = call(listing(numbered.replace("name: small", "name: smal"), SMALL))
    assert wrong.returncode == 1


def test_20_names_are_looked_up_as_they_are_then_as_they_were_in_the_vms_namespace() -> None:
    former = SMALL.replace(
        "name: small\n", "name: x-small\n  annotations: {internal.config.kubernetes.io/previousNames: 'small,y-small'}\n"
    )
    assert memory(answer(listing(VM, former))["items"][0]) == "1Gi"
    own = SMALL.replace("VirtualMachineClusterInstancetype", "VirtualMachineInstancetype")
    there = own.replace("name: small\n", "name: small\n  namespace: default\n")
    lowercase = VM.replace("    name: small", "    kind: virtualmachineinstancetypes\n    name: small")
    assert memory(answer(listing(lowercase, there))["items"][0]) == "1Gi"
    elsewhere = own.replace("name: small\n", "name: small\n  namespace: shop\n")
    assert call(listing(lowercase, elsewhere)).returncode == 1
    assert memory(
        answer(listing(VM, SMALL.replace("instancetype.kubevirt.io/v1beta1", "instancetype.kubevirt.io/v1alpha2")))["items"][0]
    )


def test_21_stdout_is_one_document() -> None:
    for sent in (BOTH, "---\n" + BOTH + "...\n", WRONG):
        out = call(sent).stdout.decode()
        assert out.endswith("\n")
        assert not re.search(r"^(---|\.\.\.)\s*$", out, re.MULTILINE) or out.startswith("---")
        assert not out.rstrip("\n").endswith("---")
        assert out.startswith(("apiVersion: config.kubernetes.io/v1\n", "---\napiVersion: config.kubernetes.io/v1\n"))


def test_22_items_are_there_even_on_failure() -> None:
    assert "items" in answer(EMPTY)
    ran = call(WRONG)
    assert ran.returncode == 1
    assert yamlio.read_value(ran.stdout.decode())["items"] == yamlio.read_value(WRONG)["items"]


def test_23_items_keep_their_order_new_ones_precede_the_vm_that_needs_them_and_runs_are_the_same() -> None:
    others = [CONFIG_MAP.replace("name: a", f"name: {name}") for name in "cba"]
    sent = listing(others[0], VM, others[1], SMALL, others[2], config=TYPED + "{mode: snapshot, instances: include}\n")
    outs = {call(sent, PYTHONHASHSEED=seed).stdout for seed in ("0", "1", "42")}
    assert len(outs) == 1
    names = [item["metadata"]["name"] for item in yamlio.read_value(outs.pop().decode())["items"]]
    revisions = [name for name in names if "-v1beta1-" in name]
    assert names == ["c", *revisions, "web", "b", "small", "a"]
    assert revisions


@pytest.mark.parametrize("sent", [BOTH, WRONG], ids=["right", "wrong"])
def test_24_rendering_what_was_rendered_changes_nothing(sent: str) -> None:
    once = call(sent)
    again = call(once.stdout)
    assert (again.stdout, again.returncode) == (once.stdout, once.returncode)


def test_25_what_is_not_rendered_is_left_byte_by_byte(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "Kptfile").write_text(KPTFILE)
    (tmp_path / "oddities.yaml").write_text(ODDITIES)
    settled(kpt, tmp_path, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment))
    assert diff(tmp_path, environment) == ""


DISKS = """\
        devices:
          disks:
            # the first
            - name: root # boots
              disk: {}
            # the second
            - name: data
              disk: {bus: sata}
"""


def test_26_in_what_is_rendered_only_the_meant_lines_differ() -> None:
    vm = VM.replace("        devices: {}\n", DISKS) + "      volumes:\n        - {name: root, emptyDisk: {capacity: 1Gi}}\n"
    vm += "        - {name: data, emptyDisk: {capacity: 1Gi}}\n        - {name: more, emptyDisk: {capacity: 1Gi}}\n"
    before = listing(vm, SMALL).splitlines()
    after = call("\n".join(before) + "\n").stdout.decode().splitlines()
    assert [line for line in before if line not in after] == [
        "    instancetype:",
        "      name: small",
    ]
    kept = [line.strip() for line in after if "name: root" in line or "name: data" in line or line.strip().startswith("#")]
    assert kept[:4] == ["# the first", "- name: root # boots", "# the second", "- name: data"]
    names = [
        disk["name"]
        for disk in yamlio.read_value("\n".join(after))["items"][0]["spec"]["template"]["spec"]["domain"]["devices"]["disks"]
    ]
    assert names == ["root", "data", "more"]


def test_27_every_annotation_is_given_back_and_new_items_have_none_of_anothers() -> None:
    sent = {
        "internal.config.kubernetes.io/id": "7",
        "config.k8s.io/id": "7",
        "internal.config.kubernetes.io/path": "a/vm.yaml",
        "config.kubernetes.io/path": "a/vm.yaml",
        "internal.config.kubernetes.io/index": "3",
        "config.kubernetes.io/index": "3",
        "kustomize.config.k8s.io/id": "kind: VirtualMachine\nname: web\n",
        "internal.config.kubernetes.io/seqindent": "compact",
        "config.kubernetes.io/local-config": "true",
    }
    vm = yamlio.read_value(VM)
    vm["metadata"]["annotations"] = sent
    found = answer(listing(json.dumps(vm), SMALL, config=TYPED + "{instances: include}\n"))
    assert found["items"][0]["metadata"]["annotations"] == sent
    (new,) = found["items"][2:]
    given = new["metadata"].get("annotations", {})
    assert [key for key in sent if key in given and given[key] == sent[key] and "local-config" not in key] == []


ODD_STRINGS = (
    *("y", "n", "Y", "N", "yes", "on", "null", "~", "=", "1e3", "12e4", "0e1234", "1.5e3", "0o777", "0777", "0x1F", "1_000"),
    *("12:30:45", "2024-01-01", "+.5", ".inf", "<<", "-", "?"),
    "two\nlines",
    "next\u0085line",
)


@pytest.mark.parametrize("text", ODD_STRINGS)
def test_28_strings_that_a_reader_could_take_for_something_else_are_quoted(text: str) -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "odd"},
        "spec": {"annotations": {"example.com/odd": text}},
    }
    vm = VM.replace("  template:", "  preference:\n    name: odd\n  template:")
    out = call(listing(vm, SMALL, json.dumps(preference))).stdout.decode()
    (line,) = [line for line in out.splitlines() if line.strip().startswith("example.com/odd:")]
    value = line.split(":", 1)[1].strip()
    assert value[0] in "\"'|", line
    written = yamlio.read_value(out)["items"][0]["spec"]["template"]["metadata"]["annotations"]["example.com/odd"]
    assert written == text


def test_29_long_lines_are_not_folded_and_blocks_stay_blocks() -> None:
    long = "x y " * 200
    vm = VM.replace("        devices: {}\n", "        devices: {}\n") + (
        "      volumes:\n        - name: c\n          cloudInitNoCloud:\n            userData: |\n"
        f"              #cloud-config\n              # {long}\n"
    )
    preference = SMALL.replace("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference").partition("spec:")[0]
    preference += f"spec:\n  annotations:\n    example.com/long: {long}end\n"
    vm = vm.replace("  template:", "  preference:\n    name: small\n  template:")
    out = call(listing(vm, SMALL, preference)).stdout.decode()
    assert "userData: |\n" in out
    assert f"# {long.rstrip()}" in out
    assert [line for line in out.splitlines() if "example.com/long:" in line and long.rstrip() in line]


def test_30_go_reads_what_we_read(kubectl: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """kubectl reads with sigs.k8s.io/yaml, kustomize inside it with yaml.v3."""
    texts = {f"example.com/t{number}": text for number, text in enumerate(ODD_STRINGS)}
    preference = {**yamlio.read_value(SMALL), "kind": "VirtualMachineClusterPreference", "spec": {"annotations": texts}}
    vm = VM.replace("  template:", "  preference:\n    name: small\n  template:")
    out = call(f"{vm}---\n{SMALL}---\n{json.dumps(preference)}\n", "render", "-").stdout.decode().partition("\n---\n")[0]
    lines = out.partition("      annotations:\n")[2].splitlines(keepends=True)
    data = "".join(line[6:] for line in takewhile(lambda line: line.startswith("        "), lines))
    write(tmp_path, map=f"{CONFIG_MAP}data:\n{data}")
    label = (kubectl, "label", "--local", "-o", "json", "-f", "map.yaml", "a=b")
    assert json.loads(passed(run(*label, cwd=tmp_path, environment=environment)))["data"] == texts
    write(tmp_path, kustomization="resources: [vm.yaml]\n", vm=out + "\n")
    built = yamlio.read_value(passed(run(kubectl, "kustomize", ".", cwd=tmp_path, environment=environment)))
    of_kustomize = built["spec"]["template"]["metadata"]["annotations"]
    of_kustomize["example.com/t25"] = "next\u0085line"  # it reads this line break well, and writes a space
    assert built == yamlio.read_value(out)


def test_31_errors_exit_with_1_wrong_configs_with_2_and_warnings_with_0_by_default() -> None:
    warned = BOTH + "-\n"
    codes = [
        call(sent).returncode
        for sent in (
            BOTH,
            WRONG,
            warned,
            warned + TYPED + "{failOn: warning}\n",
            WRONG + TYPED + "{failOn: never}\n",
            BOTH + TYPED + "{a: 1}\n",
        )
    ]
    assert codes == [0, 1, 0, 1, 0, 2]
    assert call("", "--no-such-flag").returncode == 2


def test_32_on_failure_stdout_is_complete_with_the_input_items_or_empty() -> None:
    ran = call(WRONG)
    assert ran.stdout.decode().startswith(WRONG)
    assert rules(yamlio.read_value(ran.stdout.decode())) == ["unresolved-instancetype"]
    refused(WRONG + "a: [")


def test_33_every_result_is_complete() -> None:
    placed = VM.replace(
        "name: web\n", 'name: web\n  annotations: {config.kubernetes.io/path: a/vm.yaml, config.kubernetes.io/index: "2"}\n', 1
    )
    ran = call(listing(placed.replace("name: small", "name: smal"), SMALL))
    (result,) = yamlio.read_value(ran.stdout.decode())["results"]
    message = result.pop("message")
    assert message.startswith("VirtualMachineClusterInstancetype smal is not found; ")
    assert ("\n" in message, len(message) <= 200) == (False, True)
    assert result.pop("tags")["rule"] == "unresolved-instancetype"
    assert result == {
        "severity": "error",
        "resourceRef": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web"},
        "field": {"path": "spec.instancetype.name", "currentValue": "smal", "proposedValue": "small"},
        "file": {"path": "a/vm.yaml", "index": 2},
    }


def test_34_results_are_sorted_and_those_of_earlier_functions_come_first() -> None:
    earlier = "results:\n- {message: from before, severity: error}\n"
    found = answer(BOTH + "-\n" + earlier)
    assert found["results"][0] == {"message": "from before", "severity": "error"}
    wrong = [VM.replace("name: web", f"name: {name}").replace("name: small", "name: gone") for name in ("b", "a")]
    ran = call(listing(*wrong, SMALL, "null"))
    results = yamlio.read_value(ran.stdout.decode())["results"]
    assert [one["severity"] for one in results] == sorted(
        (one["severity"] for one in results), key=["error", "warning", "info"].index
    )
    assert len({json.dumps(one) for one in results}) == len(results)


def test_35_findings_are_lines_on_stderr_which_is_empty_without_findings() -> None:
    assert call(BOTH).stderr == b""
    placed = VM.replace("name: web\n", "name: web\n  namespace: shop\n  annotations: {config.kubernetes.io/path: vm.yaml}\n", 1)
    err = call(listing(placed.replace("name: small", "name: smal"), SMALL)).stderr.decode()
    (line,) = err.splitlines()
    assert line.startswith("kubevirt-render: error: vm.yaml: VirtualMachine shop/web: spec.instancetype.name: ")
    assert "\x1b" not in err


def test_36_what_hosts_set_in_the_environment_changes_nothing() -> None:
    plain, told = call(WRONG), call(WRONG, LOG_TO_STDERR="true", STRUCTURED_RESULTS="true")
    assert (plain.stdout, plain.stderr, plain.returncode) == (told.stdout, told.stderr, told.returncode)


def test_37_what_can_not_be_resolved_or_merged_is_a_result_never_an_exception() -> None:
    clash = VM.replace("devices: {}", "devices: {}\n        cpu: {cores: 2}")
    preference = VM.replace("  template:", "  preference:\n    name: fedoraa\n  template:")
    for sent, rule in (
        (WRONG, "unresolved-instancetype"),
        (listing(clash, SMALL), "instancetype-conflict"),
        (listing(preference, SMALL), "unresolved-preference"),
    ):
        ran = call(sent)
        results = yamlio.read_value(ran.stdout.decode())["results"]
        assert (ran.returncode, results[0]["tags"]["rule"]) == (1, rule)
        if rule.startswith("unresolved"):
            assert results[0]["field"]["path"].endswith(".name")
            assert results[0]["field"]["proposedValue"] in ("small", "fedora")


def test_38_secrets_are_never_shown() -> None:
    secret = "hunter2-of-cloud-init"
    vm = VM.replace("name: small", "name: smal") + (
        f"      volumes:\n        - name: c\n          cloudInitNoCloud:\n            userData: 'password: {secret}'\n"
        f"        - name: c\n          cloudInitNoCloud: {{userData: [{secret}], userDataSecretRef: {secret}1}}\n"
        f"      accessCredentials: [{{userPassword: {secret}}}]\n"
    )
    ran = call(listing(vm, SMALL))
    results = ran.stdout.decode().partition("\nresults:")[2]
    assert results
    assert secret not in results
    assert secret not in ran.stderr.decode()


def test_39_it_runs_as_any_user_on_a_read_only_image(image: str, podman: dict[str, str]) -> None:
    strict = ("--network", "none", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL")
    for user in ("nobody", "999", "1728394"):
        command = ["podman", "run", "--rm", "-i", *strict, "--user", user, "--unsetenv", "HOME", image]
        ran = subprocess.run(command, input=BOTH, env=podman, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert memory(yamlio.read_value(ran.stdout)["items"][0]) == "1Gi"


def test_40_it_starts_at_once_and_renders_thousands_as_fast_as_hundreds() -> None:
    def seconds(data: str | bytes) -> float:
        began = processor_time()
        assert call(data).returncode == 0
        return processor_time() - began

    def bare() -> float:
        began = processor_time()
        subprocess.run([sys.executable, "-c", "import yaml"], check=True)
        return processor_time() - began

    assert min(seconds(EMPTY) for _ in range(5)) < 5 * min(bare() for _ in range(5))
    few, many = (listing(*(VM.replace("name: web", f"name: web-{n}") for n in range(count)), SMALL) for count in (1250, 5000))
    assert any(seconds(many) <= 5 * seconds(few) for _ in range(3))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20  # KiB


def test_41_it_ends_on_a_signal_and_when_nobody_reads() -> None:
    started = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
    }
    with subprocess.Popen(PROGRAM, **started) as waiting:
        wait_until_it_reads(waiting)
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(timeout=60) == 128 + signal.SIGTERM
    with subprocess.Popen(PROGRAM, **started) as piped:
        piped.stdout.close()
        piped.stdin.write(listing(VM, SMALL, CONFIG_MAP + "data: {a: " + "x" * 1_000_000 + "}\n").encode())
        piped.stdin.close()
        assert (piped.wait(timeout=60), piped.stderr.read()) == (1, b"")


def test_42_help_doc_and_version_are_on_stdout_and_a_terminal_is_not_waited_for() -> None:
    for flag in ("--help", "-h", "--doc", "--version"):
        ran = call(EMPTY, flag)
        assert (ran.returncode, ran.stdout != b"", ran.stderr) == (0, True, b"")
    assert set(json.loads(call(EMPTY, "--doc").stdout)) >= {
        "short",
        "long",
        "image",
        "description",
        "tags",
        "license",
        "hidden",
    }
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(PROGRAM, stdin=theirs, env=environment, capture_output=True, check=False, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert ran.stdout.startswith(b"Usage: ")


def test_43_every_host_gives_equal_items() -> None:
    """test_same_everywhere.py runs the hosts; here: its table has them all, with nothing that differs."""
    rows = re.findall(
        r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.+?) \|$", (ROOT / "docs/hosts.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 12
    for _, given, out, rendered, equal, left_out in rows:
        assert out == equal
        assert rendered == "11"
        assert int(given) - int(out) == (int(left_out.split()[0]) if "local-config" in left_out else 0)


def test_44_validating_works_as_a_transformer_and_what_was_skipped_is_found(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    kustomization = "resources: [vm.yaml, small.yaml]\n"
    write(
        tmp_path,
        vm=VM,
        small=SMALL,
        render=RENDER + "spec: {mode: validate}\n",
        kustomization=kustomization + "transformers: [render.yaml]\n",
    )
    build = (kustomize, "build", "--enable-alpha-plugins", ".")
    assert (
        "instancetype"
        in objects(passed(run(*build, "--enable-exec", cwd=tmp_path, environment=environment)))["VirtualMachine", "web"]["spec"]
    )
    write(tmp_path, render=RENDER)
    skipped = run(*build, cwd=tmp_path, environment=environment)
    assert call(skipped.stdout or VM, "check", "--expanded", "-").returncode == 1
    rendered = passed(run(*build, "--enable-exec", cwd=tmp_path, environment=environment))
    assert call(rendered, "check", "--expanded", "-").returncode == 0
    assert "never `validators:`" in (ROOT / "docs/kustomize.md").read_text()


def test_45_kpt_packages_may_hold_a_kustomization_and_a_list(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    holder = {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"name": "l"},
        "items": [yamlio.read_value(VM), yamlio.read_value(SMALL)],
    }
    (tmp_path / "Kptfile").write_text(KPTFILE)
    (tmp_path / "kustomization.yaml").write_text("resources: [list.yaml]\n")
    (tmp_path / "list.yaml").write_text(
        yamlio.write_resource_list(yamlio.read_resource_list(EMPTY.encode()), [holder], [])
        .decode()
        .partition("items:\n- ")[2]
        .replace("\n  ", "\n")
    )
    commit(tmp_path, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment))
    assert (tmp_path / "kustomization.yaml").read_text() == "resources: [list.yaml]\n"
    found = yamlio.read_value((tmp_path / "list.yaml").read_text())
    assert memory(found["items"][0]) == "1Gi"
    assert "no `selectors`" in (ROOT / "docs/kpt.md").read_text()


def test_46_for_argo_cd_bare_documents_leave_without_what_only_tools_read(tmp_path: Path, environment: dict[str, str]) -> None:
    local = SMALL.replace("name: small\n", 'name: small\n  annotations: {config.kubernetes.io/local-config: "true"}\n')
    written = VM.replace("name: web\n", "name: web\n  annotations: {internal.config.kubernetes.io/index: '0'}\n", 1)
    write(tmp_path, vm=written, small=local, render=RENDER)
    argocd = {**environment, "ARGOCD_APP_NAME": "shop", "KUBE_API_VERSIONS": "kubevirt.io/v1"}
    out = passed(run("kubevirt-render", "argocd", cwd=tmp_path, environment=argocd))
    found = yamlio.read_value(out)
    assert (found["kind"], "annotations" in found["metadata"]) == ("VirtualMachine", False)
    annotated = {**argocd, "ARGOCD_APP_PARAMETERS": '[{"name": "mode", "string": "annotate"}]'}
    assert (
        "instancetype"
        in yamlio.read_value(passed(run("kubevirt-render", "argocd", cwd=tmp_path, environment=annotated)))["spec"]
    )
    (tmp_path / "vm.yaml").unlink()
    nothing = run("kubevirt-render", "argocd", cwd=tmp_path, environment=argocd)
    assert (nothing.returncode != 0, nothing.stdout, "shop" in nothing.stderr) == (True, "", True)
    allowed = run("kubevirt-render", "argocd", "generate", "--allow-empty", cwd=tmp_path, environment=argocd)
    assert (allowed.returncode, allowed.stdout) == (0, "")


GOLDEN = ROOT / "kustomization-examples" / "kpt"


@pytest.mark.parametrize("package", sorted(path.parent.name for path in GOLDEN.glob("*/.expected")))
def test_47_packages_in_kpts_own_layout_give_what_they_expect_twice(
    package: str, kpt: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    expected = GOLDEN / package / ".expected"
    folder = Path(shutil.copytree(GOLDEN / package, tmp_path / package, ignore=shutil.ignore_patterns(".expected")))
    config = yamlio.read_value((expected / "config.yaml").read_text())
    commit(folder, environment)
    for _ in range(2):
        flags = ("--allow-exec", "--truncate-output=false", "--results-dir", str(tmp_path))
        ran = run(kpt, "fn", "render", ".", *flags, cwd=folder, environment=environment)
        assert ran.returncode == config.get("exitCode", 0), ran.stderr
        patch = passed(run("git", "diff", cwd=folder, environment=environment))
        found = {"diff.patch": patch, "results.yaml": (tmp_path / "results.yaml").read_text()}
        if os.environ.get("UPDATE_EXAMPLES"):
            for name, text in found.items():
                (expected / name).write_text(text)
        assert found == {name: (expected / name).read_text() for name in found}


def test_48_the_metadata_has_the_form_that_the_catalogue_requires() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_metadata.py"))["texts"]()
    assert {name: (ROOT / "image" / name).read_text() for name in made} == made
    metadata = yamlio.read_value(made["metadata.yaml"])
    assert set(metadata) == {"image", "description", "tags", "sourceURL", "examplePackageURLs", "license", "hidden"}
    doc = json.loads(call(EMPTY, "--doc").stdout)
    assert metadata == {key: doc[key] for key in metadata}


def test_48_the_function_definition_takes_the_configs_that_the_function_takes() -> None:
    definition = yamlio.read_value((ROOT / "image" / "function-definition.yaml").read_text())
    assert (definition["apiVersion"], definition["kind"]) == ("config.kubernetes.io/v1alpha1", "KRMFunctionDefinition")
    (version,) = definition["spec"]["versions"]
    assert set(version) == {"name", "schema", "idempotent", "usage", "examples", "license", "runtime"}
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for given in ({"mode": "expand"}, {"mode": "expnd"}, {"provenance": "perhaps"}, {"kubevirtVersion": "0.1"}):
        taken = call(listing(VM, SMALL, config=TYPED + json.dumps(given) + "\n")).returncode != 2
        assert jsonschema.Draft202012Validator(spec).is_valid(given) == taken, given


def test_48_what_is_released_is_signed_and_has_bills_and_provenance() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    for words in ("cosign sign --yes", "cosign attest", "provenance: mode=max", "sbom: generator="):
        assert words in text
