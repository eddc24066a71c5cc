"""Cloud-config user data lacks its header line.

What it finds: user data in a VM, an instance, a pool or a replica set that is clearly cloud-config (a YAML map with keys
such as `users` or `packages`) and does not start with the line `#cloud-config`: the line is missing, or is, for example,
`# cloud-config`, or encoded for a URL (`%23cloud-config%0A`).

Why it matters: cloud-init identifies the data by its first line. Without that line the format is unknown: the guest boots,
reports it in a log that nobody can read without an account, and has neither user nor key.

Fix: start the data with `#cloud-config`, without a space and before everything else.

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
                packages: [nginx]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.cloud_init import inline_data
from krm_fn.rules.shared.machines import machines

HEADER = "#cloud-config"
# Top-level keys of cloud-config that no other format has; one of them at the start of a line identifies the data.
KEYS = frozenset(
    (
        "apt",
        "bootcmd",
        "chpasswd",
        "disable_root",
        "fqdn",
        "growpart",
        "hostname",
        "mounts",
        "ntp",
        "package_update",
        "package_upgrade",
        "packages",
        "password",
        "runcmd",
        "ssh_authorized_keys",
        "ssh_pwauth",
        "timezone",
        "user",
        "users",
        "write_files",
        "yum_repos",
    )
)


@rule(severity="warning")
def headless_user_data(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        for path, data in inline_data(machine, "userData"):
            if _lacks_header(data):
                message = f"the user data is cloud-config, but does not start with {HEADER}; make that its first line"
                yield Hit(message=message, path=path, about=machine.entry)


def _lacks_header(text: str) -> bool:
    """True for cloud-config whose header is missing or misspelt. Case and white space before it don't count."""
    text = text.lstrip()
    if text[: len(HEADER)].lower() == HEADER:
        return False
    lines = text.splitlines()
    first = lines[0].lower() if lines else ""
    bare = "".join(letter for letter in first if letter.isalnum())
    if (first.startswith("#") and bare == "cloudconfig") or first.startswith(f"%23{HEADER[1:]}"):
        return True
    foreign = first.startswith(
        ("#!", "## template:", "#include", "#cloud-", "#part-", "#ps1", "<", "{", "content-type", "mime-")
    )
    return not foreign and any(line.partition(":")[0] in KEYS and ":" in line for line in lines)
