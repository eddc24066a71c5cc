"""A template stands among the manifests.

What it finds: a file in a folder that is no valid YAML since it is a template, with marks such as `{{`, `{%` or `@NAME@`. Only
the first one is reported, with the number of the others. A template that was named by itself is an `unreadable-document`.

Why it matters: what the template makes is not checked, nor are references to it.

Fix: check what the template makes, for example with `helm template` before `check -`. If it makes nothing of interest, exclude
the file, or give the rule the severity `off`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata:
      name: {{ name }}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def unrendered_template(facts: InputFacts) -> Iterator[Hit]:
    for error in facts.templates:
        yield Hit(message=error.message)
