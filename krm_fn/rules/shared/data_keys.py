"""The keys of the Secrets and ConfigMaps that a bundle contains or creates."""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, name_of, ref_of
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.base.redaction import looks_secret
from krm_fn.rules.shared.available_objects import MAKERS, made_by
from krm_fn.rules.shared.views import shared

Keys = frozenset[str] | None  # None: not all of them are known
Named = tuple[str, str, str]  # kind, namespace and name


# The names of data in the file systems of cloud-init, and as examples call them.
FILES = frozenset(("network-config", "meta-data", "vendor-data", "cloud-init", "cloudinit", "metadata", "config", "value"))


class Held:
    """A Secret or ConfigMap whose keys are known, or the object that creates it. Thousands of machines may read one.

    `lower` are its keys in small letters. `shown` are those that may be shown: they are spelled like the keys of secrets, or
    are the names of files for cloud-init. Others may be secrets themselves.
    """

    __slots__ = ("entry", "keys", "lower", "shown")

    def __init__(self, entry: Entry, keys: frozenset[str]) -> None:
        self.entry, self.keys = entry, keys
        self.lower = frozenset(map(str.lower, keys))
        self.shown = sorted(key for key in keys if looks_secret(key) or key in FILES)

    def __str__(self) -> str:
        return str(ref_of(self.entry.obj))


def data_keys(bundle: Bundle) -> dict[Named, Held | None]:
    """The Secrets and ConfigMaps by kind, namespace and name; None where not all keys are known.

    What has no key at all may be filled in the cluster, so its keys are not known. The result is kept.
    """
    return shared(bundle, _data_keys)


def _data_keys(bundle: Bundle) -> dict[Named, Held | None]:
    found: dict[Named, tuple[Entry, set[str]] | None] = {}
    for named, entry, keys in _all(bundle):
        kept = found.setdefault(named, (entry, set()))
        if kept is None or keys is None:
            found[named] = None
        else:
            kept[1].update(keys)
            found[named] = entry, kept[1]
    return {named: Held(kept[0], frozenset(kept[1])) if kept else None for named, kept in found.items()}


def _all(bundle: Bundle) -> Iterator[tuple[Named, Entry, Keys]]:
    for kind, fields in OWN.items():
        for entry in bundle.of_kind(kind, ""):
            yield (kind, effective_namespace(entry.obj), name_of(entry.obj)), entry, _of_maps(entry.obj, fields)
    for kind, group in {(maker.kind, maker.group): None for maker in MAKERS if maker.makes in OWN}:
        for entry in bundle.of_kind(kind, group):
            for named in made_by(entry.obj):
                yield named, entry, READERS[kind](entry.obj) if kind in READERS else None


def _of_maps(obj: Object, places: tuple[Path, ...]) -> Keys:
    """The keys of the maps at these places; None where there are none, one is no map, or a later step writes a key."""
    values = [value for place in places if (value := get(obj, place)) is not None]
    if not all(isinstance(value, dict) for value in values):
        return None
    keys = frozenset(key for value in values for key in value)
    return None if not keys or any(not isinstance(key, str) or is_filled_in(key) for key in keys) else keys


def _of_sealed(obj: Object) -> Keys:
    return _of_maps(obj, (("spec", "encryptedData"), ("spec", "template", "data")))


def _of_external(obj: Object) -> Keys:
    """upstream: external-secrets apis/externalsecrets/v1/externalsecret_types.go"""
    spec = as_map(obj.get("spec"))
    template = as_map(get(spec, ("target", "template")))
    if spec.get("dataFrom") or template.get("templateFrom") or get(spec, ("target", "creationPolicy")) in ("Merge", "None"):
        return None
    if isinstance(template.get("data"), dict) and template.get("mergePolicy") != "Merge":
        return _of_maps(template, (("data",),))
    named = {get(each, ("secretKey",)): None for each in as_list(spec.get("data"))}
    return _of_maps({"named": named, **template}, (("named",), ("data",)))


OWN: dict[str, tuple[Path, ...]] = {"Secret": (("data",), ("stringData",)), "ConfigMap": (("data",), ("binaryData",))}
READERS: dict[str, Callable[[Object], Keys]] = {"SealedSecret": _of_sealed, "ExternalSecret": _of_external}
