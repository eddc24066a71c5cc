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
        doc="expand: VMs leave rendered; validate: items leave untouched; annotate: sizes stand in annotations, "
        "references stay; snapshot: what is referenced is stored in ControllerRevisions",
    ),
    Key(
        name="kubevirtVersion",
        field="release",
        type="version",
        doc="KubeVirt release whose behaviour and catalogue are used: 1.4 to 1.9, or a patch release such as 1.6.3; "
        "default: what the input's KubeVirt object names, else 1.9",
    ),
    Key(
        name="catalogue",
        field="catalogue",
        type="word",
        words=("builtin", "none"),
        doc="builtin: cluster-wide names that the input lacks are taken from the release's own catalogue",
    ),
    Key(
        name="defaults",
        field="defaults",
        type="word",
        words=("auto", "cluster", "none", "pinned"),
        doc="auto: as cluster where the KubeVirt configuration is known, else without what only it decides; "
        "cluster: write the defaults that expand-spec writes; none: leave them to the cluster; "
        "pinned: also what admission would add or draw at random",
    ),
    Key(
        name="presets",
        field="presets",
        type="word",
        words=("instance", "fold", "ignore"),
        doc="instance: applied to VirtualMachineInstances only, as KubeVirt does; fold: into the VM's template too; "
        "ignore: not at all",
    ),
    Key(
        name="instances",
        field="instances",
        type="word",
        words=("omit", "include"),
        doc="include: add the VirtualMachineInstance that each VM would start as, marked local-config",
    ),
    Key(
        name="configuration",
        field="configuration",
        type="configuration",
        doc="a KubeVirtConfiguration, merged over the one of the input's KubeVirt object; {} states that the cluster has "
        "KubeVirt's default settings",
    ),
    Key(
        name="provenance",
        field="provenance",
        type="switch",
        doc="true: annotate each rendered VM with what it was rendered from",
    ),
    Key(
        name="failOn",
        field="fail_on",
        type="word",
        words=("error", "warning", "never"),
        doc="the severity from which on the exit code is 1",
    ),
    Key(
        name="severity",
        field="severity",
        type="severity",
        doc="the severity of single rules, by rule id: error, warning, info or off",
    ),
)
NAMES = {key.name: key for key in KEYS}
