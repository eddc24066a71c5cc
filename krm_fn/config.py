"""The function config: one table of keys, from which its checks, its JSON Schema and the command's flags are made.

There are two forms, and both lead to the same `Config`: the own kind with typed values under `spec`, and a ConfigMap whose
`data` holds strings. In a ConfigMap a nested value is a YAML string or is given by dotted keys; where both speak of one
place the longer key wins, whatever the order. Null and "" leave a key at its default.
"""

from __future__ import annotations

from krm_fn.errors import ConfigError, InputError
from krm_fn.findings import SEVERITIES
from krm_fn.paths import dotted, put
from krm_fn.releases import NEWEST, NEWEST_PATCH, Release, parse
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

API_VERSION = "kubevirt-render.dev/v1alpha1"
KIND = "RenderVirtualMachines"
LEVELS = (*SEVERITIES, "off")
RULE_FAMILIES = ("vm", "bundle")

# How a switch may be spelt where it is text; `yes` and `on` are left out, since readers disagree about them.
SWITCHES = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Config(Value):
    """How to render. `configuration` is a KubeVirtConfiguration, `severity` maps rule ids to a level of LEVELS."""

    mode: str = "expand"
    release: Release = NEWEST
    catalogue: str = "builtin"
    defaults: str = "cluster"
    presets: str = "instance"
    instances: str = "omit"
    configuration: dict[str, Any] = {}  # noqa: RUF012  nobody writes into a Value
    provenance: bool = False
    fail_on: str = "error"
    severity: dict[str, str] = {}  # noqa: RUF012


class Key(Value):
    """One key: its `name` for users, its `field` in Config, its `type` (a key of CHECKS), the `words` it allows."""

    name: str
    field: str
    type: str
    doc: str
    words: tuple[str, ...] = ()

    @property
    def default(self) -> Any:
        """The value where the key is unset, as users write it."""
        found = getattr(Config, self.field)
        return "{}.{}".format(*found.version) if isinstance(found, Release) else found


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
        doc="KubeVirt release whose behaviour and catalogue are used: 1.4 to 1.9, or a patch release such as 1.6.3",
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
        words=("cluster", "none", "pinned"),
        doc="cluster: write the defaults that expand-spec writes; none: leave them to the cluster; "
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
        doc="a KubeVirtConfiguration, merged over the one of the input's KubeVirt object",
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


def read(function_config: object) -> Config:
    """The config that a functionConfig states; absent, null and `{}` mean the defaults.

    Raises: ConfigError, which names the path, what was found and what was expected.
    """
    if function_config is None or function_config == {}:
        return Config()
    if not isinstance(function_config, dict):
        raise ConfigError(f"the function config is {shown(function_config)}; expected a {KIND} or a ConfigMap")
    form = _form(function_config)
    _top_level(function_config, form)
    given = _map(function_config.get(form), form)
    return _typed(given) if form == "spec" else with_texts(Config(), given, place=lambda name: _below("data", name))


def with_texts(base: Config, texts: Mapping[Any, object], *, place: Callable[[str], str]) -> Config:
    """`base` changed by keys whose values are text, as in a ConfigMap or in flags; `place` says how errors name a key.

    Raises: ConfigError.
    """
    found = {key.field: getattr(base, key.field) for key in KEYS}
    # the longer of two dotted keys comes last and so wins, whatever the order in the file
    for name in sorted(map(str, texts), key=lambda name: (name.count("."), name)):
        key, value = _row(name, place(name)), texts.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            raise ConfigError(f"found {shown(value)}; expected a string, as a ConfigMap holds them: quote it", path=place(name))
        checked = _of_text(key, value, name.partition(".")[2], place(name))
        found[key.field] = merged(found[key.field], checked)
    return Config(**found)


def merged(below: Any, above: Any) -> Any:
    """`above` laid over `below`: maps key by key, everything else replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{name: merged(below.get(name), value) for name, value in above.items()}}


def rule_ids() -> tuple[str, ...]:
    """The ids of all rules, sorted; loads their modules."""
    from krm_fn import rules

    return tuple(sorted(rule.id for family in RULE_FAMILIES for rule in rules.load(family)))


def shown(value: object) -> str:
    """A value as messages show it: what it is, and its text where that is short."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "the bool true", False: "the bool false"}[value]
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a map" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"a {type(value).__name__}"


# ---- the two forms


def _form(config: dict[Any, Any]) -> str:
    version, kind = config.get("apiVersion"), config.get("kind")
    if kind == KIND:
        known, form = API_VERSION, "spec"
    elif kind == "ConfigMap":
        known, form = "v1", "data"
    else:
        hint = _hint(kind, (KIND, "ConfigMap"))
        raise ConfigError(f"found {shown(kind)}; expected {KIND} ({API_VERSION}) or ConfigMap (v1){hint}", path="kind")
    if version != known:
        raise ConfigError(f"found {shown(version)}; expected {known} for a {kind}", path="apiVersion")
    return form


def _top_level(config: dict[Any, Any], form: str) -> None:
    known = ("apiVersion", "kind", "metadata", form, *(("immutable",) if form == "data" else ()))
    for name in config:
        if name not in known:
            fix = f"; it belongs below {form}" if str(name).partition(".")[0] in NAMES else _hint(name, known)
            raise ConfigError(
                f"is no key of a {config['kind']}; expected one of {', '.join(known)}{fix}", path=dotted((str(name),))
            )
    _map(config.get("metadata"), "metadata")


def _typed(spec: dict[Any, Any]) -> Config:
    found = {}
    for name, value in spec.items():
        path = _below("spec", name)
        key = NAMES.get(name) if isinstance(name, str) else None
        if key is None:
            raise _unknown_key(name, path)
        if value is not None and value != "":
            found[key.field] = CHECKS[key.type](key, value, path)
    return Config(**found)


def _row(name: str, path: str) -> Key:
    head, dot, below = name.partition(".")
    key = NAMES.get(head)
    if key is None or (dot and (key.type not in ("configuration", "severity") or not all(below.split(".")))):
        raise _unknown_key(name, path)
    return key


def _below(path: str, name: object) -> str:
    """The path of a key in the map at `path`."""
    return path + dotted(("", str(name))).removeprefix('[""]')


def _unknown_key(name: object, path: str) -> ConfigError:
    return ConfigError(f"is no key of the config; expected one of {', '.join(NAMES)}{_hint(name, tuple(NAMES))}", path=path)


# ---- checks of typed values: (key, value, path as errors name it) -> the value for Config


def _map(value: object, path: str) -> dict[Any, Any]:
    if value is None or isinstance(value, dict):
        return value or {}
    raise ConfigError(f"found {shown(value)}; expected a map", path=path)


def _word(key: Key, value: object, path: str) -> str:
    return _one_of(key.words, value, path)


def _one_of(words: Sequence[str], value: object, path: str) -> str:
    if isinstance(value, str) and value in words:
        return value
    raise ConfigError(f"found {shown(value)}; expected one of {', '.join(words)}{_hint(value, words)}", path=path)


def _version(_: Key, value: object, path: str) -> Release:
    if isinstance(value, float | int) and not isinstance(value, bool):
        quote = f'expected a string, so quote it: "{value}" (unquoted, 1.10 would be read as 1.1)'
        raise ConfigError(f"found the number {value}; {quote}", path=path)
    if not isinstance(value, str):
        raise ConfigError(f'found {shown(value)}; expected a KubeVirt release in quotes such as "1.9"', path=path)
    try:
        release = parse(value)
    except ConfigError as error:
        raise ConfigError(f"{error.message}{_nearest_release(value)}", path=path) from None
    if not str(release).startswith(value.removeprefix("v")):
        raise ConfigError(f"found {shown(value)}; expected a release without leading zeros; did you mean {release}", path=path)
    return release


def _nearest_release(text: str) -> str:
    known = [f"{major}.{minor}" for major, minor in NEWEST_PATCH]
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdecimal() and minor.isdecimal() and len(major + minor) < 9):
        return _hint(text, known)
    asked = int(major), int(minor)
    if asked not in NEWEST_PATCH:
        asked = min(NEWEST_PATCH) if asked < min(NEWEST_PATCH) else max(NEWEST_PATCH)
    return f"; did you mean {asked[0]}.{asked[1]}"


def _switch(_: Key, value: object, path: str) -> bool:
    if isinstance(value, bool):
        return value
    quoted = " without quotes" if isinstance(value, str) and value in SWITCHES else ""
    raise ConfigError(f"found {shown(value)}; expected true or false{quoted}", path=path)


def _configuration(_: Key, value: object, path: str) -> dict[str, Any]:
    return _map(value, path)


def _severity(_: Key, value: object, path: str) -> dict[str, str]:
    given = _map(value, path)
    return {rule: _level(rule, level, _below(path, rule)) for rule, level in given.items() if level is not None and level != ""}


def _level(rule: object, level: object, path: str) -> str:
    known = rule_ids()
    if rule not in known:
        raise ConfigError(f"{shown(rule)} is no rule{_hint(rule, known)}; `kubevirt-render rules` lists them", path=path)
    # readers of YAML 1.1 take a plain `off` for false
    return _one_of(LEVELS, "off" if level is False else level, path)


CHECKS: dict[str, Callable[[Key, object, str], Any]] = {
    "word": _word,
    "version": _version,
    "switch": _switch,
    "configuration": _configuration,
    "severity": _severity,
}


def _of_text(key: Key, text: str, below: str, path: str) -> Any:
    """The value for Config that a text means; `below` is what follows the dot of a dotted key."""
    if key.type == "severity" and below:
        return {below: _level(below, text, path)}
    if key.type not in ("configuration", "severity"):
        return CHECKS[key.type](key, SWITCHES.get(text, text) if key.type == "switch" else text, path)
    value = _yaml(text, path)
    if not below:
        return CHECKS[key.type](key, value, path)
    tree: dict[str, Any] = {}
    put(tree, tuple(below.split(".")), value)
    return tree


def _yaml(text: str, path: str) -> Any:
    from krm_fn.yamlio import read_value  # only for nested values

    try:
        return read_value(text)
    except InputError as error:
        raise ConfigError(f"the text is no YAML value: {error.message}", path=path) from None


def _hint(word: object, known: Sequence[str]) -> str:
    from krm_fn.rules import nearest  # only when something is wrong

    likely = nearest(word, known) if isinstance(word, str) else ()
    return f"; did you mean {likely[0]}" if likely else ""
