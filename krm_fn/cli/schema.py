"""`kubevirt-render schema`: the JSON Schemas of what users write and of what the command answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from krm_fn.base.errors import UsageError
from krm_fn.changes import schema as diff_schema
from krm_fn.cli import completion, deliveries, options, suggest
from krm_fn.config import repository_schema
from krm_fn.config import schema as config_schema
from krm_fn.config.keys import hint
from krm_fn.explaining import schema as explain_schema
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema import json_schema
from krm_fn.live import planning
from krm_fn.sizing import prices
from krm_fn.sizing import schema as capacity_schema

FUNCTION = "function-config"
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    FUNCTION: config_schema.schema,
    "repository-config": repository_schema.schema,
    "diff": diff_schema.schema,
    "capacity": capacity_schema.schema,
    "explain": explain_schema.schema,
    "deliveries": deliveries.schema,
    "suggest": suggest.schema,
    "plan": planning.schema,
    "prices": prices.schema,
}


@click.command()
@click.argument("name", default=FUNCTION, metavar="[NAME]", shell_complete=completion.among(lambda: SCHEMAS))
@click.option("--editor", is_flag=True, help="Print the schema of all kinds of KubeVirt, for editors.")
@click.option("--kubevirt-version", metavar="VERSION", help="The release of KubeVirt for --editor. Default: the newest.")
def schema(name: str, *, editor: bool, kubevirt_version: str | None) -> None:
    """Print a JSON Schema, for editors and CI.

    NAME is function-config, the schema of the function config; repository-config, that of .kubevirt-render.yaml; diff,
    capacity, explain, deliveries, suggest or plan, that of the answer of the command with `-o json`; prices, that of the file
    of `capacity --prices`. Without NAME, function-config is printed. With --editor, the schema is that of KubeVirt's own
    kinds in a release.
    """
    if kubevirt_version and not editor:
        raise UsageError("--kubevirt-version: the other schemas are the same for all releases; add --editor")
    if editor:
        release = releases.parse(kubevirt_version) if kubevirt_version else releases.NEWEST
        options.note_unmeasured(release)
        click.echo(json.dumps(json_schema.schema(release), indent=2))
        return
    if name not in SCHEMAS:
        raise UsageError(f"{name!r} is no schema; expected one of {', '.join(SCHEMAS)}{hint(name, tuple(SCHEMAS))}")
    click.echo(json.dumps(SCHEMAS[name](), indent=2))
