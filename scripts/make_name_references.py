"""Makes kustomization-examples/overlays-with-prefix/name-references.yaml from the table of the places that name objects.

python scripts/make_name_references.py
"""

from __future__ import annotations

from pathlib import Path

from krm_fn.base.paths import EACH
from krm_fn.kubevirt.holders import RENDERED
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.rules.shared.available_objects import GROUPS
from krm_fn.rules.shared.object_references import OWNERS

FILE = Path(__file__).resolve().parents[1] / "kustomization-examples/overlays-with-prefix/name-references.yaml"
HEAD = """\
# The fields of KubeVirt in which kustomize updates names. By default it knows none of them.
# List this file below `configurations:` in the kustomization that has the prefix, the suffix or the generator.
nameReference:
"""
SIZES = "instancetype.kubevirt.io"
VMS = tuple((holder.kind, holder.group, "/".join(map(str, holder.in_vm(("spec",))))) for holder in RENDERED)


def fields() -> dict[str, list[tuple[str, str, str]]]:
    """For each kind that is named: kind, group and path of the fields that name it."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for matcher in MATCHERS:
        for kind in matcher.kinds:
            found[kind] = [(owner, group, f"{spec}/{matcher.field}/name") for owner, group, spec in VMS]
    for (group, owner), ways in OWNERS.items():
        for way, row in ((way, row) for way, rows in ways for row in rows):
            path = "/".join(str(step) for step in (*way, *row.place) if step != EACH)
            for kind in row.among or (row.kind or "DataSource",):
                found.setdefault(kind, []).append((owner, group, path))
                if kind == "PersistentVolumeClaim":  # which a DataVolume makes under its own name
                    found.setdefault("DataVolume", []).append((owner, group, path))
    return found


def text() -> str:
    """The whole file."""
    lines = []
    for kind, places in sorted(fields().items()):
        group = GROUPS.get(kind, SIZES)
        lines += [f"  - kind: {kind}", *([f"    group: {group}"] if group else []), "    fieldSpecs:"]
        for owner, of_owner, path in places:
            lines += [f"      - kind: {owner}", f"        group: {of_owner}", f"        path: {path}"]
    return HEAD + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    FILE.write_text(text())
