"""Checks of the config's values, typed ones and text: each returns the value for `Config` or says what is wrong with it.

`path` is where the value stands, as errors name it: `spec.mode`, `data["severity.some-rule"]`, `--mode`.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.paths import dotted, put
from krm_fn.config.keys import LEVELS, NESTED, SWITCHES, Key, child, hint, map_at, unlike
from krm_fn.kubevirt.releases import MINORS, NEWEST_PATCH, Release, parse

NAMES_EXPECTED = "a list of names such as [acme]"


def _word(key: Key, value: object, path: str) -> str:
    return _one_of(key.words, value, path)


def _one_of(words: Sequence[str], value: object, path: str) -> str:
    if isinstance(value, str) and value in words:
        return value
    raise unlike(value, f"one of {', '.join(words)}{hint(value, words)}", path)


def _version(_: Key, value: object, path: str) -> Release:
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise unlike(value, f'a string in quotes: "{value}" (without quotes, 1.10 would be read as 1.1)', path)
    if not isinstance(value, str):
        raise unlike(value, f'a KubeVirt release in quotes such as "{MINORS[-1]}"', path)
    try:
        release = parse(value)
    except ConfigError as error:
        raise ConfigError(f"{error.message}{_nearest_release(value)}", path=path) from None
    if not str(release).startswith(value.removeprefix("v")):
        raise unlike(value, f"a release without leading zeros; did you mean {release}", path)
    return release


def _nearest_release(text: str) -> str:
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdecimal() and minor.isdecimal() and len(major + minor) < 9):
        return hint(text, MINORS)
    version = int(major), int(minor)
    if version not in NEWEST_PATCH:
        version = min(NEWEST_PATCH) if version < min(NEWEST_PATCH) else max(NEWEST_PATCH)
    return f"; did you mean {version[0]}.{version[1]}"


def _switch(_: Key, value: object, path: str) -> bool:
    if isinstance(value, bool):
        return value
    quoted = " without quotes" if isinstance(value, str) and value in SWITCHES else ""
    raise unlike(value, f"true or false{quoted}", path)


def _configuration(_: Key, value: object, path: str) -> dict[str, Any]:
    found = map_at(value, path)
    if found:
        _known_settings(found, path)
    return found


def setting_at(below: str, path: str, value: object = None) -> dict[str, Any]:
    """The configuration that a dotted key makes. Raises: ConfigError where no release has such a setting."""
    tree: dict[str, Any] = {}
    steps = tuple(below.split("."))
    put(tree, steps, value)
    _known_settings(tree, path, named=len(steps))
    return tree


def _known_settings(configuration: dict[str, Any], path: str, named: int = 0) -> None:
    """`path` is that of the configuration, or of the value below it to which so many of its keys lead.

    Raises: ConfigError where there is a setting that no release has.
    """
    from krm_fn.base.wording import show  # most configs have none
    from krm_fn.config.settings import homes, unknown

    for place, known in unknown(configuration):
        name = str(place[-1])
        found = [dotted(home) or "configuration" for home in homes(name)]
        fix = f"; it belongs below {found[0]}" if len(found) == 1 else hint(name, known)
        below = dotted(("", *place[named:])).removeprefix('[""]') if len(place) > named else ""
        message = f"unknown setting {show(name)} in KubeVirt {MINORS[0]} to {MINORS[-1]}{fix or '; remove it'}"
        raise ConfigError(message, path=path + below)


def _severity(_: Key, value: object, path: str) -> dict[str, str]:
    found = {}
    for rule, level in map_at(value, path).items():
        rule_at(rule, child(path, rule))
        if level is not None and level != "":
            # readers of YAML 1.1 take a plain `off` for false
            found[rule] = _one_of(LEVELS, "off" if level is False else level, child(path, rule))
    return found


def _patches(_: Key, value: object, path: str) -> tuple[dict[str, Any], ...]:
    from krm_fn.config.patches import patches  # most configs have none

    return patches(value, path)


def _policies(_: Key, value: object, path: str) -> tuple[Any, ...]:
    from krm_fn.config.schema_policies import policies  # most configs have none

    return policies(value, path)


def _schema_policies(_: Key, value: object, path: str) -> tuple[dict[str, Any], ...]:
    from krm_fn.config.schema_policies import schema_policies  # most configs have none

    return schema_policies(value, path)


def _names(_: Key, value: object, path: str) -> tuple[str, ...]:
    """The names of a list, or of text with commas between them."""
    from re import ASCII, fullmatch

    from krm_fn.rules.registry import POLICY

    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list | tuple):
        raise unlike(value, NAMES_EXPECTED, path)
    for name in listed:
        if not isinstance(name, str) or not fullmatch(r" *[\w.-]+ *", name, ASCII) or name.strip() == POLICY:
            raise unlike(name, NAMES_EXPECTED, path)
    return tuple(dict.fromkeys(name.strip() for name in listed))


def rule_at(rule: object, path: str) -> None:
    """Raises: ConfigError where there is no rule of that id."""
    from krm_fn.rules.registry import OWN, ids  # where a severity is stated

    known = tuple(sorted(ids()))
    if rule not in known and not (isinstance(rule, str) and OWN in rule):
        from krm_fn.base.wording import show

        raise ConfigError(f"unknown rule {show(rule)}{hint(rule, known)}; `kubevirt-render rules` lists all rules", path=path)


CHECKS: dict[str, Callable[[Key, object, str], Any]] = {
    "word": _word,
    "version": _version,
    "switch": _switch,
    "configuration": _configuration,
    "severity": _severity,
    "patches": _patches,
    "policies": _policies,
    "schemaPolicies": _schema_policies,
    "names": _names,
}


def of_text(key: Key, text: str, below: str, path: str) -> Any:
    """The value for Config that a text means; `below` is what follows the dot of a dotted key."""
    if key.type == "severity" and below:
        return {below: _one_of(LEVELS, text, path)}
    if key.type not in NESTED:
        return CHECKS[key.type](key, SWITCHES.get(text, text) if key.type == "switch" else text, path)
    value = _yaml(text, path)
    if not below:
        return CHECKS[key.type](key, value, path)
    return setting_at(below, path, value)


def _yaml(text: str, path: str) -> Any:
    from krm_fn.yamlio import read_value  # only for nested values

    try:
        return read_value(text)
    except InputError as error:
        raise ConfigError(f"the text is not valid YAML: {error.message}", path=path) from None
