"""What the tests of deliveries share: a VM, and what commands say of the VMs of a folder."""

import json
from pathlib import Path

from checking import run

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: %s
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        devices: {}
        memory:
          guest: %s
"""
LISTS_VM = "resources: [vm.yaml]\n"


def vms(folder: Path, *words: str) -> list[tuple[str, str, str]]:
    """Namespace, name and memory of each VM that is applied."""
    _, out, _ = run("capacity", ".", "-o", "json", *words, cwd=folder)
    found = json.loads(out)["vms"] if out else []
    return [(each["namespace"], each["name"], each["memory"]) for each in found]


def check(folder: Path, *words: str) -> str:
    _, out, err = run("check", ".", "--no-cache", *words, cwd=folder)
    return out + err if "--verbose" in words else out
