"""The KRM function for large lists: what `krm_fn.function` does, in little more memory than the input needs."""

from __future__ import annotations

from krm_fn import config, results, stream, yamlio
from krm_fn.errors import ConfigError
from krm_fn.unread import uses_of
from krm_fn.yamlio.plain.light import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO


def run(data: bytes, out: BinaryIO, err: TextIO) -> int | None:
    """The exit code; None, and nothing written, where the list is none that can be rendered so."""
    listing = yamlio.read_light_list(data)
    if listing is None:
        return None
    try:
        settings = config.read(listing.head.get("functionConfig"))
        if not stream.fits(settings):
            return None
        listing.load(uses_of)
        findings = stream.render(listing, settings)
        if findings is None:
            return None
    except (ConfigError, Unreadable):
        return None  # the usual road says why
    said = results.merge(listing.head.get("results"), findings) if findings else []
    out.writelines(listing.chunks(said))
    results.report(findings, err)
    return results.exit_code(findings, settings.fail_on)
