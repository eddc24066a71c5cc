"""UUIDs and digests that follow from a name. Loaded only where one is needed, because hashes are slow to import."""

from __future__ import annotations

from hashlib import sha1, sha256

# The bits of version and variant, and their values in a UUID that is made of a name.
FIXED, OF_NAMES = 0xF000 << 64 | 0xC000 << 48, 0x5000 << 64 | 0x8000 << 48


def uuid_of(namespace: str, name: str) -> str:
    """The UUID (version 5) of a name. Half of a surrogate pair, which is no text, counts as Go reads it: as U+FFFD."""
    if not name.isascii():
        name = "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in name)
    found = sha1(bytes.fromhex(namespace.replace("-", "")) + name.encode(), usedforsecurity=False).digest()
    text = f"{int.from_bytes(found[:16], 'big') & ~FIXED | OF_NAMES:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def short(name: str, *, longest: int = 200, kept: int = 200, digits: int = 8) -> str:
    """The name; one with more characters than `longest` has those that are `kept`, and a digest of the whole name."""
    return name if len(name) <= longest else f"{name[:kept]}-{sha256(name.encode()).hexdigest()[:digits]}"
