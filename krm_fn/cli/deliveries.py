"""`kubevirt-render deliveries`: what applies which part of a repository to which cluster and namespace, and by which steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from krm_fn.base.objects import text
from krm_fn.base.paths import as_map
from krm_fn.cli import options, progress
from krm_fn.cli.catalogue import table
from krm_fn.cli.units import Request, refuse_nothing, units_of
from krm_fn.repositories import written

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.repositories.loading import Unit

# The steps of Flux in the order in which it takes them: a key of the spec, and the word for it.
STEPS = {
    "targetNamespace": "namespace",
    "namePrefix": "prefix",
    "nameSuffix": "suffix",
    "patches": "patches",
    "components": "components",
    "images": "images",
    "postBuild": "substitution",
    "commonMetadata": "metadata",
}
COLUMNS: dict[str, Callable[[Object], str]] = {
    "TARGET": lambda row: row["target"],
    "DELIVERED BY": lambda row: _by(row),  # noqa: PLW0108  it is defined below
    "CLUSTER": lambda row: row["cluster"],
    "NAMESPACE": lambda row: row["namespace"],
    "STEPS": lambda row: ", ".join(row["steps"]),
    "FILE": lambda row: row["file"],
}


@click.command()
@options.input_options
@options.output_option(("text", "json"))
@options.config_options
def deliveries(*, output: str, **flags: Any) -> int:
    """Show what applies each part of a repository.

    The input is files and folders; the default is this folder. Each row is what is applied together: a folder that a
    Kustomization of Flux applies, a kustomization, a Helm chart, or the other files of a folder. What can't hold objects of
    KubeVirt is left out.
    """
    bar = progress.shown(quiet=flags["verbose"])
    paths = flags["paths"] or (".",)
    request = Request(flags={**flags, "paths": paths}, apart=True)
    workspace = request.searched(bar)
    found = [_row(unit) for unit in units_of(request, workspace) if unit.target or any(map(written.may_hold, unit.files))]
    if not found:
        refuse_nothing(paths, workspace.about(), workspace.found)
    click.echo(json.dumps({"deliveries": found}, indent=2) if output == "json" else table(COLUMNS, found))
    return 0


def _by(row: Object) -> str:
    words = (row["by"], row.get("delivery", ""), "(suspended)" if row.get("suspended") else "")
    return " ".join(filter(None, words))


def _row(unit: Unit) -> Object:
    target = unit.target
    known = {"target": unit.called, "cluster": unit.settings.cluster, "namespace": "", "steps": []}
    if target is None:
        return {**known, "by": "files", "file": unit.files[0] if len(unit.files) == 1 else ""}
    if target.delivery is None:
        return {**known, "by": "chart" if target.is_chart else "kustomization", "file": target.file, "steps": ["build"]}
    own = target.delivery
    spec = as_map(own.obj.get("spec"))
    return {
        **known,
        "by": "Kustomization",
        "delivery": own.name,
        "namespace": text(spec.get("targetNamespace")),
        "steps": ["build", *(word for key, word in STEPS.items() if spec.get(key))],
        "file": own.file,
        "path": target.folder,
        "suspended": own.is_suspended,
        "unknown": [*own.missing],
    }
