"""Objects that are known to be in the cluster, and not in git."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class External(Value):
    """Objects of one kind; `namespace` and `name` are globs, "" for any."""

    kind: str
    namespace: str = ""
    name: str = ""

    def covers(self, kind: str, namespace: str, name: str) -> bool:
        """True for an object of these. `namespace` is "" for one of a cluster-wide kind."""
        from fnmatch import fnmatchcase  # few runs have external objects

        return (
            kind == self.kind
            and (not self.namespace or fnmatchcase(namespace, self.namespace))
            and (not self.name or fnmatchcase(name, self.name))
        )


def is_external(external: Iterable[External], kind: str, namespace: str, name: str) -> bool:
    """True for an object that one of the entries covers."""
    return any(each.covers(kind, namespace, name) for each in external)
