"""A document can't be read.

What it finds: a document of a file that is no YAML or JSON: a tab in the indentation, a key that stands twice in one map, a
quote that isn't closed. `check` passes over such a document and goes on with the others; what these may want of it, or it of
them, isn't told until it can be read. Other commands stop there. Of documents that are templates (`{{`), the first is told,
with the number of the others.

Why it matters: no tool applies the file, or each reads it in its own way.

Fix: correct the line that the message leads to; the mistake may be a line above it.

Example:

    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: web
      name: shop
"""

from __future__ import annotations

from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import InputFacts


@rule(severity="error")
def unreadable_document(facts: InputFacts) -> Iterator[Hit]:
    for error in facts.errors:
        yield Hit(message=error.message)
