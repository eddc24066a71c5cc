"""dataVolumeTemplates of a VirtualMachine.

upstream: pkg/storage/admitters/data-volume-template.go:ValidateDataVolumeTemplate
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, dotted, get, is_set
from krm_fn.kubevirt.admission.checks import count
from krm_fn.kubevirt.admission.scope import INVALID, REQUIRED, Cause, maps
from krm_fn.kubevirt.holders import DATA_VOLUMES
from krm_fn.kubevirt.releases import Release, Version

TEMPLATES = "pkg/storage/admitters/data-volume-template.go:"

# The fields of a volume that can name the result of a template.
CLAIMS = (("persistentVolumeClaim", "claimName"), ("dataVolume", "name"))
SOURCES = ("http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot")

# Before this release, a template only had to have a name and a volume that uses it, and both faults were reported.
CHECKED_SINCE: Version = (1, 4)
# Before this release, a template with another way of population had to name a source as well.
SOURCE_ALWAYS_UNTIL: Version = (1, 5)

# (place below the template, message, reason, upstream's place below its own word for the template)
Fault = tuple[tuple[str, ...], str, str, str]


def data_volume_templates(spec: Object, release: Release, place: Path = ("spec",)) -> Iterator[Cause]:
    """The first fault of each template of a VM's spec, as upstream reports it; `place` is the path of the spec."""
    named = [get(volume, claim) for volume in maps(get(spec, ("template", "spec", "volumes"))) for claim in CLAIMS]
    used = {name for name in named if isinstance(name, str)}
    for index, template in enumerate(maps(spec.get("dataVolumeTemplates"))):
        at, known_as = (*place, "dataVolumeTemplates", index), f"{dotted(place)}.dataVolumeTemplate[{index}]"
        first, name = release.within(until=CHECKED_SINCE), get(template, ("metadata", "name"))
        fault = _nameless(template) if first else _fault(template, release)
        if fault:
            yield _cause((*at, *fault[0]), fault[1], fault[2], known_as + fault[3], "validateDataVolume")
        name = (name or "") if first else name
        if (first or not fault) and name not in (used if isinstance(name, str) else named):
            message = "no volume uses the template; add a dataVolume volume with its name"
            yield _cause(at, message, REQUIRED, known_as, "ValidateDataVolumeTemplate")


def _cause(at: Path, message: str, reason: str, named: str, function: str) -> Cause:
    return Cause(path=at, message=message, reason=reason, upstream_path=named, upstream=TEMPLATES + function)


def _nameless(template: Object) -> Fault | None:
    if is_set(get(template, ("metadata", "name"))):
        return None
    return ("metadata", "name"), "the template has no name; set metadata.name", REQUIRED, ".name"


def _fault(template: Object, release: Release) -> Fault | None:
    """The first fault of a template. upstream: validateDataVolume"""
    spec, nameless = as_map(template.get("spec")), _nameless(template)
    if nameless:
        return nameless
    claims = count(spec, ("pvc", "storage"))
    if claims != 1:
        null = next((key for key in ("storage", "pvc") if key in spec), "")
        fact = f"{null} is null, so the template requests no storage" if null else "the template requests no storage"
        message = "pvc and storage are both set; keep one of them" if claims else ""
        return ("spec",), message or f"{fact}; set {null or 'storage'}", INVALID, ".PVC.Storage"
    claim = as_map(spec.get("pvc") if spec.get("pvc") is not None else spec.get("storage"))
    populated, sourced = count(claim, ("dataSource", "dataSourceRef")) > 0, count(spec, ("source", "sourceRef")) > 0
    if populated and sourced:
        return ("spec",), "dataSource cannot be combined with source or sourceRef; keep one of them", INVALID, ".source"
    if not sourced and (not populated or release.within(until=SOURCE_ALWAYS_UNTIL)):
        return ("spec",), "the template has no source; set source or sourceRef", INVALID, ".source.sourceRef"
    if spec.get("source") is not None and count(as_map(spec["source"]), SOURCES) != 1:
        return ("spec", "source"), f"source must have exactly one kind; set one of {', '.join(SOURCES)}", INVALID, ".source"
    return None


def foreign_namespaces(vm: Object) -> Iterator[Cause]:
    """Templates are in the VM's namespace. upstream: validateVirtualMachineDataVolumeTemplateNamespace"""
    home = get(vm, ("metadata", "namespace")) or "default"
    for index, template in enumerate(maps(get(vm, DATA_VOLUMES))):
        namespace = get(template, ("metadata", "namespace"))
        if is_set(namespace) and namespace != home:
            at = (*DATA_VOLUMES, index, "metadata", "namespace")
            message = f"the namespace differs from the VM's namespace {home}; remove it"
            named = f"spec.dataVolumeTemplates[{index}]"
            yield _cause(at, message, INVALID, named, "validateVirtualMachineDataVolumeTemplateNamespace")
