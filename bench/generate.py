"""Bundles of any size, as kustomize would send them: `python bench/generate.py 1000 >bundle.yaml`.

Of n resources, 70 % are VMs of about 80 lines with cloud-init in literal blocks. Every one of them (with a second number: one
in so many, 0 for none) refers to an instancetype and a preference of the bundle, every twentieth through a ControllerRevision.
The rest are instancetypes, preferences, DataVolumes and ControllerRevisions. All VMs have the same fields; a third number says
how many shapes they have, each with other optional fields. The same numbers give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

NAMESPACE = "bench"
GROUP = "instancetype.kubevirt.io"

VM = """\
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    annotations:
{wire}
      example.com/owner: team-{team}@example.com
      example.com/ticket: OPS-{number}
    labels:
      app.kubernetes.io/name: vm-{number:06}
      app.kubernetes.io/part-of: fleet
      example.com/team: team-{team}
    name: vm-{number:06}
    namespace: bench
  spec:
    dataVolumeTemplates:
    - metadata:
        name: vm-{number:06}-root
      spec:
        sourceRef:
          kind: DataSource
          name: fedora
          namespace: golden-images
        storage:
          resources:
            requests:
              storage: 30Gi
{references}    runStrategy: Always
    template:
      metadata:
{notes}        labels:
          kubevirt.io/domain: vm-{number:06}
      spec:
{affinity}        domain:
          devices:
            disks:
            - disk: {{}}
              name: root
            - disk: {{}}
              name: cloud-init
{disk}            interfaces:
            - macAddress: 02:fe:ed:{mac}
              masquerade: {{}}
              name: default
{interface}{watchdog}{eviction}{hostname}        networks:
        - name: default
          pod: {{}}
{network}{priority}{probe}{scheduler}{subdomain}{grace}{tolerations}{spread}        volumes:
        - dataVolume:
            name: vm-{number:06}-root
          name: root
        - cloudInitNoCloud:
            userData: |
              #cloud-config
              hostname: vm-{number:06}
              users:
              - name: admin
                groups: [wheel]
                sudo: ["ALL=(ALL) NOPASSWD:ALL"]
              packages:
              - qemu-guest-agent
              runcmd:
              - [systemctl, enable, --now, qemu-guest-agent]
              - echo "ready: vm-{number:06}" >/etc/motd
          name: cloud-init
{volume}"""

# The optional fields of a VM, by their places in its text; places of one row come together. Nothing is to be said of any.
OPTIONAL: tuple[dict[str, str], ...] = (
    {"hostname": "        hostname: vm-{number:06}\n"},
    {"subdomain": "        subdomain: fleet\n"},
    {"grace": "        terminationGracePeriodSeconds: 60\n"},
    {"priority": "        priorityClassName: machines\n"},
    {"eviction": "        evictionStrategy: LiveMigrate\n"},
    {"scheduler": "        schedulerName: machines\n"},
    {"notes": "        annotations:\n          example.com/backup: nightly\n"},
    {
        "watchdog": """\
            watchdog:
              i6300esb:
                action: poweroff
              name: watchdog
"""
    },
    {
        "tolerations": """\
        tolerations:
        - effect: NoSchedule
          key: example.com/machines
          operator: Exists
"""
    },
    {"probe": "        readinessProbe:\n          initialDelaySeconds: 60\n          tcpSocket:\n            port: 22\n"},
    {
        "disk": "            - disk: {{}}\n              name: data\n",
        "volume": "        - emptyDisk:\n            capacity: 10Gi\n          name: data\n",
    },
    {
        "interface": "            - bridge: {{}}\n              name: storage\n",
        "network": "        - multus:\n            networkName: storage\n          name: storage\n",
    },
    {
        "affinity": """\
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchExpressions:
                - key: example.com/rack
                  operator: Exists
"""
    },
    {
        "spread": """\
        topologySpreadConstraints:
        - labelSelector:
            matchLabels:
              app.kubernetes.io/part-of: fleet
          maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
"""
    },
)
PLACES = tuple(place for row in OPTIONAL for place in row)
SCATTER = 10_007  # odd, so that any number of shapes below 2 ** len(OPTIONAL) are different ones

REFERENCES = """\
    instancetype:
      kind: VirtualMachineClusterInstancetype
      name: size-{size}{revision}
    preference:
      kind: VirtualMachineClusterPreference
      name: preference-{preference}
"""

INSTANCETYPE = """\
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineClusterInstancetype
  metadata:
    annotations:
{wire}
      instancetype.kubevirt.io/description: A size of the fleet, number {number}, with {cpus} vCPUs and {memory}Gi of memory
      instancetype.kubevirt.io/displayName: Size {number}
    labels:
      instancetype.kubevirt.io/class: general.purpose
      instancetype.kubevirt.io/cpu: "{cpus}"
      instancetype.kubevirt.io/dedicatedCPUPlacement: "false"
      instancetype.kubevirt.io/hugepages: "false"
      instancetype.kubevirt.io/memory: {memory}Gi
      instancetype.kubevirt.io/size: size-{number}
      instancetype.kubevirt.io/vendor: example.com
      instancetype.kubevirt.io/version: "1"
    name: size-{number}
  spec:
    annotations:
      example.com/size: size-{number}
    cpu:
      guest: {cpus}
      maxSockets: 32
    ioThreadsPolicy: auto
    memory:
      guest: {memory}Gi
      overcommitPercent: 10
    nodeSelector:
      example.com/pool: general
"""

PREFERENCE = """\
- apiVersion: instancetype.kubevirt.io/v1beta1
  kind: VirtualMachineClusterPreference
  metadata:
    annotations:
{wire}
      openshift.io/display-name: Preference {number} of the fleet
    labels:
      instancetype.kubevirt.io/os-type: linux
      instancetype.kubevirt.io/vendor: example.com
    name: preference-{number}
  spec:
    annotations:
      vm.kubevirt.io/os: linux
    clock:
      preferredClockOffset:
        utc: {{}}
      preferredTimer:
        hpet:
          present: false
        pit:
          tickPolicy: delay
        rtc:
          tickPolicy: catchup
    cpu:
      preferredCPUTopology: cores
    devices:
      preferredDiskBus: virtio
      preferredInterfaceModel: virtio
      preferredNetworkInterfaceMultiQueue: true
      preferredRng: {{}}
    features:
      preferredAcpi: {{}}
      preferredSmm: {{}}
    firmware:
      preferredEfi:
        secureBoot: true
    preferredTerminationGracePeriodSeconds: 180
    requirements:
      cpu:
        guest: 1
      memory:
        guest: 1Gi
"""

DATA_VOLUME = """\
- apiVersion: cdi.kubevirt.io/v1beta1
  kind: DataVolume
  metadata:
    annotations:
{wire}
      cdi.kubevirt.io/storage.bind.immediate.requested: "true"
    labels:
      app.kubernetes.io/part-of: fleet
    name: data-{number}
    namespace: bench
  spec:
    source:
      registry:
        url: docker://registry.example.com/images/fedora:{number}
    storage:
      accessModes:
      - ReadWriteMany
      resources:
        requests:
          storage: 100Gi
      storageClassName: fast
"""

REVISION = """\
- apiVersion: apps/v1
  data:
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata:
      name: size-{size}
      uid: 6b1c9f0e-0000-4000-8000-{number:012}
    spec:
      annotations:
        example.com/size: size-{size}
      cpu:
        guest: {cpus}
        maxSockets: 32
      ioThreadsPolicy: auto
      memory:
        guest: {memory}Gi
        overcommitPercent: 10
      nodeSelector:
        example.com/pool: general
  kind: ControllerRevision
  metadata:
    annotations:
{wire}
    labels:
      instancetype.kubevirt.io/object-generation: "1"
      instancetype.kubevirt.io/object-kind: VirtualMachineClusterInstancetype
      instancetype.kubevirt.io/object-name: size-{size}
      instancetype.kubevirt.io/object-uid: 6b1c9f0e-0000-4000-8000-{number:012}
      instancetype.kubevirt.io/object-version: v1beta1
    name: revision-{number}
    namespace: bench
  revision: 0
"""

WIRE = """\
      config.k8s.io/id: '{id}'
      config.kubernetes.io/index: '{index}'
      internal.config.kubernetes.io/annotations-migration-resource-id: '{index}'
      internal.config.kubernetes.io/id: '{id}'
      internal.config.kubernetes.io/index: '{index}'
      kustomize.config.k8s.io/id: |
        group: {group}
        kind: {kind}
        name: {name}
        version: {version}"""

CONFIG = """\
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  metadata:
    annotations:
      config.kubernetes.io/function: |
        exec:
          path: kubevirt-render
      config.kubernetes.io/local-config: "true"
    name: render
"""

# The kinds beside the VMs, in turn.
OTHERS = ("size", "preference", "revision", "size", "preference", "data")


def wire(index: int, *, group: str, version: str, kind: str, name: str) -> str:
    """The annotations that kustomize puts on every item."""
    return WIRE.format(id=index + 1, index=index, group=group, version=version, kind=kind, name=name)


def fields_of(shape: int, number: int) -> dict[str, str]:
    """The optional fields that the VMs of a shape have, by their places; shape 0 has none."""
    chosen = shape * SCATTER % 2 ** len(OPTIONAL)
    found = dict.fromkeys(PLACES, "")
    for bit, row in enumerate(OPTIONAL):
        if chosen >> bit & 1:
            found |= {place: text.format(number=number) for place, text in row.items()}
    return found


def vm(index: int, number: int, held: dict[str, int], *, refers: bool, shape: int = 0) -> str:
    """VM `number`, which may refer to what the bundle holds: `held` counts the sizes, preferences and revisions."""
    revised = number % 20 == 0 and held["revision"] > 0
    which = number // 20 % held["revision"] if revised else 0
    references = REFERENCES.format(
        size=which % held["size"] if revised else number % held["size"],
        revision=f"\n      revisionName: revision-{which}" if revised else "",
        preference=number % held["preference"],
    )
    return VM.format(
        wire=wire(index, group="kubevirt.io", version="v1", kind="VirtualMachine", name=f"vm-{number:06}"),
        number=number,
        team=number % 12,
        mac=":".join(f"{number >> shift & 255:02x}" for shift in (16, 8, 0)),
        references=references if refers else "",
        **fields_of(shape, number),
    )


def other(index: int, what: str, number: int, held: dict[str, int]) -> str:
    """Resource `number` of the kind that `what` names."""
    if what == "size":
        notes = wire(index, group=GROUP, version="v1beta1", kind="VirtualMachineClusterInstancetype", name=f"size-{number}")
        cpus = 2 ** (number % 4)
        return INSTANCETYPE.format(wire=notes, number=number, cpus=cpus, memory=4 * cpus)
    if what == "preference":
        notes = wire(index, group=GROUP, version="v1beta1", kind="VirtualMachineClusterPreference", name=f"preference-{number}")
        return PREFERENCE.format(wire=notes, number=number)
    if what == "revision":
        notes = wire(index, group="apps", version="v1", kind="ControllerRevision", name=f"revision-{number}")
        size = number % held["size"]
        cpus = 2 ** (size % 4)
        return REVISION.format(wire=notes, number=number, size=size, cpus=cpus, memory=4 * cpus)
    notes = wire(index, group="cdi.kubevirt.io", version="v1beta1", kind="DataVolume", name=f"data-{number}")
    return DATA_VOLUME.format(wire=notes, number=number)


def items(count: int, every: int, shapes: int) -> Iterator[str]:
    """The items of a bundle of `count` resources, 10 at least; 7 of 10 are VMs, of which one in `every` refers to something."""
    apart = [OTHERS[number % len(OTHERS)] for number in range(count - count * 7 // 10)]
    held = {what: apart.count(what) for what in OTHERS}
    made = dict.fromkeys(OTHERS, 0)
    for index, what in enumerate(apart):
        yield other(index, what, made[what], held)
        made[what] += 1
    for number in range(count - len(apart)):
        yield vm(len(apart) + number, number, held, refers=every > 0 and number % every == 0, shape=number % shapes)


def bundle(count: int, every: int = 1, config: str = "", shapes: int = 1) -> bytes:
    """A ResourceList of `count` resources, as bytes; the VMs have so many shapes, at most 2 ** len(OPTIONAL).

    `config` are lines of the function config's spec.
    """
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    return (head + "".join(items(count, every, shapes)) + CONFIG + config).encode()


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]] + [1, 1][len(sys.argv) - 2 :]
    sys.stdout.buffer.write(bundle(numbers[0], every=numbers[1], shapes=numbers[2]))
