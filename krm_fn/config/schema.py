"""The published JSON Schema of the function config (draft 2020-12), made from the rows that the checks read too.

In a ConfigMap nested values are YAML text. JSON Schema can say what such text must hold (`contentSchema`), but validators
only note it; so a test turns that keyword into an assertion and holds schema and checks against each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krm_fn.base.targets import KEYS as TARGET_KEYS
from krm_fn.base.targets import LONGEST
from krm_fn.config import settings as config_settings
from krm_fn.config.keys import API_VERSION, KEYS, KIND, LEVELS, NESTED, SWITCHES, Key
from krm_fn.config.patches import OPERATIONS
from krm_fn.config.schema_policies import JUDGED, LONGEST_NAME, STATES
from krm_fn.config.schema_policies import NAME as POLICY_NAME
from krm_fn.findings.finding import SEVERITIES
from krm_fn.kubevirt.releases import NEWEST_PATCH, UNMEASURED
from krm_fn.rules.registry import OWN, all_rules

Schema = dict[str, Any]


ID = "urn:kubevirt-render:schema:v1alpha1:function-config"  # a name: nothing is fetched for it
# A list of names, and the same as text.
NAME: Schema = {"type": "string", "pattern": r"^ *[A-Za-z0-9_.-]+ *$(?!\n)", "not": {"pattern": "^ *policy *$"}}
NAMES = r"^(?!(.*,)? *policy *(,|$))( *[A-Za-z0-9_.-]+ *(, *[A-Za-z0-9_.-]+ *)*)?$(?!\n)"
METADATA: Schema = {"type": ["object", "null"]}


def schema() -> Schema:
    """The schema of both forms: the own kind, told by its kind, and the ConfigMap."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": f"Function config of kubevirt-render: {KIND}, or a ConfigMap with the same keys",
        "anyOf": [
            {"type": "null"},
            {"type": "object", "maxProperties": 0},
            {"$ref": "#/$defs/typed"},
            {"$ref": "#/$defs/configMap"},
        ],
        "$defs": {
            "typed": form(API_VERSION, KIND, spec=map_of(typed_keys())),
            "configMap": config_map(),
            **nested_values(),
        },
    }


def config_map() -> Schema:
    """The ConfigMap with the same keys."""
    return form("v1", "ConfigMap", immutable={}, data=map_of({key.name: _text(key) for key in KEYS}, _dotted()))


def typed_keys() -> Schema:
    """The keys with their values' own types; the nested ones refer to `nested_values`."""
    return {key.name: _typed(key) for key in KEYS}


def nested_values() -> Schema:
    """The definitions that keys with nested values refer to, by name."""
    nested = {key.name: _nested(key) for key in KEYS if key.type in NESTED}
    return {**nested, **_structures(config_settings.ROOT)}


def form(api_version: str, kind: str, **own: Schema) -> Schema:
    """An object of one kind with these keys beside its metadata."""
    return {
        "type": "object",
        "required": ["apiVersion", "kind"],
        "additionalProperties": False,
        "properties": {"apiVersion": {"const": api_version}, "kind": {"const": kind}, "metadata": METADATA, **own},
    }


def map_of(properties: Schema, patterns: Schema | None = None) -> Schema:
    """A map with these keys, or null."""
    below = {"patternProperties": patterns} if patterns else {}
    return {"type": ["object", "null"], "additionalProperties": False, "properties": properties, **below}


def _typed(key: Key) -> Schema:
    about = {"description": key.doc, "default": key.default}
    match key.type:
        case "word":
            return {**about, "enum": [*key.words, "", None]}
        case "version":
            return {**about, "type": ["string", "null"], "pattern": _versions()}
        case "names":
            return {
                **about,
                "anyOf": [{"type": "array", "items": NAME}, {"type": "string", "pattern": NAMES}, {"type": "null"}],
            }
        case "switch":
            return {**about, "enum": [True, False, "", None]}
        case _:
            return {**about, "anyOf": [{"$ref": f"#/$defs/{key.name}"}, {"enum": ["", None]}]}


def _text(key: Key) -> Schema:
    match key.type:
        case "word" | "version":
            return _typed(key)
        case "names":
            return {**_typed(key), "default": "", "anyOf": [{"type": "string", "pattern": NAMES}, {"type": "null"}]}
        case "switch":
            return {**_typed(key), "default": str(key.default).lower(), "enum": [*SWITCHES, "", None]}
        case _:
            content = {"anyOf": [{"$ref": f"#/$defs/{key.name}"}, {"enum": [None]}]}
            return {
                "description": f"{key.doc}; as a YAML string",
                "type": ["string", "null"],
                "contentMediaType": "application/yaml",
                "contentSchema": content,
            }


def _nested(key: Key) -> Schema:
    if key.type == "configuration":
        return {"type": "object", **_of_word(config_settings.ROOT)}
    if key.type == "patches":
        return _patches()
    if key.type == "policies":
        return policies()
    if key.type == "schemaPolicies":
        return _schema_policies()
    levels = {"enum": [*LEVELS, False, "", None], "description": "false is what YAML 1.1 makes of a plain off"}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": dict.fromkeys(all_rules(), levels),
        "patternProperties": {OWN: levels},
    }


def _patches() -> Schema:
    """A list of patches; the operations may be given as YAML text."""
    pointer: Schema = {"type": "string", "pattern": "^(/([^~]|~[01])*)?$"}
    operations: list[Schema] = [
        {
            "type": "object",
            "required": ["op", "path", *([needed] if needed else [])],
            "additionalProperties": False,
            "properties": {"op": {"const": op}, "path": pointer, "from": pointer if needed == "from" else {}, "value": {}},
        }
        for op, needed in OPERATIONS.items()
    ]
    listed: Schema = {"type": "array", "items": {"anyOf": operations}}
    text: Schema = {"type": "string", "contentMediaType": "application/yaml", "contentSchema": listed}
    target = map_of({key: {"type": ["string", "null"], "maxLength": LONGEST} for key in TARGET_KEYS})
    properties: Schema = {"target": target, "patch": {"anyOf": [listed, text]}}
    item: Schema = {"type": "object", "required": ["patch"], "additionalProperties": False, "properties": properties}
    return {"type": "array", "items": item}


def policies(*more: Schema) -> Schema:
    """A list of objects; `more` are other forms of an item."""
    name: Schema = {"type": "string", "minLength": 1}
    version: Schema = {"type": "string", "not": {"pattern": f"^({'|'.join(JUDGED)})/".replace(".", r"\.")}}
    properties: Schema = {
        "apiVersion": version,
        "kind": {**name, "not": {"const": "Namespace"}},
        "metadata": {"type": "object", "required": ["name"], "properties": {"name": name}},
    }
    item: Schema = {"type": "object", "required": [*properties], "properties": properties}
    return {"type": "array", "items": {"anyOf": [item, *more]} if more else item}


def _schema_policies() -> Schema:
    """A list of policies; their schemas are checked when they are evaluated."""
    texts: Schema = {"type": ["array", "null"], "items": {"type": "string"}}
    labels: Schema = {"type": ["object", "null"], "additionalProperties": {"type": "string"}}
    select = {"kinds": texts, "namespaces": texts, "labels": labels, "namespaceLabels": labels}
    properties: Schema = {
        "name": {"type": "string", "pattern": f"^{POLICY_NAME.pattern}$", "maxLength": LONGEST_NAME},
        "select": map_of(select),
        "on": {"enum": [*STATES, None], "default": "rendered"},
        "true": {"enum": [*STATES, None], "description": "what readers of YAML 1.1 make of a plain on"},
        "schema": {"type": ["object", "boolean"]},
        "message": {"type": ["string", "null"]},
        "severity": {"enum": [*SEVERITIES, None], "default": "error"},
    }
    item: Schema = {"type": "object", "required": ["name", "schema"], "additionalProperties": False, "properties": properties}
    return {"type": "array", "items": item}


def _structures(word: str) -> Schema:
    """The definitions of a structure and of those below it. They say which settings there are, and nothing of their values."""
    found: Schema = {}
    waiting = [word]
    for one in waiting:
        settings = config_settings.settings_of(one)
        if settings and one not in found:
            found[one] = {
                "properties": {name: _of_word(below) for name, below in settings.items()},
                "additionalProperties": False,
            }
            waiting += [below.strip("[]{}") for below in settings.values()]
    return found


def _of_word(word: str) -> Schema:
    if word[0] == "[":
        return {"items": _of_word(word[1:-1])}
    if word[0] == "{":
        return {"additionalProperties": _of_word(word[1:-1])}
    return {"$ref": f"#/$defs/{word}"} if config_settings.settings_of(word) else {}


def _dotted() -> Schema:
    rules = "|".join(all_rules())
    by_form: dict[str, list[str]] = {}
    for path, word in _paths(config_settings.ROOT):
        by_form.setdefault(word if _of_word(word) else "any", []).append(path)
    return {
        **{f"^configuration({'|'.join(paths)})$": _setting(word) for word, paths in by_form.items()},
        rf"^severity\.({rules}|.*{OWN}.*)$": {"description": "the severity of one rule", "enum": [*LEVELS, "", None]},
    }


def _paths(word: str) -> Iterator[tuple[str, str]]:
    """Patterns of the dotted paths below a value of a type, each with the word of what stands there."""
    settings = {rf"\.{name}": below for name, below in config_settings.settings_of(word).items()}
    if word[0] == "{":
        settings = {r"\.[^.]+": word[1:-1]}
    for path, below in settings.items():
        yield path, below
        for rest, inner in _paths(below):
            yield path + rest, inner
    if not settings:  # a scalar or a list: the path leads too far, and ends in a value that is looked at no further
        yield r"(\.[^.]+)+", "any"


def _setting(word: str) -> Schema:
    return {
        "description": "one setting of the KubeVirtConfiguration by its dotted path; the value is YAML text",
        "type": ["string", "null"],
        "contentMediaType": "application/yaml",
        "contentSchema": _of_word(word),
    }


def _versions() -> str:
    patches = {minor: [*range(newest + 1)] for minor, newest in NEWEST_PATCH.items()}
    for major, minor, patch in UNMEASURED:
        patches.setdefault((major, minor), []).append(patch)
    known = "|".join(rf"{major}\.{minor}(\.({'|'.join(map(str, every))}))?" for (major, minor), every in patches.items())
    return rf"^(v?({known}))?$"
