"""An object has no name, or one that Kubernetes refuses.

What it finds: objects of KubeVirt's and CDI's API groups, claims, Secrets and ConfigMaps whose `metadata.name` is not a DNS
subdomain (lower-case letters, digits, `-` and `.`, a letter or digit at both ends), or that have neither a name nor
`generateName`; a `generateName` that can't start such a name, even beside a name; and namespaces that are not a DNS label,
except in kinds without a namespace, because the API server clears it there. Before KubeVirt 1.5.3, a VirtualMachineExport whose
name has a dot and less than 53 characters. Names with placeholders that a later step replaces are skipped.

Why it matters: the API server refuses the object. Of an export, it refuses the Service that KubeVirt makes for it, so the
export stays pending.

Fix: write the name in lower-case letters, with dashes between words.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: Web_1}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import CLUSTER_KINDS, Entry
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.base.paths import as_map
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.formats import is_label, is_subdomain
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

# The kinds of these groups that are in no namespace.
CLUSTER_WIDE = CLUSTER_KINDS | frozenset(("MigrationPolicy", "Plugin", "CDI", "CDIConfig", "ObjectTransfer", "StorageProfile"))
CORE_KINDS = frozenset(("PersistentVolumeClaim", "Secret", "ConfigMap"))
# The releases that replace dots, and the length of names that are left out of the Service's.
# upstream: pkg/storage/export/export/export.go:getExportServiceName
UNDOTTED, IN_FULL = ((1, 5, 3), (1, 6)), 53
NAME_FORM = "use lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
PREFIX_FORM = f"{NAME_FORM}, or '-' at its end"
NAMESPACE_FORM = "use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"


@rule(severity="error")
def invalid_name(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.entries:
        group = group_of(entry.obj)
        if group == "kubevirt.io" or group.endswith(".kubevirt.io") or (not group and kind_of(entry.obj) in CORE_KINDS):
            yield from _hits(entry)
    if facts.release.within(until=UNDOTTED):
        for entry in facts.bundle.of_kind("VirtualMachineExport", "export.kubevirt.io"):
            name = name_of(entry.obj)
            if "." in name and len(name) < IN_FULL and is_subdomain(name):
                fact = f"name {show(name)} has a dot, which the name of the export's Service can't have, so it stays pending"
                yield Hit(message=f"{fact}; use '-'", path=("metadata", "name"), current=name, about=entry)


def _hits(entry: Entry) -> Iterator[Hit]:
    metadata = as_map(entry.obj.get("metadata"))
    name, prefix, namespace = metadata.get("name"), metadata.get("generateName"), metadata.get("namespace")
    if name in (None, "") and prefix in (None, ""):
        yield Hit(message="the object has no name; set metadata.name", path=("metadata", "name"), about=entry)
    if _is_odd(name) and not is_subdomain(name):
        yield _hit("name", name, NAME_FORM, entry)
    if _is_odd(prefix) and not _is_prefix(str(prefix)):
        yield _hit("generateName", prefix, PREFIX_FORM, entry)
    if _is_odd(namespace) and not is_label(namespace) and kind_of(entry.obj) not in CLUSTER_WIDE:
        yield _hit("namespace", namespace, NAMESPACE_FORM, entry)


def _is_odd(name: object) -> bool:
    """True for a string that must have a form."""
    return isinstance(name, str) and name != "" and not is_filled_in(name)


def _is_prefix(name: str) -> bool:
    """True for the start of a name, which may end with a dash.

    upstream: k8s.io/apimachinery/pkg/api/validation/generic.go:maskTrailingDash, which masks the letter before the dash as well
    """
    masked = name.encode(errors="replace")[:-2].decode(errors="replace") + "a"  # two bytes, which may be half a letter
    return is_subdomain(masked if name.endswith("-") and len(name) > 1 else name)


def _hit(field: str, value: object, form: str, entry: Entry) -> Hit:
    return Hit(message=f"{field} {show(value)} is not valid; {form}", path=("metadata", field), current=value, about=entry)
