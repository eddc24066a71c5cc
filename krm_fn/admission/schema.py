"""Fields for which the API's own schema lists the values, where no other check looks at them.

upstream: pkg/util/webhooks/webhooks.go:ValidateSchema; its causes name no path
"""

from __future__ import annotations

from krm_fn.admission.checks import EACH, Group, one_of

UPSTREAM = "pkg/util/webhooks/webhooks.go:ValidateSchema"

# (place below the VirtualMachineInstance's spec, field, its values)
VALUES = (
    (("domain", "firmware", "kernelBoot", "container"), "imagePullPolicy", ("Always", "IfNotPresent", "Never")),
    (("volumes", EACH, "containerDisk"), "imagePullPolicy", ("Always", "IfNotPresent", "Never")),
    (("livenessProbe", "httpGet"), "scheme", ("HTTP", "HTTPS")),
    (("readinessProbe", "httpGet"), "scheme", ("HTTP", "HTTPS")),
    (("tolerations", EACH), "effect", ("NoExecute", "NoSchedule", "PreferNoSchedule")),
    (("tolerations", EACH), "operator", ("Equal", "Exists")),
    (("topologySpreadConstraints", EACH), "nodeAffinityPolicy", ("Honor", "Ignore")),
    (("topologySpreadConstraints", EACH), "nodeTaintsPolicy", ("Honor", "Ignore")),
)

GROUPS = tuple(Group(at=at, checks=(one_of((field,), values, upstream=UPSTREAM),)) for at, field, values in VALUES)

VOLUME_MODES = ("Block", "Filesystem", "FromStorageProfile")

# The same of a VirtualMachine's dataVolumeTemplates, from its spec.
VM_GROUPS = tuple(
    Group(
        at=("dataVolumeTemplates", EACH, "spec", key),
        checks=(
            one_of(("volumeMode",), VOLUME_MODES[:2], until=(1, 5), upstream=UPSTREAM),
            one_of(("volumeMode",), VOLUME_MODES, since=(1, 5), upstream=UPSTREAM),
        ),
    )
    for key in ("pvc", "storage")
)
