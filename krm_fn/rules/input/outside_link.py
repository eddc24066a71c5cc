"""A link in a folder leads out of what is read.

What it finds: a link to a YAML or JSON file, or to a folder, that lies outside of all paths that the command was given. It is
passed over.

Why it matters: who can put a link into a folder could otherwise have a file of the machine read and printed, or, with
`--in-place`, written. The objects behind the link are missing in what is read.

Fix: remove the link, or name the file that it leads to as a path. In a folder that you trust, `--follow-links` follows it.

Example:

    # a folder, by its links
    links:
      vm.yaml: ../common/vm.yaml
"""

from __future__ import annotations

from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import InputFacts


@rule(severity="warning")
def outside_link(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.skipped:
        if not each.why:
            fix = "name what it leads to as a path, or give --follow-links"
            yield Hit(message=f"this link leads out of the paths that are read, so it is passed over; {fix}")
