"""One large object, and many that refer to it."""

from __future__ import annotations

from collections.abc import Callable

from shapes.pieces import (
    PREFERENCE,
    Documents,
    Make,
    claim,
    config_map,
    crd,
    custom,
    each,
    kubevirt,
    labelled,
    numbered,
    on_volume,
    pinned,
    preference,
    refers,
    revision,
    size,
    vm,
)


def large_type(n: int) -> Documents:
    devices = "gpus:\n" + numbered("- name: g{0}\n  deviceName: nvidia.com/G{0}\n", n)
    vms = each(n, lambda i: vm(f"v{i}", refers("small"), labels=labelled(**{f"l{i}": "x"})))
    return [size("small", devices), *vms]


def large_type_of_one(n: int) -> Documents:
    devices = "gpus:\n" + numbered("- name: g{0}\n  deviceName: nvidia.com/G{0}\n", n)
    return [size("small", devices), vm("v", refers("small"))]


def refused_type(n: int) -> Documents:
    devices = "gpus:\n" + numbered("- name: g{}\n", n)
    return [size("small", devices), *each(n, lambda i: vm(f"v{i}", refers("small")))]


def large_sources(n: int) -> Documents:
    """VMs that clash with a large instancetype, and fall short of a large preference."""
    devices = "gpus:\n" + numbered("- name: g{0}\n  deviceName: nvidia.com/G{0}\n", n)
    wanted = "requirements:\n  cpu:\n    guest: 4\nannotations:\n" + numbered("  k{}: v\n", n)
    refer = refers("small") + refers("p", PREFERENCE)
    cores = "cpu:\n  cores: 2\ndevices: {}\n"
    return [size("small", devices), preference("p", wanted), *each(n, lambda i: vm(f"v{i}", refer, domain=cores))]


def large_live_type(n: int) -> Documents:
    """Revisions that are older than one large instancetype."""
    live = size("small", "annotations:\n" + numbered("  k{}: v\n", n))
    return [live, *each(n, lambda i: revision(f"r{i}")), *each(n, lambda i: vm(f"v{i}", pinned(f"r{i}")))]


def large_first_duplicate(n: int) -> Documents:
    first = config_map("same", "annotations:\n" + numbered("  k{}: v\n", n))
    return [first, *each(n, lambda i: config_map("same", body=f"data:\n  a: b{i}\n"))]


def feature_gates(n: int) -> Documents:
    gates = "developerConfiguration:\n  featureGates:\n" + numbered("  - LiveMigratio{}\n", n)
    return [kubevirt(gates), *each(n, lambda i: vm(f"v{i}", domain=f"cpu:\n  cores: {i + 1}\ndevices: {{}}\n"))]


def machine_patterns(n: int) -> Documents:
    patterns = "emulatedMachines:\n" + numbered("- '[a]m{}*'\n", n)
    return [kubevirt(patterns), *each(n, lambda i: vm(f"v{i}", domain=f"machine:\n  type: q{i}\ndevices: {{}}\n"))]


def permitted_devices(n: int) -> Documents:
    listed = "permittedHostDevices:\n  pciHostDevices:\n"
    listed += numbered("  - pciVendorSelector: 10DE:2342\n    resourceName: nvidia.com/G{:05}\n", n)
    devices = "devices:\n  gpus:\n  - name: g\n    deviceName: nvidia.com/H{:05}\n"
    return [kubevirt(listed), *each(n, lambda i: vm(f"v{i}", domain=devices.format(i)))]


def wrong_for_crd(schema: Callable[[int], str], spec: str) -> Make:
    """The definition of a kind, of size n, and n objects that are wrong by it."""

    def shape(n: int) -> Documents:
        return [crd(0, schema(n)), *each(n, lambda i: custom(0, f"o{i}", spec.format(i)))]

    return shape


def enumerated(n: int) -> str:
    return "properties:\n  size:\n    type: string\n    enum:\n" + numbered("    - v{:05}\n", n)


def any_of(n: int) -> str:
    return "properties:\n  size:\n    type: string\n    anyOf:\n    - enum:\n" + numbered("      - v{:05}\n", n)


def with_fields(n: int) -> str:
    return "properties:\n" + numbered("  f{:05}:\n    type: string\n", n)


def with_required(n: int) -> str:
    return "x-kubernetes-preserve-unknown-fields: true\nrequired:\n" + numbered("- f{}\n", n)


def pattern_for_long_text(n: int) -> Documents:
    """A pattern that takes Python for ever where a text is nearly of its form."""
    schema = "properties:\n  size:\n    type: string\n    pattern: ^(a|a)+$\n"
    return [crd(0, schema), *each(n, lambda i: custom(0, f"o{i}", "size: " + "a" * 100 + "!\n"))]


def patterns(n: int) -> Documents:
    """Patterns in which repetitions follow each other, and long texts of nearly their form."""
    schema = "properties:\n  size:\n    type: string\n    pattern: ^a*a*a*$\n"
    return [crd(0, schema), custom(0, "o", "size: " + "a" * n + "!\n")]


def machines(pattern: str) -> Make:
    """The largest number of patterns that is checked, each of them slow, and VMs that nearly match them."""

    def shape(n: int) -> Documents:
        listed = "emulatedMachines:\n" + numbered(f"- '{pattern}{{}}'\n", 50)
        return [kubevirt(listed), *each(n, lambda i: vm(f"v{i}", domain=f"machine:\n  type: {'a' * 255}\ndevices: {{}}\n"))]

    return shape


def claims_of_one_name(n: int) -> Documents:
    """Claims of the same name in other namespaces than the VMs that infer from one."""
    given = each(n, lambda i: claim("c", f"namespace: ns{i}\n"))
    inferring = "instancetype:\n  inferFromVolume: d\n"
    return [*given, *each(n, lambda i: on_volume(f"v{i}", "persistentVolumeClaim", "claimName: c\n", inferring))]


def permitted_names(n: int) -> Documents:
    """VMs whose devices miss the names of many that are permitted."""
    listed = "permittedHostDevices:\n  mediatedDevices:\n"
    listed += numbered("  - mdevNameSelector: G{0}\n    resourceName: nvidia.com/G{0:05}\n", n)
    devices = "devices:\n  hostDevices:\n  - name: g\n    deviceName: nvidia.com/H{:05}\n"
    return [kubevirt(listed), *each(n, lambda i: vm(f"v{i}", domain=devices.format(i)))]


SHAPES: dict[str, tuple[Make, str]] = {
    "large-type": (large_type, "function check include annotate"),
    "large-type-of-one": (large_type_of_one, "explain report"),
    "refused-type": (refused_type, "validate check"),
    "large-sources": (large_sources, "function check"),
    "large-live-type": (large_live_type, "check"),
    "large-first-duplicate": (large_first_duplicate, "function check"),
    "feature-gates": (feature_gates, "check"),
    "machine-patterns": (machine_patterns, "check"),
    "permitted-devices": (permitted_devices, "check"),
    "wrong-for-enum": (wrong_for_crd(enumerated, "size: w{:05}\n"), "check"),
    "wrong-for-fields": (wrong_for_crd(with_fields, "g{:05}: a\n"), "check"),
    "wrong-for-any-of": (wrong_for_crd(any_of, "size: w{:05}\n"), "check"),
    "wrong-for-required": (wrong_for_crd(with_required, "a: b{}\n"), "check"),
    "pattern-for-long-text": (pattern_for_long_text, "check"),
    "patterns": (patterns, "check"),
    "machine-expressions": (machines("[a]*[a]*b"), "oldest"),
    "machine-globs": (machines("*" + "a" * 90 + "b"), "check"),
    "claims-of-one-name": (claims_of_one_name, "function check"),
    "permitted-names": (permitted_names, "check"),
}
