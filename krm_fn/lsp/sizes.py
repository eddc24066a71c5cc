"""What the machines of one target need, by kind, namespace and name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.errors import RenderError
from krm_fn.base.paths import as_map
from krm_fn.kubevirt import quantity
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.pipeline.surroundings import bundle_of

if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.repositories.homes import Material

    Key = tuple[str, str, str]

GIB = 1024**3
MIB = 1024**2


def records(material: Material) -> dict[Key, Object]:
    """The records of `capacity` for all machines of a unit; empty where they can't be made."""
    found, beside = material.found, material.surroundings
    bundle = bundle_of(found.items, found.places, found.units, beside)
    try:
        facts = facts_of(bundle, material.settings.config, surroundings=beside)
        made = [each.record for each in demands_of(facts, migrations=True)]
    except RenderError:
        return {}
    return {(each["kind"], each["namespace"], each["name"]): each for each in made}


def size(record: Object) -> str:
    """The guest's size in words: `4 vCPUs, 8 GiB`; "" where it is not known."""
    parts = []
    if record.get("vcpus"):
        parts.append(f"{record['vcpus']} vCPU{'s' * (record['vcpus'] != 1)}")
    if record.get("memory"):
        parts.append(memory(record["memory"]))
    return ", ".join(parts)


def of_spec(spec: Object) -> str:
    """The size that the spec of an instancetype gives, or a preference's requirements ask for: `4 vCPUs, 8 GiB`; or ""."""
    cpu, guest = as_map(spec.get("cpu")).get("guest"), as_map(spec.get("memory")).get("guest")
    words = [f"{cpu} vCPU{'s' * (cpu != 1)}"] if cpu else []
    return ", ".join([*words, memory(guest)] if guest else words)


def why_unknown(record: Object) -> str:
    """Why a machine has no size: `refused: …`, `unknown: …`."""
    for key in ("refused", "unknown"):
        if record.get(key):
            return f"{key}: {record[key][0]}"
    return "size not known"


def topology(record: Object) -> str:
    """The guest's topology: `4 sockets, 2 cores, 1 thread`; "" where it is not known."""
    found = as_map(record.get("topology"))
    words = [f"{found[f'{word}s']} {word}{'s' * (found[f'{word}s'] != 1)}" for word in WORDS if found.get(f"{word}s")]
    return ", ".join(words)


WORDS = ("socket", "core", "thread")


def pod(record: Object) -> str:
    """What the pod requests: `1 CPU, 4.2 GiB`; why there is none; "" where nothing is known."""
    if record.get("podError"):
        return str(record["podError"])
    requests = as_map(as_map(record.get("pod")).get("requests"))
    parts = [f"{requests['cpu']} CPU"] if requests.get("cpu") else []
    return ", ".join([*parts, memory(requests["memory"])] if requests.get("memory") else parts)


def memory(written: object) -> str:
    """A quantity of bytes as people read it: `8 GiB`, `512 MiB`."""
    found = quantity.parse(written)
    if found is None:
        return str(written)
    number = found.nanos // 10**9
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if number >= unit:
            return f"{round(number / unit, 1):g} {name}"
    return f"{number} bytes"
