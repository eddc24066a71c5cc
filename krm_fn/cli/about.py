"""The metadata of the program, as kpt's catalogue of functions expects it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import __version__
from krm_fn.base.console import REPOSITORY
from krm_fn.config.keys import API_VERSION, KEYS, KIND
from krm_fn.kubevirt.releases import MINORS

if TYPE_CHECKING:
    from typing import Any

SHORT = "Apply KubeVirt instancetypes and preferences to VirtualMachines offline, as the cluster does"

LONG = """\
Finds the instancetype and the preference of every VirtualMachine and VirtualMachinePool in the input, or in the catalogue
that the KubeVirt release deploys, and applies them as KubeVirt does. References that can't be resolved, conflicts, and what
admission would refuse are reported as results. A result names the field, and the fix if there is one.

The function config is a {kind} ({api_version}) with these keys below spec, or a ConfigMap with the same keys as strings:

{keys}
"""

EXAMPLE = """\
apiVersion: {api_version}
kind: {kind}
metadata:
  name: render
  annotations:
    config.kubernetes.io/function: |
      exec: {{path: kubevirt-render}}
spec:
  mode: expand
  kubevirtVersion: "{release}"
"""


def metadata() -> dict[str, Any]:
    """The metadata, with the keys of kpt's function documentation."""
    keys = "\n".join(f"- {key.name} (default {key.default or 'unset'!r}): {key.doc}" for key in KEYS)
    return {
        "short": SHORT,
        "long": LONG.format(kind=KIND, api_version=API_VERSION, keys=keys),
        "examples": EXAMPLE.format(kind=KIND, api_version=API_VERSION, release=MINORS[-1]),
        "image": f"kubevirt-render:{__version__}",
        "description": SHORT,
        "tags": ["mutator", "validator", "kubevirt"],
        "sourceURL": REPOSITORY,
        "examplePackageURLs": [f"{REPOSITORY}kustomization-examples"] if REPOSITORY else [],
        "license": "Apache-2.0",
        "hidden": False,
    }
