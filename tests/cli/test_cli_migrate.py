"""`kubevirt-render migrate`: where it writes, and what it exits with."""

from __future__ import annotations

import pytest

from krm_fn.cli import run

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
spec:
  running: true
  template: {spec: {domain: {devices: {}}}}
"""
POOL = """\
# workers
apiVersion: pool.kubevirt.io/v1alpha1
kind: VirtualMachinePool
metadata: {name: workers}
spec: {virtualMachineTemplate: {spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}}}}}}
"""
TODAY = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}   # mine\n"
PRESET = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstancePreset
metadata: {name: dog}
spec: {selector: {}, domain: {devices: {watchdog: {name: dog, i6300esb: {}}}}}
"""
BOTH = PRESET.replace("name: dog}\nspec", "name: both}\nspec").replace(
    "devices: {watchdog: {name: dog, i6300esb: {}}}",
    "features: {acpi: {}}, cpu: {cores: 2}, resources: {requests: {memory: 1Gi}}",
)


def test_what_is_migrated_goes_to_stdout_beside_what_is_not(tmp_path, capfd):
    (tmp_path / "a.yaml").write_text(POOL)
    (tmp_path / "b.yaml").write_text(TODAY)
    assert run(["migrate", str(tmp_path)]) == 0
    assert capfd.readouterr() == (POOL.replace("v1alpha1", "v1beta1") + "---\n" + TODAY, "")
    assert (tmp_path / "a.yaml").read_text() == POOL


def test_the_release_is_the_one_of_the_flag(tmp_path, capfd):
    (tmp_path / "a.yaml").write_text(POOL)
    assert run(["migrate", str(tmp_path), "--kubevirt-version", "1.6"]) == 0
    assert capfd.readouterr().out == POOL


def test_in_place_writes_the_changed_files_alone(tmp_path, capfd):
    (tmp_path / "a.yaml").write_text(POOL)
    (tmp_path / "b.yaml").write_text(TODAY)
    assert run(["migrate", str(tmp_path), "--in-place", "-v"]) == 0
    assert capfd.readouterr() == ("", f"kubevirt-render: note: {tmp_path}/a.yaml: written\n")
    assert (tmp_path / "a.yaml").read_text() == POOL.replace("v1alpha1", "v1beta1")
    assert (tmp_path / "b.yaml").read_text() == TODAY


@pytest.mark.parametrize("newline", ["", "\n", "\r\n"])
@pytest.mark.parametrize("last", ["name: w", "note: |\n    of two\n    lines", "note: >+2\n    folded", "note: {a: b}"])
def test_a_file_ends_as_it_did(tmp_path, capfd, newline, last):
    before = f"{VM.rstrip()}\nmetadata:\n  {last}{newline}".replace("\n", newline or "\n")
    after = before.replace("running: true", "runStrategy: Always")
    file = tmp_path / "a.yaml"
    for text in (before, after):
        file.write_bytes(text.encode())
        assert run(["migrate", str(file)]) == 0
        assert capfd.readouterr().out.encode() == after.encode()
        assert run(["migrate", "--in-place", str(file)]) == 0
        assert file.read_bytes() == after.encode()


def test_a_comment_of_running_stays_with_run_strategy(tmp_path, capfd):
    file = tmp_path / "a.yaml"
    file.write_text(VM.replace("true", "true # at night, too"))
    assert run(["migrate", str(file)]) == 0
    assert capfd.readouterr().out == VM.replace("running: true", "runStrategy: Always # at night, too")


def test_what_is_added_stands_in_the_file_that_changed(tmp_path, capfd):
    (tmp_path / "a.yaml").write_text(BOTH)
    (tmp_path / "b.yaml").write_text(TODAY)
    assert run(["migrate", str(tmp_path), "--in-place"]) == 0
    assert capfd.readouterr().out == ""
    kinds = [line for line in (tmp_path / "a.yaml").read_text().splitlines() if line.startswith("kind")]
    assert kinds == ["kind: VirtualMachineInstancetype", "kind: VirtualMachinePreference"]
    assert (tmp_path / "b.yaml").read_text() == TODAY


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("never", 0)])
def test_what_can_not_be_carried_over_is_told_and_may_fail_the_run(tmp_path, capfd, fail_on, code):
    file = tmp_path / "a.yaml"
    file.write_text(PRESET)
    assert run(["migrate", str(file), "--fail-on", fail_on]) == code
    out, err = capfd.readouterr()
    assert out == ("" if code else PRESET)
    assert err.startswith(f"kubevirt-render: warning: {file}:4:")
    assert "spec.domain.devices.watchdog: the preset is not migrated" in err
