"""What the operators of `${variable}` do, as Flux's fork of drone/envsubst does it. Texts are bytes, as in Go.

upstream: fluxcd/pkg envsubst/funcs.go, envsubst/template.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from krm_fn.base.expressions import expression
from krm_fn.base.work import Budget
from krm_fn.flux.patterns import BadPatternError, matches
from krm_fn.flux.templates import BadSubstitutionError, Expression, parsed

Arguments = Sequence[bytes]


# They give a text where the variable is unset, and that is no error. Only the forms with a colon, and `=`, can be written.
DEFAULTING = ("=", ":-", ":=", ":?", ":+")
INTEGER = expression(rb"[+-]?[0-9]+")
INT64 = 1 << 63
# Of work for the values in the texts of a run, whose author may be a stranger: a unit stands for eight bytes that are made.
UNITS = 4_000_000


class UnsetVariableError(Exception):
    """A variable without a value and without a default, where these are errors."""

    def __init__(self, variable: str) -> None:
        super().__init__(variable)
        self.variable = variable


def substituted(
    text: bytes,
    variables: Mapping[bytes, bytes],
    *,
    strict: bool,
    unknown: list[str] | None = None,
    work: Budget | None = None,
) -> bytes:
    """A text with the values of its variables; unset ones are empty, unless `strict`.

    With `unknown`, unset ones without a default stay as they are written, and their names go into it. `work` is what may still
    be done for this text and others. Raises: BadSubstitutionError, UnsetVariableError; SpentError for values that are too long.
    """
    run = _Run(variables, strict=strict, unknown=unknown, work=work or Budget(UNITS))
    return b"".join(map(run.value, parsed(text)))


class _Run:
    def __init__(self, variables: Mapping[bytes, bytes], *, strict: bool, unknown: list[str] | None, work: Budget) -> None:
        self._variables, self._strict, self._unknown = variables, strict, unknown
        self._spend = work.spend

    def value(self, part: bytes | Expression) -> bytes:
        """The text of a part of a text."""
        if not isinstance(part, Expression):
            return part
        made = self._value(part)
        self._spend(1 + len(made) // 8)
        return made

    def _value(self, part: Expression) -> bytes:
        arguments = [self.value(each) for each in part.arguments]
        is_unset = part.variable not in self._variables and part.operator not in DEFAULTING
        if is_unset and self._unknown is not None:
            self._unknown.append(part.variable.decode())
            return b"${%b}" % part.variable
        if is_unset and self._strict:
            raise UnsetVariableError(part.variable.decode())
        value = self._variables.get(part.variable, b"")
        if part.operator == "#" and not arguments:
            return str(len(value)).encode()
        if part.operator in TRIMMING:
            return self._trimmed(value, arguments[0], part.operator)
        return OPERATIONS.get(part.operator, _default)(value, arguments)

    def _trimmed(self, value: bytes, pattern: bytes, operator: str) -> bytes:
        """The value without the part at its start, or its end, that the pattern matches."""
        ends = operator[0] == "%"
        if ends:
            value, pattern = _reversed(value), _reversed(pattern)
        left = value[self._matching(value, pattern, longest=len(operator) > 1) :]
        return _reversed(left) if ends else left

    def _matching(self, value: bytes, pattern: bytes, *, longest: bool) -> int:
        """The length of the beginning that matches, 0 where none does. Upstream tries no empty one."""
        found = 0
        for length in range(len(value), 0, -1):
            try:
                if matches(pattern, value[:length], self._spend):
                    found = length
            except BadPatternError:
                return 0
            if found and longest:
                return found
        return found


def _default(value: bytes, arguments: Arguments) -> bytes:
    """`${name:-word}`. Upstream does the same for `:+`, unlike a shell."""
    return value or b"".join(arguments)


def _part(value: bytes, arguments: Arguments) -> bytes:
    """`${name:offset:length}`, in bytes. What is no number changes nothing."""
    numbers = [number for each in arguments if (number := _integer(each)) is not None]
    if len(numbers) < len(arguments):
        return value
    start, *lengths = numbers
    if start < 0:
        start = max(0, len(value) + start)
    if not lengths or start + lengths[0] >= len(value):
        return value[start:]
    if lengths[0] < 0:  # Go panics, and Flux fails
        raise BadSubstitutionError
    return value[start : start + lengths[0]]


def _integer(text: bytes) -> int | None:
    """Go's `strconv.Atoi`."""
    number = int(text) if INTEGER.fullmatch(text) and len(text) < 64 else None
    return number if number is not None and -INT64 <= number < INT64 else None


def _replaced_all(value: bytes, arguments: Arguments) -> bytes:
    old, new = arguments[0], b"".join(arguments[1:])
    if old:
        return value.replace(old, new)
    return value.decode(errors="replace").replace("", new.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _each(change: Callable[[str], str], *, first: bool = False) -> Callable[[bytes, Arguments], bytes]:
    """An operation on each character, or on the first one."""

    def changed(value: bytes, _: Arguments) -> bytes:
        chars = value.decode(errors="replace")
        return (change(chars[:1]) + chars[1:] if first else "".join(map(change, chars))).encode()

    return changed


def _upper(char: str) -> str:
    """Go's `unicode.ToUpper`, which makes one character of each."""
    return next((each for each in (char.upper(), char.title()) if len(each) == len(char)), char)


def _lower(char: str) -> str:
    return "i" if char == "\u0130" else char.lower()


def _reversed(text: bytes) -> bytes:
    return text.decode(errors="replace")[::-1].encode()


TRIMMING = ("#", "##", "%", "%%")
OPERATIONS: dict[str, Callable[[bytes, Arguments], bytes]] = {
    ",": _each(_lower, first=True),
    ",,": _each(_lower),
    "^": _each(_upper, first=True),
    "^^": _each(_upper),
    ":": _part,
    "/": lambda value, arguments: value.replace(arguments[0], b"".join(arguments[1:]), 1),
    "//": _replaced_all,
    "/#": lambda value, of: of[1] + value.removeprefix(of[0]) if len(of) == 2 and value.startswith(of[0]) else value,
    "/%": lambda value, of: value.removesuffix(of[0]) + of[1] if len(of) == 2 and value.endswith(of[0]) else value,
}
