"""A document that is for another program can't be read.

What it finds: a document of a folder that is not valid YAML or JSON, and that names a kind which is neither KubeVirt's nor used
by VMs. A file that was named by itself is an `unreadable-document`.

Why it matters: no tool applies the file, or each tool reads it in its own way. No VM depends on it.

Fix: correct the line that the message names, or exclude the file.

Example:

    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata:
      name: web
      name: shop
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def foreign_document(facts: InputFacts) -> Iterator[Hit]:
    for error in facts.foreign:
        yield Hit(message=f"{error.message}; nothing of KubeVirt is in this document")
