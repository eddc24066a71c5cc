"""`kubevirt-render rules`: the rule catalogue, from the rules' own docstrings."""

from __future__ import annotations

import inspect

import click

from krm_fn.base.errors import UsageError
from krm_fn.cli import completion
from krm_fn.config.checks import CHECKS
from krm_fn.config.keys import NAMES, hint
from krm_fn.rules.registry import Rule, all_rules, ids

PARTS = ("What it finds", "Why it matters", "Fix", "Example")


@click.command()
@click.argument("rule", required=False, metavar="[ID]", shell_complete=completion.among(ids))
@click.option("--rule-packages", metavar="NAME[,NAME]", help="Also show the rules of these families, from installed packages.")
def rules(rule: str | None, rule_packages: str | None) -> None:
    """List the rules, or describe one.

    The description says what the rule finds, why it matters, and how to fix it.
    """
    known = {**all_rules(), **_own(rule_packages)}
    if rule is None:
        width = max(map(len, known), default=0)
        for each in known.values():
            click.echo(f"{each.id:<{width}}  {severity(each):<16}  {documentation(each).partition(chr(10))[0].rstrip('.')}")
    elif rule not in known:
        raise UsageError(f"unknown rule {rule!r}{hint(rule, tuple(known))}; `kubevirt-render rules` lists all rules")
    else:
        click.echo(f"{rule} ({severity(known[rule])}{_releases(known[rule])})\n\n{documentation(known[rule])}")


def _own(families: str | None) -> dict[str, Rule]:
    """The rules of users' packages by their ids. Raises: ConfigError."""
    from krm_fn.rules.packages import rules_of

    names = CHECKS["names"](NAMES["rulePackages"], families or "", "--rule-packages") if families else ()
    return {rule.id: rule for name in names for rule in rules_of(name)}


def severity(rule: Rule) -> str:
    """The severity of its findings; with the highest that they have, if that is another one."""
    return rule.severity if rule.worst == rule.severity else f"{rule.severity} or {rule.worst}"


def documentation(rule: Rule) -> str:
    """The documentation of the rule, from the docstring of its module."""
    return inspect.cleandoc(rule.documentation)


def parts(rule: Rule) -> dict[str, str]:
    """The documentation by the names of its parts; the title is under "", and ends in no full stop."""
    found = {"": ""}
    name = ""
    for line in documentation(rule).splitlines():
        head, colon, rest = line.partition(":")
        if colon and head in PARTS:
            name, line = head, rest.strip()  # noqa: PLW2901  the rest of the line belongs to the part
        found[name] = f"{found.get(name, '')}{line}\n"
    return {part: text.strip("\n").removesuffix("." if part == "" else "") for part, text in found.items()}


def _releases(rule: Rule) -> str:
    since = f", since KubeVirt {'.'.join(map(str, rule.since))}" if rule.since else ""
    return since + (f", before KubeVirt {'.'.join(map(str, rule.until))}" if rule.until else "")
