"""A file in a folder can't be read.

What it finds: a file with the name of a YAML or JSON file, or a folder, that can't be opened: a link whose target does not
exist, a file without read permission, a pipe, a socket or a device. The other files are read.

Why it matters: objects that the others need may be missing, and a tool that applies the folder stops there.

Fix: correct the file or remove it. If it is meant to be absent, give the rule another severity.

Example:

    # a folder, by its links
    links:
      vm.yaml: gone.yaml
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="error")
def unreadable_file(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.skipped:
        if each.why:
            yield Hit(message=f"can't be read: {each.why}; correct or remove it")
