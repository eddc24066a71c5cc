"""Mutations of logic: what can be changed in a module's source, each as one edit of its bytes.

Only logic is changed. Annotations, docstrings, `__slots__`, assertions, bases of classes, blocks for type checkers, and the
inside of f-strings (whose positions Python 3.11 does not know) stay as they are. The edits keep the format of the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

COMPARED = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
JOINED = {"and": "or", "or": "and"}
ADDED = {"+": "-", "-": "+"}
NEGATED_BY_ITSELF = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
OPERATOR = re.compile(rb"\b(?:not\s+in|is\s+not|in|is|and|or)\b|[=!<>]=|[<>+-]")

NO_LOGIC = ("annotation", "returns", "bases", "decorator_list", "type_params")
DECLARED = ("__slots__", "__all__", "TYPE_CHECKING")
Node = ast.expr | ast.stmt  # those that have a position


class Edit(NamedTuple):
    """Bytes that stand in the place of those from `start` to `end`."""

    start: int
    end: int
    after: bytes


class Mutation(NamedTuple):
    """An edit, what sort of mutation it is, its line (from 1), and the function or name that it is in."""

    kind: str
    line: int
    owner: str
    edit: Edit


class Source:
    """A module's bytes, and where its nodes are in them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._lines = [0, *accumulate(map(len, data.splitlines(keepends=True)))]

    def start(self, node: Node) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: Node) -> int:
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def replace(self, node: Node, after: bytes) -> Edit:
        return Edit(self.start(node), self.end(node), after)

    def text(self, node: Node) -> bytes:
        return self.data[self.start(node) : self.end(node)]

    def operator(self, left: Node, right: Node, others: dict[str, str]) -> Iterator[Edit]:
        """The edit of the operator between two nodes; none if it has no other."""
        found = OPERATOR.search(self.data, self.end(left), self.start(right))
        other = others.get(b" ".join(found[0].split()).decode()) if found else None
        if found and other:
            yield Edit(*found.span(), other.encode())


def swap_comparison(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for left, right in pairwise((node.left, *node.comparators)):
            yield from source.operator(left, right, COMPARED)


def swap_and_or(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            yield from source.operator(left, right, JOINED)


def swap_plus_minus(node: ast.AST, source: Source) -> Iterator[Edit]:
    match node:
        case ast.BinOp(left=left, right=right) if not (_is_text(left) or _is_text(right)):
            yield from source.operator(left, right, ADDED)
        case ast.AugAssign(target=target, value=value):
            yield from source.operator(target, value, ADDED)


def remove_not(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start = source.start(node)
        yield Edit(start, start + len("not "), b"")


def negate_condition(node: ast.AST, source: Source) -> Iterator[Edit]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            tests = [test]
        case ast.comprehension(ifs=tests):
            pass
        case _:
            return
    for test in tests:
        if not _is_negated_by_other_mutations(test):
            yield source.replace(test, b"not (" + source.text(test) + b")")


def _is_negated_by_other_mutations(test: ast.expr) -> bool:
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[operator]):
            return isinstance(operator, NEGATED_BY_ITSELF)
    return False


def change_integer(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for value in (node.value + 1, node.value - 1):
            yield source.replace(node, str(value).encode() if value >= 0 else b"(-1)")


def swap_true_false(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.replace(node, str(not node.value).encode())


def return_none(node: ast.AST, source: Source) -> Iterator[Edit]:
    match node:
        case ast.Return(value=ast.Constant(value=None | False)):
            pass  # conditions, the places of such values, know no difference
        case ast.Return(value=ast.expr() as value):
            yield source.replace(value, b"None")


def break_loop(node: ast.AST, source: Source) -> Iterator[Edit]:
    if isinstance(node, ast.Continue):
        yield source.replace(node, b"break")


def delete_statement(node: ast.AST, source: Source) -> Iterator[Edit]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
            yield source.replace(node, b"pass")


KINDS: tuple[Callable[[ast.AST, Source], Iterator[Edit]], ...] = (
    swap_comparison,
    swap_and_or,
    swap_plus_minus,
    remove_not,
    negate_condition,
    change_integer,
    swap_true_false,
    return_none,
    break_loop,
    delete_statement,
)


def mutations(data: bytes) -> list[Mutation]:
    """All mutations of a module's source."""
    source = Source(data)
    return [
        Mutation(kind.__name__, data.count(b"\n", 0, edit.start) + 1, owner, edit)
        for node, owner in _logic(ast.parse(data), "")
        for kind in KINDS
        if owner or kind is not delete_statement  # what a module lacks, no test is needed for
        for edit in kind(node, source)
    ]


def applied(data: bytes, edit: Edit) -> bytes:
    return data[: edit.start] + edit.after + data[edit.end :]


def changes_logic(data: bytes, edit: Edit) -> bool:
    """Whether the module still parses, as another program."""
    try:
        return ast.dump(ast.parse(applied(data, edit))) != ast.dump(ast.parse(data))
    except SyntaxError:
        return False


def _logic(node: ast.AST, owner: str) -> Iterator[tuple[ast.AST, str]]:
    """The node and those below it that are logic, each with the innermost function around it, "" outside of functions."""
    if isinstance(node, ast.FunctionDef):
        owner = node.name
    yield node, owner
    skipped = (*NO_LOGIC, "keywords") if isinstance(node, ast.ClassDef) else NO_LOGIC
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else (value,):
            if name not in skipped and isinstance(child, ast.AST) and not _is_declaration(child):
                yield from _logic(child, owner)


def _is_declaration(node: ast.AST) -> bool:
    """Whether it says something about the program, or is text."""
    match node:
        case ast.Expr(value=value):
            return _is_text(value)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.If(test=ast.Name(id=name)):
            return name in DECLARED
    return isinstance(node, ast.Assert | ast.JoinedStr)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
