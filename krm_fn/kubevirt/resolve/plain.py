"""Stored instancetypes and preferences that Go can certainly decode, judged by their most common fields alone.

The table of all types, in `schema`, takes longer to load than a small bundle to render. False means: use that table.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.kubevirt.quantity import parse

ANY = ""  # stands for every key of a map


def _is_text(value: Any) -> bool:
    return value.__class__ is str


def _is_truth(value: Any) -> bool:
    return value.__class__ is bool


def _is_count(value: Any) -> bool:
    return value.__class__ is int and 0 <= value < 2**32


def _is_size(value: Any) -> bool:
    return value.__class__ is str and parse(value) is not None


TEXTS = {ANY: _is_text}
# Fields of one name have the same type in instancetypes and preferences. If a kind does not have a field, Go ignores it.
FIELDS = {
    "apiVersion": _is_text,
    "kind": _is_text,
    "metadata": {"name": _is_text, "namespace": _is_text, "uid": _is_text, "labels": TEXTS, "annotations": TEXTS},
    "spec": {
        "annotations": TEXTS,
        "cpu": {
            "guest": _is_count,
            "maxSockets": _is_count,
            "model": _is_text,
            "dedicatedCPUPlacement": _is_truth,
            "isolateEmulatorThread": _is_truth,
            "preferredCPUTopology": _is_text,
        },
        "memory": {"guest": _is_size, "overcommitPercent": _is_count, "hugepages": {"pageSize": _is_text}},
        "ioThreadsPolicy": _is_text,
        "schedulerName": _is_text,
        "nodeSelector": TEXTS,
        "devices": {"preferredDiskBus": _is_text, "preferredInterfaceModel": _is_text, "preferredRng": {}},
        "requirements": {"cpu": {"guest": _is_count}, "memory": {"guest": _is_size}},
    },
}


def is_plain(value: Any, form: Any = None) -> bool:
    """True for an object of common fields with values of their types; null counts as absent."""
    form = FIELDS if form is None else form
    if value is None:
        return True
    if form.__class__ is not dict:
        return bool(form(value))
    return value.__class__ is dict and all(_is_plain_field(form.get(key, form.get(ANY)), value[key]) for key in value)


def _is_plain_field(form: Any, value: Any) -> bool:
    return form is not None and is_plain(value, form)
