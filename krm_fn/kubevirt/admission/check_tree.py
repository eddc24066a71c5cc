"""Tables of checks, compiled for one release, so that a check of a VM takes little time.

Groups and examinations become a tree. The tree is walked along the keys of a spec, so that unset fields take no time.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, dotted
from krm_fn.base.wording import show
from krm_fn.findings.limits import Limited
from krm_fn.kubevirt.admission.checks import Check, Examination, Group, Test
from krm_fn.kubevirt.admission.scope import Cause, Scope
from krm_fn.kubevirt.releases import Release


class CheckTree:
    """The tables of a kind of object for one release."""

    __slots__ = ("root",)

    def __init__(self, groups: Iterable[Group], examinations: Iterable[Examination], release: Release) -> None:
        self.root = Branch()
        for group in groups:
            node = self.root.at(group.at)
            for check in group.checks:
                if release.within(since=check.since, until=check.until):
                    node.add(check)
        for found in examinations:
            if release.within(since=found.since, until=found.until):
                self.root.at(found.needs).examinations.append((found.check, found.upstream))

    def run(self, scope: Scope) -> list[Cause]:
        """Every cause of every row and examination, in the order of the spec's own keys."""
        found = Limited()
        self.root.visit(scope.spec, (), scope, found)
        return found.all()


class Branch:
    """One place in the tree, with the checks of the value there.

    `always` rows check every map, `keyed` rows only a key that is set; each has the node below that key.
    """

    __slots__ = ("always", "each", "examinations", "keyed")

    def __init__(self) -> None:
        self.always: list[tuple[Path, Test, Check]] = []
        self.keyed: dict[str | int, tuple[list[tuple[Path, Test, Check]], list[Branch]]] = {}
        self.each: Branch | None = None
        self.examinations: list[tuple[Callable[[Scope], Iterable[Cause]], str]] = []

    def at(self, steps: Path) -> Branch:
        """The node some steps below, created if necessary."""
        node = self
        for step in steps:
            if step == EACH:
                node.each = node = node.each or Branch()
            else:
                below = node.keyed.setdefault(step, ([], []))[1]
                if not below:
                    below.append(Branch())
                node = below[0]
        return node

    def add(self, check: Check) -> None:
        if check.lazy and check.at and isinstance(check.at[0], str):
            self.keyed.setdefault(check.at[0], ([], []))[0].append((check.at[1:], check.refuses, check))
        else:
            self.always.append((check.at, check.refuses, check))

    def visit(self, item: Any, at: Path, scope: Scope, found: Limited) -> None:
        """Add the causes for the value at `at` to `found`. Rows skip values that are no maps."""
        for examination, upstream in self.examinations:
            for cause in examination(scope):
                if found.takes(examination):
                    found.add(cause if cause.upstream else cause.but(upstream=upstream))
                elif found.is_full(examination):
                    break
        if self.each is not None and isinstance(item, list):
            for index, each in enumerate(item):
                if each is not None:
                    self.each.visit(each, (*at, index), scope, found)
        if isinstance(item, dict):
            self._visit_map(item, at, scope, found)

    def _visit_map(self, item: Object, at: Path, scope: Scope, found: Limited) -> None:
        for steps, refuses, check in self.always:
            value = _reach(item, steps)
            if refuses(value, item, scope) and found.takes(id(check)):
                cause = _word(check, at, value, scope)
                found.add(_deeper(cause, check.among, item) if check.among else cause)
        keyed = self.keyed
        for key, value in item.items():
            if value is None or key not in keyed:
                continue
            rows, below = keyed[key]
            for steps, refuses, check in rows:
                inner = _reach(value, steps) if steps else value
                if inner is not None and refuses(inner, item, scope) and found.takes(id(check)):
                    found.add(_word(check, at, inner, scope))
            for node in below:
                node.visit(value, (*at, key), scope, found)


def _reach(value: Any, steps: Path) -> Any:
    """The value after these steps; None if a step is not in a map."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _deeper(cause: Cause, keys: Sequence[str], item: Object) -> Cause:
    """The cause at the last of the keys that are set, if there are several. Upstream's path stays that of the map."""
    present = [key for key in item if key in keys and item[key] is not None]
    if len(present) < 2:
        return cause
    return cause.but(path=(*cause.path, present[-1]), upstream_path=cause.upstream_path or dotted(cause.path))


def _word(check: Check, at: Path, value: Any, scope: Scope) -> Cause:
    indexes = [step for step in at if isinstance(step, int)]
    cause = scope.cause(
        (*at, *check.at),
        check.wording.replace("{value}", show(value)) if "{value}" in check.message else check.wording,
        reason=check.reason,
        named=check.named.format(*indexes) if check.named else "",
        absolute=check.absolute.format(*indexes) if check.absolute else "",
        gate=check.gate,
    )
    return cause.but(upstream=check.upstream, known=check.known)
