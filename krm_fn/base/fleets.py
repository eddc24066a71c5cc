"""The texts in which the VMs of a fleet differ, and of which sort each is.

Rendering reads none of them (`unread`), judging little (`equivalents`, which says of each sort what it is). What is added here
has to be true for both.
"""

from __future__ import annotations

from krm_fn.base.paths import EACH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.paths import Path

__all__ = ["EACH", "KEY", "TEXTS"]

KEY = ""  # at the end, any key of a map

SPEC: Path = ("spec", "template", "spec")
DOMAIN: Path = (*SPEC, "domain")
VOLUME: Path = (*SPEC, "volumes", EACH)

TEXTS: tuple[tuple[Path, str], ...] = (
    (("metadata", "name"), "name"),
    (("metadata", "labels", KEY), "note"),
    (("metadata", "annotations", KEY), "note"),
    (("spec", "dataVolumeTemplates", EACH, "metadata", "name"), "reference"),
    (("spec", "template", "metadata", "labels", KEY), "label"),
    ((*SPEC, "hostname"), "hostname"),
    ((*DOMAIN, "devices", "interfaces", EACH, "macAddress"), "mac"),
    ((*DOMAIN, "firmware", "uuid"), "uuid"),
    ((*DOMAIN, "firmware", "serial"), "serial"),
    ((*VOLUME, "dataVolume", "name"), "reference"),
    ((*VOLUME, "persistentVolumeClaim", "claimName"), "reference"),
    *(
        ((*VOLUME, source, *place), sort)
        for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
        for place, sort in (
            (("userData",), "data"),
            (("userDataBase64",), "base64"),
            (("secretRef", "name"), "secret"),
            (("networkData",), "data"),
            (("networkDataBase64",), "base64"),
            (("networkDataSecretRef", "name"), "secret"),
        )
    ),
)
