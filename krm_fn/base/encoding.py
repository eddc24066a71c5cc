"""Base64 as Go's decoder reads it, whatever Python runs: Python's own takes more padding than there may be.

upstream: encoding/base64 StdEncoding.DecodeString
"""

from __future__ import annotations

from binascii import Error, a2b_base64


def from_base64(text: str) -> bytes | None:
    """The bytes of a base64 text, None where it is none. Line ends are skipped; bits after the last byte may be anything."""
    packed = text.replace("\r", "").replace("\n", "")
    if len(packed) % 4 or packed.endswith("==="):
        return None
    try:
        return a2b_base64(packed, strict_mode=True)
    except (Error, ValueError):
        return None
