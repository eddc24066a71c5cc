"""How a check is declared, and the builders that most rows need.

A `Group` stands for a place in the spec; its `Check` rows look at fields below that place. Tests are plain functions of the
field's value, the map it stands in and the scope; they say whether the value is refused. `Examination` is what no row
expresses: a generator over the whole scope. All carry the place in upstream's source that refuses the same.
"""

from __future__ import annotations

from krm_fn.admission.causes import INVALID, REQUIRED, Cause, shown
from krm_fn.admission.formats import is_label, is_subdomain
from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from krm_fn.admission.scope import Scope
    from krm_fn.paths import Path
    from krm_fn.releases import Release, Version
    from krm_fn.resource import Object

    Test = Callable[[Any, Object, Scope], object]

# Stands for "every item" in the place of a group.
EACH = "[]"


class Check(Value):
    """One row. `at` is the field below the group's place; `refuses` the test; `message` may hold `{value}`.

    `lazy` rows are skipped where the field is absent or null. `named` is upstream's path below the group's spec where it isn't
    the real one, with `{0}`, `{1}` for the indexes on the way; `absolute` the same without the spec's path before it.
    """

    at: Path
    refuses: Test
    message: str
    upstream: str
    reason: str = INVALID
    lazy: bool = True
    named: str = ""
    absolute: str = ""
    since: Version = ()
    until: Version = ()


class Group(Value):
    """The rows of one place: `at` leads from the spec to a map, with EACH where every item of a list is meant."""

    at: tuple[str, ...]
    checks: tuple[Check, ...]


class Examination(Value):
    """A check that is a function: run where `needs` is set in the spec (`()`: always)."""

    check: Callable[[Scope], Iterable[Cause]]
    upstream: str
    needs: tuple[str, ...] = ()
    since: Version = ()
    until: Version = ()


def examine(
    *needs: str, upstream: str, since: Version = (), until: Version = ()
) -> Callable[[Callable[[Scope], Iterable[Cause]]], Examination]:
    """Declare the decorated generator an examination."""

    def declare(check: Callable[[Scope], Iterable[Cause]]) -> Examination:
        return Examination(check=check, upstream=upstream, needs=needs, since=since, until=until)

    return declare


def one_of(at: Path, values: Sequence[str], *, upstream: str, pointer: bool = False, **more: Any) -> Check:
    """The text is one of `values`. `""` passes as unset, unless Go has a pointer there."""
    known = frozenset(values) if pointer else frozenset((*values, ""))
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: not isinstance(value, str) or value not in known,
        message=f"{at[-1]} {{value}} is not known; {use(values)}",
        upstream=upstream,
        **more,
    )


def bounded(at: Path, *, low: int, high: int, upstream: str, **more: Any) -> Check:
    """The number, or zero where it is absent, lies from `low` to `high`."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: not low <= number(value) <= high,
        message=f"{at[-1]} {{value}} is out of range; use {low} to {high}",
        upstream=upstream,
        lazy=low <= 0 <= high,
        **more,
    )


def exclusive(keys: Sequence[str], *, upstream: str, message: str = "", **more: Any) -> Check:
    """At most one of `keys` is set in the map."""
    return Check(
        at=(),
        refuses=lambda _value, item, _scope: count(item, keys) > 1,
        message=message or f"only one of {listing(keys)} can be set; keep one",
        upstream=upstream,
        **more,
    )


def exactly_one(keys: Sequence[str], *, upstream: str, message: str = "", **more: Any) -> Check:
    """One of `keys` is set in the map, and no second."""
    return Check(
        at=(),
        refuses=lambda _value, item, _scope: count(item, keys) != 1,
        message=message or f"exactly one of {listing(keys)} must be set; set one",
        upstream=upstream,
        **more,
    )


def gated(at: Path, gate: str, *, upstream: str, **more: Any) -> Check:
    """The field is set only where the feature gate is open."""
    return Check(
        at=at,
        refuses=lambda value, _item, scope: value not in (None, []) and not scope.gate(gate),
        message=shut(".".join(map(str, at)), gate),
        upstream=upstream,
        **more,
    )


def required(at: Path, *, upstream: str, reason: str = REQUIRED, message: str = "", **more: Any) -> Check:
    """The field is there, and not empty."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: value is None or value == "",
        message=message or f"{at[-1]} is missing; set it",
        upstream=upstream,
        reason=reason,
        lazy=False,
        **more,
    )


def dns_label(at: Path, *, upstream: str, **more: Any) -> Check:
    """The text is a DNS label; absent and empty pass unless `lazy` is False."""
    lazy = bool(more.get("lazy", True))
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: not (lazy and value == "") and not is_label(value or ""),
        message=f"{at[-1]} {{value}} is no DNS label; use at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends",
        upstream=upstream,
        **more,
    )


def dns_subdomain(at: Path, *, upstream: str, pointer: bool = False, **more: Any) -> Check:
    """The text is a DNS subdomain; `""` passes as unset, unless Go has a pointer there."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: (pointer or value != "") and not is_subdomain(value),
        message=f"{at[-1]} {{value}} is no DNS subdomain; use DNS labels joined by dots, at most 253 characters",
        upstream=upstream,
        **more,
    )


def well_formed(at: Path, form: Callable[[object], bool], expected: str, *, upstream: str, **more: Any) -> Check:
    """The text, where it isn't empty, has a form; `expected` words it."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: value != "" and not form(value),
        message=f"{at[-1]} {{value}} is malformed; use {expected}",
        upstream=upstream,
        **more,
    )


def count(item: Object, keys: Iterable[str]) -> int:
    """How many of the keys hold something that is not null."""
    found = 0
    for key in keys:
        if item.get(key) is not None:
            found += 1
    return found


def number(value: object) -> int:
    """The value where it is an integer, else 0, as Go reads an absent one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def is_on(value: object) -> bool:
    """Go's FeatureState and the like: on where the map is there and `enabled` is absent or true."""
    return isinstance(value, dict) and value.get("enabled") in (None, True)


def shut(field: str, gate: str) -> str:
    """The message about a field whose feature gate is not open."""
    return (
        f"{field} needs the feature gate {gate}, which is not open; list it in the KubeVirt configuration or remove the field"
    )


def listing(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def use(words: Sequence[str]) -> str:
    """`use a, b or c`."""
    return "use " + (words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1])


class Plan:
    """Groups and examinations, compiled for one release into a tree that is walked along the keys a spec has.

    So a field that nobody set costs nothing.
    """

    __slots__ = ("root",)

    def __init__(self, groups: Iterable[Group], examinations: Iterable[Examination], release: Release) -> None:
        self.root = Node()
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
        found: list[Cause] = []
        self.root.visit(scope.spec, (), scope, found)
        return found


class Node:
    """One place in the tree: what is asked of the value there.

    `always` rows look at the map whatever it has, `keyed` ones at a key that is there, with the node below that key.
    """

    __slots__ = ("always", "each", "examinations", "keyed")

    def __init__(self) -> None:
        self.always: list[tuple[Path, Test, Check]] = []
        self.keyed: dict[str, tuple[list[tuple[Path, Test, Check]], list[Node]]] = {}
        self.each: Node | None = None
        self.examinations: list[tuple[Callable[[Scope], Iterable[Cause]], str]] = []

    def at(self, steps: Sequence[str]) -> Node:
        """The node some steps down, made where it isn't there yet."""
        node = self
        for step in steps:
            if step is EACH:
                node.each = node = node.each or Node()
            else:
                below = node.keyed.setdefault(step, ([], []))[1]
                if not below:
                    below.append(Node())
                node = below[0]
        return node

    def add(self, check: Check) -> None:
        if check.lazy and check.at and isinstance(check.at[0], str):
            self.keyed.setdefault(check.at[0], ([], []))[0].append((check.at[1:], check.refuses, check))
        else:
            self.always.append((check.at, check.refuses, check))

    def visit(self, item: Any, at: Path, scope: Scope, found: list[Cause]) -> None:
        """Add to `found` what is wrong with the value that stands at `at`; rows pass over other shapes than maps."""
        for examination, upstream in self.examinations:
            found += [cause if cause.upstream else cause.but(upstream=upstream) for cause in examination(scope)]
        if self.each is not None and isinstance(item, list):
            for index, each in enumerate(item):
                self.each.visit(each, (*at, index), scope, found)
        if isinstance(item, dict):
            self._visit_map(item, at, scope, found)

    def _visit_map(self, item: Object, at: Path, scope: Scope, found: list[Cause]) -> None:
        for steps, refuses, check in self.always:
            value = _reach(item, steps)
            if refuses(value, item, scope):
                found.append(_word(check, at, value, scope))
        keyed = self.keyed
        for key, value in item.items():
            if value is None or key not in keyed:
                continue
            rows, below = keyed[key]
            for steps, refuses, check in rows:
                inner = _reach(value, steps) if steps else value
                if inner is not None and refuses(inner, item, scope):
                    found.append(_word(check, at, inner, scope))
            for node in below:
                node.visit(value, (*at, key), scope, found)


def _reach(value: Any, steps: Path) -> Any:
    """What the steps lead to, None where they leave the maps."""
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _word(check: Check, at: Path, value: Any, scope: Scope) -> Cause:
    indexes = [step for step in at if isinstance(step, int)]
    cause = scope.cause(
        (*at, *check.at),
        check.message.replace("{value}", shown(value)) if "{value}" in check.message else check.message,
        reason=check.reason,
        named=check.named.format(*indexes) if check.named else "",
        absolute=check.absolute.format(*indexes) if check.absolute else "",
    )
    return cause.but(upstream=check.upstream)
