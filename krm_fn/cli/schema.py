"""`kubevirt-render schema`: the JSON Schema of the function config."""

from __future__ import annotations

import json

import click

from krm_fn.config import schema as config_schema


@click.command()
def schema() -> None:
    """Print the JSON Schema of the function config, for editors and CI."""
    click.echo(json.dumps(config_schema.schema(), indent=2))
