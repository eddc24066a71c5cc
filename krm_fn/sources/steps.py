"""A call of this program by a tool that applies objects: which tool, by which config, and which of the objects it sees."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from krm_fn import config
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import LOCAL_CONFIG, Object, annotations_of, group_of, kind_of, labels_of, name_of, namespace_of, text
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.value import Value
from krm_fn.config.keys import API_VERSION
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.settings import Config

GROUP = API_VERSION.partition("/")[0]
PROGRAM, MODULE = "kubevirt-render", "krm_fn"
KUSTOMIZE, KPT, ARGOCD, PIPELINE = "kustomize", "kpt", "argocd", "pipeline"


class Step(Value):
    """One call of this program before objects are applied.

    `host` calls it: one of the words above. `written` is its functionConfig, and `settings` is the config where something else
    states it. The config stands at `path` in document `item` of `file`; `inside` is the document and the path in a text that is
    written there in place. `folder`: it sees only what is below, "" for all. `selectors` and `exclude` are those of kpt.
    `local`: it gets what only functions get. `discards`: what it makes is not used. `namespace` is that of objects without one.
    A pipeline and Argo CD call the command, which sees the whole cluster, or of it only the paths of `context`.
    """

    host: str
    written: object = None
    settings: Config | None = None
    file: str = ""
    item: int = 0
    path: Path = ()
    inside: tuple[int, Path] | None = None
    folder: str = ""
    selectors: tuple[Object, ...] = ()
    exclude: tuple[Object, ...] = ()
    local: bool = True
    discards: bool = False
    namespace: str = ""
    context: tuple[str, ...] | None = None

    @property
    def sees_cluster(self) -> bool:
        """True if it knows what the other units of the cluster have."""
        return self.host in (PIPELINE, ARGOCD)

    @property
    def config(self) -> Config:
        """Its config. Raises: ConfigError, which names the file."""
        if self.settings:
            return self.settings
        try:
            return config.read(self.written)
        except ConfigError as error:
            raise ConfigError(error.message, path=error.path, file=self.file) from None

    def sees(self, items: Sequence[Any], places: Sequence[tuple[str, int]]) -> list[int]:
        """The numbers of the objects that it gets."""
        below = os.path.join(self.folder, "") if self.folder not in ("", os.curdir) else ""  # noqa: PTH118
        return [
            number
            for number, item in enumerate(items)
            if places[number][0].startswith(below) and self._is_selected(item if isinstance(item, dict) else {})
        ]

    def _is_selected(self, item: Object) -> bool:
        chosen = not self.selectors or any(_fits(item, each) for each in self.selectors)
        if is_local(item) and not self.local:
            return False
        return chosen and not any(_fits(item, each) for each in self.exclude)


def is_local(obj: Object) -> bool:
    """True for an object that hosts give to functions, and do not apply: one with any value of the mark except "false"."""
    given = annotations_of(obj)
    return LOCAL_CONFIG in given and text(given[LOCAL_CONFIG]) != "false"


def _fits(item: Object, selector: Object) -> bool:
    """True for an object with all that a selector of kpt names. upstream: kpt pkg/fn/runtime/runner.go:isMatch"""
    plain = {"apiVersion": text(item.get("apiVersion")), "kind": kind_of(item), "name": name_of(item)}
    plain["namespace"] = namespace_of(item)
    pairs = {"labels": labels_of(item), "annotations": annotations_of(item)}
    return all(text(selector.get(key)) in ("", value) for key, value in plain.items()) and all(
        given.get(key) == value for name, given in pairs.items() for key, value in as_map(selector.get(name)).items()
    )


class Stage(NamedTuple):
    """One step that has not failed: the objects that it has got and has left, by their numbers among those that were read."""

    step: Step
    seen: dict[int, Any]
    left: dict[int, Any]


class Leaving(Value):
    """What leaves. `numbers` has for each item its number among those that were read, -1 for one that a step adds.

    `findings` are those of the steps. `fails`: a step fails, so that nothing leaves. `stages` are the steps, but for
    those whose result is not used.
    """

    items: Sequence[Any]
    numbers: Sequence[int] = ()
    findings: tuple[Finding, ...] = ()
    fails: bool = False
    stages: tuple[Stage, ...] = ()

    def by_number(self, count: int) -> list[Any]:
        """The items with the numbers of those that were read, None for one that does not leave; then those that steps add."""
        kept = dict(zip(self.numbers, self.items, strict=False))
        added = [item for item, number in zip(self.items, self.numbers, strict=False) if number < 0]
        return [*(kept.get(number) for number in range(count)), *added]


def is_own(function_config: object) -> bool:
    """True for a functionConfig of this program: of its own kind, or one whose annotation names the program."""
    if not isinstance(function_config, dict):
        return False
    return group_of(function_config) == GROUP or any(map(is_call, _functions(function_config)))


def is_call(function: Object) -> bool:
    """True for a call of this program, as the `image` of a container or as the words of `exec`."""
    image = text(function.get("image")).partition("@")[0].rpartition("/")[2].partition(":")[0]
    try:
        words = shlex.split(text(function.get("exec")))
    except ValueError:
        words = []
    names = [word.rpartition("/")[2].removesuffix(".pyz") for word in words]
    return image == PROGRAM or PROGRAM in names or MODULE in names


def _functions(function_config: Object) -> Iterator[Object]:
    """The calls that the annotations of a functionConfig name."""
    from krm_fn import yamlio  # few functions have another kind than ours
    from krm_fn.base.errors import InputError

    for key in ("config.kubernetes.io/function", "config.k8s.io/function"):
        written = text(annotations_of(function_config).get(key))
        try:
            found = [as_map(each) for each in yamlio.read_stream(written.encode()).items] if written else []
        except InputError:
            found = []
        for each in found:
            called, container = as_map(each.get("exec")), as_map(each.get("container"))
            words = shlex.join([text(called.get("path")), *map(text, as_list(called.get("args")))])
            yield {"exec": words, "image": container.get("image")}
