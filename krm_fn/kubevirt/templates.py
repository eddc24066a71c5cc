"""Templates that a repository holds: the objects in them, with the default values of their parameters filled in.

OpenShift's Template and KubeVirt's VirtualMachineTemplate are known, and the kinds from which Cluster API makes VMs. A cluster
makes objects of them where somebody asks for it, with values of its own; a template itself creates nothing.

upstream: kubevirt/virt-template staging/src/kubevirt.io/virt-template-engine/template/template.go:substituteParameters;
kubernetes-sigs/cluster-api (virt-template's user) pkg/kubevirt/utils.go:newVirtualMachineFromKubevirtMachine
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from krm_fn.base.bundle import Entry
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.kubevirt.api_versions import CORE

# A parameter in a text, and as the whole of a value that need not be a text.
IN_TEXT = expression(r"\$\{([A-Za-z0-9_]+)\}")
WHOLE = expression(r"\$\{\{([A-Za-z0-9_]+)\}\}")
MARK = "${"


class TemplateKind(NamedTuple):
    """A kind of template: where its parameters stand, and its objects, or the only one; `made` is what that has to be.

    `named`: the object is called like the template, with more.
    """

    parameters: Path
    objects: Path
    made: tuple[tuple[str, str], ...] = ()
    named: bool = False


VM = (("apiVersion", f"{CORE}/v1"), ("kind", "VirtualMachine"))
MACHINES = "infrastructure.cluster.x-k8s.io"
KINDS = {
    **dict.fromkeys([("template.openshift.io", "Template"), ("", "Template")], TemplateKind(("parameters",), ("objects",))),
    ("template.kubevirt.io", "VirtualMachineTemplate"): TemplateKind(
        ("spec", "parameters"),
        ("spec", "virtualMachine"),
        VM,
    ),
    (MACHINES, "KubevirtMachineTemplate"): TemplateKind(
        (), ("spec", "template", "spec", "virtualMachineTemplate"), VM, named=True
    ),
    (MACHINES, "KubevirtMachine"): TemplateKind((), ("spec", "virtualMachineTemplate"), VM, named=True),
}


class Template(NamedTuple):
    """A template: its objects, each with its place in the item, and how many values depend on parameters without a default."""

    entry: Entry
    objects: tuple[tuple[Path, Object], ...]
    open: int


def is_template(obj: Object) -> bool:
    """True for a template of a kind that is known."""
    return (group_of(obj), kind_of(obj)) in KINDS


def template_of(entry: Entry) -> Template:
    """The template that an entry of a bundle is."""
    kind = KINDS[group_of(entry.obj), kind_of(entry.obj)]
    parameters = _Parameters(as_list(get(entry.obj, kind.parameters)))
    found = [
        ((*entry.path, *path), {**parameters.filled_in(_homeless(_called(obj, entry, kind))), **dict(kind.made)})
        for path, obj in _objects(entry, kind)
    ]
    return Template(entry, tuple(found), parameters.open)


def parameter_of(template: Template, value: Any) -> Path | None:
    """The place, in the template, of the default value of the parameter that is the whole of a value; None if there is none."""
    found = (WHOLE.fullmatch(value) or IN_TEXT.fullmatch(value)) if isinstance(value, str) else None
    if found is None:
        return None
    at = KINDS[group_of(template.entry.obj), kind_of(template.entry.obj)].parameters
    declared = enumerate(map(as_map, as_list(get(template.entry.obj, at))))
    return next(((*at, number, "value") for number, each in declared if each.get("name") == found[1] and "value" in each), None)


def _objects(entry: Entry, kind: TemplateKind) -> Iterator[tuple[Path, Object]]:
    """The objects as they are written, with their paths."""
    written = get(entry.obj, kind.objects)
    if isinstance(written, dict):
        yield kind.objects, written
    for number, obj in enumerate(as_list(written)):
        if isinstance(obj, dict):
            yield (*kind.objects, number), obj


def _called(obj: Object, entry: Entry, kind: TemplateKind) -> Object:
    return {**obj, "metadata": {**as_map(obj.get("metadata")), "name": name_of(entry.obj)}} if kind.named else obj


def _homeless(obj: Object) -> Object:
    """The object without a namespace that no parameter decides: processing removes that."""
    metadata = as_map(obj.get("metadata"))
    if "namespace" not in metadata or IN_TEXT.search(text(metadata["namespace"])):
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}


class _Parameters:
    """The parameters that have a default value; `open` counts the values in which others stand."""

    def __init__(self, declared: list[Any]) -> None:
        self._values = {name: value for each in map(as_map, declared) for name, value in _default(each)}
        self.open = 0

    def filled_in(self, value: Any) -> Any:
        """The value with its parameters filled in, as far as they have a default value; keys are texts, too."""
        if isinstance(value, dict):
            made = {}
            for key, below in value.items():  # a comprehension would take twice the stack
                made[self._key(key)] = self.filled_in(below)
            return made
        if isinstance(value, list):
            return list(map(self.filled_in, value))
        if not isinstance(value, str) or MARK not in value:
            return value
        whole = WHOLE.fullmatch(value)
        if whole:
            return self._parsed(value, whole[1])
        filled = self._text(value)
        self.open += IN_TEXT.search(filled) is not None
        return filled

    def _key(self, key: Any) -> Any:
        return self._text(key) if isinstance(key, str) and MARK in key else key

    def _text(self, value: str) -> str:
        return IN_TEXT.sub(lambda found: self._values.get(found[1], found[0]), value)

    def _parsed(self, value: str, name: str) -> Any:
        """What JSON reads in the value of a parameter, else its text."""
        if name not in self._values:
            self.open += 1
            return value
        try:
            return json.loads(self._values[name], parse_constant=_refused)
        except (ValueError, RecursionError):
            return self._values[name]


def _refused(constant: str) -> None:
    """Raises: ValueError for what Python reads as a number, and JSON has not."""
    raise ValueError(constant)


def _default(parameter: Object) -> Iterator[tuple[str, str]]:
    """Name and default value of a parameter, nothing where the value is generated or has to be given."""
    name, value = text(parameter.get("name")), parameter.get("value")
    if not name or value is None or isinstance(value, dict | list):
        return
    if value == "" and (parameter.get("generate") or parameter.get("required")):
        return
    yield name, value if isinstance(value, str) else json.dumps(value)
