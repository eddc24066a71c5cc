"""Fields, values and causes of a change in the words of a reader: `CPU sockets 2 → 4`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object
from krm_fn.base.redaction import HIDDEN
from krm_fn.changes.owners import SOURCES

if TYPE_CHECKING:
    from krm_fn.cli.output_files import Pen


LONGEST = 80
CONTEXT = 20  # letters before the first difference of two long texts
STEP = expression(r"/([^/\[]*)(?:\[([^\]]*)\])?")
CAPITAL = expression(r"(?<=[a-z0-9])(?=[A-Z])")

# Fields that have a name of their own.
FIELDS = {
    "/spec/domain/cpu/sockets": "CPU sockets",
    "/spec/domain/cpu/cores": "CPU cores per socket",
    "/spec/domain/cpu/threads": "CPU threads per core",
    "/spec/domain/cpu/maxSockets": "hotplug limit of CPU sockets",
    "/spec/domain/memory/guest": "guest memory",
    "/spec/domain/memory/maxGuest": "hotplug limit of guest memory",
    "/spec/domain/memory/hugepages/pageSize": "size of huge pages",
}
# Steps that say nothing to a reader.
SILENT = frozenset(("spec", "domain", "devices", "resources"))
# How one entry of a list or a map is called.
ENTRIES = {
    "disks": "disk",
    "filesystems": "filesystem",
    "volumes": "volume",
    "interfaces": "interface",
    "networks": "network",
    "gpus": "GPU",
    "hostDevices": "host device",
    "inputs": "input device",
    "features": "feature",
    "ports": "port",
    "labels": "label",
    "annotations": "annotation",
    "nodeSelector": "node selector",
    "requests": "request of",
    "limits": "limit of",
}
# Keys that are not spelt as people do.
WORDS = {
    "gpus": "GPUs",
    "cloudInitNoCloud": "cloud-init",
    "cloudInitConfigDrive": "cloud-init",
    "persistentVolumeClaim": "claim",
    "claimName": "name",
    "bootloader": "boot loader",
    "ioThreadsPolicy": "I/O threads policy",
}
# Maps whose keys are names of users.
NAMED = frozenset(("labels", "annotations", "nodeSelector", "requests", "limits"))
# Words that are written in capitals.
CAPITALS = frozenset(
    (
        *("acpi", "apic", "bios", "cpu", "dns", "efi", "gpu", "hpet", "ip", "ksm", "kvm", "mac", "nic", "numa", "pci"),
        *("rng", "rtc", "sev", "smm", "ssh", "tdx", "tls", "tpm", "uefi", "uid", "usb", "uuid", "vsock"),
    )
)
MANIFEST = "the manifest: "
NAMES = ("instancetype", "cluster-instancetype", "preference", "cluster-preference")
SIZES = frozenset(
    (
        *(f"/spec/domain/cpu/{key}" for key in ("sockets", "cores", "threads", "maxSockets")),
        *("/spec/domain/memory/guest", "/spec/domain/memory/maxGuest"),
    )
)
NOTES = tuple(f"/annotations/kubevirt.io~1{name}-name" for name in NAMES)
LIMITS = ("/spec/domain/cpu/maxSockets", "/spec/domain/memory/maxGuest")
# When a change takes effect.
WHEN = {
    "live": "at once",
    "migration": "after the migration",
    "restart": "after a restart",
    "nextStart": "at the next start",
    "new": "in new ones",
}
# Nothing moves a running VM because its placement changes.
AT_MOVE = "at once, for the next migration or start"


def field(pointer: str, pen: Pen) -> str:
    """A field of an instance: `disk root: bus`."""
    if pointer in FIELDS:
        return FIELDS[pointer]
    words: list[str] = []
    steps = list(_steps(pointer))
    for before, (key, entry) in steps:
        is_one = entry or (before, (key, entry)) != steps[-1]
        if before in NAMED:
            words.append(pen.name(key.replace("~1", "/").replace("~0", "~")))
        elif key not in SILENT and not (before == "disks" and key == "disk"):
            words.append((ENTRIES.get(key) if is_one else None) or _spelt(key, pen))
        if entry:
            words.append(pen.name(entry) + ":")
    return " ".join(words).removesuffix(":") or pen.name(pointer)


def _steps(pointer: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each step with the key before it."""
    before = ""
    for found in STEP.finditer(pointer):
        yield before, (found[1], found[2] or "")
        before = found[1]


def _spelt(key: str, pen: Pen) -> str:
    """`macAddress` as `MAC address`."""
    if key in WORDS:
        return WORDS[key]
    if not key.isalnum():
        return pen.name(key)
    words = [word.lower() for word in CAPITAL.split(key)]
    return " ".join(word.upper() if word in CAPITALS else word for word in words)


def change(each: Object, pen: Pen) -> str:
    """A change with its time: `CPU sockets 2 → 4, after a restart`."""
    when = AT_MOVE if each["when"] == "live" and each["part"] == "scheduling" else WHEN[each["when"]]
    return f"{field(each['path'], pen)} {values(each, pen)}, {when}"


def values(each: Object, pen: Pen) -> str:
    """Both values: `2 → 4`; whole parts of an object are `added` or `removed`."""
    old, new = each.get("old"), each.get("new")
    if unknown := each.get("unknown"):
        return " → ".join("not known" if key in unknown else value(each.get(key), pen) for key in ("old", "new"))
    if HIDDEN in (old, new):
        return f"{'added' if old is None else 'removed' if new is None else 'changed'} {HIDDEN}"
    if old is None and isinstance(new, dict | list):
        return _whole("added", new, pen)
    if new is None and isinstance(old, dict | list):
        return _whole("removed", old, pen)
    if isinstance(old, list) and isinstance(new, list) and sorted(map(_text, old)) == sorted(map(_text, new)):
        return "in another order"
    texts = _text(old), _text(new)
    if texts[0] == texts[1]:  # a number or a boolean, and its text
        texts = json.dumps(old), json.dumps(new)
    pairs = enumerate(zip(*texts, strict=False))
    same = next((at for at, letters in pairs if len(set(letters)) > 1), min(map(len, texts)))
    write = pen.name if isinstance(old, dict | list) or isinstance(new, dict | list) else pen.prose
    return " → ".join(write(_short(text, same)) for text in texts)


def _whole(verb: str, part: Any, pen: Pen) -> str:
    return f"{verb}: {pen.name(_short(_text(part)))}" if part else verb


def value(given: Any, pen: Pen) -> str:
    """One value, in so few letters that it fits into a line."""
    return pen.prose(_short(_text(given)))


def _text(given: Any) -> str:
    if given is None:
        return "none"
    if isinstance(given, dict):
        given = {key: below for key, below in given.items() if key != "name"} or given
    return given if isinstance(given, str) and given else json.dumps(given, ensure_ascii=False)


def _short(text: str, same: int = 0) -> str:
    """The text, cut to what fits into a line. `same`: how many letters are not worth showing if the text is too long."""
    if len(text) <= LONGEST:
        return text
    start = max(0, same - CONTEXT) if same > LONGEST // 2 else 0
    end = start + LONGEST - 6
    return f"{'...' * bool(start)}{text[start:end]}{'...' * (end < len(text))}"


def cause(each: Object, pen: Pen, *, valued: bool = True) -> str:
    """The edit that is the cause: `VirtualMachineInstancetype shop/small: spec.cpu.guest 2 → 4`."""
    if each["source"] == "release":
        return f"KubeVirt {pen.prose(each['old'])} → {pen.prose(each['new'])}"
    edited = f" {values(each, pen)}" if valued and ("old" in each or "new" in each) else ""
    if each["source"] in SOURCES.values():
        return f"{MANIFEST}{pen.name(each['field'])}{edited}"
    keys = ("name",) if "Cluster" in each["kind"] else ("namespace", "name")
    name = "/".join(each[key] for key in keys if key in each)
    origin = " in the catalogue of the release" if each["source"] == "catalogue" else ""
    return f"{pen.prose(each['kind'])}{' ' if name else ''}{pen.name(name)}: {pen.name(each['field'])}{edited}{origin}"


def causes(texts: Collection[str]) -> str:
    """Several causes in a row; the manifest is named once."""
    own = [text.removeprefix(MANIFEST) for text in texts if text.startswith(MANIFEST)]
    others = [text for text in texts if not text.startswith(MANIFEST)]
    return " and ".join([*([MANIFEST + " and ".join(own)] if own else []), *others])


def guest(record: Object, pen: Pen, *, changes: Sequence[Object] = ()) -> str:
    """How the size of the guest changes, without what `changes` say in the same words: `vCPUs 2 → 4, memory 2Gi → 4Gi`."""
    words = {"vcpus": "vCPUs", "memory": "memory"}
    said = [_both(each) for each in changes if each["path"] in SIZES and not _is_limit(each)]
    sizes = {key: size for key, size in record.get("guest", {}).items() if _both(size) not in said}
    return ", ".join(f"{word} {values(sizes[key], pen)}" for key, word in words.items() if key in sizes)


def _both(each: Object) -> tuple[Any, Any]:
    return each.get("old"), each.get("new")


def change_lines(changes: Sequence[Object], pen: Pen) -> Iterator[str]:
    """The changes by their causes. A single change of a cause has it in its line. No cause repeats values of its changes."""
    by_cause: dict[tuple[str, ...], list[Object]] = {}
    for each in changes:
        by_cause.setdefault(tuple(cause(one, pen) for one in each["causes"]), []).append(each)
    for told, several in by_cause.items():
        shown = [each for each in several if not _notes_the_name(each)] or several
        if len(shown) > 1 and told:
            yield f"  because of {_causes(shown, pen)}:"
            yield from (f"    {change(each, pen)}" for each in sorted(shown, key=_is_limit))
        else:
            yield from (f"  {change(each, pen)}{_because(each, pen)}" for each in shown)


def _notes_the_name(each: Object) -> bool:
    """True for the annotation with the name of an instancetype or a preference, where the cause has this name."""
    return each["path"] in NOTES and any(_both(each) == _both(one) for one in each["causes"])


def _causes(changes: Sequence[Object], pen: Pen) -> str:
    """The causes that changes have in common."""
    said = [_both(each) for each in changes]
    return causes([cause(one, pen, valued=_both(one) not in said) for one in changes[0]["causes"]])


def _because(each: Object, pen: Pen) -> str:
    """The causes of one change."""
    return f"; because of {_causes([each], pen)}" if each["causes"] else ""


def _is_limit(each: Object) -> bool:
    """True for what only follows from the size of the guest; a reader wants to see the size first."""
    return each["path"] in LIMITS
