"""KubeVirt refuses a DataVolume template.

What it finds: templates in `dataVolumeTemplates` without a name, that no volume uses, or with storage that no DataVolume can
have.

Why it matters: the API server refuses the VM when it is applied.

Fix: add a volume whose `dataVolume.name` is the template's name, or delete the template. Set either `pvc` or `storage`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      dataVolumeTemplates:
      - metadata: {name: root}
        spec: {source: {blank: {}}, storage: {resources: {requests: {storage: 10Gi}}}}
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
"""

from __future__ import annotations

from krm_fn.rules import rule
from krm_fn.rules.refusals import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import AdmissionFacts
    from krm_fn.rules import Hit


@rule(
    severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:validateDataVolumeTemplate"
)
def refused_data_volume_template(facts: AdmissionFacts) -> Iterator[Hit]:
    yield from hits(facts, "data-volume-template")
