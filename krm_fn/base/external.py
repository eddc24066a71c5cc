"""Objects that are in the cluster, but not in git."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# A DataVolume and the claim that it creates have the same name, and the DataVolume may be deleted later.
CLAIMS = ("DataVolume", "PersistentVolumeClaim")


class External(Value):
    """Objects of one kind; `namespace` and `name` are globs, "" for any."""

    kind: str
    namespace: str = ""
    name: str = ""

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
