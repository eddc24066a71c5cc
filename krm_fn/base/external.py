"""Objects that are in the cluster, but not in git."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# A DataVolume and the claim that it creates have the same name, and the DataVolume may be deleted later.
CLAIM, PROFILE = "PersistentVolumeClaim", "StorageProfile"
CLAIMS = ("DataVolume", CLAIM)


class External(Value):
    """Objects of one kind; `namespace` and `name` are globs, "" for any.

    `access_modes` are those of claims, or those with which a StorageProfile has claims made: with volumes of a mode, "" for
    any. `is_default`: the storage class of that name is the one that CDI takes where none is named.
    """

    kind: str
    namespace: str = ""
    name: str = ""
    access_modes: tuple[str, ...] = ()
    volume_mode: str = ""
    is_default: bool = False

    def covers(self, kind: str, namespace: str, name: str) -> bool:
        """True for an object that this entry covers. DataVolumes and PersistentVolumeClaims stand for each other.

        `namespace` is "" for an object of a cluster-wide kind.
        """
        from fnmatch import fnmatchcase  # few runs have external objects

        return (
            (kind == self.kind or (kind in CLAIMS and self.kind in CLAIMS))
            and (not self.namespace or fnmatchcase(namespace, self.namespace))
            and (not self.name or fnmatchcase(name, self.name))
        )


def is_external(external: Iterable[External], kind: str, namespace: str, name: str) -> bool:
    """True for an object that one of the entries covers."""
    return any(each.covers(kind, namespace, name) for each in external)
