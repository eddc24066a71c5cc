"""The texts that differ between VMs, such as names and addresses, and the sort of each.

Judging reads only parts of them: `pipeline.equivalents` says which, for each sort.
"""

from __future__ import annotations

from krm_fn.base.paths import Path

EACH = "*"  # any entry of a list
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
