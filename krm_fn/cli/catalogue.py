"""`kubevirt-render catalogue`: what a KubeVirt release deploys, as tables or as objects."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from krm_fn.base.objects import Object
from krm_fn.cli import completion, options, pens
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE, view
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.yamlio.emit import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.cli.completion import Completer


KINDS = {word: kind for kind, word in view.WORDS.items()}

COLUMNS: dict[str, dict[str, Callable[[view.CatalogueRow], str]]] = {
    INSTANCETYPE: {
        "INSTANCETYPE": lambda row: row.name,
        "VCPUS": lambda row: row.vcpus,
        "MEMORY": lambda row: row.memory,
        "TRAITS": lambda row: ", ".join(row.traits),
    },
    PREFERENCE: {
        "PREFERENCE": lambda row: row.name,
        "VCPUS FROM": lambda row: row.vcpus,
        "MEMORY FROM": lambda row: row.memory,
        "ARCHITECTURE": lambda row: row.architecture,
        "DISK BUS": lambda row: row.disk_bus,
        "INTERFACE": lambda row: row.interface,
        "TRAITS": lambda row: ", ".join(row.traits),
    },
}

version_option = click.option(
    "--kubevirt-version",
    "version",
    default=str(NEWEST),
    show_default=True,
    **options.VERSION,
    help="The target release of KubeVirt.",
)


def _names(*kinds: str) -> Completer:
    """Completes the names of these kinds, or of both, in the newest release."""
    wanted = kinds or (INSTANCETYPE, PREFERENCE)
    return completion.among(lambda: [row.name for kind in wanted for row in view.rows(NEWEST, kind)])


kind_option = click.option("--kind", type=click.Choice(tuple(KINDS)), help="Show only this kind.")


FORMATS = ("text", "json", "yaml")


@click.group(invoke_without_command=True)
@click.pass_context
def catalogue(ctx: click.Context) -> None:
    """Show the builtin instancetypes and preferences.

    These are the ones that a KubeVirt release deploys.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@catalogue.command("list")
@version_option
@kind_option
@click.option(
    "--satisfies",
    metavar="PREFERENCE",
    shell_complete=_names(PREFERENCE),
    help="Show only the instancetypes that meet the requirements of this preference.",
)
@options.output_option(FORMATS)
def list_entries(version: str, kind: str | None, satisfies: str | None, output: str) -> None:
    """List the instancetypes and preferences of a release."""
    if satisfies is not None and kind == "preference":
        raise click.UsageError("--satisfies lists only instancetypes; remove --kind preference")
    release = view.release_of(version)
    options.note_unmeasured(release)
    kinds = (KINDS[kind],) if kind else (INSTANCETYPE,) if satisfies is not None else tuple(KINDS.values())
    tables = {each: view.rows(release, each) for each in kinds}
    if satisfies is not None:
        names = view.satisfying(satisfies, release)
        tables = {each: tuple(row for row in rows if row.name in names) for each, rows in tables.items()}
    if output == "text":
        click.echo("\n\n".join(pens.table(COLUMNS[each], rows) for each, rows in tables.items()))
    else:
        items = [view.show(row.name, release, row.kind) for rows in tables.values() for row in rows]
        click.echo(printed({"apiVersion": "v1", "kind": "List", "items": items}, output), nl=False)


@catalogue.command("show")
@click.argument("name", shell_complete=_names())
@version_option
@kind_option
@options.output_option(FORMATS, "yaml")
def show_entry(name: str, version: str, kind: str | None, output: str) -> None:
    """Show one instancetype or preference, ready to be kept in a bundle."""
    release = view.release_of(version)
    options.note_unmeasured(release)
    wanted = KINDS[kind] if kind else ""
    if output == "text":
        click.echo("\n".join(f"{label + ':':<17}{text}" for label, text in view.describe(name, release, wanted)))
    else:
        click.echo(printed(view.show(name, release, wanted), output), nl=False)


def printed(obj: Object, output: str) -> str:
    """The object as a JSON or YAML document."""
    return json.dumps(obj, indent=4) + "\n" if output == "json" else dump(obj)
