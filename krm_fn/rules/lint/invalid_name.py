"""An object has no name, or one that Kubernetes refuses.

What it finds: objects of KubeVirt's and CDI's API groups, claims, Secrets and ConfigMaps whose `metadata.name` is no DNS
subdomain (lower-case letters, digits, `-` and `.`, a letter or digit at both ends), or that have neither a name nor
`generateName`; and namespaces that are no DNS label. Names with placeholders that a later step fills in are passed over.

Why it matters: the API server refuses the object.

Fix: spell the name in lower-case letters, with dashes for what else stands between words.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: Web_1}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.admission.formats import is_label, is_subdomain
from krm_fn.paths import as_map
from krm_fn.resource import group_of, kind_of
from krm_fn.rules import Hit, rule, show
from krm_fn.rules.labels import is_filled_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts

CORE_KINDS = frozenset(("PersistentVolumeClaim", "Secret", "ConfigMap"))
NAME_FORM = "use lower-case letters, digits, '-' and '.', with a letter or digit at both ends"
NAMESPACE_FORM = "use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"


@rule(severity="error")
def invalid_name(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.entries:
        group = group_of(entry.obj)
        if group == "kubevirt.io" or group.endswith(".kubevirt.io") or (not group and kind_of(entry.obj) in CORE_KINDS):
            yield from _hits(entry)


def _hits(entry: Entry) -> Iterator[Hit]:
    metadata = as_map(entry.obj.get("metadata"))
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if name in (None, ""):
        if metadata.get("generateName") in (None, ""):
            yield Hit(message="the object has no name; set metadata.name", path=("metadata", "name"), about=entry)
    elif isinstance(name, str) and not is_subdomain(name) and not is_filled_in(name):
        message = f"name {show(name)} is malformed; {NAME_FORM}"
        yield Hit(message=message, path=("metadata", "name"), current=name, about=entry)
    if isinstance(namespace, str) and namespace and not is_label(namespace) and not is_filled_in(namespace):
        message = f"namespace {show(namespace)} is malformed; {NAMESPACE_FORM}"
        yield Hit(message=message, path=("metadata", "namespace"), current=namespace, about=entry)
