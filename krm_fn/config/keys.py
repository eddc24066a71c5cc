"""The keys of the config: one row each, from which the checks, the JSON Schema and the command's flags are made.

Below are the errors of values that are something else than is expected, and the paths that name them.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence
from krm_fn.base.errors import ConfigError
from krm_fn.base.paths import dotted
from krm_fn.base.value import Value
from krm_fn.findings.finding import SEVERITIES
from krm_fn.kubevirt.settings import Config

API_VERSION = "kubevirt-render.dev/v1alpha1"
KIND = "RenderVirtualMachines"
LEVELS = (*SEVERITIES, "off")

# The types of keys with nested values: YAML text in a ConfigMap. Those of DOTTED also have dotted keys.
DOTTED = ("configuration", "severity")
NESTED = (*DOTTED, "patches", "policies", "schemaPolicies")

# How a switch may be spelt where it is text; `yes` and `on` are left out, since readers disagree about them.
SWITCHES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Key(Value):
    """One key: its `name` for users, its `field` in Config, its `type` (a key of CHECKS), the `words` it allows.

    `flag` is the name of the command's flag where that is another one.
    """

    name: str
    field: str
    type: str
    doc: str
    words: tuple[str, ...] = ()
    flag: str = ""

    @property
    def default(self) -> Any:
        """The value where the key is unset, as users write it; "" where it then depends on the input."""
        found = getattr(Config, self.field)
        return "" if found is None else list(found) if isinstance(found, tuple) else found


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
        name="patches",
        field="patches",
        type="patches",
        doc="JSON patches (RFC 6902) for rendered VMs, each with the target that a patch of kustomize has",
    ),
    Key(
        name="policies",
        field="policies",
        type="policies",
        flag="policy",
        doc="ValidatingAdmissionPolicies with their bindings and parameters, in addition to those of the input",
    ),
    Key(
        name="schemaPolicies",
        field="schema_policies",
        type="schemaPolicies",
        doc="JSON Schemas that objects must match, as they are written or rendered; each is the rule policy/NAME",
    ),
    Key(
        name="rulePackages",
        field="rule_packages",
        type="names",
        doc="the families of rules of your own, from installed packages; their code is loaded",
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


def unlike(value: object, expected: str, path: str) -> ConfigError:
    """The error of a value that is something else than is expected."""
    from krm_fn.base.wording import show  # only when something is wrong

    return ConfigError(f"found {'nothing' if value is None else show(value)}; expected {expected}", path=path)


def hint(word: object, known: Sequence[str]) -> str:
    """The end of a message that names the known word nearest to a misspelt one; "" where none is near."""
    from krm_fn.base.suggestions import meant  # only when something is wrong

    likely = meant(word, tuple(known)) if isinstance(word, str) else ""
    return f"; did you mean {likely}" if likely else ""


def child(path: str, name: object) -> str:
    """The path of a key in the map at `path`."""
    return path + dotted(("", str(name))).removeprefix('[""]')


def map_at(value: object, path: str) -> dict[Any, Any]:
    """The value where it is a map, an empty one where it is null; else a ConfigError."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise unlike(value, "a map", path)


def with_known_keys(value: object, known: Sequence[str], path: str) -> dict[Any, Any]:
    """The value where it is a map with these keys alone, an empty one where it is null; else a ConfigError."""
    given = map_at(value, path)
    for key in given:
        if key not in known:
            raise ConfigError(f"unknown key; expected one of {', '.join(known)}{hint(key, known)}", path=child(path, key))
    return given
