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

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, get
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.cloud_init import sources
from krm_fn.rules.shared.data_keys import Held, data_keys
from krm_fn.rules.shared.machines import MachineSpec, machines


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
    return data_keys(facts.bundle).get((kind, machine.namespace, name))


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
