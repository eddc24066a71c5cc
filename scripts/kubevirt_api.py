"""What the API of one KubeVirt release says, read from the sources of that release.

`read(source, version)` gives {"types": {name: type}, "kinds": {name: kind}}:

    type   {"fields": {name: field}, "openapi": SCHEMA, "crd": SCHEMA}
    field  {"type": word, "required": bool, "openapi": SCHEMA, "crd": SCHEMA, "go": "uint32"}
    kind   {"versions": {"v1beta1", …}, "namespaced": bool, "status": bool, "scale": bool}

Types are those of the release's OpenAPI document, all of them. Kinds are those of its CRDs, with the versions that are served
and the subresources. A word is a type of JSON ("string", or two of them in a list), the name of a type, `[word]` for a list, or
`{"*": word}` for a map of any keys. A SCHEMA has what the document says besides the word: `enum`, `minimum`, `format`,
`x-kubernetes-list-type` and so on; below `items` for the entries of a list, below `additionalProperties` for those of a map.

`openapi` is what KubeVirt's webhooks hold objects against, `crd` is what the API server does. A field has a `crd` where a CRD
leads to it, a type where it is the root of one. `go` is the Go type that a field is decoded into; fields that Kubernetes' own
structs have don't tell it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from upstream import Source, Version, text_of

Schema = dict[str, Any]
Types = dict[str, dict[str, Any]]
Api = dict[str, Types]

OPENAPI = "api/openapi-spec/swagger.json"
COMPONENTS = "pkg/virt-operator/resource/generate/components"
VALIDATIONS, CRDS = f"{COMPONENTS}/validations_generated.go", f"{COMPONENTS}/crds.go"
API = "staging/src/kubevirt.io/api"
REGISTER = f"{API}/core/v1/register.go"
IMPORTER = "vendor/kubevirt.io/containerized-data-importer-api/pkg/apis/core"

# What is the structure itself or nothing to a machine.
NO_CONSTRAINTS = frozenset(("$ref", "description", "properties"))

VALIDATION = re.compile(r'^\t"(\w+)": `(.*?)`,$', re.MULTILINE | re.DOTALL)
STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^\t(?:\w+\s+)?(\S+)\s+`[^`\n]*json:"([\w-]*)[",]', re.MULTILINE)
KIND = re.compile(r'\tKind:\s+(?:"(\w+)"|\w+\.(\w+?)(?:GroupVersion)?Kind\.Kind),')
SERVED = re.compile(r'Name:\s+(?:"(\w+)"|(\w+)\.[\w.]+),\s+Served:\s+true,')
IMPORT = re.compile(r'^\t(\w+) "[\w./-]+/(\w+)"$', re.MULTILINE)


def read(source: Source, version: Version) -> Api:
    """The API of a release.

    Raises: ValueError where the sources disagree: on the kinds, on the fields of a type, or on what is asked of a field.
    """
    types, known = _types(json.loads(source.text(version, OPENAPI))["definitions"]), kinds(source, version)
    schemas = dict(VALIDATION.findall(source.text(version, VALIDATIONS)))
    for kind in known:
        if kind.lower() not in schemas:
            raise ValueError(f"{VALIDATIONS} of KubeVirt {text_of(version)} has no schema of {kind}")
        schema = yaml.load(schemas[kind.lower()], yaml.CSafeLoader)["openAPIV3Schema"]
        for name, found in types.items():
            if name.rpartition(".")[2] == kind and "apiVersion" in found["fields"]:
                found["crd"] = constraints(schema)
                _add_crd(schema, name, types, kind)
    _add_go(source.go_files(version, API, IMPORTER), types)
    return {"types": types, "kinds": known}


def constraints(schema: Schema) -> Schema:
    """What a schema says of the values of one place, and of the entries of a list or map in it."""
    found = {key: value for key, value in schema.items() if key not in NO_CONSTRAINTS}
    for entries in ("items", "additionalProperties"):
        if isinstance(found.get(entries), dict):
            found[entries] = constraints(found[entries])
    return found


def _types(definitions: dict[str, Schema]) -> Types:
    return {name: _type(schema) for name, schema in definitions.items()}


def _type(schema: Schema) -> dict[str, Any]:
    required = schema.get("required", ())
    fields = {
        name: {"type": _word(below), "required": name in required, "openapi": constraints(below)}
        for name, below in schema.get("properties", {}).items()
    }
    return {"fields": fields, "openapi": constraints(schema)}


def _word(schema: Schema) -> Any:
    if "$ref" in schema:
        return schema["$ref"].removeprefix("#/definitions/")
    if schema["type"] == "array":
        return [_word(schema["items"])]
    if isinstance(schema.get("additionalProperties"), dict):
        return {"*": _word(schema["additionalProperties"])}
    return schema["type"]


def _add_crd(schema: Schema, name: str, types: Types, place: str) -> None:
    """Add what a CRD says of the fields of a type, and of the types below."""
    for key, below in schema.get("properties", {}).items():
        field = types[name]["fields"].get(key)
        if field is None:
            raise ValueError(f"{place}.{key}: the CRD has this field, {OPENAPI} has none of that name in {name}")
        said = constraints(below)
        if field.setdefault("crd", said) != said:
            raise ValueError(f"{place}.{key}: the CRDs differ on {key} of {name}: {field['crd']} elsewhere, {said} here")
        inner, word = below, field["type"]
        while isinstance(word, list | dict) and len(word) == 1:
            inner = inner["items" if isinstance(word, list) else "additionalProperties"]
            word = word[0] if isinstance(word, list) else word["*"]
        if isinstance(word, str) and word in types:
            _add_crd(inner, word, types, f"{place}.{key}")


def _add_go(files: dict[str, str], types: Types) -> None:
    """Add the Go types of fields. Structs of one name in several packages are told apart by their fields."""
    bodies: dict[str, list[str]] = {}
    for path, text in files.items():
        for struct, body in STRUCT.findall(text):
            bodies.setdefault(f"{path.split('/')[-2]}.{struct}", []).append(body)
    for name, found in types.items():
        structs = [_go_fields(body, name.partition(".")[0], bodies) for body in bodies.get(name, ())]
        fitting = [fields for fields in structs if fields.keys() <= found["fields"].keys()]
        for field, word in max(fitting, key=len, default={}).items():
            found["fields"][field]["go"] = word


def _go_fields(body: str, package: str, bodies: dict[str, list[str]]) -> dict[str, str]:
    """{JSON's name: Go type} of the fields of a struct, with those of the structs of its package that it embeds."""
    found = {}
    for pointer, name in FIELD.findall(body):
        word = pointer.lstrip("*")
        if name:
            found[name] = word
        for embedded in () if name else bodies.get(f"{package}.{word}", ()):
            found |= _go_fields(embedded, package, bodies)
    return found


def kinds(source: Source, version: Version) -> dict[str, dict[str, Any]]:
    """What the CRDs of a release say of their kinds."""
    text = source.text(version, CRDS)
    packages = dict(IMPORT.findall(text))
    core = {name for name, _ in SERVED.findall(source.text(version, REGISTER))}
    found = {}
    for function in text.split("\nfunc New")[1:]:
        if "Singular:" in function:
            found[_kind(function)] = {
                "versions": {name or packages[alias] for name, alias in SERVED.findall(function)} or core,
                "namespaced": "ClusterScoped" not in function,
                "status": "Status: &" in function,
                "scale": "Scale: &" in function,
            }
    return found


def _kind(function: str) -> str:
    """The kind that a function of the operator defines; the function has its name where another file has the kind."""
    names = [literal or variable for literal, variable in KIND.findall(function) if literal != "CustomResourceDefinition"]
    return names[0] if names else function.partition("Crd(")[0]
