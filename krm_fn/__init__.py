"""kubevirt-render: KubeVirt virtual machines rendered offline, as the cluster would merge them.

`process` is the complete program as a function of plain data. The command and the KRM function use it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object

__version__ = "0.1.0"


def process(resource_list: Object) -> Object:
    """The ResourceList with its VMs rendered and `results` filled. The argument does not change.

    Raises: errors.ConfigError if the functionConfig is wrong, errors.InputError if `items` is no list.
    """
    from krm_fn.pipeline.stages import process as run  # `import krm_fn` alone must stay cheap

    return run(resource_list)


def diff(base: Object, head: Object, *, apply: bool = True, migratable: bool | str = "auto", new: bool = False) -> Object:
    """What the change from one ResourceList to another does to each VM, running ones included: `{"vms": [record, …]}`.

    `apply`: the new manifest is applied; else it replaces the old one. `migratable`: whether running VMs can be live-migrated:
    True, False, or "auto" for what each instance and its claims say. `new`: no VM exists yet; the records compare what new VMs
    start as. The arguments are left as they were.
    Raises: as `process`.
    """
    from krm_fn.changes.diffing import diff as run  # `import krm_fn` alone must stay cheap

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
