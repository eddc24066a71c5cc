"""The published JSON Schema of the command's file `.kubevirt-render.yaml` (draft 2020-12)."""

from __future__ import annotations

from typing import Any

from krm_fn.base.bundle import CLUSTER_KINDS
from krm_fn.config.keys import API_VERSION, KIND
from krm_fn.config.repository import ACCESS_MODES, KINDS, NAME, VOLUME_MODES, allowed_build_flags
from krm_fn.config.schema import config_map, form, map_of, nested_values, policies, typed_keys

Schema = dict[str, Any]


ID = "urn:kubevirt-render:schema:v1alpha1:repository-config"  # a name: nothing is fetched for it
GLOB: Schema = {"description": "a name or a glob; any if it is absent", "type": ["string", "null"]}
UNSET: list[Schema] = [{"enum": ["", None]}]


def schema() -> Schema:
    """The schema of both forms; the ConfigMap has only the function config's keys."""
    own = form(API_VERSION, KIND, spec=map_of({**_keys(), "clusters": _clusters()}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": f"{NAME}: the config of a repository for kubevirt-render",
        "anyOf": [
            {"type": "null"},
            {"type": "object", "maxProperties": 0},
            {"$ref": "#/$defs/repository"},
            {"$ref": "#/$defs/configMap"},
        ],
        "$defs": {
            "repository": {**own, "required": ["kind"]},
            "configMap": config_map(),
            "globs": {"type": "array", "items": _glob()},
            "external": _external(),
            "claim": _claim(),
            "storageProfile": _profile(),
            "cluster": _cluster(),
            **nested_values(),
            "policyFiles": policies({"type": "string", "pattern": r"\S"}),
        },
    }


def _keys() -> Schema:
    """The keys of the function config, and those that only the command's file has."""
    shared = typed_keys()
    files = {
        "description": f"{shared['policies']['description']}; paths are relative to this file",
        "anyOf": [{"$ref": "#/$defs/policyFiles"}, *UNSET],
    }
    return {**shared, "policies": {**shared["policies"], **files}, **_own_keys()}


def _own_keys() -> Schema:
    """The keys that only the command's file has, the file as a whole and each cluster in it."""
    return {
        "exclude": {
            "description": "globs of files and folders that are not read, relative to this file",
            "anyOf": [{"$ref": "#/$defs/globs"}, *UNSET],
        },
        "external": {
            "description": "objects that are known to be in the cluster and are not in git",
            "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/external"}}, *UNSET],
        },
        "claims": {
            "description": "the access modes of claims that are not in git; the first entry that fits counts",
            "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/claim"}}, *UNSET],
        },
        "storageProfiles": {
            "description": "how CDI makes the claims of a storage class whose StorageProfile is not in git",
            "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/storageProfile"}}, *UNSET],
        },
        "variables": {
            "description": "values of variables that deliveries take from outside git",
            "anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, *UNSET],
        },
        "helm": {
            "description": "true: build Helm charts with `helm template`, and check what they make",
            "anyOf": [{"type": "boolean"}, *UNSET],
        },
        "rendered": {
            "description": "true: a pipeline renders what is in git, with this config, before it is applied",
            "anyOf": [{"type": "boolean"}, *UNSET],
        },
        "kustomizeBuildFlags": {
            "description": "flags of `kustomize build`",
            "anyOf": [{"type": "array", "items": {"enum": allowed_build_flags()}}, *UNSET],
        },
    }


def _clusters() -> Schema:
    return {
        "description": "the clusters that the repository is for; only in the file at the root of the repository",
        "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/cluster"}}, *UNSET],
    }


def _cluster() -> Schema:
    targets: Schema = {
        "description": "globs of the folders that are applied to this cluster, relative to this file",
        "$ref": "#/$defs/globs",
        "minItems": 1,
    }
    name: Schema = {"description": "the name of the cluster in messages", "type": "string", "minLength": 1}
    return {
        "type": "object",
        "required": ["name", "targets"],
        "additionalProperties": False,
        "properties": {"name": name, "targets": targets, **_keys()},
    }


def _glob() -> Schema:
    return {"type": "string", "minLength": 1, "pattern": r"^[^/]", "not": {"pattern": r"(^|/)\.\.(/|$)"}}


def _external() -> Schema:
    """A map with `kind`; a kind that is cluster-wide takes no namespace."""
    wide = {"properties": {"kind": {"enum": sorted(CLUSTER_KINDS)}}}
    return {
        "type": "object",
        "required": ["kind"],
        "additionalProperties": False,
        "properties": {"kind": {"enum": list(KINDS)}, "namespace": GLOB, "name": GLOB},
        "if": wide,
        "then": {"properties": {"namespace": {"enum": ["", None]}}},
    }


def _claim() -> Schema:
    return {
        "type": "object",
        "required": ["accessModes"],
        "additionalProperties": False,
        "properties": {"namespace": GLOB, "name": GLOB, "accessModes": _modes()},
    }


def _profile() -> Schema:
    name = {"description": "the name of the storage class, or a glob", "type": "string", "minLength": 1}
    mode = {"description": "the volumes that the access modes are for; all if it is absent", "enum": [*VOLUME_MODES, None]}
    default = {"description": "true: CDI takes this class where none is named", "type": ["boolean", "null"]}
    return {
        "type": "object",
        "required": ["name", "accessModes"],
        "additionalProperties": False,
        "properties": {"name": name, "accessModes": _modes(), "volumeMode": mode, "default": default},
    }


def _modes() -> Schema:
    return {"type": "array", "minItems": 1, "items": {"enum": list(ACCESS_MODES)}}
