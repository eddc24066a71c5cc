"""git, as this program calls it: it reads the files and names of a repository, and nothing that the repository configures.

The settings of a repository start programs: one that git asks for what is missing, one that watches files, filters, hooks. And
a repository may come from a stranger, or may have been pushed as files of another one. So git never sees them. Each call gets a
git folder of ours: links to the objects, branches and index, and a config with the few settings that decide how these are read.
git fetches nothing: what is missing is missing. Old releases of git are as safe as new ones.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress

from krm_fn.base import programs
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.sources.files import CAREFUL, GIT, repository

TIMEOUT = 120.0  # seconds
# What of the user's environment reaches git: where its programs and the user's own settings are, and the language.
KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "LANG", "LC_ALL")
KEPT_OF_GIT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
FIXED = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}
# The user's own settings start nothing either.
SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never")
# What a git folder has of objects and names. `HEAD`, and what else has one commit, is copied: git wants no link there.
LINKED = ("objects", "refs", "packed-refs", "reftable", "shallow", "info", "logs", "index")
SHARED, HEAD, LONGEST = "sharedindex.", "HEAD", 65_536
# The settings that decide how these are read, and what `@{upstream}` is.
SETTINGS = (
    r"^(extensions\.(objectformat|refstorage)|core\.(ignorecase|precomposeunicode|worktree)"
    r"|branch\..*\.(remote|merge)|remote\..*\.fetch)$"
)
POINTER = "gitdir: "
REMOTE = expression(
    r"^[ \t]*url[ \t]*=[ \t]*(\S+)[ \t]*$", re.MULTILINE
)  # submodules have some, too, in a working tree of their own


class WorkingTree(Value):
    """A repository, by the root of its working tree, with links resolved.

    `program` reads it. `folder` is its git folder. `common` is the one that has its objects, which is another one for a linked
    working tree. `settings` are the few that count, as key and value.
    """

    program: str
    root: str
    folder: str
    common: str
    settings: tuple[tuple[str, str], ...] = ()

    def output(self, *words: str, given: bytes | None = None) -> bytes:
        """What git prints. Raises: InputError."""
        ran = self.finished(*words, given=given)
        if ran.code:
            raise InputError(f"`git {words[0]}` failed: {complaint(ran)}")
        return ran.out

    def finished(self, *words: str, given: bytes | None = None, alone: bool = False, most: int = 0) -> programs.Finished:
        """A call of git at the root. With `alone`, without the user's own settings. `most` is how many bytes it may print.

        Raises: InputError.
        """
        with programs.scratch() as scratch:
            variables = {"GIT_DIR": self._copied(scratch), "GIT_WORK_TREE": self.root}
            if alone:
                variables |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
            return _finished(self.program, self.root, (*SAFE, *words), variables, given=given, most=most)

    def _copied(self, scratch: str) -> str:
        """Our own git folder."""
        common = os.path.join(scratch, "common")  # noqa: PTH118
        _link(self.common, common)
        with open(os.path.join(common, "config"), "w", encoding="utf-8", errors="surrogateescape") as config:  # noqa: PTH118, PTH123
            config.writelines(_config(self.settings))
        if self.folder == self.common:
            return common
        folder = os.path.join(scratch, "folder")  # noqa: PTH118
        _link(self.folder, folder)
        with open(os.path.join(folder, "commondir"), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
            file.write("../common\n")
        return folder


def complaint(ran: programs.Finished) -> str:
    """The first line of what git says that is wrong."""
    lines = ran.complaints.decode(errors="replace").splitlines()
    return next(iter(lines), f"exit code {ran.code}").removeprefix("fatal: ").removeprefix("error: ")


def repository_of(folder: str) -> WorkingTree:
    """The repository that a folder is in: the one of the nearest `.git`, which no commit can have.

    A `.git` that leads to another place counts only where that place names this working tree. Raises: UsageError, InputError.
    """
    program = programs.find("git")
    if not program:
        raise UsageError("found no program git on the PATH; --base reads the files of a commit with it")
    root = repository(folder)
    at = os.path.join(root, GIT)  # noqa: PTH118
    place = _pointed(root, _text(at).removeprefix(POINTER)) if os.path.isfile(at) else os.path.realpath(at)  # noqa: PTH113
    if not os.path.isfile(os.path.join(place, HEAD)):  # noqa: PTH113, PTH118
        said = f"{at} is not a git repository" if os.path.lexists(at) else f"{root} is not in a git repository"
        raise UsageError(f"git finds no working tree here: {said}; --base compares with a commit of a git repository")
    common = _common(place)
    settings = _settings(program, common)
    if place != at and not _names(place, at, settings):
        fix = f"`git --git-dir={place} config core.worktree {root}` changes that"
        raise UsageError(f"{at} leads to {place}, which does not name this folder as its working tree; {fix}")
    kept = tuple((key, value) for key, value in settings if key != "core.worktree")
    return WorkingTree(program=program, root=root, folder=place, common=common, settings=kept)


def remotes(folder: str) -> tuple[str, ...]:
    """The URLs of the remotes of the git tree that a folder is in. No git is started."""
    place = _own_place(folder)
    return tuple(REMOTE.findall(_text(os.path.join(_common(place), "config")))) if place else ()  # noqa: PTH118


def branch(folder: str) -> str:
    """The branch that is checked out there, "" for none. No git is started."""
    place = _own_place(folder)
    _, is_branch, name = _text(os.path.join(place, HEAD)).partition("ref: refs/heads/") if place else ("", "", "")  # noqa: PTH118
    return name.strip() if is_branch else ""


def _own_place(folder: str) -> str:
    """The git folder of the git tree that a folder is in; "" where it may lead anywhere."""
    root = repository(folder)
    at = os.path.join(root, GIT)  # noqa: PTH118
    place = _pointed(root, _text(at).removeprefix(POINTER)) if os.path.isfile(at) else at  # noqa: PTH113
    if place != at and not (os.path.isfile(os.path.join(place, HEAD)) and _names(place, at, ())):  # noqa: PTH113, PTH118
        return ""  # nothing is opened in a place that is no git folder
    return "" if os.path.islink(at) else place  # noqa: PTH114


def _common(place: str) -> str:
    """The git folder with the objects of another one: only a linked working tree below it has one."""
    above = os.path.dirname(os.path.dirname(place))  # noqa: PTH120
    given = _text(os.path.join(place, "commondir"))  # noqa: PTH118
    return above if given and _pointed(place, given) == above else place


def _names(place: str, at: str, settings: tuple[tuple[str, str], ...]) -> bool:
    """True where a git folder says itself that its working tree is the one with this `.git`."""
    linked = _text(os.path.join(place, "gitdir"))  # noqa: PTH118
    trees = [_pointed(place, value) for key, value in settings if key == "core.worktree"]
    return (bool(linked) and _pointed(place, linked) == os.path.realpath(at)) or os.path.dirname(at) in trees  # noqa: PTH120


def _pointed(folder: str, text: str) -> str:
    """The place that a text in a folder names, with links resolved."""
    return os.path.realpath(os.path.join(folder, text.partition("\0")[0]))  # noqa: PTH118


def _settings(program: str, folder: str) -> tuple[tuple[str, str], ...]:
    """The settings of a git folder that count. They are read without the files that they include."""
    file = os.path.join(folder, "config")  # noqa: PTH118
    words = ("config", "--file", file, "--no-includes", "-z", "--get-regexp", SETTINGS)
    if not os.path.isfile(file):  # noqa: PTH113
        return ()
    with programs.scratch() as scratch:
        ran = _finished(program, scratch, words, {"GIT_DIR": scratch})
    if ran.code > 1:
        raise InputError(f"git can't read the settings of the repository: {complaint(ran)}", file=file)
    pairs = (os.fsdecode(each).partition("\n") for each in ran.out.split(b"\0"))
    return tuple((key, value) for key, newline, value in pairs if newline)


def _config(settings: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """The lines of a config with these settings."""
    needs = any(key.startswith("extensions.") for key, _ in settings)
    yield f"[core]\nrepositoryformatversion = {int(needs)}\n"
    for key, value in settings:
        section, _, rest = key.partition(".")
        below, _, name = rest.rpartition(".")
        yield f"[{section} {_quoted(below)}]\n" if below else f"[{section}]\n"
        yield f"{name} = {_quoted(value)}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _link(source: str, target: str) -> None:
    """Make a git folder with the objects, names and index of another one. Raises: InputError."""
    os.mkdir(target)  # noqa: PTH102
    for name in os.listdir(source):  # noqa: PTH208
        given, made = os.path.join(source, name), os.path.join(target, name)  # noqa: PTH118
        if (name in LINKED or name.startswith(SHARED)) and (os.path.isdir(given) or os.path.isfile(given)):  # noqa: PTH112, PTH113
            os.symlink(given, made)  # noqa: PTH211
        elif name.endswith(HEAD) and (text := _text(given)):
            with open(made, "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
                file.write(text + "\n")


def _text(file: str) -> str:
    """The first lines of a regular file, "" where there is none."""
    with suppress(OSError), os.fdopen(os.open(file, CAREFUL), "rb") as source:
        if stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            return os.fsdecode(source.read(LONGEST)).rstrip("\n")
    return ""


def _finished(
    program: str,
    folder: str,
    words: tuple[str, ...],
    variables: dict[str, str],
    *,
    given: bytes | None = None,
    most: int = 0,
) -> programs.Finished:
    own = {name: value for name in (*KEPT, *KEPT_OF_GIT) if (value := os.environ.get(name)) is not None}
    environment = {**own, **FIXED, **variables}
    try:
        return programs.finished(
            program,
            ["-C", folder, *words],
            environment=environment,
            timeout=TIMEOUT,
            given=given,
            quiet=True,
            output=most,
        )
    except programs.OvertimeError:
        raise InputError(f"git was stopped after {TIMEOUT:g} s; it read the repository {folder}") from None
