"""A value of a KubeVirt object is a placeholder.

What it finds: placeholders. In each value: `${NAME}`, `${NAME:=default}`, `$(NAME)`, `{{ name }}`, `<%= name %>` and
`__NAME__`, and `$NAME` or `<name>` as the whole value. In the name of an object or of a namespace, also: `<name>` and `$name`
as a part of it, `NAME`, and words in capitals with an underscore, such as `CLAIM_NAME`. Where a size, a number or an image is
expected, also: a word such as `test-placeholder`. There is one finding for all those that tools fill in, with their number,
and one for each of the others in a file. The names of claims, Secrets and ConfigMaps are searched for `<name>` and words in
capitals. Multi-line strings, cloud-init data, annotations and commands are skipped, because such marks have other meanings
there. So are OpenShift Templates and VirtualMachineTemplates, which have parameters.

Why it matters: the file is a template. Other defects of such a value are not reported, because the value is not known before
the placeholder is replaced, as Flux does with `${NAME}`. If it has a default, as `${NAME:=default}` and
`{{ name | default(1) }}` have, the default counts as the value, in all commands. `<name>` and `CLAIM_NAME` are a warning,
because guides write them for readers to replace. The other forms are an info, because a tool may replace them.

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

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import group_of, kind_of
from krm_fn.base.paths import Path, get
from krm_fn.base.placeholders import OTHERS, is_filled_key, is_in_capitals, may_be_in, placeholders
from krm_fn.base.wording import show
from krm_fn.kubevirt.templates import is_template
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

Place = tuple[Entry, Path, str, str]


CORE_KINDS = frozenset(("PersistentVolumeClaim", "Secret", "ConfigMap"))


@rule(severity="warning")
def unfilled_placeholder(facts: BundleFacts) -> Iterator[Hit]:
    by_hand: dict[tuple[str, str], list[Place]] = {}
    by_tools: list[Place] = []
    for entry in facts.bundle.entries:
        file, _ = facts.bundle.place(entry.item)
        written = get(facts.surroundings.written.get(entry.item), entry.path) or entry.obj
        for path, value in _values(written):
            for found in placeholders(value, path):
                place = entry, path, value, found
                if (found.startswith("<") and not found.startswith("<%")) or is_in_capitals(found):
                    by_hand.setdefault((file, found), []).append(place)
                else:
                    by_tools.append(place)
    for where in by_hand.values():
        others = len(where) - 1
        more = f", here and in {others} more place{'s' * (others > 1)} of the file" if others else ""
        yield _hit(where, more, "", facts.bundle)
    if by_tools:
        others = len({(id(entry), path) for entry, path, *_ in by_tools}) - 1
        more = f", and {others} more value{'s have' if others > 1 else ' has'} placeholders" if others else ""
        yield _hit(by_tools, more, "info", facts.bundle)


def _hit(places: list[Place], more: str, severity: str, bundle: Bundle) -> Hit:
    """What there is to say of placeholders, at the first of their places."""
    first = bundle.ordered({id(entry): entry for entry, *_ in places}.values())[0]
    entry, path, value, found = next(place for place in places if place[0] is first)
    mark = show(found, path).strip("'")
    message = f"{mark} is a placeholder{more}; replace it, or check the output of the step that replaces it"
    return Hit(message=message, path=path, current=value, about=entry, severity=severity)


def _values(obj: Any) -> Iterator[tuple[Path, str]]:
    """The strings of an object that are searched, with their paths: names to fill in, of claims, Secrets, ConfigMaps."""
    group = group_of(obj)
    if is_template(obj):
        return  # its parameters
    if group == "kubevirt.io" or group.endswith(".kubevirt.io"):
        if may_be_in(obj):  # to go through the paths as well takes several times as long
            yield from _texts(obj)
    elif not group and kind_of(obj) in CORE_KINDS:
        for path in (("metadata", "namespace"), ("metadata", "name")):
            value = get(obj, path)
            if is_in_capitals(value) or (isinstance(value, str) and "<" in value):
                yield path, value


def _texts(obj: Any) -> Iterator[tuple[Path, str]]:
    """The strings in an object that are values of the API, with their paths. It holds the paths of one place at a time."""
    around: list[tuple[Path, Iterator[tuple[Any, Any]]]] = [((), _entries(obj))]
    while around:
        path, entries = around[-1]
        key, value = next(entries, (None, None))
        if key is None:
            around.pop()
        elif is_filled_key(key):
            yield path, key
        elif isinstance(value, str):
            yield (*path, key), value
        elif isinstance(value, dict | list) and value:
            around.append(((*path, key), _entries(value)))


def _entries(value: Any) -> Iterator[tuple[Any, Any]]:
    """The keys or indices of a map or list, and their values."""
    if isinstance(value, dict):
        return ((key, below) for key, below in value.items() if key not in OTHERS)
    return iter(enumerate(value))
