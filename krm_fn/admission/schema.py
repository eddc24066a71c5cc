"""What the API's own schema says of fields, where no other check looks at them: their values, ports, numbers.

upstream: pkg/util/webhooks/webhooks.go:ValidateSchema; its causes name no path
"""

from __future__ import annotations

from krm_fn.admission.checks import EACH, Check, Group, one_of

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

# Places of handlers that need a port, by number or name.
PORTS = tuple((probe, handler) for probe in ("livenessProbe", "readinessProbe") for handler in ("httpGet", "tcpSocket"))

# (place, numbers that Go reads as unsigned: it can't read a negative one)
UNSIGNED = (
    (("domain", "cpu"), ("cores", "sockets", "threads", "maxSockets")),
    (("domain", "devices", "disks", EACH), ("bootOrder",)),
    (("domain", "devices", "disks", EACH, "blockSize", "custom"), ("logical", "physical", "discardGranularity")),
    (("domain", "devices", "interfaces", EACH), ("bootOrder",)),
    (("domain", "ioThreads"), ("supplementalPoolThreadCount",)),
)

GROUPS = (
    *(Group(at=at, checks=(one_of((field,), values, upstream=UPSTREAM),)) for at, field, values in VALUES),
    *(
        Group(
            at=at,
            checks=(
                Check(
                    at=("port",),
                    refuses=lambda value, _handler, _scope: not isinstance(value, int | str),
                    message="port is missing; set a number or a name",
                    lazy=False,
                    upstream=UPSTREAM,
                ),
            ),
        )
        for at in PORTS
    ),
    *(
        Group(
            at=at,
            checks=tuple(
                Check(
                    at=(field,),
                    refuses=lambda value, _item, _scope: isinstance(value, int) and value < 0,
                    message=f"{field} {{value}} is negative; use zero or more",
                    upstream=UPSTREAM,
                )
                for field in fields
            ),
        )
        for at, fields in UNSIGNED
    ),
)

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
