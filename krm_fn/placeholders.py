"""Placeholders: marks in text that a later step replaces, such as `${NAME}`, `{{ name }}` and `<name>`."""

from __future__ import annotations

MARKS = ("${", "$(", "{{")
# As the whole of a value: `<namespace>`, as guides write it, and a variable of a shell, `$CLAIM`.
FORM = r"\$\{[^{}]*\}|\$\{\{.*?\}\}|\$\([A-Za-z_]\w*\)|\{\{.*?\}\}"
WHOLE = r"<[A-Za-z][\w .-]*>|\$[A-Z_][A-Z0-9_]+"


def is_filled_in(word: object) -> bool:
    """True for text with a placeholder of a tool, such as Flux's `${zone}` or Helm's `{{ .Values.zone }}`."""
    return isinstance(word, str) and any(mark in word for mark in MARKS)


def placeholders(value: object) -> tuple[str, ...]:
    """The placeholders in a value, each once; none in a text of several lines, which may be a script."""
    if not isinstance(value, str) or "\n" in value or not (value[:1] in ("<", "$") or is_filled_in(value)):
        return ()
    import re  # few values come here

    if re.fullmatch(WHOLE, value, re.ASCII):
        return (value,)
    return tuple(dict.fromkeys(re.findall(FORM, value)))
