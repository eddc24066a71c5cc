"""Go templates, as ApplicationSets have them: parsed, and put together with parameters.

upstream: Go text/template/parse, text/template/exec.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from krm_fn.argocd.functions import FUNCTIONS, shown
from krm_fn.argocd.sources import ArgoError, UnknownError
from krm_fn.base.expressions import expression
from krm_fn.base.work import Budget

Nodes = list["TemplateNode"]


ACTION = expression(
    r"\{\{(-(?=\s))?(\s*/\*.*?\*/\s*|(?:\"(?:\\.|[^\"\\])*\"|`[^`]*`|[^\"`}]|\}(?!\}))*?)((?<=\s)-)?\}\}", re.DOTALL
)
TOKEN = expression(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*"|`[^`]*`)|(?P<number>-?\d[\w.]*)|(?P<field>\.[A-Za-z_]\w*)|(?P<variable>\$\w*)"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<sign>:=|[().,|=]))"""
)
DEEPEST, LARGEST = 100, 1_000_000  # levels in one another; characters that one template may make
OF_NODE = 8  # the work of one part of a template
BLOCKS = ("if", "with", "range")


class TemplateNode(NamedTuple):
    """A part of a template: its kind, the text or the pipeline, and what stands inside it and behind its `else`."""

    kind: str
    of: Any = ""
    body: Nodes = []  # noqa: RUF012  nobody writes into it
    other: Nodes = []  # noqa: RUF012


class Pipeline(NamedTuple):
    """Commands, each of which gets what the one before gives; the variables that get the result, `:=` or `=`."""

    commands: list[list[Any]]
    variables: tuple[str, ...] = ()
    sign: str = ""


class _Missing(NamedTuple):
    """What a map has not."""


NOTHING = _Missing()


def rendered(template: str, parameters: Any, budget: Budget, *, strict: bool) -> str:
    """What a template makes of parameters. `strict`: a key that a map lacks is an error. Raises: ArgoError, SpentError."""
    if "{{" not in template:
        return template
    budget.spend(template.count("{{") * (1 + len(template) // 64))
    try:
        return "".join(_Run(parameters, budget, strict=strict).of(_parsed(template), parameters, {"$": parameters}))
    except _BreakError:
        raise ArgoError("a template has break or continue outside of range") from None


@lru_cache(maxsize=128)
def _parsed(template: str) -> Nodes:
    return _Parser(template).nodes()[0]


class _Parser:
    """The actions of a template, one after the other."""

    def __init__(self, template: str) -> None:
        self._parts = list(_parts(template))
        self._at, self._depth = 0, 0

    def nodes(self, *, inside: bool = False) -> tuple[Nodes, list[str]]:
        """The nodes up to the end of a block, and the tokens of the action that ends it."""
        found: Nodes = []
        self._depth += 1
        if self._depth > DEEPEST:
            raise ArgoError("a template has too many blocks in one another")
        while self._at < len(self._parts):
            is_action, text = self._parts[self._at]
            self._at += 1
            tokens = _tokens(text) if is_action else []
            if tokens[:1] in (["end"], ["else"]) and inside:
                self._depth -= 1
                return found, tokens
            if not is_action:
                found.append(TemplateNode("text", text))
            elif tokens:
                found.append(self._action(tokens))
        if inside:
            raise ArgoError("a template has a block without its end")
        return found, []

    def _action(self, tokens: list[str]) -> TemplateNode:
        word, *rest = tokens
        if word in ("break", "continue"):
            return TemplateNode(word)
        if word in ("define", "template", "block", "end", "else"):
            raise UnknownError(f"a template uses {word}, which is not known here")
        if word not in BLOCKS:
            return TemplateNode("pipeline", _pipeline(tokens))
        body, ended = self.nodes(inside=True)
        other: Nodes = []
        if ended[:1] == ["else"] and len(ended) > 1:
            other = [self._action(ended[1:])]
        elif ended[:1] == ["else"]:
            other, _ = self.nodes(inside=True)
        return TemplateNode(word, _pipeline(rest), body, other)


def _parts(template: str) -> Iterator[tuple[bool, str]]:
    """The texts and the actions of a template; a dash takes the space beside it away."""
    at, trims = 0, False
    for found in ACTION.finditer(template):
        text = template[at : found.start()]
        text = text.lstrip() if trims else text
        yield False, text.rstrip() if found[1] else text
        if not found[2].strip().startswith("/*"):
            yield True, found[2]
        at, trims = found.end(), bool(found[3])
    rest = template[at:]
    if "{{" in rest:
        raise ArgoError("a template has {{ without }}")
    yield False, rest.lstrip() if trims else rest


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    at, text = 0, text.strip()
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise ArgoError(f"a template can't be read at {text[at : at + 20]!r}")
        gap = " " if token[0][:1].isspace() and found else ""
        found.append(gap + token[0].strip() if token["field"] or token["sign"] == "." else token[0].strip())
        at = token.end()
    return found


def _pipeline(tokens: list[str]) -> Pipeline:
    variables: tuple[str, ...] = ()
    sign, at = "", 0
    if ":=" in tokens[:4] or "=" in tokens[:4]:
        at = next(number for number, each in enumerate(tokens) if each in (":=", "="))
        variables, sign = tuple(each for each in tokens[:at] if each != ","), tokens[at]
        at += 1
    commands, end = _commands(tokens, at, 0)
    if end != len(tokens) or not commands[0]:
        raise ArgoError(f"a template can't be read at {''.join(tokens)[:40]!r}")
    return Pipeline(commands, variables, sign)


def _commands(tokens: list[str], at: int, depth: int) -> tuple[list[list[Any]], int]:
    """The commands of a pipeline up to its end or a closing bracket. An operand is a token, or a pipeline with fields."""
    if depth > DEEPEST:
        raise ArgoError("a template has too many brackets in one another")
    commands: list[list[Any]] = [[]]
    while at < len(tokens) and tokens[at] != ")":
        token = tokens[at]
        at += 1
        if token == "|":  # noqa: S105
            commands.append([])
        elif token == "(":  # noqa: S105
            inner, at = _commands(tokens, at, depth + 1)
            if at >= len(tokens):
                raise ArgoError("a template has a bracket that is not closed")
            commands[-1].append((Pipeline(inner), ()))
            at += 1
        elif token.startswith(".") and len(token) > 1 and commands[-1]:
            base, fields = commands[-1][-1]
            commands[-1][-1] = base, (*fields, token[1:])
        else:
            token = token.strip()
            commands[-1].append((".", (token[1:],)) if token.startswith(".") and len(token) > 1 else (token, ()))
    return commands, at


class _BreakError(Exception):
    """A loop ends; with `goes_on`, only this turn of it."""

    def __init__(self, *, goes_on: bool) -> None:
        super().__init__()
        self.goes_on = goes_on


class _Run:
    """A template that is put together."""

    def __init__(self, parameters: Any, budget: Budget, *, strict: bool) -> None:
        self._parameters, self._spend, self._strict, self._made = parameters, budget.spend, strict, 0

    def of(self, nodes: Nodes, dot: Any, known: dict[str, Any]) -> Iterator[str]:
        for node in nodes:
            self._spend(OF_NODE)
            if node.kind == "text":
                yield self._counted(node.of)
            elif node.kind == "pipeline":
                value = self._value(node.of, dot, known)
                if not node.of.variables:
                    yield self._counted("<no value>" if value is NOTHING else shown(value))
            elif node.kind == "range":
                yield from self._each(node, dot, known)
            elif node.kind in BLOCKS:
                inner = dict(known)
                value = self._value(node.of, dot, inner)
                holds = bool(value) and value is not NOTHING
                inside = value if holds and node.kind == "with" else dot
                yield from self._scope(node.body if holds else node.other, inside, inner, known)
            else:
                raise _BreakError(goes_on=node.kind == "continue")

    def _scope(self, nodes: Nodes, dot: Any, inner: dict[str, Any], outer: dict[str, Any]) -> Iterator[str]:
        yield from self.of(nodes, dot, inner)
        outer.update({name: inner[name] for name in outer})  # what `=` sets stays

    def _each(self, node: TemplateNode, dot: Any, known: dict[str, Any]) -> Iterator[str]:
        value = self._value(node.of._replace(variables=()), dot, known)
        value = None if value is NOTHING else value
        several = value if isinstance(value, list) else ()
        pairs: Iterable[tuple[Any, Any]] = sorted(value.items()) if isinstance(value, dict) else enumerate(several)
        if isinstance(value, int) and not isinstance(value, bool):
            pairs = ((number, number) for number in range(value))
        elif value is not None and not isinstance(value, dict | list):
            raise ArgoError(f"a template can't go through {shown(value)!r}; expected a list or a map")
        empty = True
        for key, each in pairs:
            self._spend(OF_NODE)
            empty, inner = False, dict(known)
            names = node.of.variables
            inner.update(zip(names, (each,) if len(names) == 1 else (key, each), strict=False))
            try:
                yield from self._scope(node.body, each, inner, known)
            except _BreakError as ended:
                if not ended.goes_on:
                    break
        if empty:
            yield from self._scope(node.other, dot, dict(known), known)

    def _counted(self, text: str) -> str:
        self._made += len(text)
        self._spend(len(text) // 8)
        if self._made > LARGEST:
            raise ArgoError(f"a template makes more than {LARGEST:,} characters")
        return text

    def _value(self, pipeline: Pipeline, dot: Any, known: dict[str, Any]) -> Any:
        value: list[Any] = []
        for command in pipeline.commands:
            value = [self._command(command, value, dot, known)]
        if pipeline.variables:
            known[pipeline.variables[0]] = value[0]
        return value[0]

    def _command(self, command: list[Any], last: list[Any], dot: Any, known: dict[str, Any]) -> Any:
        """What one command gives; `last` is what the command before gave, as its last argument."""
        self._spend(1)
        if not command:
            raise ArgoError("a template has an empty command")
        (head, fields), *rest = command
        is_name = isinstance(head, str) and head[0].isalpha() and head not in ("true", "false", "nil")
        if not is_name:
            if rest or last:
                raise ArgoError("a template gives arguments to what is no function")
            return self._operand(head, fields, dot, known)
        if head in ("and", "or"):
            return self._fields(self._lazy(head, rest, last, dot, known), fields)
        if head not in FUNCTIONS:
            raise UnknownError(f"a template uses the function {head}, which is not known here")
        given = [*(self._operand(each[0], each[1], dot, known) for each in rest), *last]
        arguments = [None if each is NOTHING else each for each in given]
        return self._fields(self._called(head, arguments), fields)

    def _called(self, name: str, arguments: list[Any]) -> Any:
        """What a function makes of arguments."""
        sized = (each for each in arguments if isinstance(each, str | list | dict))
        self._spend(sum(len(each) // (8 if isinstance(each, str) else 1) for each in sized))
        try:
            return FUNCTIONS[name](*arguments)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            raise ArgoError(f"a template calls {name} with {_said(arguments)}, which is no use of it") from None

    def _lazy(self, head: str, rest: list[Any], last: list[Any], dot: Any, known: dict[str, Any]) -> Any:
        value: Any = None
        for each in (*rest, *last):
            value = each if last and each is last[0] else self._operand(each[0], each[1], dot, known)
            if (bool(value) and value is not NOTHING) is (head == "or"):
                return value
        return value

    def _operand(self, head: Any, fields: tuple[str, ...], dot: Any, known: dict[str, Any]) -> Any:
        return self._fields(self._base(head, dot, known), fields)

    def _base(self, head: Any, dot: Any, known: dict[str, Any]) -> Any:
        if isinstance(head, Pipeline):
            return self._value(head, dot, known)
        if head == ".":
            return dot
        if head[0] in '"`':
            return head[1:-1] if head[0] == "`" else _unquoted(head)
        if head[0] == "$":
            if head not in known:
                raise ArgoError(f"a template uses {head}, which it does not set")
            return known[head]
        constants = {"true": True, "false": False, "nil": None}
        return constants[head] if head in constants else self._number_or_call(head)

    def _number_or_call(self, head: str) -> Any:
        if head in FUNCTIONS:
            return self._called(head, [])
        try:
            return int(head, 0) if re.fullmatch(r"-?\w+", head) else float(head)
        except ValueError:
            raise UnknownError(f"a template uses {head}, which is not known here") from None

    def _fields(self, value: Any, fields: tuple[str, ...]) -> Any:
        for field in fields:
            if not isinstance(value, dict):
                raise ArgoError(f"a template takes .{field} of {'nothing' if value in (None, NOTHING) else shown(value)!r}")
            if field not in value and self._strict:
                raise ArgoError(f"a template takes .{field}, which the parameters lack")
            value = value.get(field, NOTHING)
        return value


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        raise ArgoError(f"a template has the text {text[:40]}, which can't be read") from None


def _said(arguments: list[Any]) -> str:
    return ", ".join(repr(shown(each))[:40] for each in arguments) or "nothing"
