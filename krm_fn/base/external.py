"""Objects that are in the cluster, but not in git."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable
from krm_fn.base.errors import ConfigError
from krm_fn.base.value import Value
from krm_fn.base.work import SpentError

# A DataVolume and the claim that it creates have the same name, and the DataVolume may be deleted later.
CLAIM, PROFILE = "PersistentVolumeClaim", "StorageProfile"
CLAIMS = ("DataVolume", CLAIM)
TOO_MUCH = "these globs take too many comparisons with the names in this run; use fewer that begin with *, ? or ["


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

    @property
    def steps(self) -> tuple[str, str, str]:
        """Kind, namespace and name as globs. DataVolumes and PersistentVolumeClaims stand for each other."""
        return _kind(self.kind), _glob(self.namespace), _glob(self.name)


def _glob(given: str) -> str:
    """The same without the meaning that `**` has in paths."""
    return "*" if given in ("", "**") else given


def _kind(kind: str) -> str:
    return CLAIMS[0] if kind in CLAIMS else kind


class Externals:
    """Objects that are in the cluster, but not in git."""

    def __init__(self, entries: Iterable[External]) -> None:
        from krm_fn.base.globs import Globs  # few runs have external objects

        self.entries = tuple(entries)
        self._globs = Globs(each.steps for each in self.entries)

    def covering(self, kind: str, namespace: str, name: str) -> list[External]:
        """The entries that cover an object, in order; `namespace` is "" for an object of a cluster-wide kind.

        Raises: ConfigError where that takes too much work.
        """
        try:
            return [self.entries[number] for number in sorted(self._globs.covering((_kind(kind), namespace, name)))]
        except SpentError:
            raise ConfigError(TOO_MUCH, path="spec.external") from None


def covering(external: Iterable[Externals], kind: str, namespace: str, name: str) -> list[External]:
    """The entries that cover an object. Raises: ConfigError where that takes too much work."""
    return [entry for each in external for entry in each.covering(kind, namespace, name)]
