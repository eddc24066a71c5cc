"""Lists in the manner of public manifests, as kpt would send them: `python bench/hands.py 1000 7 >list.yaml`.

What people publish was written by many hands. Each hand has its habits: quotes, comments, indentation of lists, how user data
is written (a literal, a folded or a quoted text, with or without Windows line ends), flow style inside block style, long
cloud-init, fields of its own. About every second object is no VM: disks, networks, services, routes, secrets, custom resources
that nobody knows. Figures that shaped it, of 600 objects of public repositories: a third are VMs, a quarter have comments, 17 %
have quoted texts of several lines, a tenth blanks at line ends, a sixth flow style. The first number is that of objects, the
second a seed: the same numbers give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from textwrap import indent

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
CONFIG = """\
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata:
    name: render
"""
HANDS = 40
WORDS = "web db cache build test edge lab node proxy mail git print scan ldap vpn nas media game".split()  # noqa: SIM905
IMAGES = (
    "quay.io/containerdisks/fedora:41",
    "quay.io/containerdisks/ubuntu:22.04",
    "registry.example.com:5000/images/rhel:9.4",
)
REMARKS = ("change this to your namespace", "FIXME", "see the README", "needs a default storage class", "2 vCPUs: enough?")
PACKAGES = "qemu-guest-agent nginx git tmux podman chrony vim-enhanced nfs-utils bind-utils haproxy keepalived".split()  # noqa: SIM905
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
UNKNOWN = ("Route", "ExternalSecret", "HelmRelease", "NodeNetworkConfigurationPolicy", "Certificate", "IPAddressPool")


class Hand:
    """How one author writes."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.quote = rng.choice(["", "", "", "'", '"'])
        self.dash = rng.choice([0, 0, 2])  # columns by which a list is indented below its key
        self.comments = rng.choice([*[0.0] * 7, 0.01, 0.05])
        self.blanks = rng.choice([*[0.0] * 7, 0.02])
        self.data = rng.choice([*[literal] * 9, folded, wrapped, wrapped, single, escaped])
        self.windows = rng.random() < 0.08
        self.flow = rng.random() < 0.15
        self.empty = rng.choice([*["{}"] * 8, "{ }"])
        self.last = rng.random() < 0.5  # metadata before or behind apiVersion and kind
        self.namespace = rng.choice([*WORDS, "default", ""])
        self.extra = [each for each in EXTRA if rng.random() < 0.35]

    def text(self, value: str) -> str:
        """A string of one line as this author writes it."""
        return f"{self.quote}{value}{self.quote}" if self.quote and self.rng.random() < 0.7 else value

    def lines(self, value: object, column: int = 0) -> list[str]:
        """A map or list in block style."""
        found: list[str] = []
        if isinstance(value, dict):
            for key, below in value.items():
                found += self.entry(f"{key}:", below, column, self.dash)
        elif isinstance(value, list):
            for below in value:
                if isinstance(below, dict) and below:
                    first, *rest = self.lines(below, column + 2)
                    found += [" " * column + "- " + first[column + 2 :], *rest]
                else:
                    found += self.entry("-", below, column, 2)
        return found

    def entry(self, head: str, value: object, column: int, dash: int) -> list[str]:
        margin = " " * column
        if isinstance(value, (dict, list)) and not value:
            return [f"{margin}{head} {self.empty if value == {} else '[]'}"]
        if isinstance(value, dict):
            return [margin + head, *self.lines(value, column + 2)]
        if isinstance(value, list):
            if self.flow and all(isinstance(each, str) for each in value):
                return [f"{margin}{head} [{', '.join(map(self.text, value))}]"]
            return [margin + head, *self.lines(value, column + dash)]
        if isinstance(value, str) and "\n" in value:
            return [margin + line if not number else line for number, line in enumerate(self.data(head, value, column))]
        return [f"{margin}{head} {self.text(value) if isinstance(value, str) else str(value).lower()}"]

    def item(self, value: dict[str, object]) -> str:
        """The text of an item, with the author's comments and blanks."""
        if self.last:
            value = {"kind": value["kind"], **value}
        found: list[str] = []
        inside = False  # in a text of several lines, where a comment would be text
        for line in self.lines(value, 2):
            plain = not inside and not line.endswith(("|", "|-", ">", ">-", "\\", "{}")) and line.count('"') % 2 == 0
            inside = inside or line.endswith(("|", "|-", ">", ">-")) or line.count('"') % 2 == 1 or line.count("'") % 2 == 1
            if inside and not line.startswith(" " * 12) and line.endswith((":", "{}")):
                inside = False
            if plain and not inside and self.rng.random() < self.comments:
                remark = f"# {self.rng.choice(REMARKS)}"
                if self.rng.random() < 0.5 and found:
                    found.append(line[: len(line) - len(line.lstrip())] + remark)
                else:
                    line = f"{line} {remark}"  # noqa: PLW2901
            elif plain and not inside and self.rng.random() < self.blanks:
                line += "  "  # noqa: PLW2901
            found.append(line)
        found[0] = "- " + found[0][2:]
        text = "\n".join(found) + "\n"
        return text.replace("\n", "\r\n") if self.windows and self.rng.random() < 0.3 else text


def literal(head: str, text: str, column: int) -> list[str]:
    return [f"{head} |", *indent(text, " " * (column + 2)).splitlines()]


def folded(head: str, text: str, column: int) -> list[str]:
    return [f"{head} >-", *(" " * (column + 2) + line for line in text.strip().replace("\n", "\n\n").split("\n") if line)]


def quoted_lines(text: str, quote: str) -> list[str]:
    inner = text.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else text.replace("'", "''")
    lines = [line.strip() for line in inner.split("\n")]
    return f"{quote}{chr(10).join(lines)}{quote}".replace("\n", "\n\n").split("\n")


def single(head: str, text: str, column: int) -> list[str]:
    """A text in single quotes, as some tools write it: every line break is an empty line more."""
    first, *rest = quoted_lines(text.strip(), "'")
    return [f"{head} {first}", *(" " * (column + 2) * bool(line) + line for line in rest)]


def escaped(head: str, text: str, _: int) -> list[str]:
    """A text in double quotes on one line, as kyaml writes one with Windows line ends."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\r\\n")
    return [f'{head} "{inner}"']


def wrapped(head: str, text: str, column: int) -> list[str]:
    """A text in double quotes, wrapped at 80 columns, as PyYAML writes it."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    found, rest, margin = [], f'"{inner}"', " " * (column + 2)
    while len(rest) > 90 and (at := rest.find(" ", 80)) > 0 and rest[at + 1] != " " and rest[at - 1] not in " \\":
        found.append(rest[:at])
        rest = rest[at + 1 :]
    first, *others = [*found, rest]
    return [f"{head} {first}", *(margin + line for line in others)]


EXTRA: tuple[Callable[[dict, Random], None], ...] = (  # type: ignore[type-arg]
    lambda spec, rng: spec.update(terminationGracePeriodSeconds=rng.choice([0, 60, 180])),
    lambda spec, _: spec.update(nodeSelector={"kubernetes.io/arch": "amd64"}),
    lambda spec, _: spec.update(evictionStrategy="LiveMigrate"),
    lambda spec, rng: spec.update(hostname=rng.choice(WORDS)),
    lambda spec, _: spec.update(tolerations=[{"effect": "NoSchedule", "key": "virt", "operator": "Exists"}]),
    lambda spec, _: spec["domain"]["devices"].update(rng={}),
    lambda spec, _: spec["domain"]["devices"].update(networkInterfaceMultiqueue=True),
    lambda spec, _: spec.update(accessCredentials=[]),
    lambda spec, _: spec.update(
        affinity={
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
        }
    ),
    lambda spec, rng: spec.update(
        readinessProbe={"tcpSocket": {"port": 22}, "initialDelaySeconds": rng.randint(10, 90), "periodSeconds": 20}
    ),
)


def cloud_init(rng: Random, name: str) -> str:
    """User data of 5 to 80 lines."""
    lines = ["#cloud-config", f"hostname: {name}", "user: fedora", f"password: {rng.getrandbits(40):x}"]
    lines += ["chpasswd: { expire: False }", "ssh_pwauth: True"][: rng.randint(0, 2)]
    if rng.random() < 0.5:
        lines += ["packages:", *(f"  - {each}" for each in rng.sample(PACKAGES, rng.randint(1, 6)))]
    if rng.random() < 0.4:
        lines += ["ssh_authorized_keys:", f"  - ssh-rsa AAAA{rng.getrandbits(1600):x} {name}@example.com"]
    if rng.random() < 0.3:
        lines += ["write_files:", f"  - path: /etc/{name}.conf", "    content: |"]
        lines += [f"      {word} = {rng.randint(1, 9999)} # {name}" for word in rng.choices(WORDS, k=rng.randint(5, 50))]
    lines += ["runcmd:", *(f'  - [ sh, -c, "echo {name} {word} >>/var/log/{word}" ]' for word in rng.sample(WORDS, 3))]
    return "\n".join(lines) + "\n"


def vm(rng: Random, hand: Hand, number: int, sizes: int) -> dict[str, object]:
    """One VM; two of three refer to an instancetype and a preference."""
    name = f"{rng.choice(WORDS)}-{number}"
    domain: dict[str, object] = {
        "devices": {
            "disks": [
                {"name": "rootdisk", "disk": {"bus": "virtio"}},
                {"name": "cloudinitdisk", "disk": {"bus": "virtio"}},
            ],
            "interfaces": [{"name": "default", "masquerade": {}}],
        }
    }
    if rng.random() < 0.4:
        domain["devices"]["interfaces"][0]["macAddress"] = f"02:00:00:{number % 90 + 10}:{number // 90 % 90 + 10}:1f"  # type: ignore[index]
    refers = rng.random() < 0.67
    spec: dict[str, object] = {
        "domain": domain,
        "networks": [{"name": "default", "pod": {}}],
        "volumes": [
            {"name": "rootdisk", "containerDisk": {"image": rng.choice(IMAGES)}},
            {"name": "cloudinitdisk", "cloudInitNoCloud": {"userData": cloud_init(rng, name)}},
        ],
    }
    if not refers:
        domain |= {"cpu": {"cores": rng.choice([1, 2, 4])}, "memory": {"guest": rng.choice(["1Gi", "2048M", "4Gi"])}}
    for add in hand.extra:
        add(spec, rng)
    metadata: dict[str, object] = {"name": name, "labels": {"app": name, "owner": rng.choice(WORDS)}}
    if hand.namespace:
        metadata["namespace"] = hand.namespace
    if rng.random() < 0.3:
        metadata["annotations"] = {"description": f"{rng.choice(WORDS)} of {rng.choice(WORDS)}, made by hand"}
    references: dict[str, object] = {}
    if refers:
        size = {"kind": "VirtualMachineClusterInstancetype", "name": f"size-{number % sizes}"}
        references = {"instancetype": size, "preference": {"name": f"os-{number % sizes}"}}
    template = {"metadata": {"labels": {"kubevirt.io/domain": name}}, "spec": spec}
    running = {"runStrategy": rng.choice(["Always", "Halted"])} if rng.random() < 0.6 else {"running": rng.random() < 0.5}
    body = {**references, **running, "template": template}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": body}


def other(rng: Random, number: int) -> dict[str, object]:
    """An object beside the VMs."""
    kind = rng.choice(["DataVolume", "Service", "ConfigMap", "Secret", "NetworkAttachmentDefinition", *UNKNOWN])
    name = f"{rng.choice(WORDS)}-{number}"
    found: dict[str, object] = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": {"app": name}}}
    if kind == "DataVolume":
        found["apiVersion"] = "cdi.kubevirt.io/v1beta1"
        storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{rng.randint(1, 90)}Gi"}}}
        found["spec"] = {"source": {"http": {"url": f"https://images.example.com/{name}.qcow2"}}, "storage": storage}
    elif kind == "ConfigMap":
        found["data"] = {f"{word}.conf": cloud_init(rng, word) for word in rng.sample(WORDS, 2)}
    elif kind == "Secret":
        found |= {"type": "Opaque", "data": {"userdata": f"{rng.getrandbits(2400):x}"}}
    elif kind == "Service":
        found["spec"] = {
            "type": "NodePort",
            "selector": {"app": name},
            "ports": [{"name": "ssh", "port": 22, "targetPort": 22}],
        }
    elif kind == "NetworkAttachmentDefinition":
        found["apiVersion"] = "k8s.cni.cncf.io/v1"
        found["spec"] = {"config": '{\n  "cniVersion": "0.3.1",\n  "type": "bridge"\n}\n'}
    else:
        found["apiVersion"] = "example.com/v1"
        found["spec"] = {word: rng.choice([True, 5, "a text", [], {"every": ["1h", "2h"]}]) for word in rng.sample(WORDS, 6)}
    return found


def sized(number: int) -> tuple[dict[str, object], dict[str, object]]:
    """An instancetype and a preference."""
    group = "instancetype.kubevirt.io/v1beta1"
    size = {"cpu": {"guest": number % 4 + 1}, "memory": {"guest": f"{2 * (number % 4) + 1}Gi"}}
    devices = {"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio", "preferredRng": {}}
    return (
        {
            "apiVersion": group,
            "kind": "VirtualMachineClusterInstancetype",
            "metadata": {"name": f"size-{number}"},
            "spec": size,
        },
        {
            "apiVersion": group,
            "kind": "VirtualMachineClusterPreference",
            "metadata": {"name": f"os-{number}"},
            "spec": {"cpu": {"preferredCPUTopology": "cores"}, "devices": devices},
        },
    )


def written(count: int, seed: int = 1, config: str = "") -> bytes:
    """A ResourceList of `count` objects, 20 at least, as bytes; `config` are lines of the function config."""
    rng = Random(seed)  # noqa: S311
    hands = [Hand(rng) for _ in range(min(HANDS, count // 5))]
    sizes = max(1, count // 40)
    texts = [rng.choice(hands).item(each) for number in range(sizes) for each in sized(number)]
    for number in range(count - len(texts)):
        hand = rng.choice(hands)
        for_vm = rng.random() < 0.55
        texts.append(hand.item(vm(rng, hand, number, sizes) if for_vm else other(rng, number)))
    rng.shuffle(texts)
    return (HEAD + "".join(texts) + CONFIG + config).encode()


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    sys.stdout.buffer.write(written(*numbers[:2]))
