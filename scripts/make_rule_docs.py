"""Writes docs/rules: one page a rule, made from its module's docstring, and a table of all.

    python scripts/make_rule_docs.py

The pages that `pages` gives are all there is in the folder; a test holds the one against the other.
"""

from __future__ import annotations

from pathlib import Path

from krm_fn.cli.rules import documentation, severity
from krm_fn.kubevirt.admission.gates import GATES
from krm_fn.kubevirt.releases import Version
from krm_fn.rules.registry import ALWAYS, CASE, Rule, all_rules

PARTS = ("What it finds", "Why it matters", "Fix", "Example")
# What `check --fix` does with what a rule proposes, by `Rule.certain`.
FIXES = {
    ALWAYS: "writes the proposed value",
    CASE: "writes the proposed value if only upper and lower case differ",
}
MADE = "<!-- Made by scripts/make_rule_docs.py from the rule's docstring; change it there. -->\n"


def title(rule: Rule) -> str:
    """What the rule finds, in one line."""
    return documentation(rule).partition("\n")[0].rstrip(".")


def body(rule: Rule) -> str:
    """The docstring's parts as Markdown, below its title.

    Raises: ValueError where a part is missing.
    """
    lines = documentation(rule).splitlines()[1:]
    missing = set(PARTS)
    out = []
    for line in lines:
        part, colon, rest = line.partition(":")
        if colon and part in missing:
            missing.remove(part)
            out += [f"## {part}", "", *([rest.strip()[:1].upper() + rest.strip()[1:]] if rest.strip() else [])]
        else:
            out.append(line)
    if missing:
        raise ValueError(f"rule {rule.id} lacks: {', '.join(sorted(missing))}")
    return "\n".join(out).strip("\n").replace("\n\n\n", "\n\n") + "\n"


def releases(rule: Rule) -> str:
    """The KubeVirt releases to which the rule applies."""

    def word(version: Version) -> str:
        return ".".join(map(str, version))

    bounds = [f"since {word(rule.since)}"] * bool(rule.since) + [f"before {word(rule.until)}"] * bool(rule.until)
    return " and ".join(bounds) or "all"


def page(rule: Rule) -> str:
    """The rule's page."""
    facts = [f"Severity: **{severity(rule)}**", f"KubeVirt releases: {releases(rule)}"]
    facts += [f"Upstream: `{rule.upstream}`"] if rule.upstream else []
    facts += [f"[`check --fix`](../check.md#fixing): {FIXES[rule.certain]}"] if rule.certain else []
    head = "\n".join(f"- {fact}" for fact in facts)
    table = f"\n{gates()}" if rule.id == "unknown-feature-gate" else ""
    return f"{MADE}# {rule.id}\n\n{title(rule)}.\n\n{head}\n\n{body(rule)}{table}"


def gates() -> str:
    """The table of all feature gates."""

    def state(name: str, since: Version) -> str:
        return f"{name or 'gone'} since {'.'.join(map(str, since))}"

    rows = [f"| `{gate}` | {', '.join(state(*each) for each in states)} |" for gate, states in GATES.items()]
    head = ["## Feature gates", "", "| gate | state |", "|---|---|"]
    return "\n".join(head + rows) + "\n"


def index(rules: list[Rule]) -> str:
    """The table of all rules."""
    rows = [f"| [{rule.id}]({rule.id}.md) | {severity(rule)} | {releases(rule)} | {title(rule)} |" for rule in rules]
    head = ["| rule | severity | releases | finds |", "|---|---|---|---|"]
    return MADE.replace("the rule's docstring", "the rules' docstrings") + "# Rules\n\n" + "\n".join(head + rows) + "\n"


def pages() -> dict[str, str]:
    """File name to text, for all files of docs/rules."""
    rules = list(all_rules().values())
    return {"README.md": index(rules), **{f"{rule.id}.md": page(rule) for rule in rules}}


def main() -> None:
    """Write the pages; remove those of rules that are gone."""
    made, folder = pages(), Path(__file__).resolve().parents[1] / "docs" / "rules"
    for old in {path.name for path in folder.glob("*.md")} - made.keys():
        (folder / old).unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
