"""A link in a folder points outside the given paths.

What it finds: a link to a YAML or JSON file, or to a folder, that is outside all paths that were given to the command. It is
not followed.

Why it matters: whoever can put a link into a folder could otherwise have a file of the machine read and printed, or, with
`--in-place`, written. The objects behind the link are not read.

Fix: remove the link, or pass its target as a path. In a folder that you trust, `--follow-links` follows it.

Example:

    # a folder, by its links
    links:
      vm.yaml: ../common/vm.yaml
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def outside_link(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.skipped:
        if not each.why:
            fix = "pass its target as a path, or, in a folder that you trust, use --follow-links"
            yield Hit(message=f"this link points outside the given paths, so it is not followed; {fix}")
