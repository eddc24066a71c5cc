"""What kustomizations write for generators, transformers and validators: objects, in place of a path or in a file. Pure.

Kustomize reads keys without regard to case in all that it makes structs of. So keys are compared in that way here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import as_list

CHARTS = "helmchartinflationgenerator"  # the kind of a generator that makes objects of a chart
# The keys of builtin plugins that name files, and the one of them that may give a file a name: `name=path`.
NAMING = frozenset(("path", "paths", "files", "env", "envs", "valuesfile", "additionalvaluesfiles"))
ASSIGNING = "files"
# The keys of a chart below which all is values, and no word for helm.
VALUES = frozenset(("valuesinline", "valueslocal"))
# The keys of a kustomization below which a file is named, a program is called, or an object is made.
LOADING = frozenset(
    (
        *("kind", "apiVersion", "resources", "bases", "components", "generators", "transformers", "validators", "crds"),
        *("patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "configurations", "openapi", "vars"),
        *("configMapGenerator", "secretGenerator", "helmCharts", "helmGlobals", "helmChartInflationGenerator"),
    )
)
NAMES = frozenset(
    (
        *("path", "files", "env", "envs", "valuesFile", "additionalValuesFiles", "values", "chartHome", "configHome"),
        *("helmHome", "helmBin", "name", "chartName", "repo", "chartRepoUrl", "version", "releaseName", "extraArgs"),
    )
)
OF_CHARTS = ("helmCharts", "helmGlobals", "helmChartInflationGenerator")
# What a kustomization may have that makes plugins, so that its files say all that they name.
PLAIN = frozenset(
    ("apiVersion", "kind", "metadata", "namespace", "resources", "bases", "commonLabels", "labels", "commonAnnotations")
)


def folded(key: object) -> str:
    """A key as Go's JSON compares it."""
    return text(key).casefold()


def is_unclear(written: str) -> bool:
    """True for a text that can't be read, and that kustomize may take for objects all the same."""
    if not ("\n" in written or "{" in written or ": " in written):
        return False
    try:
        yamlio.read_stream(written.encode())
    except InputError:
        return True
    return False


def objects(written: str) -> list[Object]:
    """The objects that kustomize reads where it takes a text for some, and not for a path; none for a path."""
    try:
        items = [item for item in yamlio.read_stream(written.encode()).items if item is not None]
    except InputError:
        return []
    found = [each for item in items for each in listed(item)]
    return found if found and all(isinstance(each, dict) and kind_of(each) and name_of(each) for each in found) else []


def listed(item: Any) -> list[Any]:
    """The objects of a List, or the object itself."""
    return as_list(item["items"]) if isinstance(item, dict) and kind_of(item).endswith("List") and "items" in item else [item]


def files(plugin: Object) -> Iterator[str]:
    """What a plugin names in keys for files."""
    for key, value in plugin.items():
        name, listed = folded(key), value if isinstance(value, list) else [value]
        if name in NAMING:
            yield from (each.partition("=")[2] or each if name == ASSIGNING else each for each in map(text, listed))
        elif name == "replacements":
            yield from (file for each in listed if isinstance(each, dict) for file in files(each))


def is_chart(plugin: Object) -> bool:
    """True for a generator that has helm make objects of a chart."""
    return kind_of(plugin).casefold() == CHARTS


def words(chart: Any) -> Iterator[str]:
    """The texts of a chart that reach helm."""
    if isinstance(chart, dict):
        for key, value in chart.items():
            if folded(key) not in VALUES:
                yield from words(value)
    elif isinstance(chart, list):
        for each in chart:
            yield from words(each)
    elif isinstance(chart, str):
        yield chart


def flag(charts: Iterable[Any]) -> str:
    """The first text that helm would read as a flag, "" where there is none."""
    return next((word for chart in charts for word in words(chart) if word.startswith("-")), "")


def misspelt(obj: Object) -> str:
    """A key of a kustomization that kustomize reads as another one, "" where there is none."""
    below = (each for key in obj if key in LOADING for each in _maps(obj[key]))
    return _other(obj, LOADING) or next((found for each in below if (found := _other(each, NAMES))), "")


def _maps(value: Any) -> Iterator[Object]:
    yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict))


def _other(given: Object, known: frozenset[str]) -> str:
    folds = {key.casefold() for key in known}
    return next((text(key) for key in given if folded(key) in folds and key not in known), "")
