"""A value of a KubeVirt object is a placeholder.

What it finds: `${NAME}`, `$(NAME)` and `{{ name }}` in a value, and `<name>` or `$NAME` as the whole of one, each once a file.
Texts of several lines, cloud-init data, annotations and commands are passed over: there such marks have other meanings.

Why it matters: the file is a template. What else would be wrong with such a value is not reported, because it isn't known
before the placeholder is replaced. No tool replaces `<name>`, which guides write for readers to fill in. The other forms are an
info, for a tool may replace them.

Fix: replace it, or check what the step that replaces it gives: `flux envsubst < vm.yaml | kubevirt-render check -`. Set the
severity to `off` for files that are meant to be templates.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, cpu: {cores: "${CORES}"}}}}
"""

from __future__ import annotations

from krm_fn.placeholders import placeholders
from krm_fn.resource import group_of
from krm_fn.rules import Hit, rule, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts
    from krm_fn.paths import Path

PASSED_OVER = frozenset(("annotations", "status", "cloudInitNoCloud", "cloudInitConfigDrive", "command", "args", "data"))


@rule(severity="warning")
def unfilled_placeholder(facts: BundleFacts) -> Iterator[Hit]:
    places: dict[tuple[str, str], list[tuple[Entry, Path, str]]] = {}
    for entry in facts.bundle.entries:
        group = group_of(entry.obj)
        if group == "kubevirt.io" or group.endswith(".kubevirt.io"):
            file, _ = facts.bundle.place(entry.item)
            for path, value in _texts(entry.obj):
                for found in placeholders(value):
                    places.setdefault((file, found), []).append((entry, path, value))
    for (_, found), ((entry, path, value), *others) in places.items():
        more = f", here and in {len(others)} more place{'s' * (len(others) > 1)} of the file" if others else ""
        mark = show(found, path).strip("'")
        message = f"{mark} is a placeholder{more}; replace it, or check what is made of the file"
        level = "" if found.startswith("<") else "info"  # tools replace the other forms
        yield Hit(message=message, path=path, current=value, about=entry, severity=level)


def _texts(obj: Any) -> Iterator[tuple[Path, str]]:
    """The texts in an object that are values of the API, with their paths."""
    waiting: list[tuple[Path, Any]] = [((), obj)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            waiting += [((*path, key), below) for key, below in reversed(value.items()) if key not in PASSED_OVER]
        elif isinstance(value, list):
            waiting += [((*path, index), below) for index, below in reversed(list(enumerate(value)))]
