"""Names, references and what they lead to."""

from __future__ import annotations

from shapes.pieces import (
    BUILTIN,
    GROUP,
    PREFERENCE,
    TYPE,
    Documents,
    Make,
    claim,
    crd,
    custom,
    data_volume,
    disks,
    each,
    indented,
    numbered,
    on_volume,
    pinned,
    preference,
    refers,
    revision,
    size,
    thing,
    vm,
    volume,
)


def slips(n: int) -> Documents:
    types = each(n, lambda i: size(f"size-{i:05}"))
    preferences = each(n, lambda i: preference(f"choice-{i:05}"))
    refer = lambda i: refers(f"sise-{i:05}") + refers(f"choise-{i:05}", PREFERENCE)  # noqa: E731
    return [*types, *preferences, *each(n, lambda i: vm(f"v{i}", refer(i)))]


def types_in_use(n: int) -> Documents:
    refer = lambda i: refers(f"s{i}") + refers(f"p{i}", PREFERENCE)  # noqa: E731
    return [
        *each(n, lambda i: size(f"s{i}")),
        *each(n, lambda i: preference(f"p{i}")),
        *each(n, lambda i: vm(f"v{i}", refer(i))),
    ]


def in_other_namespaces(n: int) -> Documents:
    types = each(n, lambda i: size("small").replace("name: small", f"name: small\n  namespace: ns{i}"))
    return [*types, *each(n, lambda i: vm(f"v{i}", refers("small"), about=f"namespace: other{i}\n"))]


def profiles(n: int) -> Documents:
    flavor = thing("flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor", "f", "profiles:\n")
    flavor += numbered("- name: profile{:05}\n  cpu:\n    sockets: 2\n", n)
    spec = "flavor:\n  name: f\n  kind: VirtualMachineFlavor\n  profile: prafile{:05}\n"
    return [flavor, *each(n, lambda i: vm(f"v{i}", spec.format(i)))]


def flavors(n: int) -> Documents:
    body = "spec:\n  cpu:\n    guest: 2\n  memory:\n    guest: 1Gi\n"
    given = each(n, lambda i: thing("flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor", f"f{i}", body))
    spec = "flavor:\n  name: f{}\n  kind: VirtualMachineFlavor\n"
    return [*given, *each(n, lambda i: size(f"f{i}")), *each(n, lambda i: vm(f"v{i}", spec.format(i)))]


def revisions_of_one_vm(n: int) -> Documents:
    return [size("small"), *each(n, lambda i: revision(f"r{i}")), vm("v", pinned("r0"))]


def old_revisions(n: int) -> Documents:
    """Each VM refers to one that holds a bare spec, as KubeVirt 0.55 stored it."""
    stored = "data:\n  apiVersion: x/v1alpha1\n  spec: eyJjcHUiOnsiZ3Vlc3QiOjF9LCJtZW1vcnkiOnsiZ3Vlc3QiOiIxR2kifX0=\n"
    given = each(n, lambda i: thing("apps/v1", "ControllerRevision", f"r{i}", stored))
    return [*given, *each(n, lambda i: vm(f"v{i}", pinned(f"r{n - 1 - i}")))]


def old_preferences(n: int) -> Documents:
    firmware = "firmware:\n  preferredUseEfi: true\n  preferredUseSecureBoot: true\n"
    return [*each(n, lambda i: preference(f"p{i}", firmware)), *each(n, lambda i: vm(f"v{i}", refers(f"p{i}", PREFERENCE)))]


def missing_revisions(n: int) -> Documents:
    given = each(n, lambda i: revision(f"stored-{i:05}"))
    return [size("small"), *given, *each(n, lambda i: vm(f"v{i}", pinned(f"stared-{i:05}")))]


def missing_claims(n: int) -> Documents:
    given = each(n, lambda i: claim(f"claim-{i:05}"))
    named = lambda i: on_volume(f"v{i}", "persistentVolumeClaim", f"claimName: cleim-{i:05}\n")  # noqa: E731
    return [*given, *each(n, named)]


def data_volumes(n: int) -> Documents:
    """VMs that infer their instancetype from one each."""
    labels = f"labels:\n  {GROUP}/default-instancetype: small\n  {GROUP}/default-instancetype-kind: {TYPE}\n"
    inferring = lambda i: on_volume(f"v{i}", "dataVolume", f"name: dv{i}\n", "instancetype:\n  inferFromVolume: d\n")  # noqa: E731
    return [size("small"), *each(n, lambda i: data_volume(f"dv{i}", labels)), *each(n, inferring)]


def previous_names(n: int) -> Documents:
    notes = f"annotations:\n  internal.config.kubernetes.io/previousNames: {','.join(f's{i}' for i in range(n))}\n"
    return [
        size("now").replace("  name: now\n", "  name: now\n" + indented(notes, 2)),
        *each(n, lambda i: vm(f"v{i}", refers(f"s{i}"))),
    ]


def exports(n: int) -> Documents:
    spec = "spec:\n  virtualMachineTemplate:\n    spec:\n      template:\n        spec:\n          domain: {}\n"
    source = "spec:\n  source:\n    apiGroup: kubevirt.io\n    kind: VirtualMachine\n    name: web{}-0\n"
    pools = each(n, lambda i: thing("pool.kubevirt.io/v1beta1", "VirtualMachinePool", f"p{i}", spec))
    return [*pools, *each(n, lambda i: thing("export.kubevirt.io/v1beta1", "VirtualMachineExport", f"e{i}", source.format(i)))]


def missing_claims_of_one(n: int) -> Documents:
    """One VM that refers to many claims, of which none is there but ones that are called almost so."""
    volumes = "".join(volume(f"d{i}", "persistentVolumeClaim", f"claimName: cleim-{i:05}\n") for i in range(n))
    return [*each(n, lambda i: claim(f"claim-{i:05}")), vm("v", instance="volumes:\n" + volumes)]


def long_names(n: int) -> Documents:
    long = "a" * 250
    return [*each(n, lambda i: size(f"{long}{i}")), *each(n, lambda i: vm(f"v{i}", refers(f"{long}x{i}")))]


def crds(n: int) -> Documents:
    given = each(n, lambda i: crd(i, "properties:\n  size:\n    type: string\n"))
    return [*given, *each(n, lambda i: custom(i, "o", "sise: a\n"))]


def namespaces(n: int) -> Documents:
    return each(n, lambda i: vm("v", refers("none"), about=f"namespace: ns{i}\n"))


def quota(name: str, metadata: str = "") -> str:
    hard = "spec:\n  hard:\n    requests.cpu: 10m\n    limits.memory: 1Gi\n"
    return thing("v1", "ResourceQuota", name, hard, metadata)


def quotas(n: int) -> Documents:
    """Quotas of one namespace, each of which stops all VMs."""
    return [*each(n, lambda i: quota(f"q{i}")), *each(n, lambda i: vm(f"v{i}"))]


def quotas_apart(n: int) -> Documents:
    """A quota and a VM in each namespace."""
    spaces = [f"namespace: ns{i}\n" for i in range(n)]
    return [*each(n, lambda i: quota("q", spaces[i])), *each(n, lambda i: vm("v", about=spaces[i]))]


def limit_ranges(n: int) -> Documents:
    limits = "spec:\n  limits:\n  - type: Container\n    max:\n      cpu: 1m\n"
    return [*each(n, lambda i: thing("v1", "LimitRange", f"l{i}", limits)), *each(n, lambda i: vm(f"v{i}"))]


def types_and_preferences(n: int) -> Documents:
    """Cluster-wide ones, for a matrix of all pairs."""
    types = each(n, lambda i: size(f"t{i}").replace(f"kind: {TYPE}", "kind: VirtualMachineClusterInstancetype"))
    preferences = each(n, lambda i: preference(f"p{i}").replace(PREFERENCE, "VirtualMachineClusterPreference"))
    return [*types, *preferences]


def service(name: str, selector: str, ports: str, about: str = "") -> str:
    return thing("v1", "Service", name, f"spec:\n  selector: {selector}\n  ports:\n{ports}", about)


def forwarding(name: str, ports: str) -> str:
    """A VM that a Service selects, and that forwards only some ports."""
    domain = f"devices:\n  interfaces:\n  - name: d\n    masquerade: {{}}\n    ports:\n{ports}"
    return vm(name, domain=domain, instance="networks:\n- name: d\n  pod: {}\n", labels="labels:\n  a: b\n")


def ports_of_one(n: int) -> Documents:
    """A Service with many ports, and a VM that forwards many others."""
    return [
        service("s", "{a: b}", numbered("  - port: {}\n", n)),
        forwarding("v", "".join(each(n, lambda i: f"    - port: {i + 30000}\n"))),
    ]


def services_of_all(n: int) -> Documents:
    """Services that all VMs may be meant by, and VMs that forward one port each."""
    asking = lambda i: service(f"s{i}", f"{{a: b, kubevirt.io: x{i}}}", "  - port: 1\n", f"namespace: n{i}\n")  # noqa: E731
    return [*each(n, asking), *each(n, lambda i: forwarding(f"v{i}", f"    - port: {i + 1}\n"))]


def network_data(n: int) -> Documents:
    """Network data in one Secret, which all volumes of a VM read, and interfaces of the VM."""
    texts = numbered("      e{0}: {{match: {{macaddress: '02:00:00:00:00:01'}}}}\n", n // 2)
    secret = thing("v1", "Secret", "s", f"stringData:\n  networkdata: |\n    version: 2\n    ethernets:\n{texts}")
    volumes = numbered("- name: d{}\n  cloudInitNoCloud: {{networkDataSecretRef: {{name: s}}}}\n", n)
    interfaces = numbered("  - {{name: n{}, bridge: {{}}}}\n", n)
    return [secret, vm("v", domain=f"devices:\n  interfaces:\n{interfaces}", instance=f"volumes:\n{volumes}")]


def data_without_key(n: int) -> Documents:
    """A Secret with many keys, of which the machines that read it need another one."""
    volumes = "volumes:\n- name: d\n  cloudInitNoCloud: {secretRef: {name: s}}\n"
    secret = thing("v1", "Secret", "s", "stringData:\n" + numbered("  userdata{}: a\n", 4 * n))
    return [secret, *each(n, lambda i: vm(f"v{i}", instance=volumes))]


def storage(n: int) -> Documents:
    """VMs, each with a DataVolume of a storage class of its own, which a StorageProfile is about, and a claim beside it."""
    classes = each(n, lambda i: thing("storage.k8s.io/v1", "StorageClass", f"c{i}", "provisioner: example.com\n"))
    sets = "spec:\n  claimPropertySets:\n  - accessModes: [ReadWriteOnce]\n    volumeMode: Block\n"
    profiles = each(n, lambda i: thing("cdi.kubevirt.io/v1beta1", "StorageProfile", f"c{i}", sets))
    in_class = lambda i: data_volume(f"d{i}").replace("storage:\n", f"storage:\n    storageClassName: c{i}\n", 1)  # noqa: E731
    vms = each(n, lambda i: on_volume(f"v{i}", "dataVolume", f"name: d{i}\n", BUILTIN))
    return [*classes, *profiles, *each(n, in_class), *each(n, lambda i: claim(f"p{i}")), *vms]


def shared_claims(n: int) -> Documents:
    """VMs that have two claims each, each of which another VM has, too."""
    volumes = lambda i: [volume(f"d{k}", "persistentVolumeClaim", f"claimName: c{i + k}\n") for k in (0, 1)]  # noqa: E731
    vms = each(n, lambda i: vm(f"v{i}", BUILTIN, domain=disks(["d0", "d1"]), instance="volumes:\n" + "".join(volumes(i))))
    return [*each(n + 1, lambda i: claim(f"c{i}")), *vms]


def claims_of_all(n: int) -> Documents:
    """VMs, each of which has the same claims, and these."""
    some = int(n**0.5) + 1
    volumes = "volumes:\n" + "".join(volume(f"d{k}", "persistentVolumeClaim", f"claimName: c{k}\n") for k in range(some))
    vms = each(some, lambda i: vm(f"v{i}", BUILTIN, domain=disks(f"d{k}" for k in range(some)), instance=volumes))
    return [*each(some, lambda i: claim(f"c{i}")), *vms]


def services_of_each(n: int) -> Documents:
    """Services, each of which means all VMs."""
    asking = each(n, lambda i: service(f"s{i}", "{a: b}", f"  - port: {i + 1}\n"))
    return [*asking, *each(n, lambda i: forwarding(f"v{i}", f"    - port: {i + 1}\n"))]


def secrets(n: int) -> Documents:
    """Secrets with a key each, and VMs that read two of them, one of which lacks the key."""
    given = each(n, lambda i: thing("v1", "Secret", f"s{i}", "stringData:\n  userdata: a\n"))
    volumes = "volumes:\n- name: d\n  cloudInitNoCloud: {{secretRef: {{name: s{0}}}, networkDataSecretRef: {{name: s{0}}}}}\n"
    return [*given, *each(n, lambda i: vm(f"v{i}", instance=volumes.format(i)))]


def same_templates(n: int) -> Documents:
    """VMs, each of which makes a DataVolume of the same name."""
    template = "dataVolumeTemplates:\n- metadata:\n    name: d\n  spec:\n    source:\n      blank: {}\n    storage: {}\n"
    return each(n, lambda i: on_volume(f"v{i}", "dataVolume", "name: d\n", template))


def networks(n: int) -> Documents:
    """Network definitions, and VMs that refer to almost the same names."""
    given = each(
        n, lambda i: thing("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", f"net-{i:05}", "spec: {config: '{}'}\n")
    )
    interface = "devices:\n  interfaces:\n  - name: n\n    bridge: {}\n"
    network = "networks:\n- name: n\n  multus: {{networkName: nat-{:05}}}\n"
    return [*given, *each(n, lambda i: vm(f"v{i}", domain=interface, instance=network.format(i)))]


SHAPES: dict[str, tuple[Make, str]] = {
    "storage": (storage, "check capacity report explain"),
    "shared-claims": (shared_claims, "check report"),
    "claims-of-all": (claims_of_all, "check report"),
    "services-of-each": (services_of_each, "check report"),
    "secrets": (secrets, "check report"),
    "same-templates": (same_templates, "check report"),
    "networks": (networks, "check report"),
    "vms": (
        lambda n: each(n, lambda i: vm(f"v{i}", BUILTIN)),
        "function check annotate snapshot include pinned patch in-place migrate",
    ),
    "slips": (slips, "function check"),
    "types-in-use": (types_in_use, "function check snapshot"),
    "types-in-other-namespaces": (in_other_namespaces, "check"),
    "profiles": (profiles, "function check migrate"),
    "flavors": (flavors, "migrate"),
    "revisions-of-one-vm": (revisions_of_one_vm, "function check"),
    "old-revisions": (old_revisions, "check migrate"),
    "old-preferences": (old_preferences, "migrate"),
    "missing-revisions": (missing_revisions, "function check"),
    "missing-claims": (missing_claims, "check"),
    "data-volumes": (data_volumes, "function check snapshot"),
    "previous-names": (previous_names, "function check"),
    "exports": (exports, "check"),
    "missing-claims-of-one": (missing_claims_of_one, "check"),
    "long-names": (long_names, "function check"),
    "crds": (crds, "check"),
    "quotas": (quotas, "check capacity"),
    "quotas-apart": (quotas_apart, "check capacity report"),
    "limit-ranges": (limit_ranges, "check capacity"),
    "types-and-preferences": (types_and_preferences, "matrix"),
    "namespaces": (namespaces, "function check"),
    "ports-of-one": (ports_of_one, "check"),
    "services-of-all": (services_of_all, "check"),
    "network-data": (network_data, "check"),
    "data-without-key": (data_without_key, "check"),
}
