"""Writes what catalogues ask for: image/metadata.yaml (kpt) and image/function-definition.yaml (the KRM specification).

python scripts/make_metadata.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from krm_fn import __version__
from krm_fn.cli import metadata
from krm_fn.config.keys import API_VERSION, KEYS, KIND
from krm_fn.config.schema import schema

FOLDER = Path(__file__).resolve().parents[1] / "image"
CATALOGUE_KEYS = ("image", "description", "tags", "sourceURL", "examplePackageURLs", "license", "hidden")


def openapi(row: dict[str, Any]) -> dict[str, Any]:
    """A key's row of our JSON Schema, in the words of OpenAPI v3: no lists of types, no null among the values."""
    told = {key: row[key] for key in ("description", "default", "pattern") if row.get(key, "") != ""}
    values = [value for value in row.get("enum", ()) if value not in ("", None)]
    if isinstance(row["default"], bool):
        return {**told, "type": "boolean", "nullable": True}
    if values:
        return {**told, "type": "string", "enum": ["", *values], "nullable": True}
    if "anyOf" in row:
        return {**told, "type": "object", "x-kubernetes-preserve-unknown-fields": True, "nullable": True}
    return {**told, "type": "string", "nullable": True}


def definition() -> dict[str, Any]:
    """The KRMFunctionDefinition."""
    said = metadata()
    group, _, version = API_VERSION.partition("/")
    rows = schema()["$defs"]["typed"]["properties"]["spec"]["properties"]
    spec = {"type": "object", "properties": {key.name: openapi(rows[key.name]) for key in KEYS}}
    whole = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": spec}
    return {
        "apiVersion": "config.kubernetes.io/v1alpha1",
        "kind": "KRMFunctionDefinition",
        "metadata": {"name": "kubevirt-render"},
        "spec": {
            "group": group,
            "names": {"kind": KIND},
            "description": said["description"],
            "versions": [
                {
                    "name": version,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": whole}},
                    "idempotent": True,
                    "usage": said["long"],
                    "examples": [said["examples"]],
                    "license": said["license"],
                    "runtime": {"container": {"image": f"kubevirt-render:{__version__}"}},
                }
            ],
        },
    }


def texts() -> dict[str, str]:
    """File name to text."""
    catalogue = {key: metadata()[key] for key in CATALOGUE_KEYS}
    plain = json.loads(json.dumps({"metadata.yaml": catalogue, "function-definition.yaml": definition()}))
    made = "# Made by scripts/make_metadata.py\n"
    return {name: made + yaml.safe_dump(obj, sort_keys=False, width=10**6, allow_unicode=True) for name, obj in plain.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / name).write_text(text)
