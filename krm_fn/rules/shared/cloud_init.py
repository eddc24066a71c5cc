"""The data of cloud-init that machines have in their own volumes."""

from __future__ import annotations

import binascii

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.rules.shared.machines import MachineSpec


SOURCES = ("cloudInitNoCloud", "cloudInitConfigDrive")
LONGEST = 100_000  # characters; longer data is not read


def sources(machine: MachineSpec) -> Iterator[tuple[Path, Object]]:
    """The sources of a machine, with their paths from the object's root."""
    for index, volume in enumerate(as_list(machine.spec.get("volumes"))):
        for source in SOURCES if isinstance(volume, dict) else ():
            if source in volume:
                yield (*machine.path, "volumes", index, source), as_map(volume[source])


def inline_data(machine: MachineSpec, key: str) -> Iterator[tuple[Path, str]]:
    """The data at `key` or, encoded, beside it, with the path of each."""
    for path, source in sources(machine):
        for field, data in ((key, text(source.get(key))), (f"{key}Base64", decoded(source.get(f"{key}Base64")))):
            if data and len(data) <= LONGEST:
                yield (*path, field), data


def decoded(data: object) -> str:
    """What base64 encodes, "" for what is none."""
    try:
        return binascii.a2b_base64(data).decode() if isinstance(data, str) else ""
    except (binascii.Error, ValueError):
        return ""
