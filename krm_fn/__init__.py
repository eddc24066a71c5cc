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
