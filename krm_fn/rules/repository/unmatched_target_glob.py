"""A cluster in the config of the repository lists targets that do not exist.

What it finds: a glob below `targets` of a cluster in `.kubevirt-render.yaml` that matches none of the targets of a run over the
whole repository.

Why it matters: the folder that was meant is judged without the settings of its cluster: with another release, another
configuration, and without the objects that the cluster is known to have. Often the folder was renamed or the glob is misspelt.

Fix: correct the glob, or remove it. Globs are relative to the file, `*` stays within one folder, and `**` stands for any number
of folders.

Example:

    # the config of a repository with the target clusters/north/apps
    unmatched:
    - {cluster: north, glob: clusters/nroth/*}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import RepositoryFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def unmatched_target_glob(facts: RepositoryFacts) -> Iterator[Hit]:
    for each in facts.unmatched:
        fact = f"no target of the repository matches {each.glob}, a target of cluster {each.cluster}"
        yield Hit(message=f"{fact}; correct the glob or remove it", path=each.path, current=each.glob)
