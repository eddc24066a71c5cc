"""`kubevirt-render suggest`: the nearest instancetype for each VM that says its size itself."""

from __future__ import annotations

import csv
import shutil
from typing import Any

import click

from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli import conversions, options, progress, suggestions
from krm_fn.cli.bundles import read_bundles
from krm_fn.cli.conversions import suggested, wish_of
from krm_fn.cli.output_files import is_terminal
from krm_fn.cli.units import CommandRequest
from krm_fn.converting import suggesting, usage
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.conversions import facts_of_material
from krm_fn.sources.files import read_named, refuse_links_out


@click.command()
@options.input_options
@options.output_option(suggestions.FORMATS, text="The output format. json: all details.")
@click.option("--own", is_flag=True, help="Also make instancetypes for VMs that share a shape, and compare them with others.")
@conversions.wish_options
@click.option(
    "--usage",
    "usage_file",
    metavar="FILE",
    help="Name smaller instancetypes for VMs that use less than they have. FILE is a CSV with the columns namespace, name, "
    "vcpus and memory: the peaks of each VM.",
)
@click.option(
    "--spare", default=25, show_default=True, metavar="PERCENT", help="What a smaller instancetype has beyond the peaks."
)
@options.config_options
def suggest(*, output: str, own: bool, usage_file: str | None, spare: int, **flags: Any) -> int:
    """Suggest instancetypes for VMs without one.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The kustomizations in a folder are built, offline.

    Instancetypes come from the release's catalogue and from the input. For each VM, the output names what differs of its
    instance and its pod, and what the conversion does to a VM that runs. The classes are exact, headroom (only the layout
    of vCPUs, what a guest may grow to, or how the same requests are written), differs, and none. Nothing is written:
    convert does that.

    The exit code is 1 if a kustomization can't be built or a document can't be read.
    """
    if spare < 0:
        raise UsageError(f"--spare is {spare}; expected 0 or more")
    peaks = _peaks(usage_file) if usage_file else {}
    bar = progress.shown(quiet=flags["verbose"])
    read, code = read_bundles(CommandRequest(flags=flags), bar)
    wish = wish_of(flags, own=own)
    with bar.at("Comparing"):
        found = conversions.in_order(each for one in read for each in suggested(one, wish))
        fits = [fit for one in read if peaks for fit in Conversions(facts_of_material(one.material), wish).fits(peaks, spare)]
    report = suggestions.SuggestReport(
        found=tuple(found),
        groups=tuple(suggesting.groups(each.suggestion for each in found)) if own else (),
        fits=tuple(fits),
        width=shutil.get_terminal_size().columns if is_terminal() else 0,
    )
    write_out(suggestions.FORMATS[output](report).encode(errors="replace"))
    return code


def _peaks(file: str) -> dict[usage.Key, usage.Peak]:
    """The peaks of a file. Raises: InputError."""
    try:
        refuse_links_out([file])
        text = read_named(file)[0].decode("utf-8-sig")
        rows = csv.DictReader(text.splitlines())
        return usage.read(rows, rows.fieldnames or ())
    except OSError as error:
        raise InputError(f"cannot read {file_name(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the file is not in UTF-8", file=file) from None
    except csv.Error as error:
        raise InputError(f"{error}; correct the file", file=file, line=rows.line_num + 1, column=1) from None
    except InputError as error:
        raise InputError(error.message, file=file, line=error.line, column=error.column) from None
