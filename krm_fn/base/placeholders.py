"""Placeholders: texts that a later step replaces, such as `${NAME}`, `{{ name }}`, `<%= name %>`, `__NAME__`, `<name>`."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.paths import Path

MARKS = ("${", "$(", "{{", "<%")
ENCRYPTED = "ENC[AES256_GCM,"
# Two underscores alone are no placeholder: a label may contain them.
UNDERLINED = r"__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__"
# A long text may have thousands of marks without an end: what is between marks is so long at most.
INSIDE = ".{0,500}?"
FORM = rf"\$\{{[^{{}}]*\}}|\$\{{\{{{INSIDE}\}}\}}|\$\([A-Za-z_]\w*\)|\{{\{{{INSIDE}\}}\}}|<%{INSIDE}%>|{UNDERLINED}"
# A variable is all of a word: there must be one way only to match many of them, one after the other.
IN_BRACKETS, VARIABLE = r"<[A-Za-z][\w .-]*>", r"\$[A-Za-z_]\w*(?!\w)"
# A part of an object's name: `<cluster>-kubeconfig` of a guide, `$cluster-kubeconfig` of a shell or of Python.
IN_NAMES = f"{IN_BRACKETS}|{VARIABLE}"
PART_OF_NAME = rf"[a-z0-9.-]*(?:(?:{IN_NAMES})[a-z0-9.-]*)+"
# A complete value: `<namespace>`, and a variable of a shell, `$CLAIM`.
ALL_OF_IT = rf"{IN_BRACKETS}|\$[A-Z_][A-Z0-9_]+"
# Words that are the complete name of an object: `NAME` and `CLAIM_NAME`. Kubernetes allows no capitals or underscores there.
CAPITALS = r"NAME|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
# A word in capitals between underscores in such a name, for `sed` to replace: `test-_TIMESTAMP_`.
BETWEEN = r"(?<![A-Za-z0-9_])_[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?![A-Za-z0-9_])"
# Fields that hold the name of an object or of its namespace. `name` is one too, but not in the entry of a list.
NAMES = frozenset(("namespace", "claimName", "secretName", "secretRef", "certConfigMap", "serviceAccountName", "networkName"))
NAMES |= {"resourceClaimName", "resourceClaimTemplateName", "virtualMachineSnapshotName", "vmiName"}
# A word that says what it is, for a program to replace, where a field holds no free text: `guest: test-placeholder`.
WORD = r"(?:\w+-)*placeholder(?:-\w+)*"
NO_TEXTS = frozenset(("guest", "maxGuest", "memory", "cpu", "cores", "sockets", "threads", "pageSize", "storage", "image"))
NO_TEXTS |= {"url", "running", "runStrategy", "replicas", "macAddress", "storageClassName"}
# Maps whose keys are labels. People choose their names: `name: WEB_TIER` is an ordinary label.
LABELS = frozenset(("labels", "matchLabels", "nodeSelector"))
# What counts where nobody sets a variable: `${SIZE:=2Gi}`, `{{ size | default("2Gi") }}`, `{{ default "2Gi" .size }}`.
DEFAULT = r"""(?:"([^"{}]*)"|'([^'{}]*)'|([\w.-]+))"""
DEFAULTS = (
    r"\$\{\w+:?[-=]([^${}]*)\}",
    rf"\{{\{{-?\s*[\w.]+\s*\|\s*(?:default|d)(?:\s+|\s*\(\s*){DEFAULT}\s*\)?\s*-?\}}\}}",
    rf"\{{\{{-?\s*default\s+{DEFAULT}\s+[\w.]+\s*-?\}}\}}",
)
# Parts of objects in which such marks have other meanings.
OTHERS = frozenset(("annotations", "status", "cloudInitNoCloud", "cloudInitConfigDrive", "command", "args", "data"))


def is_filled_in(word: object) -> bool:
    """True for a name or label with a placeholder that a tool fills in: Flux's `${zone}`, Helm's `{{ .Values.zone }}`.

    What SOPS encrypted counts too, because the cluster gets another text.
    """
    if not isinstance(word, str):
        return False
    return (
        any(mark in word for mark in MARKS)
        or word.startswith(ENCRYPTED)
        or _has(UNDERLINED, "__", word)
        or _has(VARIABLE, "$", word)
    )


def is_filled_key(key: object) -> bool:
    """True for a key that a tool fills in. One such as `$patch` or `$(id)` is none: who fills these in reads only values."""
    return isinstance(key, str) and any(mark in key for mark in MARKS if mark != "$(")


def placeholders(value: object, path: Path = ()) -> tuple[str, ...]:
    """The placeholders in a value, each of them once. A text of several lines has none, because it may be a script.

    `path` is the place of the value in its object: words in capitals, and brackets or a variable as a part of the value, are
    placeholders only in fields that hold names, and the word itself only in fields that hold no free text.
    """
    if not isinstance(value, str) or "\n" in value:
        return ()
    if path and path[-1] in NO_TEXTS and not _is_label(path) and _is_called_so(value):
        return (value,)
    is_name = _names_an_object(path)
    if is_name and is_in_capitals(value):
        return (value,)
    if not (value[:1] in ("<", "$") or is_filled_in(value) or (is_name and "<" in value)):
        return ()
    import re  # needed for few values

    if re.fullmatch(ALL_OF_IT, value, re.ASCII):
        return (value,)
    form = IN_NAMES if is_name and re.fullmatch(PART_OF_NAME, value) else FORM
    return tuple(dict.fromkeys(re.findall(form, value)))


def with_defaults(value: Any, path: Path = ()) -> Any:
    """The same value with the defaults of placeholders, the same object where there is none. `path` is its place.

    A text in which a placeholder without a default is left stays as it is: it is not known.
    """
    if isinstance(value, str):
        return _with_default(value, path) if "${" in value or "{{" in value else value
    if isinstance(value, dict):
        new = {
            with_defaults(key): below if key in OTHERS else with_defaults(below, (*path, key)) for key, below in value.items()
        }
        return value if all(a is b and value[a] is new[b] for a, b in zip(value, new, strict=False)) else new
    if isinstance(value, list):
        every = [with_defaults(below, (*path, number)) for number, below in enumerate(value)]
        return value if all(a is b for a, b in zip(value, every, strict=True)) else every
    return value


def _with_default(value: str, path: Path) -> Any:
    import re

    if "\n" in value:
        return value
    found = value
    for form in DEFAULTS:
        found = re.sub(form, lambda match: next((each for each in match.groups() if each is not None), ""), found)
    if found == value or placeholders(found, path):
        return value
    if not path or _is_label(path) or path[-1] == "name" or path[-1] in NAMES:
        return found
    return int(found) if re.fullmatch(r"-?\d{1,18}", found) else {"true": True, "false": False}.get(found, found)


def open_values(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The placeholders in a value, at any depth, with the place of each; keys count, too."""
    if isinstance(value, str):
        yield from ((path, found) for found in placeholders(value, path))
    elif isinstance(value, dict):
        for key, below in value.items():
            if is_filled_key(key):
                yield path, str(key)
            elif key not in OTHERS:
                yield from open_values(below, (*path, key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from open_values(below, (*path, number))


def may_be_in(value: object) -> bool:
    """False if no text in a value, at any depth, can have a placeholder for `placeholders`."""
    waiting: list[object] = [value]
    for each in waiting:
        if isinstance(each, str):
            if "$" in each or "{{" in each or "<" in each or each == "NAME" or ("_" in each and not each.islower()):
                return True
            if each[10:] and "placeholder" in each.casefold():  # most texts are shorter than the word
                return True
        elif isinstance(each, dict):
            waiting += each.values()
            waiting += each.keys()
        elif isinstance(each, list):
            waiting += each
    return False


def is_in_capitals(value: object) -> bool:
    """True for a word in capitals that stands for the name of an object: `NAME`, `CLAIM_NAME`, `test-_TIMESTAMP_`."""
    if not isinstance(value, str) or (value != "NAME" and "_" not in value):
        return False
    import re

    return bool(re.fullmatch(CAPITALS, value) or re.search(BETWEEN, value))


def _is_called_so(value: str) -> bool:
    if "placeholder" not in value.casefold():
        return False
    import re

    return re.fullmatch(WORD, value, re.IGNORECASE) is not None


def _has(form: str, mark: str, word: str) -> bool:
    """True for text with a form, of which a mark is a part."""
    if mark not in word:
        return False
    import re

    return re.search(form, word) is not None


def _is_label(path: Path) -> bool:
    return len(path) > 1 and path[-2] in LABELS


def _names_an_object(path: Path) -> bool:
    if len(path) < 2 or _is_label(path):
        return False
    return path[-1] in NAMES or (path[-1] == "name" and not isinstance(path[-2], int))
