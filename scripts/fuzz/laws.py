"""What has to hold of a command on the tree of a stranger: docs/security.md in rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from watching import FILE_CANARY, OF_PYTHON, VARIABLE_CANARY, Command, Program, Seen, World

Law = Callable[[World, Command, Seen], str]

EXIT_CODES = (0, 1, 2)
# What kustomize and helm may be told; each word that a file of the tree brings has to come behind one of these.
FLAGS = {
    "kustomize": ("build", "version"),
    "helm": ("template", "version"),
    "git": ("-C", "-c"),
}


def broken(world: World, command: Command, seen: Seen) -> str:
    """The first law that does not hold, "" where all do."""
    return next((f"{law.__doc__} {found}"[:300] for law in LAWS if (found := law(world, command, seen))), "")


def _ends(_world: World, _command: Command, seen: Seen) -> str:
    """It ends with one of three exit codes and no traceback:"""
    told = next((line for line in seen.told.splitlines() if line.startswith("Traceback ") or "internal error" in line), "")
    return told or ("" if seen.code in EXIT_CODES else str(seen.code))


def _starts_nothing(world: World, _command: Command, seen: Seen) -> str:
    """It starts kustomize, helm and git alone:"""
    return world.started() or next((each.name for each in seen.programs if not _may_start(world, each)), "")


def _may_start(world: World, program: Program) -> bool:
    """True for the three programs, what git has of its own, and this Python with this very code."""
    own = (*(str(world.tools / name) for name in world.real), *map(os.path.realpath, world.real.values()), "/usr/bin/strace")
    scratch = os.path.basename(program.name) == "helm" and "/kubevirt-render-" in program.name  # noqa: PTH119
    return program.name in own or program.name.startswith(("/usr/lib/git-core/", *OF_PYTHON)) or scratch


def _runs_no_code(world: World, _command: Command, seen: Seen) -> str:
    """It loads no Python of the tree:"""
    return next((path for path in seen.loaded if path.startswith(f"{world.tree}/")), "")


def _passes_no_flag(world: World, command: Command, seen: Seen) -> str:
    """It passes kustomize no flag of the tree:"""
    words = (word for each in seen.programs if each.name == str(world.tools / "kustomize") for word in each.words[1:])
    return next((word for word in words if word.startswith("-") and word not in command.flags and word != "--client"), "")


def _reads_nothing_outside(world: World, _command: Command, seen: Seen) -> str:
    """It opens nothing outside of the tree:"""
    return next((path for path in sorted(seen.opened) if not world.is_known(path)), "")


def _writes_nothing(world: World, command: Command, seen: Seen) -> str:
    """It writes nothing beside its output and its cache:"""
    if world.changed_outside():
        return str(world.outside)
    places = (world.tree, world.out, world.home) if command.changes else (world.out, world.home)
    return next((path for path in sorted(seen.written) if _is_of(world, path) and not path.startswith(_all(places))), "")


def _is_of(world: World, path: str) -> bool:
    return path.startswith(f"{world.folder}/") and not path.startswith(_all((world.folder / "trace",)))


def _all(places: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, places))


def _reaches_nothing(_world: World, command: Command, seen: Seen) -> str:
    """It connects to nothing:"""
    return "" if command.fetches else next(iter(seen.reached), "")


def _tells_nothing(_world: World, _command: Command, seen: Seen) -> str:
    """It prints nothing of files outside, nor of variables:"""
    return next((line.strip() for line in seen.told.splitlines() if FILE_CANARY in line or VARIABLE_CANARY in line), "")


def _hands_on_nothing(_world: World, _command: Command, seen: Seen) -> str:
    """It hands no variable of the user to a program:"""
    return next((f"{each.name}: {name}" for each in seen.programs for name in _canaries(each)), "")


def _canaries(program: Program) -> Iterator[str]:
    return (name for name, value in program.environment.items() if VARIABLE_CANARY in value)


def _keeps_the_error(world: World, command: Command, seen: Seen) -> str:
    """In isolation it fails for an error, whatever else is there:"""
    planted = (world.tree / "planted" / "vm.yaml").exists()
    return f"exit code {seen.code}" if command.isolated and planted and not seen.code else ""


LAWS: tuple[Law, ...] = (
    _ends,
    _starts_nothing,
    _runs_no_code,
    _passes_no_flag,
    _tells_nothing,
    _reaches_nothing,
    _reads_nothing_outside,
    _writes_nothing,
    _keeps_the_error,
    _hands_on_nothing,
)
