"""`kubevirt-render test`: folders with an input and what is expected of it, for users' own configs, policies and VMs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.work import BASE, Budget
from krm_fn.cli import build_flags, completion, options, output_files, progress
from krm_fn.cli.build_flags import build_flags_option
from krm_fn.cli.cases import case as cases
from krm_fn.cli.cases import running, updating, writing
from krm_fn.cli.quiet import quiet_option
from krm_fn.repositories import building

if TYPE_CHECKING:
    from typing import Any

    from krm_fn.cli.cases.running import Run
    from krm_fn.kubevirt.settings import Config


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", shell_complete=completion.FOLDER)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("text",),
    show_default=True,
    metavar="FORMAT[=FILE]",
    shell_complete=completion.among(lambda: writing.FORMATS),
    help=f"The output format: {', '.join(writing.FORMATS)}. Without FILE, the output is written to stdout. Repeatable.",
)
@click.option(
    "--update", is_flag=True, help="Write the actual findings, fields and output into the cases, instead of comparing them."
)
@build_flags.build_options(building.TIMEOUT)
@build_flags_option
@quiet_option
@options.config_options
def test(folders: tuple[str, ...], outputs: tuple[str, ...], config_file: str | None, *, update: bool, **flags: Any) -> int:
    """Run tests of your own: the cases in the folders DIR.

    A case is a folder with an input: input.yaml, the folder input, or a kustomization. expected.yaml lists the findings
    of `check` and the fields of `render` that are expected for this input. Optional: config.yaml is the function config
    of the case, and rendered.yaml is the expected output of `render`.

    The exit code is 1 if a case fails, or if there is no case.
    """
    targets = output_files.parsed(outputs, tuple(writing.FORMATS))
    output_files.check(targets)
    found = [folder for top in folders for folder in _cases(top)]
    if not found:
        raise InputError(f"no case found in {', '.join(folders)}; expected folders with {cases.EXPECTED}")
    bar = progress.shown(quiet=False)
    how: Run = running.Run(
        flags={**flags, "verbose": False, "follow_links": False, "helm": False, "exclude": (), "target": None, "cluster": None},
        config_file=config_file,
        checking=_checking,
        bar=bar,
        budget=Budget(BASE),
    )
    if update:
        return _updated(found, folders, how)
    results = [running.result_of(folder, folders, how) for folder in bar.watch("Testing", found, len(found))]
    output_files.write([(file, writing.FORMATS[name](results)) for name, file in targets])
    return int(any(result.failed for result in results))


def _cases(top: str) -> list[str]:
    if not os.path.isdir(top):  # noqa: PTH112  takes any name
        raise UsageError(f"{top} is no folder; name folders with cases")
    return cases.folders(top)


def _updated(found: list[str], tops: tuple[str, ...], how: Run) -> int:
    """Write the expectations of all cases anew."""
    changed = [file for folder in found for file in updating.update(folder, tops, how)]
    for file in changed:
        options.note(f"wrote {file}")
    if not changed:
        options.note("all expectations are met; nothing was written")
    return 0


def _checking(config: Config) -> Config:
    return config.but(mode="validate")
