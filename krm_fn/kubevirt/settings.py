"""How to render: what the function config states, as a value. The facts of a bundle carry it, so it lies below all stages."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.kubevirt.releases import Release

# The words of `defaults` with which a user states that the cluster sets what nobody states as KubeVirt does by default.
CLUSTER_DEFAULTS = ("cluster", "pinned")


class Config(Value):
    """How to render. `release` and `configuration`, a KubeVirtConfiguration, are None where they are not stated.

    `severity` maps rule ids to a level of LEVELS.
    """

    mode: str = "expand"
    release: Release | None = None
    catalogue: str = "builtin"
    defaults: str = "auto"
    presets: str = "instance"
    instances: str = "omit"
    configuration: dict[str, Any] | None = None
    provenance: bool = False
    fail_on: str = "error"
    severity: dict[str, str] = {}  # noqa: RUF012  nobody writes into a Value

    @property
    def states_cluster(self) -> bool:
        """True where the config itself says how the cluster is set: a `configuration`, or defaults that are the cluster's."""
        return self.configuration is not None or self.defaults in CLUSTER_DEFAULTS
