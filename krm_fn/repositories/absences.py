"""Why a file that a kustomization names is not there, where that is no mistake: git leaves it out, or a program makes it."""

from __future__ import annotations

import configparser
import os
from typing import TYPE_CHECKING

from krm_fn.base.errors import RenderError
from krm_fn.repositories import git
from krm_fn.sources.files import repository

if TYPE_CHECKING:
    from collections.abc import Iterator

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
