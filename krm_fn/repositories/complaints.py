"""What kustomize says when it can't build: one line, with the file that is at fault and without what may be secret.

A file that is not there may be no mistake: git leaves it out, or a program makes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from krm_fn.base.errors import RenderError
from krm_fn.base.expressions import expression
from krm_fn.base.redaction import hides_text, holds_secret
from krm_fn.repositories import git
from krm_fn.repositories.kustomization import FILES, joined
from krm_fn.repositories.types import Problem, Target
from krm_fn.sources.files import repository
from krm_fn.sources.salvage import is_template

Where = Callable[[str], str]


# What the names of templates have more than the names of the files that are made of them.
OF_TEMPLATES = (".in", ".tmpl", ".tpl", ".template", ".j2", ".jinja2", ".example", ".sample", ".dist")
MADE = "made from"
IN_STEMS = (*OF_TEMPLATES, "-template", "-example", "-sample", "-dist")
# What operator-sdk makes, in the project of an operator, before it makes a bundle; and the file that such a project has.
OF_BUNDLES, PROJECT = os.path.join(os.sep, "config", "manifests", "bases"), "PROJECT"  # noqa: PTH118


def explanation(path: str) -> str:
    """What there is to say of a path that leads nowhere, "" where nothing explains it."""
    folder, name = os.path.split(path := os.path.realpath(path))
    if any(_is_below(path, each) for each in _submodules(folder)):
        return "in a git submodule that is not checked out"
    if template := next(filter(lambda each: os.path.isfile(os.path.join(folder, each)), _templates(name)), ""):  # noqa: PTH113, PTH118
        return f"{MADE} {template}"
    if path.endswith(OF_BUNDLES) and os.path.isfile(os.path.join(path.removesuffix(OF_BUNDLES), PROJECT)):  # noqa: PTH113, PTH118
        return "which `operator-sdk generate kustomize manifests` makes"
    return "which git ignores" if _is_ignored(path) else ""


def _is_below(path: str, folder: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(folder, ""))  # noqa: PTH118


def _submodules(folder: str) -> Iterator[str]:
    """The folders of the submodules of the git tree that a folder is in."""
    import configparser  # only what is not there is explained

    root = repository(folder)
    found = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        found.read(os.path.join(root, ".gitmodules"))  # noqa: PTH118
    except (OSError, UnicodeDecodeError, configparser.Error):
        return
    for section in found.sections():
        if path := found.get(section, "path", fallback=""):
            yield os.path.join(root, path)  # noqa: PTH118


def _templates(name: str) -> Iterator[str]:
    """The names that a template of this file may have."""
    stem, extension = os.path.splitext(name)  # noqa: PTH122
    yield from (name + mark for mark in OF_TEMPLATES)
    yield from (stem + mark + extension for mark in IN_STEMS)


def _is_ignored(path: str) -> bool:
    words = ("check-ignore", "--no-index", "--", path, os.path.join(path, ""))  # noqa: PTH118  it may be a folder
    try:
        return git.repository_of(os.path.dirname(path)).finished(*words, alone=True).code == 0  # noqa: PTH120
    except (OSError, RenderError):
        return False


# How kubectl logs what kustomize says: indented below the head of an entry, or quoted behind it.
LOGGED = expression(
    r"""^E\d{4} [^\n]*\] "command failed" err=(?:<\n(?P<below>.*?)\n >|"(?P<quoted>(?:[^"\\]|\\.)*)")""",
    re.DOTALL | re.MULTILINE,
)
HIDDEN = "its message is not shown, since it may hold a secret"
WARNING = expression(r"#?\s*Warning\b|\s*$", re.IGNORECASE)
# How it says on which way it came to a mistake. It names folders and files with their whole paths.
ON_THE_WAY = expression(r"recursed (?:accumulation of|merging from) path '([^']*)': |couldn't make target for path '([^']*)': ")
SOURCE = expression(r"accumulat(?:ing|ion) (?:resources|components)?[^']*(?:err=')?accumulating \w+ from '([^']*)': ")
ABSENT = expression(r"(?:lstat|stat|open) (/[^:]*): no such file or directory")
# How it says that a folder has no kustomization.
NO_KUSTOMIZATION = expression(r"unable to find one of .* in directory '([^']*)'")
# How it refuses a file that is not below the kustomization.
RESTRICTED = expression(r"security; file '([^']*)' is not in or below '[^']*'")
# How it refuses a file that is no YAML.
MALFORMED = expression(r"MalformedYAMLError: .* in File: (\S+)$")
PATH = expression(r"/[^\s'\":`,;]+")
# How it says that a place is not there. The words look like a key with its value, and are none.
KEY = "missing key: /"
QUOTED = expression(r"`[^`]*(?:`|$)", re.DOTALL)
# What it says of that which is out of reach here, and the reason that this is.
REASONS = (
    (expression(r"must specify --enable-helm"), "helm"),
    (expression(r"unable to load external plugin '?([^'\n]*)'?"), "plugin"),
    (expression(r"external plugins disabled|enable-exec|enable-alpha-plugins|couldn't execute function"), "plugin"),
    (
        expression(r"git fetch|git clone|proxyconnect tcp|dial tcp [^ ]*:9: |(?:failed|unable) to (?:run|clone) '?[^ ]*git"),
        "remote",
    ),
)


def complaint(text: str, target: Target, where: Where) -> Problem:
    """What there is to say of a target that kustomize does not build; `where` gives the file that a whole path stands for."""
    text = LOGGED.sub(_logged, text)
    for pattern, reason in REASONS:
        if found := pattern.search(text):
            detail = next(filter(None, found.groups()), "")
            return Problem(file=target.file, reason=reason, detail=detail)
    shown = QUOTED.sub("...", "\n".join(line for line in text.splitlines() if not WARNING.match(line)))
    line = next(iter(shown.removeprefix("Error: ").splitlines()), "")
    file = _file(line, target, where)
    return _out_of_reach(line, file, where) or Problem(file=file, reason="refused", detail=_said(line, where))


def _logged(found: re.Match[str]) -> str:
    """What kustomize itself says."""
    if found["below"] is not None:
        return "\n".join(line.removeprefix("\t") for line in found["below"].splitlines())
    return re.sub(r"\\(.)", lambda escaped: {"n": "\n", "t": "\t"}.get(escaped[1], escaped[1]), found["quoted"])


def _out_of_reach(line: str, file: str, where: Where) -> Problem | None:
    """What there is to say where other tools have the file that is wanted, or may read it."""
    if found := RESTRICTED.search(line):
        return Problem(file=file, reason="restricted", detail=where(found[1]))
    if (found := MALFORMED.search(line)) and is_template(named := joined(os.path.dirname(file), found[1])):  # noqa: PTH120
        return Problem(file=file, reason="template", detail=named)
    absent = [where(found[1])] if (found := ABSENT.search(line)) else []
    if found := NO_KUSTOMIZATION.search(line):
        absent = [joined(where(found[1]), name) for name in FILES]
    for path, why in zip(absent, map(explanation, absent), strict=True):
        if why:
            return Problem(file=file, reason="made-later" if why.startswith(MADE) else "absent", detail=f"{path}, {why}")
    return None


def _file(line: str, target: Target, where: Where) -> str:
    """The kustomization that is at fault: the last one on the way to the mistake."""
    for found in reversed(list(ON_THE_WAY.finditer(line))):
        folder = where(found[1] or found[2])
        if folder in target.kustomizations and "merging" not in found[0]:
            return next((file for file in (joined(folder, name) for name in FILES) if os.path.isfile(file)), target.file)  # noqa: PTH113
    return target.file


def _said(line: str, where: Where) -> str:
    """The mistake itself, without the way to it."""
    last = [found.end() for found in ON_THE_WAY.finditer(line)][-1:]
    mistake = line[last[0] :] if last else line
    if absent := ABSENT.search(mistake):
        return f"{_shown(absent[1], where)}: no such file or directory"  # a path holds no value
    if source := SOURCE.match(mistake):
        mistake = f"{source[1]}: {mistake[source.end() :]}"
    mistake = PATH.sub(lambda found: _shown(found[0], where), mistake)
    looked_at = mistake.replace(KEY, "/")
    return HIDDEN if holds_secret(looked_at) or hides_text(looked_at.encode()) else mistake.strip()


def _shown(path: str, where: Where) -> str:
    """A whole path as one from the working directory, where it leads to something there."""
    return where(path) if os.path.isabs(path) else path  # noqa: PTH117
