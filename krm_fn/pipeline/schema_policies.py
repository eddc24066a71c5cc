"""Policies in JSON Schema (draft 2020-12), evaluated on objects as they are written or rendered; loaded only if there are some.

A schema comes from a config that a stranger may have written. It gets no network and no file, and its time is limited: what
can't be evaluated is one finding of `policy-not-evaluated`, and never a verdict.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, labels_of
from krm_fn.base.paths import dotted, number_of_values
from krm_fn.base.patterns import limited_time
from krm_fn.base.value import Value
from krm_fn.config.schema_policies import POD
from krm_fn.pipeline.policy_subjects import Subjects
from krm_fn.rules.facts.policies import Unevaluated
from krm_fn.rules.registry import Hit, finding_of, policy_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.pipeline.policy_subjects import Subject
    from krm_fn.rules.facts.bundles import BundleFacts

SECONDS = 1.0  # that a policy may take for one object
MOST_WORDS = 20  # of an enum that a message names
MOST_ERRORS = 20  # of a policy in one object
NOT_INSTALLED = (
    "the package jsonschema is missing, which the one file cannot carry; use `pip install .` in a clone, or the image"
)


# Values of a schema whose check is quick, and keywords that may take much more time than the schema and the object are large.
SMALL = 10_000
SLOW = frozenset(
    ("pattern", "patternProperties", "$ref", "$dynamicRef", "uniqueItems", "unevaluatedProperties", "unevaluatedItems")
)
# The keywords that have a schema for each key.
KEYED = ("properties", "patternProperties", "dependentSchemas", "$defs")


class Verdicts(Value):
    """What came of the policies: findings, and the policies that could not be evaluated."""

    findings: tuple[Finding, ...] = ()
    unevaluated: tuple[Unevaluated, ...] = ()


class _StoppedError(Exception):
    """A policy can't be evaluated."""


def verdicts(facts: BundleFacts, levels: Mapping[str, str]) -> Verdicts:
    """What the config's schema policies find in the objects of a bundle."""
    subjects, found, unevaluated = Subjects(facts), [], []
    for number, policy in enumerate(facts.config.schema_policies):
        if levels.get(policy_rule(policy["name"]).id) == "off":
            continue
        try:
            found += _findings(policy, subjects, levels)
        except _StoppedError as error:
            place = f"schemaPolicies[{number}].schema"
            unevaluated.append(Unevaluated(policy=f"policy {policy['name']}", place=place, why=str(error)))
    return Verdicts(findings=tuple(found), unevaluated=tuple(unevaluated))


def _findings(policy: dict[str, Any], subjects: Subjects, levels: Mapping[str, str]) -> list[Finding]:
    """Raises: _StoppedError."""
    validator, rule = _validator(policy["schema"]), policy_rule(policy["name"], policy["severity"])
    found = []
    for subject in subjects.on(policy["on"]):
        if selects(policy["select"], subject, subjects):
            errors = _errors(validator, subject.value)
            found += [finding_of(rule, _hit(policy, subject, error), subject.entry, levels) for error in errors]
    return found


def selects(select: dict[str, Any], subject: Subject, subjects: Subjects) -> bool:
    """True for an object that a policy is for."""
    obj = subject.entry.obj
    if kind_of(obj) not in select.get("kinds", (kind_of(obj),)):
        return False
    namespace = effective_namespace(obj)
    if "namespaces" in select and not _is_among(namespace, select["namespaces"]):
        return False
    of_namespace = subjects.namespace_labels(namespace) if select.get("namespaceLabels") else {}
    wanted = ((labels_of(obj), select.get("labels", {})), (of_namespace, select.get("namespaceLabels", {})))
    return all(_has(labels.get(key), glob) for labels, given in wanted for key, glob in given.items())


def _has(value: Any, glob: str) -> bool:
    """True if a label matches a glob, or with `!` before the glob, if it does not, or is absent."""
    matches = isinstance(value, str) and fnmatchcase(value, glob.removeprefix("!"))
    return matches != glob.startswith("!")


def _is_among(namespace: str, globs: list[str]) -> bool:
    """True if the last glob that matches does not start with `!`; a list that only excludes starts with all."""
    found = all(glob.startswith("!") for glob in globs)
    for glob in globs:
        if fnmatchcase(namespace, glob.removeprefix("!")):
            found = not glob.startswith("!")
    return found


def _validator(schema: Any) -> Any:
    """A validator for a schema that reads nothing from elsewhere. Raises: _StoppedError for what is no schema."""
    try:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing import Registry
    except ImportError:
        raise _StoppedError(NOT_INSTALLED) from None
    draft = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if draft and draft != Draft202012Validator.META_SCHEMA["$id"]:
        raise _StoppedError(f"its $schema is not {Draft202012Validator.META_SCHEMA['$id']}; write it for this draft")
    is_small = isinstance(schema, bool) or number_of_values(schema) <= SMALL
    try:
        _timed(lambda: Draft202012Validator.check_schema(schema), is_quick=is_small)
    except SchemaError as error:
        raise _StoppedError(f"it is no JSON Schema: {dotted(tuple(error.path)) or 'the schema'} is wrong") from None
    return Draft202012Validator(_timed(lambda: _without_false(schema), is_quick=is_small), registry=Registry())


def _without_false(schema: Any) -> Any:
    """The schema with `not: {}` in place of `false` below keys: the library names no path for the latter."""
    if isinstance(schema, list):
        return [_without_false(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    new = {
        key: each if key in ("const", "enum", "default", "examples") else _without_false(each) for key, each in schema.items()
    }
    for key in KEYED:
        if isinstance(new.get(key), dict):
            new[key] = {name: {"not": {}} if below is False else below for name, below in new[key].items()}
    return new


def _errors(validator: Any, value: Any) -> list[Any]:
    """The first errors of a value. Raises: _StoppedError."""

    def first() -> list[Any]:
        return [error for error, _ in zip(validator.iter_errors(value), range(MOST_ERRORS), strict=False)]

    is_quick = not any(key in SLOW for key in _keys(validator.schema))
    return sorted(_timed(first, is_quick=is_quick), key=lambda error: [str(step) for step in error.absolute_path])


def _keys(schema: Any) -> Iterator[str]:
    """All keys at any depth, keywords among them."""
    waiting = [schema]
    for each in waiting:
        if isinstance(each, dict):
            yield from each
        waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()


def _timed(work: Callable[[], Any], *, is_quick: bool) -> Any:
    """What the call gives. Raises: _StoppedError if it takes too long, or if the schema can't be evaluated.

    Quick work takes a time that grows with the schema and the object alone. Its time is not limited, so that it can be done in
    a worker's thread, too.
    """
    import re

    from referencing.exceptions import Unresolvable

    try:
        return work() if is_quick else limited_time(work, SECONDS)
    except TimeoutError:
        raise _StoppedError("it takes too long; write simpler patterns and fewer references") from None
    except RecursionError:
        raise _StoppedError("it refers to itself without end, or an object is too deep") from None
    except re.error as error:
        raise _StoppedError(f"a regular expression in it is wrong: {error}") from None
    except Unresolvable as error:
        raise _StoppedError(f"$ref {error.ref!r} is not in the schema; other files and addresses are not read") from None


def _hit(policy: dict[str, Any], subject: Subject, error: Any) -> Hit:
    path = tuple(error.absolute_path)
    place = subject.place(path)
    where = f" (at {dotted(path)} of the pod)" if subject.state == POD and path else ""
    return Hit(
        message=f"{policy.get('message') or _said(error)}{where}",
        path=place,
        **({} if subject.state == POD or error.validator == "required" else {"current": error.instance}),
    )


def _said(error: Any) -> str:
    """What the schema asks for, in words without values of the object."""
    from krm_fn.base.wording import brief, listed

    wanted = error.validator_value
    if error.validator == "required" and isinstance(error.instance, dict):
        missing = [str(key) for key in wanted if key not in error.instance]
        return f"the policy requires {listed(missing, 'and')}; add what is missing"
    if error.validator in (None, "not"):
        return "the policy does not allow this value; remove or change it"
    if error.validator == "enum" and len(wanted) <= MOST_WORDS:
        wanted = listed([brief(each) for each in wanted], "or")
    elif isinstance(wanted, dict | list):
        return f"the value does not match {error.validator} of the policy; change it"
    return f"the policy requires {error.validator}: {brief(wanted)}"
