"""The parameters of an application: the function config's keys, and a few of the plugin's own, as Argo CD passes them.

They come from two places. The first has precedence: the `parameters` of the application (as JSON in ARGOCD_APP_PARAMETERS; if
that is not set, from PARAM_*), and its `env`, to which Argo CD adds a prefix: `FAIL_ON` becomes ARGOCD_ENV_FAIL_ON.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krm_fn.base.errors import ConfigError
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.config import with_texts
from krm_fn.config.keys import DOTTED, KEYS, SWITCHES, Key, hint, unlike
from krm_fn.kubevirt.settings import Config
from krm_fn.rules.registry import all_rules

Environment = Mapping[str, str]


JSON = "ARGOCD_APP_PARAMETERS"
COLLECTIONS = ("string", "array", "map")


class PluginParameter(Value):
    """A parameter of the plugin itself: its `name`, the kind of its collection, and its effect."""

    name: str
    collection: str
    doc: str
    item: str = "string"


OWN = (
    PluginParameter(
        name="config", collection="string", doc="a file with the function config, in the folder of the application"
    ),
    PluginParameter(
        name="context",
        collection="array",
        doc="the files and folders of the repository that have objects of the cluster, from the folder of the application on; "
        "none for no object; unset: all that is for the same cluster",
    ),
    PluginParameter(
        name="buildOptions",
        collection="array",
        doc="flags for kustomize build or helm template, such as --enable-helm or --values; only some are allowed",
    ),
    PluginParameter(
        name="allowEmpty",
        collection="string",
        item="boolean",
        doc="true: an application without objects is intended; Argo CD deletes all its objects",
    ),
)
# A repository can set parameters, so they have no code loaded.
PARAMETERS = tuple(key for key in KEYS if key.type != "names")
NAMES = (*(key.name for key in PARAMETERS), *(own.name for own in OWN))


class ParameterValue(Value):
    """The value of a parameter (a string, a list or a map of strings) and the place where it is set, for errors."""

    value: Any
    place: str


class Parameters(Value):
    """The parameters of an application. `given` has the config's keys, by name; `options_place` is that of `build_options`.

    `context` is None where nothing is said.
    """

    given: dict[str, ParameterValue] = {}  # noqa: RUF012  nobody writes into a Value
    config: str = ""
    context: tuple[str, ...] | None = None
    build_options: tuple[str, ...] = ()
    options_place: str = ""
    allow_empty: bool = False

    def over(self, base: Config) -> Config:
        """The config with these parameters set. Raises: ConfigError, which names the parameter."""
        texts = {name: text for key in PARAMETERS if key.name in self.given for name, text in _texts(key, self.given[key.name])}
        return with_texts(base, texts, place=lambda name: self.given[name.partition(".")[0]].place)


def read(environment: Environment) -> Parameters:
    """The parameters in an environment. Raises: ConfigError."""
    given = dict(_of_env(environment))
    given.update(_of_json(environment[JSON]) if JSON in environment else _of_variables(environment))
    for one in given.values():
        _refuse_odd(one.value, one.place)
    options = given.get("buildOptions", ParameterValue(value=[], place=""))
    return Parameters(
        given={key.name: given[key.name] for key in PARAMETERS if key.name in given},
        config=_string(given["config"]) if "config" in given else "",
        context=tuple(_words(given["context"])) or None if "context" in given else None,
        build_options=tuple(_words(options)),
        options_place=options.place,
        allow_empty=_switch(given["allowEmpty"]) if "allowEmpty" in given else False,
    )


def upper(name: str) -> str:
    """`failOn` in the form of environment variables: FAIL_ON."""
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name)


def _of_env(environment: Environment) -> Iterator[tuple[str, ParameterValue]]:
    for name in NAMES:
        variable = f"ARGOCD_ENV_{upper(name)}"
        if environment.get(variable):
            yield name, ParameterValue(value=environment[variable], place=variable)


def _of_json(text: str) -> dict[str, ParameterValue]:
    try:
        listed = json.loads(text or "[]") or []
    except ValueError:
        raise ConfigError("not JSON; expected the list of parameters that Argo CD writes", path=JSON) from None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise unlike(listed, "the list of parameters that Argo CD writes", JSON)
    found = {}
    for one in listed:
        name = one.get("name")
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise ConfigError(f"unknown parameter {show(name)}; expected one of {known}{hint(name, NAMES)}", path="parameters")
        value = next((one[form] for form in COLLECTIONS if one.get(form) is not None), "")
        found[name] = ParameterValue(value=value, place=f"parameter {name}")
    return found


def _of_variables(environment: Environment) -> dict[str, ParameterValue]:
    """The values of PARAM_*: PARAM_X for strings, PARAM_X_0 for entries of lists, PARAM_X_KEY for entries of maps."""
    found = {}
    for name in NAMES:
        variable = f"PARAM_{name.upper()}"
        value: Any = environment.get(variable) or list(_numbered(variable, environment))
        if name == "severity" and not value:
            munged = {rule: f"{variable}_{rule.upper().replace('-', '_')}" for rule in all_rules()}
            value = {rule: environment[level] for rule, level in munged.items() if environment.get(level)}
        if value:
            found[name] = ParameterValue(value=value, place=variable)
    return found


def _numbered(variable: str, environment: Environment) -> Iterator[str]:
    number = 0
    while f"{variable}_{number}" in environment:
        yield environment[f"{variable}_{number}"]
        number += 1


def _texts(key: Key, given: ParameterValue) -> Iterator[tuple[str, Any]]:
    if isinstance(given.value, dict) and key.type in DOTTED:
        yield from ((f"{key.name}.{below}", text) for below, text in given.value.items())
    else:
        yield key.name, _string(given)


def _string(given: ParameterValue) -> str:
    if isinstance(given.value, str):
        return given.value
    raise unlike(given.value, "a string", given.place)


def _refuse_odd(value: Any, place: str) -> None:
    """Raises: ConfigError for text that no file name and no argument can contain: with a NUL, or not UTF-8."""
    if isinstance(value, dict | list):
        for below in (*value, *value.values()) if isinstance(value, dict) else value:
            _refuse_odd(below, place)
    elif isinstance(value, str) and ("\0" in value or not _is_utf8(value)):
        raise unlike(value, "text without NUL, in UTF-8", place)


def _is_utf8(text: str) -> bool:
    """False for text with half of a UTF-16 pair, which can come from JSON and from other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _words(given: ParameterValue) -> list[str]:
    """The entries of a list, or the words of a text, split as in a shell."""
    if not isinstance(given.value, str):
        return _strings(given)
    try:
        return shlex.split(given.value)
    except ValueError as error:
        reason = str(error)
        raise ConfigError(
            f"found {show(given.value)}, {reason[:1].lower()}{reason[1:]}; expected words", path=given.place
        ) from None


def _strings(given: ParameterValue) -> list[str]:
    if isinstance(given.value, list) and all(isinstance(one, str) for one in given.value):
        return given.value
    raise unlike(given.value, "a list of strings", given.place)


def _switch(given: ParameterValue) -> bool:
    text = _string(given)
    if text and text not in SWITCHES:
        raise unlike(text, "true or false", given.place)
    return bool(text) and SWITCHES[text]


def announcement(config: Config) -> list[dict[str, Any]]:
    """The parameters as Argo CD shows them to its users, with the values of `config` as their defaults."""
    own = [_announced(one.name, one.doc, one.collection, one.item) for one in OWN]
    return [*(_of_key(key, getattr(config, key.field)) for key in PARAMETERS), *own]


def _of_key(key: Key, value: Any) -> dict[str, Any]:
    tooltip = f"one of {', '.join(key.words)}; {key.doc}" if key.words else key.doc
    if key.type == "severity":
        return {**_announced(key.name, tooltip, "map"), "map": value}
    value = [each.obj for each in value] if key.type == "policies" else value
    shown_value = "" if value is None else json.dumps(value) if isinstance(value, dict | bool | tuple | list) else str(value)
    item = "boolean" if key.type == "switch" else "string"
    return {**_announced(key.name, tooltip, "string", item), "string": shown_value}


def _announced(name: str, tooltip: str, collection: str, item: str = "string") -> dict[str, Any]:
    words = upper(name).lower().split("_")
    title = " ".join([words[0].capitalize(), *words[1:]])
    return {
        "name": name,
        "title": title,
        "tooltip": tooltip,
        "required": False,
        "itemType": item,
        "collectionType": collection,
    }


def unknown_variables(environment: Environment) -> Sequence[str]:
    """The variables of the application's `env` that nothing reads, probably because they are misspelt."""
    known = {f"ARGOCD_ENV_{upper(name)}" for name in NAMES}
    return sorted(name for name in environment if name.startswith("ARGOCD_ENV_") and name not in known)
