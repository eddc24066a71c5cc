"""`kubevirt-render capacity`: what the VMs of files, folders and kustomizations need of the cluster."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click

from krm_fn.base.bundle import Bundle
from krm_fn.base.console import write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import Object
from krm_fn.cli import build_flags, bundles, options, progress, sizes
from krm_fn.cli.bundles import ReadBundle
from krm_fn.cli.units import CommandRequest
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.sizing import draining, quotas, storage
from krm_fn.sizing import prices as pricing
from krm_fn.sizing.demands import Demand, totals
from krm_fn.sizing.nodes import NodeShape
from krm_fn.sizing.placement import Placement, placed
from krm_fn.sizing.prices import Prices
from krm_fn.sizing.rows import GROUPS, Sized
from krm_fn.sources.source import Sources


@click.command()
@options.input_options
@click.option(
    "--by",
    type=click.Choice(tuple(GROUPS)),
    default="vm",
    show_default=True,
    help="What the rows of the table stand for. target: a kustomization of a repository. cluster: a cluster of its config.",
)
@options.output_option(
    sizes.FORMATS, text="json: all details, as krm_fn.capacity returns them. csv: the rows of the table in exact numbers."
)
@click.option(
    "--running/--all",
    "running",
    default=False,
    show_default="all",
    help="Count only the VMs that the cluster starts by itself, or all VMs.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Show each pair of an instancetype and a preference, of the release's catalogue and of the paths: what it needs, or "
    "that it is refused. Paths may be left out.",
)
@click.option(
    "--nodes",
    "nodes_file",
    metavar="FILE",
    help="Estimate how many of these nodes the VMs need, and which VMs fit on none. FILE has what `kubectl get nodes -o json` "
    "prints, or a YAML list of node shapes. If it has the pods, too, what those of other workloads request is not free.",
)
@click.option(
    "--prices",
    "prices_file",
    metavar="FILE",
    help="Show what the VMs cost in a month, by the prices in a YAML file: `kubevirt-render schema prices` prints its schema.",
)
@options.config_options
def capacity(
    *,
    by: str,
    output: str,
    running: bool,
    matrix: bool,
    nodes_file: str | None,
    prices_file: str | None,
    **flags: Any,
) -> int:
    """Show what VMs need of the cluster.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The kustomizations in a folder are built, offline.

    For each VM, the table has the guest's vCPUs and memory, and the CPU and memory that its pod requests, overhead and
    support containers included. Quotas of the bundle are compared with the sums.

    The exit code is 0 also if KubeVirt refuses a VM. check reports why. It is 1 if a kustomization can't be built or a
    document can't be read: stderr says why, and the others are shown.
    """
    _refuse_together(output, nodes=nodes_file is not None, prices=prices_file is not None, matrix=matrix)
    shapes, prices = build_flags.read_form(nodes_file, draining.read), build_flags.read_form(prices_file, pricing.read)
    bar = progress.shown(quiet=flags["verbose"])
    request = CommandRequest(flags=flags)
    if matrix and not request.named:
        _show_matrix([], options.settings(Sources(sources=()), flags["config_file"], flags), output)
        return 0
    read, code = bundles.read_bundles(request, bar)
    if not read and (matrix or code):
        return code  # all of it is left out
    if matrix:
        _show_matrix(*_only(read), output)
        return code
    with bar.at("Sizing"):
        parts = [_part(each, prices, running=running, migrations=output in sizes.WITH_MIGRATIONS) for each in read]
    found = tuple(each for _, sized in parts for each in sized)
    report = sizes.SizesReport(
        sized=found,
        by=by,
        answer=_answer([(bundle, sized, each.unit.name) for (bundle, sized), each in zip(parts, read, strict=True)]),
        width=_width(),
        shapes=shapes or (),
        placement=_placed(found, shapes) if shapes else None,
        prices=prices,
    )
    write_out(sizes.written(output, report).encode(errors="replace"))
    return code


def _refuse_together(output: str, *, nodes: bool, prices: bool, matrix: bool) -> None:
    """Raises: UsageError for flags of which one would have no effect."""
    if nodes and (matrix or output == "csv"):
        raise UsageError(f"--nodes does not go with {'--matrix' if matrix else '-o csv'}; use -o table, json or markdown")
    if prices and matrix:
        raise UsageError("--prices does not go with --matrix; leave one of them out")


def _placed(sized: Sequence[Sized], shapes: Sequence[NodeShape]) -> Placement:
    """Raises: UsageError for VMs of several clusters, which do not share nodes."""
    clusters = sorted({each.cluster or "none" for each in sized})
    if len(clusters) > 1:
        raise UsageError(f"--nodes takes VMs of one cluster; these paths belong to {' and '.join(clusters)}")
    return placed(sized, shapes)


def _width() -> int:
    """The columns of the terminal, 0 without one."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else 0


def _only(read: Sequence[ReadBundle]) -> tuple[Sequence[Any], Config]:
    """The items and the config of the only bundle. Raises: UsageError for several, which may be for different clusters."""
    if len(read) > 1:
        raise UsageError(f"--matrix takes one bundle; these paths are {len(read)} kustomizations and groups of files")
    return read[0].found.items, read[0].unit.settings.config


def _show_matrix(items: Sequence[Any], config: Config, output: str) -> None:
    from krm_fn.cli.sizes.matrix import FORMATS
    from krm_fn.pipeline.capacity import pairs

    write_out(FORMATS[output](pairs(items, config), _width()).encode(errors="replace"))


def _part(read: ReadBundle, prices: Prices | None, *, running: bool, migrations: bool) -> tuple[Bundle, list[Sized]]:
    """The own objects of a bundle, and what those of them need that start machines."""
    (items, places, units), settings = read.applied, read.unit.settings
    beside = read.parsed.beside(read.taken, settings)
    own, bundle = Bundle(items, places, units=units), bundle_of(items, places, units, beside)
    found = demands_of(facts_of(bundle, settings.config, surroundings=beside), migrations=migrations)
    counted = [demand for demand in found if demand.record["starts"] or not running]
    return own, [
        Sized(
            demand=demand,
            target=read.unit.name,
            cluster=settings.cluster,
            cost=pricing.cost(demand, prices) if prices else pricing.NOTHING,
        )
        for demand in counted
    ]


def _answer(parts: Sequence[tuple[Bundle, Sequence[Sized], str]]) -> Object:
    """The answer of the library for all bundles together; what comes of a target names it."""
    records: list[Object] = []
    used: list[Object] = []
    claims: list[Object] = []
    demands: list[Demand] = []
    for bundle, sized, target in parts:
        own = [each.demand for each in sized]
        named = {"target": target} if target else {}
        records += [{**demand.record, **named} for demand in own]
        used += [{**quotas.shown(each), **named} for each in quotas.of_bundle(bundle, own)]
        claims += [claim for _, claim in storage.of_bundle(bundle)]
        demands += own
    return {"vms": records, "quotas": used, "totals": totals(demands, claims)}
