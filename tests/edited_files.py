"""Files of a small workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees import tree

from krm_fn.repositories import building

SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: shop}
spec:
  cpu: {guest: 2}
  memory: {guest: 4Gi}
"""
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always
  instancetype:
    kind: VirtualMachineInstancetype
    name: small
  preference:
    name: fedora
  template:
    spec:
      domain:
        devices:
          disks:
            - name: root
              disk: {bus: virtio}
          interfaces:
            - name: default
              masquerade: {}
      networks:
        - name: default
          pod: {}
      volumes:
        - name: root
          containerDisk: {image: example.com/fedora}
"""

WRONG = VM.replace("runStrategy: Always", "runStrategy: always")

OTHERS = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: fast}
spec: {devices: {preferredDiskBus: sata}}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: small-1, namespace: shop}
revision: 1
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataSource
metadata: {name: images, namespace: shop}
spec: {source: {pvc: {name: data, namespace: shop}}}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: lan, namespace: shop}
"""
TEMPLATES = """\
  dataVolumeTemplates:
    - metadata: {name: root}
      spec:
        sourceRef: {kind: DataSource, name: images}
"""
# A VM that uses all of them.
LARGER = (
    VM.replace("name: fedora", "name: fast")
    .replace("    name: small\n", "    name: small\n    revisionName: small-1\n")
    .replace("          containerDisk: {image: example.com/fedora}\n", "          dataVolume: {name: root}\n")
    .replace("  template:", f"{TEMPLATES}  template:")
    .replace("      volumes:\n", "      volumes:\n        - name: more\n          persistentVolumeClaim: {claimName: data}\n")
    .replace("          pod: {}\n", "          multus: {networkName: lan}\n")
)
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: running}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [kubevirt.io], apiVersions: ["*"], operations: [CREATE], resources: [virtualmachines]}
  validations: [{expression: object.spec.runStrategy == 'Always', message: run it}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: running}
spec: {policyName: running, validationActions: [Deny]}
"""


def workspace_of(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with these files, which is the current one. Skips where nothing can build its targets."""
    if building.builder() is None:
        pytest.skip("neither kustomize nor kubectl is on the PATH")
    monkeypatch.chdir(tree(folder, files))
    return folder
