"""The fields of one release's API in the words of `krm_fn/schema/api.txt`; `krm_fn/schema/table.py` says what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubevirt_api import Types

# The kinds whose types the table has, each in the releases whose API has it.
ROOTS = (
    "v1.VirtualMachine",
    "v1.VirtualMachineInstance",
    "v1.VirtualMachineInstanceReplicaSet",
    "v1.VirtualMachineInstancePreset",
    "v1.KubeVirtConfiguration",
    "v1beta1.VirtualMachineInstancetype",
    "v1beta1.VirtualMachineClusterInstancetype",
    "v1beta1.VirtualMachinePreference",
    "v1beta1.VirtualMachineClusterPreference",
    "v1alpha1.VirtualMachinePool",
    "v1beta1.VirtualMachinePool",
)
# Of the kind KubeVirt only the configuration is read, the rest of its spec is the operator's.
KUBEVIRT = {
    "v1.KubeVirt": {
        "apiVersion": "string",
        "kind": "string",
        "metadata": "meta.ObjectMeta",
        "spec": "v1.KubeVirtSpec",
        "status": "any",
    },
    "v1.KubeVirtSpec": {"*": "any", "configuration": "v1.KubeVirtConfiguration"},
}

SHORTER = {
    "k8s.io.api.core.v1.": "core.",
    "k8s.io.apimachinery.pkg.apis.meta.v1.": "meta.",
    "k8s.io.apimachinery.pkg.": "machinery.",
}
# Types that the API describes as Go's decoder does not read them.
PLAIN = {
    "machinery.api.resource.Quantity": "quantity",
    "machinery.util.intstr.IntOrString": "int-or-string",
    "meta.Duration": "duration",
    "meta.Time": "time",
    "meta.FieldsV1": "any",
}
UNIONS = {("string", "number"): "int-or-string", ("string", "null"): "time?"}
# The API knows neither signs nor all widths of KubeVirt's own integers: what Go reads them into, where an int has 64 bits.
INTEGERS = {"int": "int64", "uint": "uint64", "uint32": "uint32", "uint64": "uint64", "int32": "int32", "int64": "int64"}
# What Go reads where the API of a release takes anything.
READ = {("v1.ResourceRequirements", field): "{bare-quantity}" for field in ("limits", "requests")}


def lines(types: Types) -> dict[str, dict[str, str]]:
    """The words of one release's fields, by type and field; a required field has a `!` behind its name.

    Raises: ValueError for what the table's form can't hold.
    """
    return {shorter(name): _section(name, types) for name in reachable(types) if is_structure(name, types)} | KUBEVIRT


def reachable(types: Types) -> list[str]:
    """The types that the roots lead to, themselves included."""
    found = [name for name in ROOTS if name in types]
    for name in found:
        for field in types[name]["fields"].values():
            word = field["type"]
            while isinstance(word, list | dict) and len(word) == 1:
                (word,) = word if isinstance(word, list) else word.values()
            if isinstance(word, str) and word in types and word not in found:
                found.append(word)
    return found


def is_structure(name: str, types: Types) -> bool:
    """True for a type that is written as a section; one without fields is an empty structure."""
    return bool(types[name]["fields"]) or (types[name]["openapi"].get("type") == "object" and shorter(name) not in PLAIN)


def _section(name: str, types: Types) -> dict[str, str]:
    fields = types[name]["fields"]
    return {key + "!" * field["required"]: _words(name, key, field, types) for key, field in fields.items()}


def _words(owner: str, key: str, field: dict[str, Any], types: Types) -> str:
    """`type enum=a|b`."""
    said = field["openapi"]
    words = [READ.get((owner, key)) or _word(owner, key, field, types)]
    enum = said.get("enum") or said.get("items", {}).get("enum")
    words += [f"enum={'|'.join(enum)}"] if enum else []
    words += [f"{limit}={said[limit]}" for limit in ("minimum", "maximum", "pattern") if limit in said]
    for word in words:
        if set(word) & set(" \t\n"):
            raise ValueError(f"the table's form can't hold {word!r} of {owner}.{key}")
    return " ".join(words)


def _word(owner: str, key: str, field: dict[str, Any], types: Types) -> str:
    """The type of a field, in the table's words."""
    given = field["type"]
    if isinstance(given, list):
        return UNIONS.get(tuple(given)) or f"[{_word(owner, key, {**field, 'type': given[0]}, types)}]"
    if isinstance(given, dict):
        return f"{{{_word(owner, key, {**field, 'type': given['*']}, types)}}}"
    if given == "integer":
        return _integer(owner, key, field)
    if given not in types:
        return "{any}" if given == "object" else str(given)
    if is_structure(given, types):
        # KubeVirt's own schema lets every status be null.
        return shorter(given) + "?" * (key == "status")
    return PLAIN.get(shorter(given)) or str(types[given]["openapi"]["type"])


def _integer(owner: str, key: str, field: dict[str, Any]) -> str:
    if owner.startswith("k8s.io."):
        return str(field["openapi"]["format"])
    go = field.get("go", "")
    word = INTEGERS.get(go.rpartition("]")[2])  # int of []int and map[string]int
    if word is None:
        raise ValueError(f"the Go type of {owner}.{key} is {go or 'not found'}; expected one of {', '.join(INTEGERS)}")
    return word


def shorter(name: str) -> str:
    """A type's name as the file has it."""
    for long, short in SHORTER.items():
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name
