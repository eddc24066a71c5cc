"""A Secret or ConfigMap lacks the key that KubeVirt reads.

What it finds: a Secret or ConfigMap in the bundle that a VM, an instance, a pool or a replica set uses, without the key that
KubeVirt reads there: `userdata` or `userData` for the user data of cloud-init, `networkdata` or `networkData` for its network
data, `autounattend.xml` or `unattend.xml`, in any case, for sysprep. For access credentials all keys are read: the key of
a password is the guest's user, so `username` and `password` are wrong there, and so is the private key of a Secret of type
`kubernetes.io/ssh-auth`. Secrets that SOPS encrypted, SealedSecrets and ExternalSecrets are read too, where they name their
keys. Objects without any key are skipped, because others may fill them.

Why it matters: the VM does not start if nothing is left of the cloud-init data, or without the answer file of sysprep. If only
one part of the data is missing, KubeVirt starts the VM without it and says nothing: the guest has no user, or no network.

Fix: rename the key. With kustomize: `secretGenerator: [{name: init, files: [userdata=user-data.yaml]}]`.

Example:

    apiVersion: v1
    kind: Secret
    metadata: {name: init}
    stringData: {user-data: "#cloud-config"}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          volumes: [{name: init, cloudInitNoCloud: {secretRef: {name: init}}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, name_of, ref_of
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.redaction import looks_secret
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.available_objects import MAKERS, made_by
from krm_fn.rules.shared.cloud_init import sources
from krm_fn.rules.shared.machines import MachineSpec, machines
from krm_fn.rules.shared.views import shared

Keys = frozenset[str] | None  # None: not all of them are known
Named = tuple[str, str, str]  # kind, namespace and name


# The names of data in the file systems of cloud-init, and as examples call them.
FILES = frozenset(("network-config", "meta-data", "vendor-data", "cloud-init", "cloudinit", "metadata", "config", "value"))


class Held:
    """A Secret or ConfigMap whose keys are known, or the object that creates it. Thousands of machines may read one.

    `lower` are its keys in small letters. `shown` are those that may be shown: they are spelled like the keys of secrets, or
    are the names of files for cloud-init. Others may be secrets themselves.
    """

    __slots__ = ("entry", "keys", "lower", "shown")

    def __init__(self, entry: Entry, keys: frozenset[str]) -> None:
        self.entry, self.keys = entry, keys
        self.lower = frozenset(map(str.lower, keys))
        self.shown = sorted(key for key in keys if looks_secret(key) or key in FILES)

    def __str__(self) -> str:
        return str(ref_of(self.entry.obj))


class CloudInitPart(Value):
    """What a source of cloud-init has: the field with the name of the Secret, the keys that are read, and the inline fields."""

    field: str
    keys: tuple[str, ...]
    what: str
    inline: tuple[str, ...]


PARTS = (
    CloudInitPart(field="secretRef", keys=("userdata", "userData"), what="user data", inline=("userData", "userDataBase64")),
    CloudInitPart(
        field="networkDataSecretRef",
        keys=("networkdata", "networkData"),
        what="network data",
        inline=("networkData", "networkDataBase64"),
    ),
)
ANSWERS = ("autounattend.xml", "unattend.xml")
SYSPREP = (("secret", "Secret"), ("configMap", "ConfigMap"))
# Keys that are wrong for each kind of credentials, with what is to be said of them.
CREDENTIALS = {
    "userPassword": (
        frozenset(("username", "password", "passwd")),
        "but a key is the name of a user in the guest; write the user's name as the key, with the password as its value",
    ),
    "sshPublicKey": (
        frozenset(("ssh-privatekey", "id_rsa", "id_ed25519", "id_ecdsa")),
        "but each value is written to the guest as a public key; keep only public keys in it",
    ),
}
APPENDED: Path = ("spec", "nameGeneration", "appendIndexToSecretRefs")


@rule(severity="warning", worst="error", upstream="pkg/cloud-init/cloud-init.go:resolveNoCloudSecrets")
def missing_data_key(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        for place, source in sources(machine):
            yield from _of_cloud_init(facts, machine, source, place)
        for index, volume in enumerate(as_list(machine.spec.get("volumes"))):
            answers = get(volume, ("sysprep",))
            if isinstance(answers, dict):
                yield from _of_sysprep(facts, machine, answers, (*machine.path, "volumes", index, "sysprep"))
        yield from _of_credentials(facts, machine)


def _of_cloud_init(facts: BundleFacts, machine: MachineSpec, source: Object, place: Path) -> Iterator[Hit]:
    """The Secrets that lack their key. Without inline data, and without any key, no data is left."""
    held = {part: _held(facts, machine, "Secret", get(source, (part.field, "name"))) for part in PARTS}
    lacking = {part: each for part, each in held.items() if each and each.keys.isdisjoint(part.keys)}
    left = any(part.field in source and part not in lacking for part in PARTS) or any(
        source.get(key) for part in PARTS for key in part.inline
    )
    for part, each in lacking.items():
        end = f"the guest gets no {part.what}" if left else "KubeVirt finds no cloud-init data and the VM does not start"
        fact = f"{each} has no key {' or '.join(part.keys)}{_shown(each)}, so {end}"
        fix = f"name the key {part.keys[0]}"
        yield _hit(machine, (*place, part.field, "name"), each, f"{fact}; {fix}", stops=not left)


def _of_sysprep(facts: BundleFacts, machine: MachineSpec, source: Object, place: Path) -> Iterator[Hit]:
    for field, kind in SYSPREP:
        each = _held(facts, machine, kind, get(source, (field, "name")))
        if each and each.lower.isdisjoint(ANSWERS):
            fact = f"{each} has no key {' or '.join(ANSWERS)}{_shown(each)}, so the VM does not start"
            yield _hit(machine, (*place, field, "name"), each, f"{fact}; name the key {ANSWERS[0]}", stops=True)


def _of_credentials(facts: BundleFacts, machine: MachineSpec) -> Iterator[Hit]:
    """upstream: pkg/virt-launcher/virtwrap/access-credentials/access_credentials.go:readAndAddPasswordsFromDirectory"""
    for index, credential in enumerate(as_list(machine.spec.get("accessCredentials"))):
        for kind, (wrong, told) in CREDENTIALS.items():
            at: Path = (kind, "source", "secret", "secretName")
            each = _held(facts, machine, "Secret", get(credential, at))
            found = sorted(each.keys & wrong) if each else []
            if each and found:
                yield _hit(
                    machine,
                    (*machine.path, "accessCredentials", index, *at),
                    each,
                    f"{each} has the key {listed(found, 'and')}, {told}",
                )


def _held(facts: BundleFacts, machine: MachineSpec, kind: str, name: object) -> Held | None:
    """The object of that name in the machine's namespace, None where its keys are not known."""
    if not isinstance(name, str) or (kind == "Secret" and get(machine.entry.obj, APPENDED) is True):
        return None
    return shared(facts.bundle, _data_keys).get((kind, machine.namespace, name))


def _shown(held: Held) -> str:
    return f" (it has {listed(held.shown, 'and')})" if held.shown else ""


def _hit(machine: MachineSpec, place: Path, held: Held, message: str, *, stops: bool = False) -> Hit:
    return Hit(
        message=message,
        path=place,
        current=get(machine.entry.obj, place),
        about=machine.entry,
        severity="error" if stops else "",
        related=also(held.entry, ("spec",) if "spec" in held.entry.obj else ()),
    )


def _data_keys(bundle: Bundle) -> dict[Named, Held | None]:
    """The Secrets and ConfigMaps by kind, namespace and name; None where not all keys are known.

    What has no key at all may be filled in the cluster, so its keys are not known.
    """
    found: dict[Named, tuple[Entry, set[str]] | None] = {}
    for named, entry, keys in _all(bundle):
        kept = found.setdefault(named, (entry, set()))
        if kept is None or keys is None:
            found[named] = None
        else:
            kept[1].update(keys)
            found[named] = entry, kept[1]
    return {named: Held(kept[0], frozenset(kept[1])) if kept else None for named, kept in found.items()}


def _all(bundle: Bundle) -> Iterator[tuple[Named, Entry, Keys]]:
    for kind, fields in OWN.items():
        for entry in bundle.of_kind(kind, ""):
            yield (kind, effective_namespace(entry.obj), name_of(entry.obj)), entry, _of_maps(entry.obj, fields)
    for kind, group in {(maker.kind, maker.group): None for maker in MAKERS if maker.makes in OWN}:
        for entry in bundle.of_kind(kind, group):
            for named in made_by(entry.obj):
                yield named, entry, READERS[kind](entry.obj) if kind in READERS else None


def _of_maps(obj: Object, places: tuple[Path, ...]) -> Keys:
    """The keys of the maps at these places; None where there are none, one is no map, or a later step writes a key."""
    values = [value for place in places if (value := get(obj, place)) is not None]
    if not all(isinstance(value, dict) for value in values):
        return None
    keys = frozenset(key for value in values for key in value)
    return None if not keys or any(not isinstance(key, str) or is_filled_in(key) for key in keys) else keys


def _of_sealed(obj: Object) -> Keys:
    return _of_maps(obj, (("spec", "encryptedData"), ("spec", "template", "data")))


def _of_external(obj: Object) -> Keys:
    """upstream: external-secrets apis/externalsecrets/v1/externalsecret_types.go"""
    spec = as_map(obj.get("spec"))
    template = as_map(get(spec, ("target", "template")))
    if spec.get("dataFrom") or template.get("templateFrom") or get(spec, ("target", "creationPolicy")) in ("Merge", "None"):
        return None
    if isinstance(template.get("data"), dict) and template.get("mergePolicy") != "Merge":
        return _of_maps(template, (("data",),))
    named = {get(each, ("secretKey",)): None for each in as_list(spec.get("data"))}
    return _of_maps({"named": named, **template}, (("named",), ("data",)))


OWN: dict[str, tuple[Path, ...]] = {"Secret": (("data",), ("stringData",)), "ConfigMap": (("data",), ("binaryData",))}
READERS: dict[str, Callable[[Object], Keys]] = {"SealedSecret": _of_sealed, "ExternalSecret": _of_external}
