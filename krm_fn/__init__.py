"""kubevirt-render: KubeVirt virtual machines rendered offline, as the cluster would merge them.

`process` is the complete program as a function of plain data. The command and the KRM function use it. `__all__` has the names
that are promised within a major version; everything else may change. See docs/library.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from krm_fn.base.errors import ConfigError, InputError
    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.rules.registry import Hit, rule

__version__ = "0.1.0"

__all__ = (
    "Config",
    "ConfigError",
    "Finding",
    "Hit",
    "InputError",
    "Outcome",
    "Release",
    "capacity",
    "diff",
    "explain",
    "process",
    "render",
    "rule",
)

# The modules of the names above that are no functions of this one. `import krm_fn` alone must stay cheap.
_MODULES = {
    "Config": "kubevirt.settings",
    "ConfigError": "base.errors",
    "Finding": "findings.finding",
    "Hit": "rules.registry",
    "InputError": "base.errors",
    "Outcome": "pipeline.stages",
    "Release": "kubevirt.releases",
    "rule": "rules.registry",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(__import__(f"{__name__}.{_MODULES[name]}", fromlist=(name,)), name)


def process(resource_list: Object) -> Object:
    """The ResourceList with its VMs rendered and `results` filled. The argument does not change.

    Raises: errors.ConfigError if the functionConfig is wrong, errors.InputError if `items` is no list.
    """
    from krm_fn.pipeline.stages import process as run

    return run(resource_list)


def render(items: Sequence[Object], config: Config | None = None) -> Outcome:
    """The VMs of a bundle rendered, and the findings about them, as values. The arguments are left as they were.

    Raises: errors.ConfigError if the tables of KubeVirt lack the config's release.
    """
    from krm_fn.base.paths import with_integers
    from krm_fn.kubevirt.settings import Config as Settings
    from krm_fn.pipeline.stages import render as run

    return run([with_integers(item) for item in items], config or Settings())


def diff(base: Object, head: Object, *, apply: bool = True, migratable: bool | str = "auto", new: bool = False) -> Object:
    """What the change from one ResourceList to another does to each VM, running ones included: `{"vms": [record, …]}`.

    `apply`: the new manifest is applied; else it replaces the old one. `migratable`: whether running VMs can be live-migrated:
    True, False, or "auto" for what each instance and its claims say. `new`: no VM exists yet; the records compare what new VMs
    start as. The arguments are left as they were.
    Raises: as `process`.
    """
    from krm_fn.changes.diffing import diff as run

    return run(base, head, apply=apply, migratable=migratable, new=new)


def capacity(resource_list: Object) -> Object:
    """What the VMs of a ResourceList need of the cluster: a record for each, and the sums. The argument is left as it was.

    Raises: errors.ConfigError where the functionConfig is wrong, errors.InputError where `items` is no list.
    """
    from krm_fn.pipeline.capacity import capacity as run

    return run(resource_list)


def explain(resource_list: Object) -> Object:
    """Where each value of each rendered VM of a ResourceList comes from. The argument is left as it was.

    Raises: errors.ConfigError where the functionConfig is wrong, errors.InputError where `items` is no list.
    """
    from krm_fn.explaining.answers import explain as run

    return run(resource_list)
