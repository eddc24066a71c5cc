"""The names in texts and objects: by these, units take objects of one another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from krm_fn.base.objects import text
from krm_fn.base.paths import as_list, get
from krm_fn.kubevirt.holders import holder_of
from krm_fn.sources.places import MATCHERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.objects import Object

WORD = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]*")


def words(text: bytes) -> frozenset[str]:
    """The words of a text that may be names."""
    return frozenset(word.decode() for word in set(WORD.findall(text)))


def wanted(obj: Object) -> Iterator[str]:
    """The names of the instancetype, the preference, the claims and the networks that an object with a machine refers to."""
    holder = holder_of(obj)
    if holder is None:
        return
    for matcher in MATCHERS:
        yield text(get(obj, holder.in_vm((*matcher, "name"))))
    for volume in as_list(get(obj, (*holder.instance, "volumes"))):
        yield text(get(volume, ("persistentVolumeClaim", "claimName")))
        yield text(get(volume, ("dataVolume", "name")))
    for network in as_list(get(obj, (*holder.instance, "networks"))):
        yield text(get(network, ("multus", "networkName"))).rpartition("/")[2]


def texts_of(value: Any) -> Iterator[str]:
    """The words in the texts of an object, keys left out."""
    if isinstance(value, dict):
        for below in value.values():
            yield from texts_of(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts_of(below)
    elif isinstance(value, str):
        yield from words(value.encode(errors="replace"))
