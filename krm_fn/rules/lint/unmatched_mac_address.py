"""The network data of cloud-init looks for a MAC address that no interface has.

What it finds: a MAC address by which cloud-init is to find an interface (`mac_address` of a physical device in version 1,
`match.macaddress` in version 2, `ethernet_mac_address` of `network_data.json`), and that is the `macAddress` of no interface of
the machine. VMs with passed-through devices or SR-IOV are skipped, because the hardware has its own addresses, and so are
addresses that an annotation or a network definition sets.

Why it matters: an interface without `macAddress` gets a random address at each start. cloud-init finds no interface with the
one in the data, configures none, and the guest has no network.

Fix: set `macAddress` of the interface to the address in the network data.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: lan, bridge: {}}]}}
          networks: [{name: lan, multus: {networkName: lan}}]
          volumes:
          - name: init
            cloudInitNoCloud:
              userData: "#cloud-config"
              networkData: |
                version: 2
                ethernets: {lan: {match: {macaddress: "02:00:00:00:00:01"}, dhcp4: true}}
"""

from __future__ import annotations

from krm_fn import yamlio
from krm_fn.base.annotations import Any, Iterable, Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, metadata, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.cloud_init import LONGEST, decoded, sources
from krm_fn.rules.shared.machines import MachineSpec, machines
from krm_fn.rules.shared.views import shared

IN_SECRET = "networkDataSecretRef"  # noqa: S105  the name of a field
KEYS = ("networkdata", "networkData")  # in this order in a Secret
DEVICES: Path = ("domain", "devices")
VIRTUAL = ("bond", "vlan", "bridge", "dummy")  # of OpenStack's links
# A text without one of these names no address.
MARKS = ("mac_address", "macaddress")
SEPARATORS = str.maketrans("", "", ":-.")
DIGITS = 12
ANY = "*"  # stands for all addresses


@rule(severity="warning")
def unmatched_mac_address(facts: BundleFacts) -> Iterator[Hit]:
    addresses: dict[str, dict[str, str]] = {}  # those in a text, which many machines may read
    for machine in machines(facts.bundle):
        known: set[str] | None = None
        for place, source in sources(machine):
            key, data = _data(facts, machine, source)
            if data not in addresses:
                addresses[data] = _addresses(data)
            if not addresses[data]:
                continue
            known = _known(machine) if known is None else known
            lost = addresses[data].keys() - known - shared(facts.bundle, _of_definitions)
            if lost and ANY not in known:
                # no value of a Secret is shown
                shown = "" if key == IN_SECRET else f" {listed([mac for bare, mac in addresses[data].items() if bare in lost])}"
                fact = f"no interface has the MAC address{shown} by which the network data finds one"
                yield Hit(message=f"{fact}; set it as macAddress of the interface", path=(*place, key), about=machine.entry)


def _data(facts: BundleFacts, machine: MachineSpec, source: Object) -> tuple[str, str]:
    """The network data, and the field that has it or names its Secret; "" where there is none."""
    if "networkData" in source:
        return "networkData", text(source["networkData"])
    if "networkDataBase64" in source:
        return "networkDataBase64", decoded(source["networkDataBase64"])
    name = get(source, (IN_SECRET, "name"))
    found = facts.bundle.find("Secret", machine.namespace, name) if isinstance(name, str) else None
    return IN_SECRET, shared(facts.bundle, _Secrets).data(found) if found else ""


class _Secrets:
    """The network data in the Secrets of a bundle, each read once."""

    def __init__(self, _: Bundle) -> None:
        self._of: dict[int, str] = {}

    def data(self, secret: Entry) -> str:
        if id(secret) not in self._of:
            plain, coded = as_map(secret.obj.get("stringData")), as_map(secret.obj.get("data"))
            texts = (text(plain[key]) if key in plain else decoded(coded.get(key)) for key in KEYS)
            self._of[id(secret)] = next(filter(None, texts), "")
        return self._of[id(secret)]


def _known(machine: MachineSpec) -> set[str]:
    """The addresses of the interfaces, and words in annotations that may be addresses; with ANY where some are not known."""
    devices = as_map(get(machine.spec, DEVICES))
    interfaces = [as_map(each) for each in as_list(devices.get("interfaces"))]
    found = {_bare(text(each.get("macAddress"))) for each in interfaces}
    foreign = any("sriov" in each and not each.get("macAddress") for each in interfaces)
    if foreign or devices.get("hostDevices") or devices.get("gpus") or any(mac and not _is_mac(mac) for mac in found):
        return {ANY}
    notes = metadata(as_map(get(machine.entry.obj, machine.path[:-1]))).get("annotations")
    return found | _in_texts(as_map(notes).values())


def _of_definitions(bundle: Bundle) -> set[str]:
    """The words in network definitions that may be addresses."""
    definitions = bundle.of_kind("NetworkAttachmentDefinition", "k8s.cni.cncf.io")
    return _in_texts(get(each.obj, ("spec", "config")) for each in definitions)


def _in_texts(texts: Iterable[object]) -> set[str]:
    words = (word for each in texts if isinstance(each, str) for word in each.replace('"', " ").replace(",", " ").split())
    return {bare for word in words if _is_mac(bare := _bare(word))}


def _addresses(data: str) -> dict[str, str]:
    """The addresses by which network data in one of the three forms finds interfaces, by their digits."""
    if not any(mark in data for mark in MARKS) or len(data) > LONGEST:
        return {}
    try:
        found = yamlio.read_value(data)
    except InputError:
        return {}
    config = as_map(found)
    config = as_map(config.get("network", config))
    physical = (each for each in as_list(config.get("config")) if get(each, ("type",)) == "physical")
    links = (each for each in as_list(config.get("links")) if get(each, ("type",)) not in VIRTUAL)
    written: tuple[Any, ...] = (
        *(get(each, ("mac_address",)) for each in physical),
        *(get(each, ("match", "macaddress")) for each in as_map(config.get("ethernets")).values()),
        *(get(each, ("ethernet_mac_address",)) for each in links),
    )
    return {bare: each for each in written if isinstance(each, str) and _is_mac(bare := _bare(each))}


def _bare(mac: str) -> str:
    return mac.translate(SEPARATORS).lower()


def _is_mac(bare: str) -> bool:
    return len(bare) == DIGITS and all(letter in "0123456789abcdef" for letter in bare)
