"""File, line and column lead to the text of a value: it is read there with another reader than ours.

The repository has what moves values: bases, patches of every form, components, replacements, generators, prefixes, Lists,
several documents a file, flow style, anchors, aliases and merges, CRLF, block scalars, templates with parameters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import run
from running import NEWEST_KUSTOMIZE

EXAMPLES = Path(__file__).resolve().parents[2] / "kustomization-examples"
FILES = {
    "base/kustomization.yaml": """\
resources: [vm.yaml, more.yaml, list.yaml, sizes.yaml]
""",
    "base/vm.yaml": """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
  labels: {app: web, "tier": 'front'}
spec:
  runStrategy: Always
  instancetype: {name: prod-size-x}
  preference:
    kind: VirtualMachinePreference
    name: prod-likes-x
  template:
    metadata:
      annotations:
        note: >-
          folded text
          over two lines
        other: |
          line one
          line two
    spec:
      hostname: "web-\\x31"
      terminationGracePeriodSeconds: 30
      domain:
        devices:
          disks:
            - &disk
              name: root
              disk: &bus {bus: scsi}
            - name: data
              disk: *bus
            - <<: *disk
              name: merged
          interfaces: [{name: default, masquerade: {}}]
      networks: [{name: default, pod: {}}]
      volumes:
        - {name: root, containerDisk: {image: "a:1"}}
        - {name: data, emptyDisk: {capacity: 1Gi}}
        - name: merged
          emptyDisk:
            capacity:
              2Gi
""",
    "base/more.yaml": """\
# a comment
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: two, namespace: shop}
spec:
  runStrategy: Halted
  preference: {kind: VirtualMachinePreference, name: prod-likes-x}
  template:
    spec:
      domain:
        cpu: {cores: 3}
        memory: {guest: 1Gi}
        devices: {disks: [{name: root, disk: {bus: sata}}]}
      volumes: [{name: root, containerDisk: {image: b:2}}]
---
apiVersion: pool.kubevirt.io/v1beta1
kind: VirtualMachinePool
metadata: {name: many, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {pool: many}}
  virtualMachineTemplate:
    metadata: {labels: {pool: many}}
    spec:
      runStrategy: Always
      instancetype: {name: prod-size-x}
      preference: {kind: VirtualMachinePreference, name: prod-likes-x}
      template:
        metadata: {labels: {pool: many}}
        spec:
          domain: {devices: {disks: [{name: root, disk: {}}]}}
          volumes: [{name: root, containerDisk: {image: c:3}}]
""",
    "base/list.yaml": """\
apiVersion: v1
kind: List
items:
  - apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: listed, namespace: shop}
    spec:
      runStrategy: Manual
      instancetype: {name: prod-size-x}
      template:
        spec:
          domain: {devices: {disks: [{name: root, disk: {bus: virtio}}]}}
          volumes: [{name: root, containerDisk: {image: d:4}}]
""",
    "base/sizes.yaml": """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: size
spec:
  cpu:
    guest: 4
  memory:
    guest: 2Gi
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata:
  name: likes
  namespace: shop
spec:
  cpu:
    preferredCPUTopology: cores # in the middle
  devices: {preferredDiskBus: virtio, preferredInterfaceModel: "e1000e"}
""".replace("\n", "\r\n"),
    "overlay/kustomization.yaml": """\
namePrefix: prod-
nameSuffix: -x
resources: [../base]
components: [../component]
patches:
  - path: strategic.yaml
  - target: {kind: VirtualMachine, name: web}
    path: ops.yaml
  - target: {kind: VirtualMachine, name: two}
    path: ops.json
  - target: {kind: VirtualMachinePreference}
    patch: |-
      - op: replace
        path: /spec/devices/preferredDiskBus
        value: sata
      - {op: add, path: /spec/preferredTerminationGracePeriodSeconds, value: 77}
  - patch: |
      apiVersion: kubevirt.io/v1
      kind: VirtualMachine
      metadata:
        name: two
        namespace: shop
      spec:
        template:
          spec:
            subdomain: inline-one
configMapGenerator:
  - name: values
    namespace: shop
    literals: [machine=pc-q35-9.2]
replacements:
  - source: {kind: ConfigMap, name: values, fieldPath: data.machine}
    targets:
      - select: {kind: VirtualMachine, name: web}
        fieldPaths: [spec.template.spec.domain.machine.type]
        options: {create: true}
labels:
  - pairs: {team: blue}
    includeSelectors: false
""",
    "overlay/strategic.yaml": """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  template:
    spec:
      terminationGracePeriodSeconds: 45
      domain:
        ioThreadsPolicy: shared
""",
    "overlay/ops.yaml": """\
- op: add
  path: /spec/template/spec/evictionStrategy
  value: LiveMigrate
- op: add
  path: /spec/template/spec/domain/devices/disks/-
  value:
    name: added
    disk: {bus: usb}
- {op: add, path: /spec/template/spec/volumes/-, value: {name: added, emptyDisk: {capacity: 3Gi}}}
- op: replace
  path: /spec/template/spec/volumes/0/containerDisk/image
  value: a:9
""",
    "overlay/ops.json": """\
[{"op": "add", "path": "/spec/template/spec/hostname", "value": "from-json"},
 {"op": "replace", "path": "/spec/template/spec/domain/cpu", "value": {"cores": 5, "model": "host-model"}}]
""",
    "component/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: VirtualMachineClusterInstancetype}
    path: size.yaml
""",
    "component/size.yaml": """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: any
spec:
  cpu:
    guest: 8
    model: Haswell
""",
    "templates/t.yaml": """\
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: tpl}
parameters:
  - name: NAME
    value: templated
  - name: CORES
    value: "6"
objects:
  - apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: "${NAME}", namespace: tpl}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {cpu: {cores: "${{CORES}}"}, devices: {disks: [{name: root, disk: {bus: virtio}}]}}
          volumes: [{name: root, containerDisk: {image: d:4}}]
""",
}
# The same in files that no kustomization uses.
OWN = (("prod-", ""), ("-x\n", "\n"), ("-x}", "}"), ("shop", "files"), ("name: web", "name: plain"), ("listed", "filelisted"))


def own(text: str) -> str:
    for old, new in OWN:
        text = text.replace(old, new)
    return text


FILES |= {f"files/{name}.yaml": own(FILES[f"base/{name}.yaml"]) for name in ("vm", "list", "sizes")}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    return tmp_path


def explained(folder: Path) -> list[dict[str, Any]]:
    if not shutil.which("kustomize", path=NEWEST_KUSTOMIZE):
        pytest.skip("no kustomize")
    code, output, error = run("explain", ".", "-o", "json", cwd=folder, PATH=f"{NEWEST_KUSTOMIZE}:{os.environ['PATH']}")
    assert code == 0, error
    return json.loads(output)["vms"]


class Reader:
    """What stands at a line and a column of a file, read by PyYAML's reader in Python; ours has libyaml's events."""

    def __init__(self, data: str) -> None:
        self._lines = data.split("\n")
        self._at: dict[tuple[int, int], Any] = {}
        try:
            for document in yaml.compose_all(data, Loader=yaml.SafeLoader):
                self._note(document)
        except yaml.YAMLError:
            pass

    def _note(self, node: Any, seen: frozenset[int] = frozenset()) -> None:
        mark = node.start_mark
        rest = self._lines[mark.line][mark.column :]
        properties = re.match(r"(?:[&!]\S+\s+)*", rest)
        self._at[mark.line + 1, mark.column + 1 + (properties.end() if properties else 0)] = self._value(node)
        if id(node) in seen:
            return
        for below in node.value if isinstance(node, yaml.CollectionNode) else ():
            for each in below if isinstance(below, tuple) else (below,):
                self._note(each, seen | {id(node)})

    def _value(self, node: Any) -> Any:
        loader = yaml.SafeLoader("")
        return loader.construct_object(node, deep=True)

    def value(self, line: int, column: int) -> Any:
        """The value that begins there, also in the block text of a patch."""
        if (line, column) in self._at:
            return self._at[line, column]
        tokens = yaml.scan(self._lines[line - 1][column - 1 :], Loader=yaml.SafeLoader)
        token = next(each for each in tokens if isinstance(each, yaml.ScalarToken))
        return yaml.safe_load(token.value) if token.plain else token.value


def is_there(value: Any, written: Any, source: dict[str, Any]) -> bool:
    """True for the value, and for the part of it that a prefix, a literal or a parameter in a text has."""
    if value == written or json.dumps(value, sort_keys=True) == json.dumps(written, sort_keys=True, default=str):
        return True
    if isinstance(value, dict | list) and not value:
        return written is None or written == value
    if source["file"].startswith("templates/"):  # the value of a parameter is a text
        return str(value) == written or "${" in written
    return source["file"].endswith("kustomization.yaml") and (str(written) in str(value) or str(value) in str(written))


def checked(folder: Path) -> tuple[int, list[str]]:
    """How many places were read back, and those where something else stands."""
    readers: dict[str, Reader] = {}
    count, wrong = 0, []
    for record in explained(folder):
        for field in record.get("fields", ()):
            for source in (field["source"], *field.get("beside", ()), *field.get("lost", ())):
                value = field["value"] if source["from"] == "vm" and source is field["source"] else source.get("value")
                if source["from"] == "vm" and source is not field["source"]:
                    value = source["wanted"]
                if "(hidden)" in json.dumps(value) or source["from"] == "patch":
                    continue
                if "line" not in source:
                    if source["from"] != "default" and "catalogue" not in source:
                        wrong.append(f"{record['name']} {field['path']}: no place: {source}")
                    continue
                if source["file"] not in readers:
                    readers[source["file"]] = Reader((folder / source["file"]).read_bytes().decode().replace("\r\n", "\n"))
                written = readers[source["file"]].value(source["line"], source["column"])
                count += 1
                if not is_there(value, written, source):
                    place = f"{source['file']}:{source['line']}:{source['column']}"
                    wrong.append(f"{record['name']} {field['path']}: {value!r}, but {place} has {written!r}")
    return count, wrong


def test_places_of_a_repository_lead_to_the_text_of_the_value(repository: Path) -> None:
    count, wrong = checked(repository)
    assert wrong == []
    assert count > 150


@pytest.mark.parametrize(
    ("vm", "path", "place"),
    [
        ("prod-web-x", "spec.template.spec.domain.ioThreadsPolicy", "overlay/strategic.yaml:11:26"),
        ("prod-web-x", "spec.template.spec.evictionStrategy", "overlay/ops.yaml:3:10"),
        ("prod-web-x", "spec.template.spec.volumes[0].containerDisk.image", "overlay/ops.yaml:12:10"),
        ("prod-web-x", "spec.template.spec.domain.machine.type", "overlay/kustomization.yaml:30:16"),
        ("prod-web-x", "spec.template.spec.domain.devices.disks[0].disk.bus", "base/vm.yaml:30:32"),
        ("prod-web-x", "spec.template.spec.domain.devices.disks[1].disk.bus", "base/vm.yaml:30:32"),
        ("prod-web-x", "spec.template.spec.domain.devices.disks[2].disk.bus", "base/vm.yaml:30:32"),
        ("prod-web-x", "spec.template.metadata.annotations.note", "base/vm.yaml:16:15"),
        ("prod-web-x", "spec.template.spec.domain.cpu.model", "component/size.yaml:8:12"),
        ("prod-two-x", "spec.template.spec.domain.cpu.cores", "overlay/ops.json:2:81"),
        ("prod-two-x", "spec.template.spec.subdomain", "overlay/kustomization.yaml:26:24"),
        ("prod-two-x", "spec.template.spec.terminationGracePeriodSeconds", "overlay/kustomization.yaml:16:78"),
        ("prod-listed-x", "spec.template.spec.domain.devices.disks[0].disk.bus", "base/list.yaml:12:63"),
        ("prod-listed-x", "metadata.labels.team", "overlay/kustomization.yaml:38:19"),
        ("plain", "spec.template.spec.domain.cpu.sockets", "files/sizes.yaml:7:12"),
        ("templated", "spec.template.spec.domain.cpu.cores", "templates/t.yaml:8:12"),
        ("templated", "metadata.name", "templates/t.yaml:6:12"),
    ],
)
def test_each_way_of_writing_a_value_has_its_place(repository: Path, vm: str, path: str, place: str) -> None:
    record = next(each for each in explained(repository) if each["name"] == vm)
    source = next(each for each in record["fields"] if each["path"] == path)["source"]
    assert f"{source['file']}:{source['line']}:{source['column']}" == place


def test_an_object_of_another_target_has_its_place(repository: Path) -> None:
    folder = repository / "other"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
    (folder / "vm.yaml").write_text(FILES["files/list.yaml"].replace("filelisted", "elsewhere"))
    record = next(each for each in explained(repository) if each["name"] == "elsewhere")
    found = next(each for each in record["fields"] if each["path"].endswith("memory.guest"))["source"]
    assert (found["file"], found["line"], found["column"]) == ("files/sizes.yaml", 9, 12)


def test_a_parameter_of_a_template_in_a_list_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text(
        """\
apiVersion: v1
kind: List
items:
- apiVersion: template.openshift.io/v1
  kind: Template
  metadata: {name: sized}
  parameters:
  - {name: OTHER, value: "2"}
  - {name: CORES, value: "4"}
  objects:
  - apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: small}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {}, cpu: {cores: '${{CORES}}'}}
"""
    )
    (record,) = explained(tmp_path)
    found = next(each["source"] for each in record["fields"] if each["path"].endswith("cpu.cores"))
    assert (found["file"], found["line"], found["column"]) == ("list.yaml", 9, 26)


def test_settings_and_patches_of_a_config_have_their_place(repository: Path) -> None:
    (repository / ".kubevirt-render.yaml").write_text(
        """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  configuration: {network: {defaultNetworkInterface: masquerade}}
  patches:
    - target: {kind: VirtualMachine, name: filelisted}
      patch:
        - {op: add, path: /metadata/labels, value: {tier: db}}
"""
    )
    record = next(each for each in explained(repository) if each["name"] == "filelisted")
    found = {each["path"]: each["source"] for each in record["fields"]}
    for path, place in (
        ("spec.template.spec.domain.devices.interfaces[0].masquerade", (4, 54)),
        ("metadata.labels.tier", (8, 11)),
    ):
        assert (found[path]["file"], found[path]["line"], found[path]["column"]) == (".kubevirt-render.yaml", *place)


# What the steps of examples refuse: nothing leaves there.
REFUSED = ("wrong", "validate")


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_places_of_the_examples_lead_to_the_text_of_the_value(example: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / example, tmp_path / example)
    for name in REFUSED:
        shutil.rmtree(tmp_path / example / name, ignore_errors=True)
    try:
        _, wrong = checked(tmp_path / example)
    except AssertionError as error:
        if "there is no VM" not in str(error) and "no Kubernetes object" not in str(error):
            raise
        pytest.skip("an example without VMs")
    assert wrong == []
