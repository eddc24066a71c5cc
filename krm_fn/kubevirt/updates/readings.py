"""The ConfigMaps and Secrets that a machine reads, when an edit of one reaches the guest, and when the API server refuses it.

upstream: pkg/cloud-init/cloud-init.go:resolveNoCloudSecrets;
k8s.io/kubernetes pkg/apis/core/validation/validation.go:ValidateSecretUpdate, ValidateConfigMapUpdate
"""

from __future__ import annotations

import base64
import binascii

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.updates.data_volumes import REFUSED, Edit
from krm_fn.kubevirt.updates.machine import by_name, entries, volumes_of

CONFIG_MAP, SECRET = "ConfigMap", "Secret"
READ = (CONFIG_MAP, SECRET)
# When the guest gets an edit.
LIVE, NEXT_START = "live", "atNextStart"


class Reading(Value):
    """A place at which an object is read: `keys` of it, all if there are none; `first`: cloud-init acts at the first boot."""

    at: tuple[str, ...]
    kind: str
    keys: tuple[str, ...] = ()
    first: bool = False


_CREDENTIAL = ("source", "secret", "secretName")
_CLOUD_INIT = tuple(
    Reading(at=(source, ref, "name"), kind=SECRET, keys=keys, first=True)
    for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
    for ref, keys in (("secretRef", ("userdata", "userData")), ("networkDataSecretRef", ("networkdata", "networkData")))
)
VOLUMES = (
    Reading(at=("configMap", "name"), kind=CONFIG_MAP),
    Reading(at=("secret", "secretName"), kind=SECRET),
    Reading(at=("sysprep", "configMap", "name"), kind=CONFIG_MAP),
    Reading(at=("sysprep", "secret", "name"), kind=SECRET),
    *_CLOUD_INIT,
)
CREDENTIALS = tuple(Reading(at=(sort, *_CREDENTIAL), kind=SECRET) for sort in ("sshPublicKey", "userPassword"))


class Read(Value):
    """An object that a machine reads; `when` an edit reaches the guest."""

    kind: str
    name: str
    row: Reading
    when: str = NEXT_START


def readings_of(spec: Object) -> Iterator[Read]:
    """What the instance of a spec reads."""
    shared = by_name(entries(spec, "domain", "devices", "filesystems"))
    for volume in volumes_of(spec):
        when = LIVE if text(volume.get("name")) in shared else NEXT_START
        yield from _found(volume, VOLUMES, when)
    for credential in entries(spec, "accessCredentials"):
        for row in CREDENTIALS:
            agent = get(credential, (row.at[0], "propagationMethod", "qemuGuestAgent"))
            yield from _found(credential, (row,), NEXT_START if agent is None else LIVE)


def _found(obj: Object, rows: Iterable[Reading], when: str) -> Iterator[Read]:
    for row in rows:
        if name := text(get(obj, row.at)):
            yield Read(kind=row.kind, name=name, row=row, when=when)


def edit_of_read(read: Read, was: Object, now: Object) -> Edit | None:
    """What the edit of an object does to a machine that reads it; None where it reads the same."""
    before, after = _content(was), _content(now)
    if refused := _refused(read.kind, was, now, differ=before != after):
        return Edit(effect=REFUSED, what=f"{refused}; the apply fails, and the guest keeps what it has")
    keys = read.row.keys or {**before, **after}
    if all(before.get(key) == after.get(key) for key in keys):
        return None
    if read.when == LIVE:
        return Edit(effect=LIVE, what="is edited; the running guest gets it")
    first = ", and cloud-init acts on most of it at the first boot only" if read.row.first else ""
    return Edit(effect=NEXT_START, what=f"is edited; the guest gets it at the next start{first}")


def _refused(kind: str, was: Object, now: Object, *, differ: bool) -> str:
    """Why the API server refuses the edit; "" where it does not."""
    if was.get("immutable") is True and (differ or now.get("immutable") is not True):
        return "the API server refuses the edit, because it is immutable; use another name"
    types = [text(each.get("type")) or "Opaque" for each in (was, now)]
    if kind == SECRET and types[0] != types[1]:
        return f"the API server refuses type {types[0]} → {types[1]}; use another name"
    return ""


def _content(obj: Object) -> dict[str, object]:
    """What the object holds by key. What is written as text and as base64 is the same."""
    coded = ("data",) if obj.get("kind") == SECRET else ("binaryData",)
    plain = "stringData" if obj.get("kind") == SECRET else "data"
    found = {key: _decoded(value) for place in coded for key, value in as_map(obj.get(place)).items()}
    return {**found, **{key: text(value).encode() for key, value in as_map(obj.get(plain)).items()}}


def _decoded(value: object) -> object:
    try:
        return base64.b64decode(text(value), validate=True)
    except (binascii.Error, ValueError):
        return value
