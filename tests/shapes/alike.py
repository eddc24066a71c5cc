"""Objects with many similar parts, and lists of similar objects."""

from __future__ import annotations

from shapes.pieces import (
    BUILTIN,
    PREFERENCE,
    Documents,
    Make,
    claim,
    disks,
    each,
    labelled,
    numbered,
    on_volume,
    preference,
    refers,
    thing,
    vm,
    volume,
)


def many_disks(n: int) -> Documents:
    names = [f"d{i}" for i in range(n)]
    volumes = "volumes:\n" + "".join(volume(name, "containerDisk", "image: i\n") for name in names)
    wanted = preference("p", "devices:\n  preferredDiskBus: scsi\n")
    return [wanted, vm("v", refers("p", PREFERENCE), domain=disks(names, "disk: {}\n"), instance=volumes)]


def old_disks(n: int) -> Documents:
    listed = numbered("  - name: a{0}\n    volumeName: b{0}\n    disk: {{}}\n", n)
    return [vm("v", "running: true\n", domain=f"devices:\n  disks:\n{listed}").replace("  runStrategy: Always\n", "")]


def many_interfaces(n: int) -> Documents:
    listed = numbered("  - name: n{}\n    bridge: {{}}\n", n)
    networks = numbered("- name: n{0}\n  multus:\n    networkName: net{0}\n", n)
    return [vm("v", BUILTIN, domain=f"devices:\n  interfaces:\n{listed}", instance=f"networks:\n{networks}")]


def many_labels(n: int) -> Documents:
    return [vm("v", BUILTIN, about="labels:\n" + numbered("  k{}: 'v v'\n", n))]


def slips_of_keys(n: int) -> Documents:
    return each(n, lambda i: vm(f"v{i}", f"templat{i}: 1\n"))


def same_addresses(n: int) -> Documents:
    interface = "devices:\n  interfaces:\n  - name: n\n    macAddress: '02:00:00:00:00:01'\n    bridge: {}\n"
    firmware = "firmware:\n  uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223\n  serial: s\n"
    networks = "networks:\n- name: n\n  multus:\n    networkName: net\n"
    return each(n, lambda i: vm(f"v{i}", domain=interface + firmware, instance=networks))


def same_claim(n: int) -> Documents:
    return [claim("c"), *each(n, lambda i: on_volume(f"v{i}", "persistentVolumeClaim", "claimName: c\n"))]


def ignores(n: int) -> Documents:
    named = ",".join(["unknown-field", "wrong-type"] * 35)
    note = f'annotations:\n  kubevirt-render.dev/ignore: "{named}: known"\n'
    return each(n, lambda i: vm(f"v{i}", "bogus: 1\n", about=note))


def misspelt_kinds(n: int) -> Documents:
    return each(n, lambda i: thing("kubevirt.io/v1", f"VirtualMachin{i}", "a"))


def same_disks(n: int) -> Documents:
    """Disks, volumes and templates of one name, and the same boot order."""
    listed = disks(["d"] * n, "bootOrder: 1\ndisk:\n  bus: virtio\n")
    template = "- metadata:\n    name: d\n  spec:\n    source:\n      blank: {}\n    storage: {}\n"
    volumes = "volumes:\n" + volume("d", "dataVolume", "name: d\n") * n
    return [vm("v", "dataVolumeTemplates:\n" + template * n, domain=listed, instance=volumes)]


def same_interfaces(n: int) -> Documents:
    interface = "  - name: d\n    macAddress: '02:00:00:00:00:01'\n    bridge: {}\n    pciAddress: '0000:81:01.0'\n"
    networks = "networks:\n" + "- name: d\n  multus:\n    networkName: net\n" * n
    return [vm("v", domain=f"devices:\n  interfaces:\n{interface * n}", instance=networks)]


def unnamed_networks(n: int) -> Documents:
    listed = numbered("  - name: d{0}\n    macAddress: '02:00:00:00:00:01'\n    bridge: {{}}\n", n)
    networks = "networks:\n" + "- multus:\n    networkName: net\n" * n
    return [vm("v", domain=f"devices:\n  interfaces:\n{listed}", instance=networks)]


def ports(n: int) -> Documents:
    listed = "  - name: n\n    masquerade: {}\n    ports:\n" + "    - name: p\n      port: 80\n      protocol: TCP\n" * n
    return [vm("v", domain=f"devices:\n  interfaces:\n{listed}", instance="networks:\n- name: n\n  pod: {}\n")]


def devices(n: int) -> Documents:
    listed = "devices:\n" + "".join(
        f"  {key}:\n" + numbered("  - name: d{0}\n    deviceName: a.b/c{0}\n", n // 2) for key in ("gpus", "hostDevices")
    )
    return [vm("v", domain=listed)]


def cpu_features(n: int) -> Documents:
    wanted = preference("p", "cpu:\n  preferredCPUFeatures:\n" + numbered("  - name: f{}\n    policy: require\n", n))
    domain = "cpu:\n  features:\n" + numbered("  - name: g{}\n    policy: require\n", n) + "devices: {}\n"
    return [wanted, vm("v", refers("p", PREFERENCE), domain=domain)]


def credentials(n: int) -> Documents:
    one = "- sshPublicKey:\n    source:\n      secret:\n        secretName: s{}\n    propagationMethod:\n      noCloud: {{}}\n"
    return [vm("v", instance="accessCredentials:\n" + numbered(one, n))]


def ignores_of_one(n: int) -> Documents:
    """One object with many ignores of the same rule, and many findings."""
    note = "annotations:\n  kubevirt-render.dev/ignore: |\n" + numbered("    unknown-field,rule{0}: known {0}\n", n)
    return [vm("v", numbered("bogus{}: 1\n", n), about=note)]


SHAPES: dict[str, tuple[Make, str]] = {
    "disks": (many_disks, "function check patch"),
    "old-disks": (old_disks, "migrate"),
    "interfaces": (many_interfaces, "function check"),
    "labels": (many_labels, "check"),
    "slips-of-keys": (slips_of_keys, "function check baseline json sarif junit tap github gitlab markdown"),
    "duplicates": (lambda n: each(n, lambda i: vm("same", BUILTIN, labels=labelled(a=f"v{i}"))), "function check"),
    "same-addresses": (same_addresses, "check"),
    "same-claim": (same_claim, "check"),
    "ignores": (ignores, "validate check"),
    "misspelt-kinds": (misspelt_kinds, "function check"),
    "same-disks": (same_disks, "function check"),
    "same-interfaces": (same_interfaces, "check"),
    "unnamed-networks": (unnamed_networks, "check"),
    "ports": (ports, "check"),
    "devices": (devices, "check"),
    "cpu-features": (cpu_features, "function check patch"),
    "credentials": (credentials, "check"),
    "ignores-of-one": (ignores_of_one, "validate check"),
}
