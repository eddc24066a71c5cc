"""A document can't be read.

What it finds: a document of a file that is not valid YAML or JSON: a tab in the indentation, a duplicate key in a map, an
unclosed quote. `check` skips such a document and continues with the others. References to the document, and references in
it, are not checked until it can be read. Other commands stop there. Of documents that are templates (`{{`), only the first
is reported, with the number of the others. A document that is for another program is a `foreign-document`.

Why it matters: no tool applies the file, or each tool reads it in its own way.

Fix: correct the line that the message names; the mistake may be on a line above it.

Example:

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: web
      name: shop
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="error")
def unreadable_document(facts: InputFacts) -> Iterator[Hit]:
    for error in facts.errors:
        yield Hit(message=error.message)
