"""The function config as a value. The facts of a bundle carry it, so it is below all stages."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release

# The values of `defaults` with which a user declares that the cluster uses KubeVirt's defaults for everything that is not set.
CLUSTER_DEFAULTS = ("cluster", "pinned")


class PolicyObject(Value):
    """An object of `policies`: a policy, a binding or a parameter.

    It stands in document `index` of `file`, at `path` in that document; "" and 0 where that is not known. `text` is that of the
    file, from which lines are found.
    """

    obj: dict[str, Any]
    file: str = ""
    index: int = 0
    path: Path = ()
    text: str = ""


class Config(Value):
    """How to render. `release` and `configuration`, a KubeVirtConfiguration, are None if they are not set.

    `patches` are applied to rendered VMs, and `schema_policies` are evaluated; both are plain data in the form in which the
    modules of that name in `config` have checked them. `policies` are in addition to those of the bundle. `rule_packages` are
    families of users' rules whose code is loaded; `barred_packages` are named in a place that may not have code loaded, such as
    a file of a repository. `severity` maps rule ids to a level of LEVELS.
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
    patches: tuple[dict[str, Any], ...] = ()
    policies: tuple[PolicyObject, ...] = ()
    schema_policies: tuple[dict[str, Any], ...] = ()
    rule_packages: tuple[str, ...] = ()
    barred_packages: tuple[str, ...] = ()
    severity: dict[str, str] = {}  # noqa: RUF012  a Value never changes

    @property
    def states_cluster(self) -> bool:
        """True if the config itself describes the cluster: with a `configuration`, or with defaults that are the cluster's."""
        return self.configuration is not None or self.defaults in CLUSTER_DEFAULTS
