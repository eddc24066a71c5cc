"""`kubevirt-render check`: findings only, in the forms that people and CI systems read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from krm_fn import core, results
from krm_fn.cli import options
from krm_fn.cli.formats import FORMATS, Report, written
from krm_fn.errors import UsageError
from krm_fn.main import write_out
from krm_fn.rules import nearest


@click.command()
@options.source_options
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("text",),
    show_default=True,
    metavar="FORMAT[=FILE]",
    help=f"One of {', '.join(FORMATS)}, to stdout or to a file. Repeatable.",
)
@click.option("--summary", is_flag=True, help="Close with a line of figures.")
@options.config_options
def check(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    outputs: tuple[str, ...],
    config_file: str | None,
    *,
    verbose: bool,
    summary: bool,
    **flags: Any,
) -> int:
    """Check files, folders, kustomizations (-k DIR) or stdin (-): what render would report, and nothing else.

    The exit code is 1 where a finding is as severe as --fail-on or more.
    """
    targets = _targets(outputs)
    found = options.read_sources(paths, kustomizations, verbose=verbose)
    config = options.settings(found, config_file, flags).but(mode="validate")
    outcome = core.render(found.items, config, places=found.places)
    report = Report(
        findings=outcome.findings,
        objects=len(found.items),
        files=tuple(source.file for source in found.sources if source.objects),
        summary=summary,
    )
    texts = [(file, written(name, report).encode()) for name, file in targets]
    for file, data in texts:
        if file:
            Path(file).write_bytes(data)
    write_out(b"".join(data for file, data in texts if not file))
    return results.exit_code(outcome.findings, config.fail_on)


def _targets(outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Format and file of each output, "" for stdout, which takes only one."""
    targets = []
    for text in outputs:
        name, _, file = text.partition("=")
        if name not in FORMATS:
            likely = nearest(name, tuple(FORMATS))
            fix = f"; did you mean {likely[0]}" if likely else ""
            raise UsageError(f"-o: {name!r} is no format; expected one of {', '.join(FORMATS)}{fix}")
        targets.append((name, "" if file == "-" else file))
    if [file for _, file in targets].count("") > 1:
        raise UsageError("-o: only one output can go to stdout; give the others a file, -o FORMAT=FILE")
    return targets
