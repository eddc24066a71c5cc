"""`kubevirt-render diff`: what a change does to each VM, running ones included."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from krm_fn.base.console import write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.value import Value
from krm_fn.changes import diffing
from krm_fn.changes.summary import WORDS, fails
from krm_fn.cli import completion, options, progress
from krm_fn.cli.changes_markdown import markdown_of
from krm_fn.cli.changes_text import text_of
from krm_fn.cli.json_text import json_text
from krm_fn.config.keys import KEYS
from krm_fn.kubevirt.releases import parse
from krm_fn.sources import builds
from krm_fn.sources.files import KUSTOMIZATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.cli.progress import Progress
    from krm_fn.kubevirt.settings import Config

NEVER = "never"
# The keys of the config that say something about a cluster.
CLUSTER_KEYS = ("kubevirtVersion", "catalogue", "presets", "configuration")
OUTPUTS = ("text", "json", "markdown")


@click.command()
@click.argument("base", shell_complete=completion.FILE)
@click.argument("head", required=False, shell_complete=completion.FILE)
@click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    default="text",
    show_default=True,
    help="The output format. markdown: for the comment of a pull request.",
)
@click.option(
    "--fail-on",
    type=click.Choice((*WORDS, NEVER)),
    default=WORDS[0],
    show_default=True,
    help="The exit code is 1 if the change does this to a VM, or something more severe.",
)
@click.option(
    "--replace", is_flag=True, help="Assume that manifests replace the old ones (kubectl replace), instead of being applied."
)
@click.option(
    "--to-kubevirt-version",
    **options.VERSION,
    help="The KubeVirt release after the change. Without HEAD, only the release changes: the preview of an upgrade.",
)
@click.option("--not-migratable", is_flag=True, help="Assume that running VMs cannot be live-migrated.")
@click.option(
    "--assume",
    type=click.Choice(("existing", "new")),
    default="existing",
    show_default=True,
    help="existing: the VMs of BASE exist. new: show what new VMs start as, before and after the change.",
)
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Show colours in text output. auto: only on a terminal, and not if NO_COLOR is set.",
)
@click.option("-v", "--verbose", is_flag=True, help="Report which files are skipped and which config is used.")
@options.timeout_option(builds.TIMEOUT)
@click.option("--follow-links", is_flag=True, help="Follow symbolic links to places outside the given paths too.")
@partial(options.keys_options, CLUSTER_KEYS)
def diff(
    base: str,
    head: str | None,
    *,
    output: str,
    fail_on: str,
    assume: str,
    color: str,
    to_kubevirt_version: str | None,
    replace: bool,
    not_migratable: bool,
    **flags: Any,
) -> int:
    """Say what the change from BASE to HEAD does to each VM, running ones included.

    BASE and HEAD are files, folders or kustomizations; one of them may be - for stdin. VMs are matched by namespace and
    name. With --to-kubevirt-version, HEAD may be left out.

    For each VM the output says whether KubeVirt refuses the update, and what is real at once, after a migration, or after
    a restart.

    The exit code is 1 if the change does to a VM what --fail-on names, or something more severe.
    """
    if base == head == "-":
        raise UsageError("both sides are -; stdin can be read once only")
    if head is None and to_kubevirt_version is None:
        raise UsageError("HEAD is missing; name the files after the change, or --to-kubevirt-version")
    bar = progress.shown(quiet=flags["verbose"])
    given = _read(base, flags, bar)
    after = given if head is None else _read(head, flags, bar)
    if to_kubevirt_version:
        after = after.but(settings=after.settings.but(release=parse(to_kubevirt_version)))
    old, new = (diffing.side(list(each.items), each.settings) for each in (given, after))
    assumptions = diffing.Assumptions(apply=not replace, migratable=not not_migratable, new=assume == "new")
    with bar.at("Comparing"):
        answer = diffing.compare(old, new, assumptions)
    write_out(_written(answer, output, color).encode())
    return int(fail_on != NEVER and fails(answer["vms"], fail_on))


def _written(answer: Object, output: str, color: str) -> str:
    if output == "json":
        return json_text(answer)
    return markdown_of(answer) if output == "markdown" else text_of(answer, color=_is_coloured(color))


class Given(Value):
    """The objects of one side and their config."""

    items: Sequence[Any]
    settings: Config


def _read(path: str, flags: Mapping[str, Any], bar: Progress) -> Given:
    """What stands in a file or a folder, or what kustomize builds of it; with the config of that place."""
    builds_it = _is_kustomization(path)
    found = options.read_sources(
        () if builds_it else (path,),
        (path,) if builds_it else (),
        verbose=flags["verbose"],
        timeout=flags["timeout"],
        follow_links=flags["follow_links"],
        watch=bar.watch,
    )
    missing = {key.field: () if key.type == "severity" else None for key in KEYS if key.name not in CLUSTER_KEYS}
    settings = options.settings(found, flags["config_file"], {**missing, **flags}, near=(path,), verbose=flags["verbose"])
    return Given(items=found.items, settings=settings)


def _is_kustomization(path: str) -> bool:
    return any(os.path.isfile(os.path.join(path, name)) for name in KUSTOMIZATIONS)  # noqa: PTH113, PTH118


def _is_coloured(color: str) -> bool:
    if color == "auto":
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return sys.stdout is not None and sys.stdout.isatty() and not plain
    return color == "always"
