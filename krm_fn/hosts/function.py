"""The KRM function: a ResourceList's bytes in, a ResourceList's bytes out, findings on stderr as well."""

from __future__ import annotations

from krm_fn.base.annotations import BinaryIO, TextIO
from krm_fn.base.console import NAME

try:
    import krm_fn.fast_path.rendering as fast_path
except ModuleNotFoundError as missing:  # everything works without the fast path
    if missing.name != "krm_fn.fast_path":
        raise
    fast_path = None  # type: ignore[assignment]

try:
    from posix import environ  # `os` takes longer to import

    FAST_PATH, VERBOSE, OFF = b"KUBEVIRT_RENDER_FAST_PATH", b"KUBEVIRT_RENDER_VERBOSE", b"off"
except ImportError:
    from os import environ  # type: ignore[assignment]

    FAST_PATH, VERBOSE, OFF = "KUBEVIRT_RENDER_FAST_PATH", "KUBEVIRT_RENDER_VERBOSE", "off"  # type: ignore[assignment]


def run(data: bytes, out: BinaryIO, err: TextIO) -> int:
    """The exit code. `out` gets one complete document, `err` the findings, most important first, or nothing if there are none.

    If the config is wrong, the items do not change, and one result names the key.
    Raises: InputError if `data` is no ResourceList; then nothing is written.
    """
    code = fast_path.run(data, out, err) if fast_path and environ.get(FAST_PATH) != OFF else None
    if environ.get(VERBOSE):
        err.write(f"{NAME}: info: rendered on the {'full' if code is None else 'fast'} path\n")
    if code is None:
        from krm_fn.hosts import full_list  # it loads many modules that other runs do not need

        code = full_list.run(data, out, err)
    return code
