"""The function config, read from either of its forms into the same `Config`.

The own kind has typed values under `spec`; a ConfigMap has strings under `data`, where a nested value is a YAML string or is
given by dotted keys. Where both speak of one place the longer key wins, whatever the order. Null and "" leave a key at its
default.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Container, Mapping, Sequence
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.paths import dotted
from krm_fn.config.checks import CHECKS, of_text, rule_at, setting_at
from krm_fn.config.keys import API_VERSION, DOTTED, KEYS, KIND, NAMES, Key, child, hint, map_at, unlike
from krm_fn.kubevirt.settings import Config

__all__ = ("Config", "form_of", "laid_over", "merged", "of_list", "read", "stated", "typed", "with_texts")

NO_OTHERS: Mapping[str, object] = {}


def read(function_config: object) -> Config:
    """The config that a functionConfig states; absent, null and `{}` mean the defaults.

    Raises: ConfigError, which names the path, what was found and what was expected.
    """
    return Config(**stated(function_config))


def of_list(resource_list: object) -> tuple[Config, Sequence[Any]]:
    """The config and the items of a ResourceList. Raises: ConfigError, InputError."""
    if not isinstance(resource_list, dict):
        from krm_fn.base.wording import show  # needed only here

        raise InputError(f"found {show(resource_list)}; expected a ResourceList: a map with items")
    settings, items = read(resource_list.get("functionConfig")), resource_list.get("items")
    if items is not None and not isinstance(items, list | tuple):
        raise InputError("items is no list")
    return settings, items or ()


def stated(function_config: object) -> dict[str, Any]:
    """The fields of Config that a functionConfig states, with their values. Raises: ConfigError."""
    if function_config is None or function_config == {}:
        return {}
    form, given = form_of(function_config)
    return _without_paths(typed(given)) if form == "spec" else _texts({}, given, place=lambda name: child("data", name))


def form_of(function_config: object, names: Container[str] = NAMES) -> tuple[str, dict[Any, Any]]:
    """`spec` or `data`, the key of the config's form, and the map there. `names` are the keys that it may have.

    Raises: ConfigError where the config is no object of one of the forms.
    """
    if not isinstance(function_config, dict):
        from krm_fn.base.wording import show  # only when something is wrong

        raise ConfigError(f"the function config is {show(function_config)}; expected a {KIND} or a ConfigMap")
    form = _form(function_config)
    _top_level(function_config, form, names)
    return form, map_at(function_config.get(form), form)


def with_texts(base: Config, texts: Mapping[Any, object], *, place: Callable[[str], str]) -> Config:
    """`base` changed by keys whose values are text, as in a ConfigMap or in flags; `place` says how errors name a key.

    Raises: ConfigError.
    """
    return base.but(**_texts({key.field: getattr(base, key.field) for key in KEYS}, texts, place=place))


def _texts(below: dict[str, Any], texts: Mapping[Any, object], *, place: Callable[[str], str]) -> dict[str, Any]:
    """The fields of Config in `below`, with what the texts state laid over them."""
    found = dict(below)
    # the longer of two dotted keys comes last and so wins, whatever the order in the file
    for name in sorted(map(str, texts), key=lambda name: (name.count("."), name)):
        key, value = _row(name, place(name)), texts.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            raise unlike(value, "a string, because the values of a ConfigMap are strings; put it in quotes", place(name))
        checked = of_text(key, value, name.partition(".")[2], place(name))
        found[key.field] = merged(found.get(key.field), checked)
    return _without_paths(found)


def _without_paths(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of Config. Raises: ConfigError for a file of policies, because nothing is read here."""
    if not fields.get("policies"):
        return fields
    from krm_fn.config.schema_policies import without_paths  # most configs have none

    return {**fields, "policies": without_paths(fields["policies"])}


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of Config that one config states, with those of a more important one laid over them."""
    return {**below, **{field: merged(below.get(field), value) for field, value in above.items()}}


def merged(below: Any, above: Any) -> Any:
    """`above` laid over `below`: maps key by key, everything else replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{name: merged(below.get(name), value) for name, value in above.items()}}


def _form(config: dict[Any, Any]) -> str:
    version, kind = config.get("apiVersion"), config.get("kind")
    if kind == KIND:
        known, form = API_VERSION, "spec"
    elif kind == "ConfigMap":
        known, form = "v1", "data"
    else:
        expected = f"{KIND} ({API_VERSION}) or ConfigMap (v1){hint(kind, (KIND, 'ConfigMap'))}"
        raise unlike(kind, expected, "kind")
    if version != known:
        raise unlike(version, f"{known} for a {kind}", "apiVersion")
    return form


def _top_level(config: dict[Any, Any], form: str, names: Container[str]) -> None:
    known = ("apiVersion", "kind", "metadata", form, *(("immutable",) if form == "data" else ()))
    for name in config:
        if name not in known:
            fix = f"; it belongs below {form}" if str(name).partition(".")[0] in names else hint(name, known)
            raise ConfigError(f"unknown key; expected one of {', '.join(known)}{fix}", path=dotted((str(name),)))
    map_at(config.get("metadata"), "metadata")


def typed(spec: dict[Any, Any], path: str = "spec", others: Mapping[str, object] = NO_OTHERS) -> dict[str, Any]:
    """The fields of Config that the keys of a map state. The map may also have the keys in `others`, which are passed over.

    `policies` may have paths, which the caller reads.

    Raises: ConfigError.
    """
    found = {}
    for name, value in spec.items():
        key = NAMES.get(name) if isinstance(name, str) else None
        if key is None and name not in others:
            raise _unknown_key(name, child(path, name), (*NAMES, *others))
        if key is not None and value is not None and value != "":
            found[key.field] = CHECKS[key.type](key, value, child(path, name))
    return found


def _row(name: str, path: str) -> Key:
    head, dot, below = name.partition(".")
    key = NAMES.get(head)
    if key is None or (dot and (key.type not in DOTTED or not all(below.split(".")))):
        raise _unknown_key(name, path, tuple(NAMES))
    if dot and key.type == "severity":
        rule_at(below, path)
    elif dot:
        setting_at(below, path)
    return key


def _unknown_key(name: object, path: str, known: Sequence[str]) -> ConfigError:
    return ConfigError(f"unknown key; expected one of {', '.join(known)}{hint(name, known)}", path=path)
