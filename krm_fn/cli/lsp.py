"""`kubevirt-render lsp`: the language server, on standard input and output."""

from __future__ import annotations

import gc
import os

import click

from krm_fn.base.errors import UsageError


@click.command()
@click.option("--stdio", is_flag=True, hidden=True, help="Accepted, because many editors add it.")
@click.option("--afresh", is_flag=True, help="Read and check everything again after each change. This takes longer.")
def lsp(*, stdio: bool, afresh: bool) -> None:  # noqa: ARG001  stdio has no effect
    """Run the language server, which an editor starts.

    It speaks on stdin and stdout. While you type, it reports the findings of `check`, completes names, fields and
    values, and shows sizes. See docs/editors.md for the settings of editors.
    """
    try:
        from krm_fn.lsp.server import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise UsageError(
            "lsp: the package pygls is not installed; run `pip install '.[lsp]'` in a clone of this program"
        ) from None
    gc.enable()  # the command turns it off, and a server runs for days
    # pygls closes its streams in the end, and the program still writes to its own
    with os.fdopen(os.dup(0), "rb") as given, os.fdopen(os.dup(1), "wb") as written:
        server(afresh=afresh).start_io(given, written)
