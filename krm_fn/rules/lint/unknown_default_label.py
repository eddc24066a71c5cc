"""A default label names an instancetype or preference that does not exist.

What it finds: a PersistentVolumeClaim, DataVolume, DataSource, DataImportCron or VolumeSnapshot whose label
`instancetype.kubevirt.io/default-instancetype` or `…/default-preference` names neither an object in the bundle nor, for the
cluster-wide kinds, a builtin one of the release; or whose `…-kind` label is not a kind of either. Namespaced kinds are
looked up in every namespace, because a VM looks in its own. If the bundle has none of the kind, they may be in the cluster,
so it is an info.

Why it matters: the label is read only when somebody creates a VM with `inferFromVolume`, or picks the image in a console.
That VM is then refused, or never starts, far from the cause.

Fix: correct the label, or add the object.

Example:

    apiVersion: cdi.kubevirt.io/v1beta1
    kind: DataSource
    metadata: {name: fedora, labels: {instancetype.kubevirt.io/default-instancetype: u1.mediun}}
    spec: {source: {pvc: {name: fedora, namespace: images}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import is_cluster_kind
from krm_fn.base.objects import name_of, previous_names
from krm_fn.base.suggestions import Suggestions, meant
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.labels import Default, defaults

GROUP = "instancetype.kubevirt.io"


@rule(severity="warning")
def unknown_default_label(facts: BundleFacts) -> Iterator[Hit]:
    known = KnownNames(facts)
    for default in defaults(facts.bundle):
        if not default.kind:
            yield _no_kind(default)
        elif not default.name:
            yield _hit(default, "the label is empty; set a name, or remove it", UNSET)
        elif default.name not in known.of(default.kind):
            yield _unknown(default, known.suggestion(default.kind, default.name), known)


class KnownNames:
    """The names of the objects of each kind, with those from before kustomize's changes; each kind is read once."""

    def __init__(self, facts: BundleFacts) -> None:
        self._facts = facts
        self._names: dict[str, dict[str, None]] = {}
        self._suggestions = Suggestions()

    def of(self, kind: str) -> dict[str, None]:
        if kind not in self._names:
            own = self._facts.bundle.of_kind(kind, GROUP)
            named = (name for entry in own for name in (name_of(entry.obj), *previous_names(entry.obj)))
            self._names[kind] = dict.fromkeys((*named, *self._shipped(kind)))
        return self._names[kind]

    def suggestion(self, kind: str, name: str) -> str:
        """The name of that kind of which `name` is a misspelling, "" where there is none."""
        return self._suggestions.of(name, self.of(kind))

    def _shipped(self, kind: str) -> tuple[str, ...]:
        facts = self._facts
        if not is_cluster_kind(kind) or facts.config.catalogue == "none" or not facts.cluster.deploys_catalogue(facts.release):
            return ()
        from krm_fn.kubevirt import catalogue  # only where a label names such a kind

        return catalogue.of(self._facts.release).names(kind)


def _unknown(default: Default, suggestion: str, known: KnownNames) -> Hit:
    fix = f"use {suggestion}, or add it" if suggestion else "correct the label, or add it"
    hit = _hit(default, f"{default.kind} {default.name} is not found; {fix} to the bundle", suggestion or UNSET)
    return hit if known.of(default.kind) else hit.but(severity="info")


def _no_kind(default: Default) -> Hit:
    kinds = default.matcher.kinds
    suggestion = meant(default.kind_written, kinds)
    message = f"{default.kind_written} is not a kind of {default.matcher.field}; use {suggestion or ' or '.join(kinds)}"
    return Hit(
        message=message,
        path=default.kind_path,
        current=default.kind_written,
        proposed=suggestion or UNSET,
        about=default.entry,
    )


def _hit(default: Default, message: str, proposed: Any) -> Hit:
    return Hit(message=message, path=default.path, current=default.name, proposed=proposed, about=default.entry)
