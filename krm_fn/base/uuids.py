"""UUIDs that follow from a name. Loaded only where one is needed, because the library's own module is slow to import."""

from __future__ import annotations

from uuid import UUID, uuid5


def uuid_of(namespace: str, name: str) -> str:
    """The UUID (version 5) of a name. Half of a surrogate pair, which is no text, counts as Go reads it: as U+FFFD."""
    return str(uuid5(UUID(namespace), "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in name)))
