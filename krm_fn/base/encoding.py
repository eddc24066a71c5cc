"""Base64 as Go decodes it, in every version of Python. Python's own decoder accepts more padding than Go's.

upstream: encoding/base64 StdEncoding.DecodeString
"""

from __future__ import annotations

from binascii import Error, a2b_base64


def from_base64(text: str) -> bytes | None:
    """The bytes of a base64 text, or None if it is not base64. Line ends are skipped; bits after the last byte are ignored."""
    packed = text.replace("\r", "").replace("\n", "")
    if len(packed) % 4 or packed.endswith("==="):
        return None
    try:
        return a2b_base64(packed, strict_mode=True)
    except (Error, ValueError):
        return None
