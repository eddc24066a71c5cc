"""The CEL rules of KubeVirt's CustomResourceDefinitions, each as an equivalent check.

A rule is found by its text without blanks. A test fails if the definitions of a release have a rule that is not here. Unknown
rules of other definitions are not evaluated. Kubernetes evaluates a rule only if the value has the right type, and so do the
callers of these checks.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable

Check = Callable[[Any], bool]


# The check of each rule, and the words for the values that it accepts.
RULES: dict[str, tuple[Check, str]] = {
    "self.startsWith('/')": (lambda value: value.startswith("/"), "an absolute path, which starts with '/'"),
    "!self.contains('..')": (lambda value: ".." not in value, "a path without '..'"),
    "self==true": (lambda value: value is True, "true"),
}


def known(rule: object) -> tuple[Check, str] | None:
    """The check of a rule and the words for it; None if the rule is not known."""
    return RULES.get("".join(rule.split())) if isinstance(rule, str) else None
