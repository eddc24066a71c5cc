"""Policies in JSON Schema (draft 2020-12), evaluated on objects as they are written or rendered; loaded only if there are some.

A schema comes from a config that a stranger may have written. It gets no network and no file, and its work is limited: what
can't be evaluated is one finding of `policy-not-evaluated`, and never a verdict.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial

from krm_fn.base.annotations import Any, Callable, Mapping
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of, labels_of
from krm_fn.base.paths import dotted, number_of_values
from krm_fn.base.value import Value
from krm_fn.base.work import TOO_MUCH, WORK, SpentError, Unsupported
from krm_fn.config.schema_policies import POD
from krm_fn.findings.finding import Finding
from krm_fn.pipeline.policy_subjects import PolicySubject, Subjects
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.policies import Unevaluated
from krm_fn.rules.registry import Hit, finding_of, policy_rule

MOST_WORDS = 20  # of an enum that a message names
MOST_ERRORS = 20  # of a policy in one object
NOT_INSTALLED = (
    "the package jsonschema is missing, which the one file cannot carry; use `pip install .` in a clone, or the image"
)

# Units of work: to ask whether a policy is for an object, and for a finding.
OF_OBJECT, OF_FINDING = 20, 400
# The keywords whose values are no schemas, and those that have a schema for each key.
VALUES = ("const", "enum", "default", "examples")
KEYED = ("properties", "patternProperties", "dependentSchemas", "$defs")


class Verdicts(Value):
    """What came of the policies: findings, and the policies that could not be evaluated."""

    findings: tuple[Finding, ...] = ()
    unevaluated: tuple[Unevaluated, ...] = ()


class _StoppedError(Exception):
    """A policy can't be evaluated. `is_spent`: it takes too much work."""

    def __init__(self, why: str, *, is_spent: bool = False) -> None:
        super().__init__(why)
        self.is_spent = is_spent


def verdicts(facts: BundleFacts, levels: Mapping[str, str]) -> Verdicts:
    """What the config's schema policies find in the objects of a bundle."""
    subjects, found, unevaluated = Subjects(facts), [], []
    for number, policy in enumerate(facts.config.schema_policies):
        level = levels.get(policy_rule(policy["name"]).id, policy["severity"])
        if level == "off":
            continue
        WORK.use(policy["name"])
        try:
            found += _guarded(partial(_findings, policy, subjects, levels))
        except _StoppedError as error:
            place = f"schemaPolicies[{number}].schema"
            found_not = Unevaluated(policy=f"policy {policy['name']}", place=place, why=str(error), is_spent=error.is_spent)
            unevaluated.append(found_not.but(fails_closed=level == "error"))
    return Verdicts(findings=tuple(found), unevaluated=tuple(unevaluated))


def _findings(policy: dict[str, Any], subjects: Subjects, levels: Mapping[str, str]) -> list[Finding]:
    """Raises: _StoppedError."""
    validator, rule = _validator(policy["schema"]), policy_rule(policy["name"], policy["severity"])
    found: list[Finding] = []
    cost = OF_OBJECT * (1 + number_of_values(policy["select"]))
    for subject in subjects.on(policy["on"]):
        WORK.spend(cost)
        if selects(policy["select"], subject, subjects):
            errors = _errors(validator, subject.value)
            WORK.spend(OF_FINDING * len(errors))
            found += [finding_of(rule, _hit(policy, subject, error), subject.entry, levels) for error in errors]
    return found


def selects(select: dict[str, Any], subject: PolicySubject, subjects: Subjects) -> bool:
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
        from jsonschema.exceptions import best_match
        from referencing import Registry
    except ImportError:
        raise _StoppedError(NOT_INSTALLED) from None
    from krm_fn.pipeline.schema_keywords import formats, validator_class

    meta, of = Draft202012Validator.META_SCHEMA, validator_class()
    draft = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if draft and draft != meta["$id"]:
        raise _StoppedError(f"its $schema is not {meta['$id']}; write it for this draft")
    wrong = best_match(of(meta, format_checker=formats()).iter_errors(schema))
    if wrong:
        raise _StoppedError(f"it is no JSON Schema: {dotted(tuple(wrong.path)) or 'the schema'} is wrong")
    return of(_prepared(schema), registry=Registry())


def _prepared(schema: Any) -> Any:
    """The schema with `not: {}` in place of `false` below keys: the library names no path for the latter. And with enums in
    which values are found at once.
    """
    if isinstance(schema, list):
        return [_prepared(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    new = {key: each if key in VALUES or key in KEYED else _prepared(each) for key, each in schema.items()}
    for key in KEYED:
        if isinstance(new.get(key), dict):
            new[key] = {name: {"not": {}} if below is False else _prepared(below) for name, below in new[key].items()}
    if isinstance(new.get("enum"), list):
        from krm_fn.pipeline.schema_keywords import Members

        new["enum"] = Members(new["enum"])
    return new


def _errors(validator: Any, value: Any) -> list[Any]:
    """The first errors of a value."""
    found = [error for error, _ in zip(validator.iter_errors(value), range(MOST_ERRORS), strict=False)]
    return sorted(found, key=lambda error: [str(step) for step in error.absolute_path])


def _guarded(work: Callable[[], list[Finding]]) -> list[Finding]:
    """What the call gives. Raises: _StoppedError if the schema can't be evaluated."""
    from referencing.exceptions import Unresolvable

    try:
        return work()
    except SpentError:
        raise _StoppedError(TOO_MUCH, is_spent=True) from None
    except RecursionError:
        raise _StoppedError("it refers to itself without end, or an object is too deep") from None
    except Unsupported as error:
        raise _StoppedError(str(error)) from None
    except Unresolvable as error:
        raise _StoppedError(f"$ref {error.ref!r} is not in the schema; other files and addresses are not read") from None


def _hit(policy: dict[str, Any], subject: PolicySubject, error: Any) -> Hit:
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
