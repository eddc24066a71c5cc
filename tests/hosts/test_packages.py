"""kpt packages as people have them: many files in many styles, and selectors that hide what the function needs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from running import passed, run
from test_kpt import KPTFILE, diff, settled
from test_kustomize import SMALL, VM, write

from krm_fn import yamlio

FILES = 40

# Bodies in the styles that readers and writers of YAML like to change. `{}` is the file's number.
STYLES = (
    "data: {{mode: 0777, on: yes, off: no, number: 1e3}} # flow style\n",
    "data: &data{0}\n  a: &value one # an anchor named alike in many files\n  b: *value\n",
    "data:\n  # above\n  plain: yes\n  octal: 0o777\n  date: 2024-01-01 # beside\n  time: 12:30:45\n  # below\n",
    "data:\n    wide: \"true\"\n    single: 'it''s'\n    none: ~\n    empty:\n",
    "data:\n  script: |\n    #!/bin/sh\n    echo 'x'\t# tab\n\n    exit 0\n  folded: >-\n    one\n    line\n",
    "data:\n  list:\n  - a\n  -   b\n  - {{c: [1,2,  3]}}\n",
    "data:\n  long: {1}\n  mac: 52:54:00:12:34:{0:02}\n",
    "data:\n  base: &base {{a: 1}}\n  merged:\n    <<: *base\n    b: 2\n",
)

# VMs in which there is nothing to render: without references, or rendered before.
UNCHANGED_VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: vm-{0}, labels: {{tier: "1"}}}} # as it is
spec:
  runStrategy: "Always"
  template:
    spec:
      domain: {{cpu: {{cores: 2}}, memory: {{guest: 1Gi}}, devices: {{autoattachSerialConsole: yes}}}}
      volumes:
      - name: root # boots
        emptyDisk: {{capacity: 1Gi}}
"""


def file_text(number: int, draw: random.Random) -> str:
    """A file of two to four objects, none of which has to be rendered."""
    objects = []
    for part in range(draw.randint(2, 4)):
        if draw.random() < 0.2:
            objects.append(UNCHANGED_VM.format(f"{number}-{part}"))
            continue
        body = draw.choice(STYLES).format(number, "word " * 60 + "end")
        objects.append(f"# object {part}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{number}-{part}\n{body}")
    return "# head of the file\n" + "---\n".join(objects) + "# foot of the file\n"


def package(folder: Path) -> Path:
    """A package of 40 files in three folders; the same for every run."""
    draw = random.Random(40)
    (folder / "Kptfile").write_text(KPTFILE)
    for number in range(FILES):
        place = folder / ("", "shop", "shop/lab")[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file-{number}.yaml").write_text(file_text(number, draw))
    return folder


def test_a_package_of_40_files_without_a_vm_to_render_has_an_empty_diff(
    kpt: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = package(tmp_path)
    settled(kpt, folder, environment)
    text = "".join(file.read_text() for file in folder.rglob("*.yaml"))
    assert len(list(folder.rglob("*.yaml"))) == FILES
    assert all(
        word in text
        for word in ("# beside", "0777", "plain: yes", "{mode:", "&value", "*value", "<<: *base", "kind: VirtualMachine\n")
    )
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=folder, environment=environment))
    assert diff(folder, environment) == ""


def test_beside_40_files_only_the_vm_that_refers_to_something_changes(
    kpt: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = write(package(tmp_path), vm=VM, small=SMALL)
    settled(kpt, folder, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=folder, environment=environment))
    assert passed(run("git", "diff", "--name-only", cwd=folder, environment=environment)) == "vm.yaml\n"


def selecting(selectors: str) -> str:
    return KPTFILE + f"      selectors: {selectors}\n"


def test_a_selector_hides_the_instancetype(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    (write(tmp_path, vm=VM, small=SMALL) / "Kptfile").write_text(selecting("[{kind: VirtualMachine}]"))
    ran = run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment)
    assert ran.returncode != 0
    assert "VirtualMachineClusterInstancetype small is not found" in ran.stdout + ran.stderr


def test_a_selector_may_let_the_catalogues_instancetype_win(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    own, vm = (text.replace("name: small", "name: u1.small") for text in (SMALL, VM))
    for selectors, memory in (("[]", "1Gi"), ("[{kind: VirtualMachine}]", "2Gi")):
        (write(tmp_path, vm=vm, small=own) / "Kptfile").write_text(selecting(selectors))
        passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment))
        rendered = yamlio.read_value((tmp_path / "vm.yaml").read_text())
        assert rendered["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": memory}


@pytest.mark.parametrize("program", ["kubevirt-render", "cat"])
def test_selectors_that_overlap_send_a_vm_twice_and_kpt_takes_that_back_from_no_function(
    program: str, kpt: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    pipeline = selecting("[{kind: VirtualMachine}, {name: web}, {name: small}]").replace("kubevirt-render", program)
    (write(tmp_path, vm=VM, small=SMALL) / "Kptfile").write_text(pipeline)
    ran = run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment)
    assert ran.returncode != 0
    assert 'resource at path "vm.yaml" and index "0" already exists' in ran.stderr
    assert (tmp_path / "vm.yaml").read_text() == VM
