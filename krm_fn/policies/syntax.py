"""Parses CEL. A node is a tuple: its kind, its position, and its parts.

    literal VALUE           name NAME                select OPERAND FIELD OPTIONAL TEST
    index OPERAND KEY OPT   call NAME RECEIVER ARGS  list ITEMS      map ENTRIES
    fold MACRO RANGE NAMES ARGS

Items and entries carry whether they are optional. The macros `has`, `all`, `exists`, … are nodes of their own.
"""

from __future__ import annotations

import math
import re

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.expressions import expression
from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.values import UInt

Node = tuple[Any, ...]
Token = tuple[str, str, int]


# Brackets in brackets, parts behind one another, and characters of an expression. The server refuses more than 250 and 100,000.
DEEPEST, LONGEST = 120, 20_000
LOGIC = 2  # the levels of BINARY whose operators take any number of operands
SURROGATE = expression(r"[\ud800-\udfff]")
TOKEN = expression(
    r"""(?P<blank>[\t\ \r\n\f]+|//[^\n]*)
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<string>[bB]?[rR](?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n\r]*"|'[^'\n\r]*')
        |[bB]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*'))
    |(?P<quoted>`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|\.\?|\[\?|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
RESERVED = frozenset(
    """as break const continue else for function if import let loop package namespace return var void while""".split()  # noqa: SIM905
)
KEYWORDS = frozenset(("in", "true", "false", "null"))
ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
ESCAPE = expression(r"\\(?:([xX])([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
ESCAPE_OR_LETTER = expression(ESCAPE.pattern + r"|[^\\]", re.DOTALL)
BINARY = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
# By the number of arguments: the macros of one and of two variables.
FOLDS = {
    "all": (2, 3),
    "exists": (2, 3),
    "exists_one": (2,),
    "existsOne": (3,),
    "filter": (2,),
    "sortBy": (2,),
    "map": (2, 3),
    "transformList": (3, 4),
    "transformMap": (3, 4),
    "transformMapEntry": (3, 4),
}
OPTIONALS = ("optMap", "optFlatMap")


def parse(text: str) -> Node:
    """The tree of an expression. Raises: RefusedError for what is no CEL; Unsupported for what is too long or too deep."""
    if len(text) > LONGEST:
        raise Unsupported(f"it has more than {LONGEST} characters")
    if SURROGATE.search(text):
        raise Unsupported("it has half of a surrogate pair, which is no character")
    return _Parser(list(_tokens(text))).whole()


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise RefusedError(f"there is no CEL at character {at + 1}")
        kind, at = str(found.lastgroup), found.end()
        if kind != "blank":
            yield kind, found[0], found.start()
    yield "end", "", at


def _unexpected(text: str, at: int) -> RefusedError:
    """The error about a token, "" for the end."""
    return RefusedError(f"{text!r} is not expected at character {at + 1}" if text else "it ends where a value is expected")


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    def whole(self) -> Node:
        node = self.expression()
        if self.kind != "end":
            raise _unexpected(self.text, self.place)
        return node

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def text(self) -> str:
        return self.tokens[self.at][1]

    @property
    def place(self) -> int:
        return self.tokens[self.at][2]

    def is_sign(self, *signs: str) -> bool:
        return self.kind in ("sign", "name") and self.text in signs

    def take(self, *signs: str) -> bool:
        if self.is_sign(*signs):
            self.at += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise RefusedError(f"{sign!r} is expected at character {self.place + 1}")

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unsupported("it is nested too deeply")
        at, node = self.place, self.binary(0)
        if self.take("?"):
            yes = self.binary(0)
            self.need(":")
            node = "call", at, "?:", None, (node, yes, self.expression())
        self.depth -= 1
        return node

    def binary(self, level: int) -> Node:
        if level == len(BINARY):
            return self.unary()
        node, count = self.binary(level + 1), 0
        while self.is_sign(*BINARY[level]):
            at, sign = self.place, self.text
            self.at += 1
            other, count = self.binary(level + 1), count + 1
            if level < LOGIC and node[0] == "call" and node[2] == sign and count > 1:
                node = "call", at, sign, None, (*node[4], other)
                continue
            node = "call", at, sign, None, (node, other)
            if count > DEEPEST:
                raise Unsupported("it has too many parts")
        return node

    def unary(self) -> Node:
        at, signs = self.place, []
        while self.is_sign("!", "-"):
            signs.append(self.text)
            self.at += 1
            if len(signs) > 1 and signs[-1] != signs[0]:
                raise RefusedError(f"{signs[-1]!r} is not expected at character {self.place}")
        if signs == ["-"] and self.kind in ("int", "double"):
            return self.member(self.number(negative=True))
        node = self.member(self.primary())
        if len(signs) % 2:  # an even number of signs is none
            node = "call", at, "!_" if signs[0] == "!" else "-_", None, (node,)
        return node

    def number(self, *, negative: bool = False) -> Node:
        kind, text, at = self.tokens[self.at]
        self.at += 1
        if kind == "double":
            if float(text) == math.inf:
                raise RefusedError("a double is out of range")
            return "literal", at, -float(text) if negative else float(text)
        value: int = int(text.rstrip("uU"), 16 if text.startswith("0x") else 10)
        if kind == "uint":
            if value >= 2**64:
                raise RefusedError("an unsigned integer is out of range")
            return "literal", at, UInt(value)
        value = -value if negative else value
        if not -(2**63) <= value < 2**63:
            raise RefusedError("an integer is out of range")
        return "literal", at, value

    def primary(self) -> Node:  # noqa: C901, PLR0911  one answer for each token
        kind, text, at = self.tokens[self.at]
        if kind in ("int", "uint", "double"):
            return self.number()
        self.at += 1
        if kind == "string":
            return "literal", at, _string(text)
        if kind == "sign" and text == "(":
            node = self.expression()
            self.need(")")
            return node
        if kind == "sign" and text in ("[", "[?"):
            return self.list_literal(at, optional=text == "[?")
        if kind == "sign" and text == "{":
            return self.map_literal(at)
        if kind == "sign" and text == ".":
            raise Unsupported("a name with a leading dot")
        if kind != "name" or text in RESERVED or text == "in":
            raise _unexpected(text, at)
        if text in ("true", "false", "null"):
            return "literal", at, {"true": True, "false": False, "null": None}[text]
        if self.take("("):
            return self.call(at, text, None)
        if self.is_sign("{"):
            raise Unsupported("a message literal")
        return "name", at, text

    def list_literal(self, at: int, *, optional: bool) -> Node:
        items: list[tuple[Node, bool]] = []
        while optional or not self.take("]"):
            optional = self.take("?") or optional
            items.append((self.expression(), optional))
            optional = False
            if not self.take(","):
                self.need("]")
                break
        return "list", at, tuple(items)

    def map_literal(self, at: int) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while not self.take("}"):
            optional = self.take("?")
            key = self.expression()
            self.need(":")
            entries.append((key, self.expression(), optional))
            if not self.take(","):
                self.need("}")
                break
        return "map", at, tuple(entries)

    def member(self, node: Node) -> Node:
        count = 0
        while self.is_sign(".", ".?", "[", "[?"):
            at, sign, count = self.place, self.text, count + 1
            if count > DEEPEST:
                raise Unsupported("it has too many parts")
            self.at += 1
            if sign in (".", "[") and self.take("?"):
                sign += "?"  # with a blank in between
            if sign in ("[", "[?"):
                key = self.expression()
                self.need("]")
                node = "index", at, node, key, sign == "[?"
                continue
            kind, name, _ = self.tokens[self.at]
            if kind not in ("name", "quoted") or name in KEYWORDS:
                raise RefusedError(f"a name is expected at character {self.place + 1}")
            self.at += 1
            if kind == "name" and sign == "." and self.take("("):
                node = self.call(at, name, node)
            else:
                node = "select", at, node, name.strip("`"), sign == ".?", False
        return node

    def call(self, at: int, name: str, receiver: Node | None) -> Node:
        args: list[Node] = []
        if not self.take(")"):
            args.append(self.expression())
            while self.take(","):
                args.append(self.expression())
            self.need(")")
        return _macro(at, name, receiver, args) or ("call", at, name, receiver, tuple(args))


def _macro(at: int, name: str, receiver: Node | None, args: list[Node]) -> Node | None:
    """The node of a macro; None for a function."""
    if receiver is None:
        if name == "has" and len(args) == 1:
            if args[0][0] != "select" or args[0][4]:
                raise RefusedError("has() takes the selection of a field")
            return (*args[0][:5], True)
        return None
    if name in OPTIONALS and len(args) == 2:
        return "fold", at, name, receiver, (_variable(args[0]),), (args[1],)
    if name not in FOLDS or len(args) not in FOLDS[name]:
        return None
    count = 2 if name.startswith("transform") or name == "existsOne" or (name in ("all", "exists") and len(args) == 3) else 1
    names = tuple(map(_variable, args[:count]))
    if len(set(names)) < count:
        raise RefusedError("both variables of a macro have one name")
    return "fold", at, name, receiver, names, tuple(args[count:])


def _variable(node: Node) -> str:
    if node[0] != "name":
        raise RefusedError("the variable of a macro is no plain name")
    if node[2] == "__result__":
        raise RefusedError("the variable of a macro has the name of its accumulator")
    return str(node[2])


def _string(text: str) -> str | bytes:
    quote = re.search(r"['\"]", text)
    start = quote.start() if quote else 0
    prefix, rest = text[:start].lower(), text[start:]
    width = 3 if rest[:3] in ('"""', "'''") and len(rest) >= 6 else 1
    body = rest[width:-width].replace("\r\n", "\n").replace("\r", "\n")
    if "b" in prefix:
        return body.encode() if "r" in prefix else b"".join(map(_byte, ESCAPE_OR_LETTER.finditer(body)))
    return body if "r" in prefix else ESCAPE.sub(_unescaped, body)


def _unescaped(found: re.Match[str]) -> str:
    _, byte, short, long, octal, letter = found.groups()
    if letter is not None:
        if letter not in ESCAPES:
            raise RefusedError(f"\\{letter} is no escape")
        return ESCAPES[letter]
    number = int(octal, 8) if octal else int(byte or short or long, 16)
    if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
        raise RefusedError("an escape names no character")
    return chr(number)


def _byte(found: re.Match[str]) -> bytes:
    """The bytes of an escape or a character in a bytes literal."""
    escape = ESCAPE.fullmatch(found[0])
    if not escape:
        return found[0].encode()
    if escape[3] or escape[4]:
        raise RefusedError("a bytes literal with an escape for a character")
    return _unescaped(escape).encode("latin-1")
