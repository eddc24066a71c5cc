"""The function config as a value. The facts of a bundle carry it, so it is below all stages."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.kubevirt.releases import Release

# The values of `defaults` with which a user declares that the cluster uses KubeVirt's defaults for everything that is not set.
CLUSTER_DEFAULTS = ("cluster", "pinned")


class Config(Value):
    """How to render. `release` and `configuration`, a KubeVirtConfiguration, are None if they are not set.

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
    pod_size: bool = False
    fail_on: str = "error"
    severity: dict[str, str] = {}  # noqa: RUF012  a Value never changes

    @property
    def states_cluster(self) -> bool:
        """True if the config itself describes the cluster: with a `configuration`, or with defaults that are the cluster's."""
        return self.configuration is not None or self.defaults in CLUSTER_DEFAULTS
