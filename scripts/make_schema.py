"""Make `krm_fn/schema/api.txt` from the facts about the API's types and fields.

    python scripts/make_schema.py FIELDS.json

FIELDS.json holds `order`, the releases, and `types`, {type: {releases, fields: {field: form | [form, …]}}} or, for a plain one,
{type}; a form has a `type` and, where the API says so, `required`, `enum`, `format`, `minimum`, `maximum`, `pattern` and
`releases`. `krm_fn/schema/table.py` tells the form that is written.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "krm_fn" / "schema" / "api.txt"
HEAD = "# The API's types and fields, by release. Made by scripts/make_schema.py; table.py tells the form. Do not edit."

SHORTER = {
    "k8s.io.api.core.v1.": "core.",
    "k8s.io.apimachinery.pkg.apis.meta.v1.": "meta.",
    "k8s.io.apimachinery.pkg.": "machinery.",
}
# Types that the facts describe as Go's decoder does not read them.
PLAIN = {
    "machinery.api.resource.Quantity": "quantity",
    "machinery.util.intstr.IntOrString": "int-or-string",
    "meta.Duration": "duration",
    "meta.Time": "time",
    "meta.FieldsV1": "any",
}
UNIONS = {("string", "number"): "int-or-string", ("string", "null"): "time?"}

# The API's description knows neither signs nor all widths: what Go reads these fields into.
UNSIGNED_32 = """
v1.CPU: cores maxSockets sockets threads
v1.CPUTopology: cores sockets threads
v1.ContainerDiskInfo: checksum
v1.DiskIOThreads: supplementalPoolThreadCount
v1.FeatureSpinlocks: spinlocks
v1.InitrdInfo: checksum
v1.KernelInfo: checksum
v1.KubeVirtConfiguration: memBalloonStatsPeriod
v1.LiveUpdateConfiguration: maxCpuSockets maxHotplugRatio
v1.MigrationConfiguration: parallelMigrationsPerCluster parallelOutboundMigrationsPerNode
v1.VMIMConfigurationOptions: parallelMigrationsPerCluster parallelOutboundMigrationsPerNode
v1.VirtualMachineInstanceStatus: VSOCKCID
v1beta1.CPUInstancetype: guest maxSockets
v1beta1.CPUPreferenceRequirement: guest
v1beta1.SpreadOptions: ratio
v1beta1.VirtualMachinePoolAutohealingStrategy: startUpFailureThreshold
v1beta1.VirtualMachinePreferenceSpec: preferSpreadSocketToCoreRatio
"""
UNSIGNED_64 = """
v1.CustomBlockSize: discardGranularity logical physical
v1.DeveloperConfiguration: minimumReservePVCBytes
v1.Disk: bootOrder
v1.Interface: bootOrder
v1.LogVerbosity: virtAPI virtController virtHandler virtLauncher virtOperator virtSynchronizationController
v1.MigrationConfiguration: maxDowntimeMs
v1.StallDetectorOptions: stallProgressTimeout switchoverTimeout
v1.VMIMConfigurationOptions: maxDowntimeMs
v1.VirtualMachineInstanceStatus: runtimeUser
"""
SIGNED_64 = """
v1.ClockOffsetUTC: offsetSeconds
v1.DHCPPrivateOptions: option
v1.DeveloperConfiguration: cpuAllocationRatio memoryOvercommit pvcTolerateLessSpaceUpToPercent
v1.Interface: acpiIndex
v1.KubeVirtConfiguration: virtualMachineInstancesPerNode
v1.TokenBucketRateLimiter: burst
v1.VirtualMachineStartFailure: consecutiveFailCount
v1beta1.MemoryInstancetype: overcommitPercent
"""

# What the API's description lists for the items of these lists, which the facts leave out.
ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
ITEMS = {
    (owner, "accessModes"): ACCESS_MODES
    for owner in ("core.PersistentVolumeClaimSpec", "v1.PersistentVolumeClaimInfo", "v1beta1.StorageSpec")
}
# What Go reads where the schema of a release takes anything.
READ: dict[tuple[str, str], dict[str, Any]] = {
    ("v1.ResourceRequirements", field): {"type": {"*": "bare-quantity"}} for field in ("limits", "requests")
}

# The facts know the newest patch release of each minor one. These came with a later patch release than the first.
PATCHED = {
    ("v1.TPMDevice", "enabled"): ("1.4.1-1.4", "1.5.1-"),
    ("v1.Watchdog", "diag288"): ("1.5.1-",),
    ("v1beta1.DataVolumeSourceRegistry", "platform"): ("1.6.4-",),
    ("v1beta1.DataVolumeSourceVDDK", "extraArgs"): ("1.6.4-",),
}

# The kind KubeVirt is not among the facts, only its configuration is; the rest of its spec is the operator's.
KUBEVIRT = """
[v1.KubeVirt]
apiVersion string
kind string
metadata meta.ObjectMeta
spec v1.KubeVirtSpec
status any

[v1.KubeVirtSpec]
* any
configuration v1.KubeVirtConfiguration
"""


def _widths() -> dict[tuple[str, str], str]:
    found = {}
    for word, table in (("uint32", UNSIGNED_32), ("uint64", UNSIGNED_64), ("int64", SIGNED_64)):
        for line in table.split("\n"):
            owner, _, names = line.partition(":")
            found.update({(owner, name): word for name in names.split()})
    return found


WIDTHS = _widths()


class Maker:
    """One run over the facts."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.types: dict[str, Any] = facts["types"]
        self.order: list[str] = facts["order"]
        self.last = self.order[-1]

    def text(self) -> str:
        """The text of the file."""
        strange = [" ".join([minor(release), *sorted(self.strange(release))]) for release in self.order]
        parts = [self.section(name) for name in sorted(self.types, key=shorter) if self.is_structure(name)]
        return "\n".join([HEAD, "", "[strange]", *strange, "", *parts, KUBEVIRT.lstrip()])

    def strange(self, release: str) -> set[str]:
        """The names by which alone an object can hold a field that this release does not know and another does."""
        found = set()
        for name, owner in self.types.items():
            for field, forms in owner.get("fields", {}).items():
                here, elsewhere = [], []
                for form in forms if isinstance(forms, list) else [forms]:
                    first, last = form.get("releases", owner["releases"])
                    known = self.order.index(first) <= self.order.index(release) <= self.order.index(last)
                    (here if known else elsewhere).append(form)
                if any(span.startswith(f"{minor(release)}.") for span in PATCHED.get((shorter(name), field), ())):
                    found.add(field)
                if not here and "releases" in (forms if isinstance(forms, dict) else {"releases": True}):
                    found.add(field)
                for form in elsewhere if here else []:
                    found |= self.fields_of(form) - self.fields_of(here[0])
        return found

    def fields_of(self, form: dict[str, Any]) -> set[str]:
        """The names of the fields of the structure that a form leads to."""
        given = form["type"][0] if isinstance(form["type"], list) else form["type"]
        return set(self.types.get(given, {}).get("fields", {})) if isinstance(given, str) else set()

    def is_structure(self, name: str) -> bool:
        """True for a type that is written as a section; one of no fields is an empty structure."""
        found = self.types[name]
        return "fields" in found or (found["type"] == "object" and shorter(name) not in PLAIN)

    def section(self, name: str) -> str:
        """A type: its name, and a line for each form of each of its fields."""
        lines = [f"[{shorter(name)}]"]
        for field, forms in sorted(self.types[name].get("fields", {}).items()):
            several = forms if isinstance(forms, list) else [forms]
            several = [READ[shorter(name), field]] if (shorter(name), field) in READ else several
            whole = self.types[name]["releases"]
            for form in several:
                spans = PATCHED.get((shorter(name), field)) or [self.span(form.get("releases", whole), whole)]
                lines += [self.line(shorter(name), field, form, span) for span in spans]
        return "\n".join(lines) + "\n"

    def line(self, owner: str, field: str, form: dict[str, Any], span: str) -> str:
        """`name! 1.6-1.8 type enum=a|b`; no span where it is ""."""
        words = [field + "!" * bool(form.get("required"))]
        words += [span] if span else []
        words.append(self.word(owner, field, form))
        enum = form.get("enum") or ITEMS.get((owner, field))
        words += [f"enum={'|'.join(enum)}"] if enum else []
        words += [f"{key}={form[key]}" for key in ("minimum", "maximum", "pattern") if key in form]
        for word in words:
            if set(word) & set(" \t\n"):
                raise ValueError(f"the form can't hold {word!r} of {owner}.{field}")
        return " ".join(words)

    def span(self, releases: list[str], whole: list[str]) -> str:
        """`1.6-1.8`, `1.6-` up to the newest; "" for as many releases as the type has."""
        return "" if releases == whole else f"{minor(releases[0])}-{'' if releases[1] == self.last else minor(releases[1])}"

    def word(self, owner: str, field: str, form: dict[str, Any]) -> str:
        """The type of a form, in the file's words."""
        given = form["type"]
        if isinstance(given, list):
            return UNIONS.get(tuple(given)) or f"[{self.word(owner, field, {'type': given[0]})}]"
        if isinstance(given, dict):
            return f"{{{self.word(owner, field, {'type': given['*']})}}}"
        if given == "integer":
            return WIDTHS.get((owner, field)) or form.get("format") or "integer"
        if given not in self.types:
            return "{any}" if given == "object" else str(given)
        if self.is_structure(given):
            # KubeVirt's own schema lets every status be null.
            return shorter(given) + "?" * (field == "status")
        return PLAIN.get(shorter(given)) or str(self.types[given]["type"])


def make(facts: dict[str, Any]) -> str:
    """The text of the file."""
    return Maker(facts).text()


def shorter(name: str) -> str:
    """A type's name as the file has it."""
    for long, short in SHORTER.items():
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def minor(release: str) -> str:
    """`1.6` of `v1.6.6`."""
    return ".".join(release.removeprefix("v").split(".")[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the file of the API's types.")
    parser.add_argument("fields", type=Path)
    facts = parser.parse_args().fields
    FILE.write_text(make(json.loads(facts.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
