"""Flux's substitution of variables in one object: the object as text, the values in it, and the text read again.

So quotes are lost, and a value may become a number, a list, or the end of the document.
upstream: fluxcd/pkg kustomize/kustomize_varsub.go:SubstituteVariables
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, annotations_of, labels_of
from krm_fn.base.work import Budget, SpentError
from krm_fn.flux.operators import UnsetVariableError, substituted
from krm_fn.flux.templates import BadSubstitutionError

SWITCH, OFF = "kustomize.toolkit.fluxcd.io/substitute", "disabled"  # a label or an annotation
NAME = expression(r"[_a-zA-Z][_a-zA-Z0-9]*")
# Characters that Go's YAML reader refuses, and that its JSON does not escape.
REFUSED = expression("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


class FluxError(InputError):
    """Flux applies nothing of a folder, and why.

    `kind` is the step that fails. Of the substitution: `name` (a variable has a name that none can have), `unset`,
    `substitution` (a `${` that can't be read) and `yaml` (the text with the values, or without them). `variable` is the one
    that is unset, "" for all others.
    """

    def __init__(self, kind: str, message: str, *, variable: str = "") -> None:
        super().__init__(message)
        self.kind, self.variable = kind, variable


def substitute(
    obj: Object,
    variables: Mapping[str, str],
    *,
    strict: bool,
    always: bool = False,
    unknown: list[str] | None = None,
    work: Budget | None = None,
) -> Object:
    """An object with the values of variables, as Flux's `postBuild` puts them in. Without variables nothing happens, unless
    `always`. An unset variable without a default is an error where `strict`, and else empty. With `unknown`, it stays as it is
    written, and its name goes into that. `work` is what may still be done for this object and others.

    Raises: FluxError.
    """
    try:
        return _substituted(obj, variables, strict=strict, always=always, unknown=unknown, work=work)
    except SpentError:
        raise FluxError("substitution", "the values of variables take too much work; make them shorter") from None
    except RecursionError:
        raise FluxError("yaml", "maps and lists are nested too deep in the object") from None


def _substituted(
    obj: Object,
    variables: Mapping[str, str],
    *,
    strict: bool,
    always: bool,
    unknown: list[str] | None,
    work: Budget | None,
) -> Object:
    if REFUSED.search(json.dumps(obj, ensure_ascii=False)):
        raise FluxError("yaml", "a control character is in the object, which Flux can't read; remove it")
    if not (variables or always) or OFF in (labels_of(obj).get(SWITCH), annotations_of(obj).get(SWITCH)):
        return obj
    if (wrong := next((name for name in variables if not NAME.fullmatch(name)), None)) is not None:
        raise FluxError("name", f"Flux refuses the name {wrong!r} of a variable; expected letters, digits and _ alone")
    values = {name.encode(): value.replace("\n", "").encode() for name, value in variables.items()}
    try:
        from krm_fn.yamlio.go_text import go_text  # only objects with variables need it

        made = substituted(go_text(obj).encode(), values, strict=strict, unknown=unknown, work=work)
    except UnsetVariableError as error:
        name = error.variable
        message = f"the variable {name} has no value; set it in postBuild, or give it a default: ${{{name}:=value}}"
        raise FluxError("unset", message, variable=name) from None
    except BadSubstitutionError:
        raise FluxError("substitution", "a ${ can't be read as a variable; write $${ for the text") from None
    return _read(made) or obj  # kustomize keeps an object in place of nothing


def _read(text: bytes) -> Object | None:
    from krm_fn.yamlio.reader import read_piece  # loads libyaml

    try:
        found = read_piece(text.decode(), repeats=True)[0]
    except UnicodeDecodeError:
        raise FluxError("yaml", "a substitution cuts a character in two; count in bytes") from None
    except InputError as error:
        raise FluxError("yaml", f"no YAML is left with the values of the variables: {error.message}") from None
    if found is None or isinstance(found, dict):
        return found or None
    raise FluxError("yaml", "no object is left with the values of the variables")
