"""The KRM function: a ResourceList's bytes in, a ResourceList's bytes out, findings on stderr as well."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import LIST_VERSIONS
from krm_fn.fast_path import stream
from krm_fn.fast_path.light import Unreadable, read_light_list
from krm_fn.fast_path.unread import uses_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO


def run(data: bytes, out: BinaryIO, err: TextIO) -> int:
    """The exit code. `out` gets one complete document; `err` the findings, most important first, nothing where there are none.

    A wrong config leaves the items as they came, with one result that names the key.
    Raises: InputError where `data` is no ResourceList; then nothing was written.
    """
    code = run_by_object(data, out, err)
    if code is None:
        from krm_fn.hosts import full_list  # needs a good part of the program that others do without

        code = full_list.run(data, out, err)
    return code


def run_by_object(data: bytes, out: BinaryIO, err: TextIO) -> int | None:
    """The exit code of a run object after object, in little more memory than the input needs.

    None, and nothing written, where the list is none that can be rendered so, or wrong: the other road says why.
    """
    listing = read_light_list(data)
    if listing is None or listing.head.get("apiVersion") not in LIST_VERSIONS:
        return None
    try:
        settings = config.read(listing.head.get("functionConfig"))
        if not stream.fits(settings):
            return None
        listing.load(uses_of)
        findings = stream.render(listing, settings)
    except (ConfigError, Unreadable):
        return None
    if findings is None:
        return None
    if not findings:
        out.writelines(listing.chunks())
        return 0
    from krm_fn.findings import results

    out.writelines(listing.chunks(results.merge(listing.head.get("results"), findings)))
    results.report(findings, err)
    return results.exit_code(findings, settings.fail_on)
