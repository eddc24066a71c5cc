"""A value of a KubeVirt object is a placeholder.

What it finds: `${NAME}`, `$(NAME)`, `{{ name }}` and `__NAME__` in a value, and `<name>` or `$NAME` as the whole value, each
once per file. `NAME`, and words in capitals with an underscore, such as `CLAIM_NAME`, are placeholders where the name of an
object or of a namespace is expected, because no such name may have capitals. The names of claims, Secrets and ConfigMaps are
also searched. Multi-line strings, cloud-init data, annotations and commands are skipped, because such marks have other
meanings there.

Why it matters: the file is a template. Other defects of such a value are not reported, because the value is not known before
the placeholder is replaced. `<name>` and `CLAIM_NAME` are a warning, because guides write them for readers to replace. The
other forms are an info, because a tool may replace them.

Fix: replace it, or check the output of the step that replaces it: `flux envsubst < vm.yaml | kubevirt-render check -`. Set
the severity to `off` for files that are meant to be templates.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, cpu: {cores: "${CORES}"}}}}
"""

from __future__ import annotations

from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import get
from krm_fn.base.placeholders import is_in_capitals, placeholders
from krm_fn.base.wording import show
from krm_fn.kubevirt.templates import is_template
from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.paths import Path
    from krm_fn.rules.facts import BundleFacts

CORE_KINDS = frozenset(("PersistentVolumeClaim", "Secret", "ConfigMap"))
PASSED_OVER = frozenset(("annotations", "status", "cloudInitNoCloud", "cloudInitConfigDrive", "command", "args", "data"))


@rule(severity="warning")
def unfilled_placeholder(facts: BundleFacts) -> Iterator[Hit]:
    places: dict[tuple[str, str], list[tuple[Entry, Path, str]]] = {}
    for entry in facts.bundle.entries:
        file, _ = facts.bundle.place(entry.item)
        for path, value in _values(entry.obj):
            for found in placeholders(value, path):
                places.setdefault((file, found), []).append((entry, path, value))
    for (_, found), where in places.items():
        first = facts.bundle.ordered({id(entry): entry for entry, _, _ in where}.values())[0]
        entry, path, value = next(place for place in where if place[0] is first)
        others = len(where) - 1
        more = f", here and in {others} more place{'s' * (others > 1)} of the file" if others else ""
        mark = show(found, path).strip("'")
        message = f"{mark} is a placeholder{more}; replace it, or check the output of the step that replaces it"
        level = "" if found.startswith("<") or is_in_capitals(found) else "info"  # tools replace the other forms
        yield Hit(message=message, path=path, current=value, about=entry, severity=level)


def _values(obj: Any) -> Iterator[tuple[Path, str]]:
    """The strings of an object that are searched, with their paths: of claims, Secrets and ConfigMaps names in capitals."""
    group = group_of(obj)
    if is_template(obj):
        return  # its parameters
    if group == "kubevirt.io" or group.endswith(".kubevirt.io"):
        yield from _texts(obj)
    elif not group and kind_of(obj) in CORE_KINDS:
        for path in (("metadata", "namespace"), ("metadata", "name")):
            value = get(obj, path)
            if is_in_capitals(value):
                yield path, value


def _texts(obj: Any) -> Iterator[tuple[Path, str]]:
    """The strings in an object that are values of the API, with their paths. It holds the paths of one place at a time."""
    around: list[tuple[Path, Iterator[tuple[Any, Any]]]] = [((), _entries(obj))]
    while around:
        path, entries = around[-1]
        key, value = next(entries, (None, None))
        if key is None:
            around.pop()
        elif isinstance(value, str):
            yield (*path, key), value
        elif isinstance(value, dict | list) and value:
            around.append(((*path, key), _entries(value)))


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The keys or indices of a map or list, and their values."""
    if isinstance(value, dict):
        return ((key, below) for key, below in value.items() if key not in PASSED_OVER)
    return iter(enumerate(value))
