"""What the program says of itself: the metadata that kpt's catalogue asks of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import __version__
from krm_fn.config.keys import API_VERSION, KEYS, KIND

if TYPE_CHECKING:
    from typing import Any

SHORT = "Merge KubeVirt instancetypes and preferences into VirtualMachines, offline and as the cluster would"

LONG = """\
Resolves the instancetype and the preference of every VirtualMachine and VirtualMachinePool of the input, from the input
itself or from the catalogue that the KubeVirt release deploys, and merges them as KubeVirt does. What can't be resolved, what
conflicts and what admission would refuse are results, which name the field and, where there is one, the fix.

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
  kubevirtVersion: "1.9"
"""


def metadata() -> dict[str, Any]:
    """The metadata, with the keys of kpt's function documentation."""
    keys = "\n".join(f"- {key.name} (default {key.default or 'unset'!r}): {key.doc}" for key in KEYS)
    return {
        "short": SHORT,
        "long": LONG.format(kind=KIND, api_version=API_VERSION, keys=keys),
        "examples": EXAMPLE.format(kind=KIND, api_version=API_VERSION),
        "image": f"kubevirt-render:{__version__}",
        "description": SHORT,
        "tags": ["mutator", "validator", "kubevirt"],
        "sourceURL": "https://kubevirt-render.dev",
        "examplePackageURLs": ["https://kubevirt-render.dev/examples/quickstart"],
        "license": "Apache-2.0",
        "hidden": False,
    }
