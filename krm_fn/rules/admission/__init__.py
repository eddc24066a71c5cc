"""Rules about what KubeVirt's webhooks refuse, one for each part of the object; `krm_fn.kubevirt.admission` holds the checks.

The rules differ only in the part, so each is a text here: `refused_PART.txt`. Its first line names the function in KubeVirt's
source that refuses the same. The rest is what other rules have in the docstring of their module.
"""

from __future__ import annotations

from functools import partial

from krm_fn.rules.registry import CASE, Rule
from krm_fn.rules.shared.refusals import hits


def declared(name: str) -> Rule:
    """The rule that the text of that name is."""
    with open(f"{__path__[0]}/{name}.txt", encoding="utf-8") as file:  # noqa: PTH123  pathlib is too heavy here
        upstream, _, documentation = file.read().partition("\n\n")
    return Rule(
        id=name.replace("_", "-"),
        family=__name__.rpartition(".")[2],
        severity="error",
        worst="error",
        upstream=upstream.removeprefix("upstream: "),
        since=(),
        until=(),
        documentation=documentation,
        certain=CASE,
        check=partial(hits, part=name.removeprefix("refused_").replace("_", "-")),
    )
