"""Access credentials: SSH keys and passwords, their source and how they reach the guest."""

from __future__ import annotations

from krm_fn.base.paths import EACH, as_map, get, is_set
from krm_fn.kubevirt.admission.checks import Check, Group, Test, count, exactly_one
from krm_fn.kubevirt.admission.scope import INVALID

ACCESS = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateAccessCredentials"

PLACE = ("accessCredentials", EACH)
KINDS = ("sshPublicKey", "userPassword")

# How each kind can reach the guest.
METHODS = {"sshPublicKey": ("noCloud", "configDrive", "qemuGuestAgent"), "userPassword": ("qemuGuestAgent",)}

# The methods that need a volume of their kind in the VM.
VOLUMES = (("noCloud", "cloudInitNoCloud"), ("configDrive", "cloudInitConfigDrive"))


def _not_one(at: str, keys: tuple[str, ...]) -> Test:
    return lambda _value, item, _scope: count(as_map(item.get(at)), keys) != 1


def _kind(kind: str) -> Group:
    return Group(
        at=(*PLACE, kind),
        checks=(
            Check(
                at=("source",),
                refuses=_not_one("source", ("secret",)),
                message="the credential has no source; set source.secret",
                lazy=False,
                upstream=ACCESS,
            ),
            Check(
                at=("propagationMethod",),
                refuses=_not_one("propagationMethod", METHODS[kind]),
                message=f"the credential must have exactly one propagation method; set either {' or '.join(METHODS[kind])}"
                if len(METHODS[kind]) > 1
                else f"the credential has no propagation method; set {METHODS[kind][0]}",
                lazy=False,
                upstream=ACCESS,
            ),
        ),
    )


def _lacks(volume: str) -> Test:
    return lambda _value, _item, scope: not scope.has_volume(volume)


GROUPS = (
    Group(
        at=PLACE,
        checks=(
            exactly_one(
                KINDS,
                message="the credential must have either sshPublicKey or userPassword; set exactly one of them",
                upstream=ACCESS,
            ),
        ),
    ),
    *(_kind(kind) for kind in KINDS),
    Group(
        at=(*PLACE, "sshPublicKey", "propagationMethod"),
        checks=(
            *(
                Check(
                    at=(method,),
                    refuses=_lacks(volume),
                    message=f"{method} needs a {volume} volume in the VM; add one, or use another method",
                    upstream=ACCESS,
                    named="accessCredentials[{0}].sshPublicKey.propagationMethod",
                )
                for method, volume in VOLUMES
            ),
            Check(
                at=("qemuGuestAgent",),
                refuses=lambda value, _item, _scope: not is_set(get(value, ("users",))),
                message="qemuGuestAgent has no users; name the users that get the keys",
                reason=INVALID,
                upstream=ACCESS,
                named="accessCredentials[{0}].sshPublicKey.propagationMethod.qemuGuestAgent.users",
            ),
        ),
    ),
)
