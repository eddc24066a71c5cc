"""How a check is declared, and functions that build most rows.

A `Group` is a place in the spec; its `Check` rows check fields below that place. A test is a plain function of the field's
value, the map around it and the scope; it returns whether the value is refused. An `Examination` is for a check that no row can
express: a generator over the complete scope. Each has the place of the same check in upstream's source.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.kubevirt.admission.formats import is_label, is_subdomain
from krm_fn.kubevirt.admission.scope import INVALID, REQUIRED, Cause, Scope
from krm_fn.kubevirt.releases import Bound, Version, bound_text

Test = Callable[[Any, Object, Scope], object]


LABEL_FORM = "use at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends"


def new_since(since: Bound, message: str) -> str:
    """The message of a check that the releases before do not have."""
    return f"{message}; KubeVirt checks this since {bound_text(since)}"


class Check(Value):
    """One row. `at` is the field below the group's place; `refuses` the test; `message` may hold `{value}`.

    `lazy` rows are skipped if the field is absent or null. `named` is upstream's path below the group's spec if it differs from
    the real one, with `{0}`, `{1}` for the indexes; `absolute` is the same without the path of the spec. If several keys of
    `among` are set, the cause is at the last of them, and upstream's path is that of the map. With the feature gate `gate`, the
    object passes. `known` are the words that are allowed, if only some are. `is_new` rows refuse values that the release before
    `since` accepted; their message says so.
    """

    at: Path
    refuses: Test
    message: str
    upstream: str
    reason: str = INVALID
    lazy: bool = True
    among: tuple[str, ...] = ()
    named: str = ""
    absolute: str = ""
    gate: str = ""
    known: tuple[str, ...] = ()
    is_new: bool = False
    since: Bound = ()
    until: Bound = ()

    @property
    def wording(self) -> str:
        """The message, including the release that added the check if it is `is_new`."""
        return new_since(self.since, self.message) if self.is_new else self.message


class Group(Value):
    """The rows of one place: `at` is the path from the spec to a map, with EACH for every item of a list."""

    at: Path
    checks: tuple[Check, ...]


class Examination(Value):
    """A check that is a function: it runs if `needs` is set in the spec (`()`: always)."""

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
    """The text is one of `values`. `""` counts as unset, unless Go has a pointer there."""
    known = frozenset(values) if pointer else frozenset((*values, ""))
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: not isinstance(value, str) or value not in known,
        message=f"{at[-1]} {{value}} is not supported; {use(values)}",
        upstream=upstream,
        known=tuple(values),
        **more,
    )


def bounded(at: Path, *, low: int, high: int, upstream: str, **more: Any) -> Check:
    """The number, or zero if it is absent, is from `low` to `high`."""
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
        message=message or f"only one of {listed(keys, 'and', most=len(keys))} can be set; keep one",
        among=tuple(keys),
        upstream=upstream,
        **more,
    )


def exactly_one(keys: Sequence[str], *, upstream: str, message: str = "", **more: Any) -> Check:
    """Exactly one of `keys` is set in the map."""
    return Check(
        at=(),
        refuses=lambda _value, item, _scope: count(item, keys) != 1,
        message=message or f"exactly one of {listed(keys, 'and', most=len(keys))} must be set; set one",
        among=tuple(keys),
        upstream=upstream,
        **more,
    )


def gated(at: Path, gate: str, *, upstream: str, **more: Any) -> Check:
    """The field is set only if the feature gate is open."""
    return Check(
        at=at,
        refuses=lambda value, _item, scope: value not in (None, []) and not scope.gate(gate),
        message=shut(".".join(map(str, at)), gate),
        gate=gate,
        upstream=upstream,
        **more,
    )


def required(at: Path, *, upstream: str, reason: str = REQUIRED, **more: Any) -> Check:
    """The field is set, and not empty."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: value is None or value == "",
        message=f"{at[-1]} is missing; set it",
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
        message=f"{at[-1]} {{value}} is not a DNS label; {LABEL_FORM}",
        upstream=upstream,
        **more,
    )


def dns_subdomain(at: Path, *, upstream: str, pointer: bool = False, **more: Any) -> Check:
    """The text is a DNS subdomain; `""` counts as unset, unless Go has a pointer there."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: (pointer or value != "") and not is_subdomain(value),
        message=f"{at[-1]} {{value}} is not a DNS subdomain; use DNS labels joined by dots, at most 253 characters",
        upstream=upstream,
        **more,
    )


def well_formed(at: Path, form: Callable[[object], bool], expected: str, *, upstream: str, **more: Any) -> Check:
    """The text, if it is not empty, has a form; `expected` describes the form."""
    return Check(
        at=at,
        refuses=lambda value, _item, _scope: value != "" and not form(value),
        message=f"{at[-1]} {{value}} is malformed; use {expected}",
        upstream=upstream,
        **more,
    )


def count(item: Object, keys: Iterable[str]) -> int:
    """The number of the keys whose value is not null."""
    found = 0
    for key in keys:
        if item.get(key) is not None:
            found += 1
    return found


def number(value: object) -> int:
    """The value if it is an integer, otherwise 0, as Go reads an absent one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def is_on(value: object) -> bool:
    """Go's FeatureState and similar types: on if the map is set and `enabled` is absent or true."""
    return isinstance(value, dict) and value.get("enabled") in (None, True)


def shut(field: str, gate: str) -> str:
    """The message about a field whose feature gate is not enabled."""
    return f"{field} needs the feature gate {gate}, which is not enabled; enable it, or remove the field"


def use(words: Sequence[str]) -> str:
    """`use a, b or c`."""
    return f"use {listed(words, most=len(words))}"
