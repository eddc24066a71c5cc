"""Parameters of ApplicationSets: merged, flattened and selected as Argo CD does it; and the globs of its generators.

upstream: argo-cd applicationset/generators, dario.cat/mergo, jeremywohl/flatten
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import Any

from krm_fn.argocd.functions import shown
from krm_fn.argocd.sources import ArgoError
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map

Parameters = dict[str, Any]
Fits = Callable[[str], bool]


WILD = frozenset("*?[")


def unique(found: list[Parameters], keys: list[Any]) -> list[Parameters]:
    if len({key_of(each, keys) for each in found}) < len(found):
        raise ArgoError(f"its generator merge has the same {', '.join(map(shown, keys))} twice")
    return found


def key_of(parameters: Parameters, keys: Iterable[Any]) -> str:
    return repr([parameters.get(key) for key in sorted(set(map(shown, keys)))])


def laid_over(base: Any, other: Any, *, deep: bool = True) -> Any:
    """A map with the values of another one over it, as Go's mergo merges them: an empty value does not count."""
    if not deep:
        return {**base, **other}
    made = dict(base)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        if both:
            made[key] = laid_over(made[key], value)
        elif value not in (None, "", 0, False) or key not in made:
            made[key] = value
    return made


def completed(own: Any, base: Any) -> Any:
    """A template with what another one has where it has nothing."""
    if isinstance(own, dict) and isinstance(base, dict):
        return {**base, **{key: completed(value, base.get(key)) for key, value in own.items() if value}}
    return own or base


def numbered(value: Any) -> Any:
    """A value as Go reads JSON: all numbers are floats."""
    if isinstance(value, dict):
        return {shown(key): numbered(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbered(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def flat(value: Any, at: str = "") -> dict[str, Any]:
    """The leaves of parameters, by their paths."""
    if not (isinstance(value, dict | list) and (value or not at)):
        return {at: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return {path: leaf for key, each in pairs for path, leaf in flat(each, f"{at}.{key}" if at else str(key)).items()}


def is_selected(labels: dict[str, Any], selector: Object) -> bool:
    known = {key: shown(value) for key, value in labels.items()}
    if any(known.get(key) != shown(value) for key, value in as_map(selector.get("matchLabels")).items()):
        return False
    return all(_fits(known, as_map(each)) for each in as_list(selector.get("matchExpressions")))


def _fits(labels: dict[str, str], expression: Object) -> bool:
    key, values = text(expression.get("key")), [shown(each) for each in as_list(expression.get("values"))]
    tests = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    operator = text(expression.get("operator"))
    if operator not in tests:
        raise ArgoError(f"a selector has the operator {operator!r}; expected one of {', '.join(tests)}")
    return tests[operator]


def of_folders(glob: str) -> Fits:
    """True for the folders of a glob: a star stays inside of a step."""
    steps = [of_files(step.replace("**", "*")) if step else str.__len__ for step in glob.strip("/").split("/")]

    def fits(path: str) -> bool:
        parts = path.split("/")
        return len(parts) == len(steps) and all(step(part) for step, part in zip(steps, parts, strict=True))

    return fits


def of_files(glob: str) -> Fits:
    """A pathspec of git: a star crosses steps; a path without one is a file, or a folder with all below it."""
    whole = glob.strip("/")
    if WILD.isdisjoint(glob):
        return lambda path: path == whole or path.startswith(f"{whole}/")
    pattern = re.compile(translate(whole.replace("[^", "[!")))
    return lambda path: pattern.match(path) is not None
