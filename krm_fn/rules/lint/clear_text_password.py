"""User data has a password in clear text.

What it finds: cloud-config in a VM, an instance, a pool or a replica set with a password that is no hash: `password`,
`chpasswd`, `plain_text_passwd`, or a `passwd` that is not hashed. Random passwords (`RANDOM`), hashes and placeholders are
skipped. The finding never shows the password.

The rule is on in `check`, and off in the function and the library: give it a severity to have it there.

Why it matters: everybody who can read the repository, or the VM in the cluster, can log in to the guest, and git keeps the
password for ever.

Fix: move the user data to a Secret (`secretRef`) that is encrypted in git or made in the cluster, use SSH keys, or write the
hash that `mkpasswd` prints.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          volumes:
          - name: init
            cloudInitNoCloud:
              userData: |
                #cloud-config
                password: fedora
"""

from __future__ import annotations

from krm_fn import yamlio
from krm_fn.base.annotations import Iterator
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.cloud_init import inline_data
from krm_fn.rules.shared.machines import machines

# A text without one of these has no password.
MARKS = ("passw", "chpasswd")
RANDOM = ("R", "RANDOM")


@rule(severity="info", on_demand=True)
def clear_text_password(facts: BundleFacts) -> Iterator[Hit]:
    fields: dict[str, str] = {}  # many machines may have the same data
    for machine in machines(facts.bundle):
        for path, data in inline_data(machine, "userData"):
            if data not in fields:
                fields[data] = next(_fields(data), "") if any(mark in data for mark in MARKS) else ""
            if field := fields[data]:
                message = f"the user data sets a password in clear text ({field}); move the data to a Secret, or write a hash"
                yield Hit(message=message, path=path, about=machine.entry)


def _fields(data: str) -> Iterator[str]:
    """The fields of cloud-config that hold a password in clear text."""
    try:
        config = as_map(yamlio.read_value(data))
    except InputError:
        return
    if _is_clear(config.get("password")):
        yield "password"
    chpasswd = as_map(config.get("chpasswd"))
    listed = chpasswd.get("list")
    lines = listed.splitlines() if isinstance(listed, str) else as_list(listed)
    if any(isinstance(line, str) and _is_clear(line.partition(":")[2]) for line in lines):
        yield "chpasswd"
    if any(get(each, ("type",)) == "text" and _is_clear(get(each, ("password",))) for each in as_list(chpasswd.get("users"))):
        yield "chpasswd"
    for user in (*as_list(config.get("users")), config.get("user")):
        yield from _of_user(as_map(user))


def _of_user(user: Object) -> Iterator[str]:
    for key in ("plain_text_passwd", "passwd", "hashed_passwd"):
        if _is_clear(user.get(key)):
            yield key


def _is_clear(password: object) -> bool:
    if not isinstance(password, str):
        return type(password) is int  # a number that is not in quotes
    word = password.strip()
    return bool(word) and word not in RANDOM and word[0] not in "$!*<" and not is_filled_in(word)
