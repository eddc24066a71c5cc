"""A label has a key or a value that Kubernetes refuses.

What it finds: an invalid label of any object in the bundle, or of a template in a VM, a pool or a replica set. A key must be
a name of at most 63 letters, digits and `-_.` (optionally after a DNS subdomain and a slash). A value may have at most 63 of
these characters, with a letter or digit at both ends. Placeholders that a later step replaces are skipped.

Why it matters: the API server refuses the object. It accepts such labels in a template, but KubeVirt then can't create the
instance, and the VM never starts.

Fix: use only the allowed characters; put longer text into an annotation.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        metadata: {labels: {site: New York}}
        spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.wording import show
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.admission.formats import is_label_value, is_qualified_name
from krm_fn.kubevirt.holders import SERVED
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

LABELS: Path = ("metadata", "labels")
# Where else labels are, by group and kind.
TEMPLATES: dict[tuple[str, str], tuple[Path, ...]] = {
    key: tuple((*place, *LABELS) for place in (holder.vm, holder.template) if place) for key, holder in SERVED.items()
}
KEY_FORM = "use at most 63 letters, digits and '-_.', optionally after a DNS subdomain and a slash"
VALUE_FORM = "use at most 63 letters, digits and '-_.', with a letter or digit at both ends"


@rule(severity="error")
def invalid_label(facts: BundleFacts) -> Iterator[Hit]:
    for (entry, place, key, value), more in first(_invalid(facts), lambda label: id(label[0])):
        path = (*place, str(key))
        if not is_qualified_name(key):
            message = f"label key {show(key)} is not valid; {KEY_FORM}"
            yield Hit(message=counted(message, more), path=path, about=entry)
        else:
            message = f"label value {show(value)} is not valid; {VALUE_FORM}"
            yield Hit(message=counted(message, more), path=path, current=value, about=entry)


def _invalid(facts: BundleFacts) -> Iterator[tuple[Entry, Path, str, Any]]:
    """The labels with an invalid key or value, each with its object and the path of the labels in it."""
    sound: set[str] = set()  # most objects have the same few keys
    right: set[str] = set()
    for entry in facts.bundle.entries:
        for place in (LABELS, *TEMPLATES.get((group_of(entry.obj), kind_of(entry.obj)), ())):
            for key, value in as_map(get(entry.obj, place)).items():
                if key not in sound and is_qualified_name(key):
                    sound.add(key)
                if isinstance(value, str) and value not in right and is_label_value(value):
                    right.add(value)
                invalid = key not in sound or (isinstance(value, str) and value not in right)
                if invalid and not is_filled_in(key) and not is_filled_in(value):
                    yield entry, place, key, value
