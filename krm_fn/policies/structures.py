"""The names that an expression may use, and the fields of those that are no plain data.

upstream: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
"""

from __future__ import annotations

from krm_fn.policies.unification import DYN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Kind = Any

TYPE_NAMES = frozenset(
    ("bool", "int", "uint", "double", "string", "bytes", "null_type", "list", "map", "type", "optional_type")
)
REQUEST_RESOURCE = "requestResource"  # of the authorizer
VARIABLES = "variables"  # the type of the variables of a policy, whose fields are its own
NAMES: dict[str, Kind] = {
    "object": DYN,
    "oldObject": DYN,
    "params": DYN,
    "request": "request",
    "namespaceObject": "namespace",
    "authorizer": "authorizer",
}
_TEXTS = ("map", "string", "string")
_GROUP_VERSION = {"group": "string", "version": "string"}
STRUCTURES: dict[Kind, dict[str, Kind]] = {
    "request": {
        "kind": "gvk",
        "resource": "gvr",
        "subResource": "string",
        "requestKind": "gvk",
        "requestResource": "gvr",
        "requestSubResource": "string",
        "name": "string",
        "namespace": "string",
        "operation": "string",
        "userInfo": "userInfo",
        "dryRun": "bool",
        "options": DYN,
    },
    "gvk": {**_GROUP_VERSION, "kind": "string"},
    "gvr": {**_GROUP_VERSION, "resource": "string"},
    "userInfo": {
        "username": "string",
        "uid": "string",
        "groups": ("list", "string"),
        "extra": ("map", "string", ("list", "string")),
    },
    "namespace": {"metadata": "nsMeta", "spec": "nsSpec", "status": "nsStatus"},
    "nsMeta": {
        "name": "string",
        "generateName": "string",
        "namespace": "string",
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "UID": "string",
        "creationTimestamp": "timestamp",
        "deletionGracePeriodSeconds": "int",
        "deletionTimestamp": "timestamp",
        "generation": "int",
        "resourceVersion": "string",
        "finalizers": ("list", "string"),
    },
    "nsSpec": {"finalizers": ("list", "string")},
    "nsStatus": {"conditions": ("list", "nsCondition"), "phase": "string"},
    "nsCondition": {
        "status": "string",
        "type": "string",
        "lastTransitionTime": "timestamp",
        "message": "string",
        "reason": "string",
    },
}
