"""The keys of the config: one row each, from which the checks, the JSON Schema and the command's flags are made."""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.findings.finding import SEVERITIES
from krm_fn.kubevirt.settings import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

API_VERSION = "kubevirt-render.dev/v1alpha1"
KIND = "RenderVirtualMachines"
LEVELS = (*SEVERITIES, "off")

# How a switch may be spelt where it is text; `yes` and `on` are left out, since readers disagree about them.
SWITCHES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Key(Value):
    """One key: its `name` for users, its `field` in Config, its `type` (a key of CHECKS), the `words` it allows."""

    name: str
    field: str
    type: str
    doc: str
    words: tuple[str, ...] = ()

    @property
    def default(self) -> Any:
        """The value where the key is unset, as users write it; "" where it then depends on the input."""
        found = getattr(Config, self.field)
        return "" if found is None else found


KEYS = (
    Key(
        name="mode",
        field="mode",
        type="word",
        words=("expand", "validate", "annotate", "snapshot"),
        doc="expand: render the VMs; validate: change nothing, only report findings; annotate: keep the references and write "
        "the sizes into annotations; snapshot: store the referenced objects in ControllerRevisions",
    ),
    Key(
        name="kubevirtVersion",
        field="release",
        type="version",
        doc="the target release: the KubeVirt release whose behaviour and catalogue are used, such as 1.8 or the patch release "
        "1.6.3; default: the release of the KubeVirt object in the input, otherwise the newest known release",
    ),
    Key(
        name="catalogue",
        field="catalogue",
        type="word",
        words=("builtin", "none"),
        doc="builtin: cluster-wide names that are not in the input are looked up in the catalogue of the target release; "
        "none: they are not",
    ),
    Key(
        name="defaults",
        field="defaults",
        type="word",
        words=("auto", "cluster", "none", "pinned"),
        doc="auto: like cluster if the KubeVirt configuration is known, otherwise without the defaults that depend on it; "
        "cluster: write the defaults that expand-spec writes; none: write no defaults; "
        "pinned: like cluster, and also write what admission would add or generate at random",
    ),
    Key(
        name="presets",
        field="presets",
        type="word",
        words=("instance", "fold", "ignore"),
        doc="instance: apply presets only to VirtualMachineInstances, as KubeVirt does; fold: apply them to the templates of "
        "VMs too; ignore: do not apply presets",
    ),
    Key(
        name="instances",
        field="instances",
        type="word",
        words=("omit", "include"),
        doc="include: add the VirtualMachineInstance that KubeVirt would create for each VM, marked local-config; "
        "omit: do not add it",
    ),
    Key(
        name="configuration",
        field="configuration",
        type="configuration",
        doc="a KubeVirtConfiguration, merged over the configuration of the KubeVirt object in the input; {} means that the "
        "cluster has the default settings of KubeVirt",
    ),
    Key(
        name="provenance",
        field="provenance",
        type="switch",
        doc="true: annotate each rendered VM with the names of the objects it was rendered from",
    ),
    Key(
        name="podSize",
        field="pod_size",
        type="switch",
        doc="true: annotate each VM with what its virt-launcher pod requests, its limits, its overhead and its QoS class",
    ),
    Key(
        name="failOn",
        field="fail_on",
        type="word",
        words=("error", "warning", "never"),
        doc="the exit code is 1 if a finding has this severity or a higher one; never: findings do not change it",
    ),
    Key(
        name="severity",
        field="severity",
        type="severity",
        doc="the severity of individual rules, by rule id: error, warning, info or off",
    ),
)
NAMES = {key.name: key for key in KEYS}
