"""Why a machine can't be live-migrated, in the words of the rules about drains."""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import text
from krm_fn.base.paths import Path, get
from krm_fn.findings.finding import Related
from krm_fn.rules.facts.completed import EvictionFacts
from krm_fn.rules.registry import also

VMI_NAME: Path = ("spec", "vmiName")
INTERFACE = "cannot migrate VMI which does not use masquerade"


def migrated(bundle: Bundle) -> dict[tuple[str, str], Entry]:
    """The migrations of a bundle by the namespace and the name of their machines; of several for one the first counts."""
    found = [each for each in bundle.of_kind("VirtualMachineInstanceMigration") if not bundle.is_context(each.item)]
    keys = ((effective_namespace(each.obj), text(get(each.obj, VMI_NAME))) for each in reversed(found))
    return dict(zip(keys, reversed(found), strict=True))


def worded(eviction: EvictionFacts) -> tuple[str, str]:
    """The fact, and the fix if there is one in the object, with `, or ` after it."""
    fact = "the VM can't be live-migrated"
    if eviction.claim:
        return f"{fact} because claim {eviction.claim} is not ReadWriteMany", "make the claim ReadWriteMany, or "
    if eviction.message.startswith(INTERFACE):
        return f"{fact} because its interface on the pod network is not masquerade", "use masquerade, or "
    return f"{fact} ({eviction.message})", ""


def also_claim(eviction: EvictionFacts, bundle: Bundle) -> tuple[Related, ...]:
    """The place of the claim, where the bundle has it."""
    namespace = effective_namespace(eviction.entry.obj)
    for kind in ("PersistentVolumeClaim", "DataVolume") if eviction.claim else ():
        entry = bundle.find(kind, namespace, eviction.claim)
        if entry:
            return also(entry, ("spec",))
    return ()
