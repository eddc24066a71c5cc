"""`kubevirt-render deliveries`: what applies which part of a repository to which cluster and namespace, and by which steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import click

from krm_fn.base.objects import Object, kind_of, metadata, text
from krm_fn.base.paths import as_list
from krm_fn.changes.pairs import Delivered
from krm_fn.cli import options, progress
from krm_fn.cli.output_files import table
from krm_fn.cli.units import CommandRequest, refuse_nothing, units_of
from krm_fn.repositories import written
from krm_fn.repositories.deliveries import manner_of, row_of
from krm_fn.repositories.loading import Unit
from krm_fn.repositories.types import Delivery

# What has Argo CD delete the objects of an Application that is deleted.
FINALIZER = "resources-finalizer.argocd.argoproj.io"
COLUMNS: dict[str, Callable[[Object], str]] = {
    "TARGET": lambda row: row["target"],
    "DELIVERED BY": lambda row: _by(row),  # noqa: PLW0108  it is defined below
    "CLUSTER": lambda row: row["cluster"],
    "NAMESPACE": lambda row: row["namespace"],
    "STEPS": lambda row: ", ".join(row["steps"]),
    "FILE": lambda row: row["file"],
}

TEXT: Object = {"type": "string"}
TRUTH: Object = {"type": "boolean"}
TEXTS: Object = {"type": "array", "items": TEXT}
# What each row of the JSON has, and what those of a delivery have besides.
ROW: dict[str, Object] = {
    "target": {**TEXT, "description": "The name of the target, or the folder of files."},
    "cluster": {**TEXT, "description": "Empty where only one is known."},
    "namespace": {**TEXT, "description": "That of objects without one, or of all objects."},
    "steps": {**TEXTS, "description": "What is done to the objects, in order."},
    "by": {"enum": ["files", "kustomization", "chart", "Kustomization", "HelmRelease", "Application", "ApplicationSet"]},
    "file": {**TEXT, "description": "Where that is written, empty for several files."},
}
OF_DELIVERY: dict[str, Object] = {
    "delivery": {**TEXT, "description": "Its namespace and its name."},
    "manner": {"enum": ["client-side apply", "server-side apply", "replace", "recreate"]},
    "prune": {**TRUTH, "description": "Objects that are gone from git are deleted."},
    "createsNamespace": TRUTH,
    "path": {**TEXT, "description": "The folder that is applied."},
    "suspended": TRUTH,
    "revision": {
        **TEXT,
        "description": "A revision that is not at hand, or a chart from elsewhere: nothing of it is judged. Else empty.",
    },
    "unknown": {**TEXTS, "description": "What is not known of it."},
}


def schema() -> Object:
    """The JSON Schema of what `-o json` prints."""
    row = {"type": "object", "properties": {**ROW, **OF_DELIVERY}, "required": [*ROW], "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kubevirt-render:schema:v1alpha1:deliveries",
        "title": "What `kubevirt-render deliveries -o json` prints",
        "type": "object",
        "properties": {"deliveries": {"type": "array", "items": row}},
        "required": ["deliveries"],
        "additionalProperties": False,
    }


@click.command()
@options.input_options
@options.output_option(("text", "json"))
@options.config_options
def deliveries(*, output: str, **flags: Any) -> int:
    """Show what applies each part of a repository.

    The input is files and folders; the default is this folder. Each row is what is applied together: a folder that a
    Kustomization of Flux or an Application of Argo CD applies, a kustomization, a Helm chart, or the other files of a
    folder. What can't hold objects of KubeVirt is left out.
    """
    bar = progress.shown(quiet=flags["verbose"])
    paths = flags["paths"] or (".",)
    request = CommandRequest(flags={**flags, "paths": paths}, apart=True)
    workspace = request.searched(bar)
    units = workspace.units if workspace.is_one_bundle and not request.asked.named else units_of(request, workspace)
    failing = {file for unit in units if unit.target and unit.target.problem for file in unit.target.inputs}
    kept = (unit for unit in units if unit.target or not unit.files or not failing.issuperset(unit.files))
    found = [_row(unit) for unit in kept if unit.target or any(_holding(unit))]
    other = (target for each in workspace.repositories for target in each.elsewhere)
    found += [_row(Unit(settings=workspace.settings(each.folder), name=each.name, target=each)) for each in other]
    if not found:
        refuse_nothing(paths, workspace.about(), workspace.found)
    click.echo(json.dumps({"deliveries": found}, indent=2) if output == "json" else table(COLUMNS, found))
    return 0


def _holding(unit: Unit) -> Iterator[bool]:
    """Whether each file of a unit may hold something that counts."""
    yield from map(written.may_hold, unit.files)
    yield from (written.mentions(each.data) for each in (unit.texts.given if unit.texts else ()))


def _by(row: Object) -> str:
    revision = row.get("revision")
    words = (
        row["by"],
        row.get("delivery", ""),
        "(suspended)" if row.get("suspended") else f"(of {revision})" if revision else "",
    )
    return " ".join(filter(None, words))


def _row(unit: Unit) -> Object:
    target = unit.target
    known = {"target": unit.called, "cluster": unit.settings.cluster, "namespace": "", "steps": []}
    if target is None:
        files = unit.files or [each.file for each in (unit.texts.given if unit.texts else ())]
        return {**known, "by": "files", "file": files[0] if len(files) == 1 else ""}
    if target.delivery is None:
        return {**known, "by": "chart" if target.is_chart else "kustomization", "file": target.file, "steps": ["build"]}
    return {**known, **row_of(target, unit.settings.cluster, [step.host for step in unit.steps])}


def delivered_by(own: Delivery, *, goes: bool) -> Delivered:
    """How a delivery brings a change to the cluster; it `goes` itself, if only the old side has it."""
    how = manner_of(own)
    prunes = how["prune"]
    if goes and own.tool == "Argo CD":  # those of a set have the finalizer
        prunes = bool(own.above) or any(
            text(each).startswith(FINALIZER) for each in as_list(metadata(own.obj).get("finalizers"))
        )
    keeps = f"{kind_of(own.obj)} {own.name}, which does not prune"
    return Delivered(replaces=how["manner"] == "replace", recreates=how["manner"] == "recreate", keeps="" if prunes else keeps)
