"""Loads the package's own modules from their compiled files, without Python's search for each of them.

A run of the function loads some fifty modules. Half of the time goes into Python's search for each of them: it lists folders,
joins paths, and looks for files that do not exist. Here each module has a known place: beside the others, compiled in
`__pycache__`. If a file is missing, or was not made from the source beside it, Python's own search loads the module.

`MODULES` lists the modules that every rendering needs, in order. They are loaded together, without the locks and look-ups of
`import`. One file beside their compiled files holds the code of all of them. Python reads it faster than many files, because it
holds shared values only once. The first run writes it, as Python itself writes compiled files. `PYTHONDONTWRITEBYTECODE`
prevents that. A source that has changed since makes the file invalid, and the next run writes it again. The image's build
writes it with `python -m krm_fn.startup`. The file can be removed at any time.
"""

from __future__ import annotations

import marshal
import sys
from _frozen_importlib import ModuleSpec  # as in importlib.machinery, which takes long to load
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

try:
    from posix import O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, close, getpid, read, replace, stat, unlink, write
    from posix import open as opened  # a file object makes four more system calls

    O_BINARY = 0
except ImportError:  # Windows
    from os import (  # type: ignore[attr-defined,no-redef]
        O_BINARY,
        O_CREAT,
        O_EXCL,
        O_RDONLY,
        O_WRONLY,
        close,
        getpid,
        read,
        replace,
        stat,
        unlink,
        write,
    )
    from os import open as opened

PACKAGE = __package__ or "krm_fn"
SUFFIX = f".{sys.implementation.cache_tag}.pyc"
HEAD = 16  # bytes before the code: magic number, flags, the source's time and size
LARGEST, LARGEST_JOINED = 1 << 16, 1 << 20  # bytes of a compiled file; Python loads a larger one
JOINED = f"__pycache__/modules.{sys.implementation.cache_tag}.bin"
BY_TIME, UNCHECKED = MAGIC_NUMBER + bytes(4), MAGIC_NUMBER + b"\1\0\0\0"


# The modules that rendering loads, each after the modules that it needs. Made by scripts/make_startup.py.
MODULES = """
    hosts base.annotations base.paths base.value findings base.objects findings.finding kubevirt kubevirt.releases
    kubevirt.settings config.keys config.checks config yamlio.emit yamlio base.bundle yamlio.plain yamlio.scalars
    yamlio.plain.characters hosts.function pipeline findings.limits kubevirt.api_versions kubevirt.holders kubevirt.schema
    kubevirt.facts rules rules.facts base.quantity kubevirt.configuration rules.facts.vms rules.facts.bundles pipeline.modes
    base.keeping kubevirt.resolve.matcher kubevirt.resolve.revision kubevirt.resolve.find kubevirt.resolve kubevirt.fields
    kubevirt.fields.verbs kubevirt.fields.devices kubevirt.fields.others kubevirt.fields.topology kubevirt.fields.instancetype
    kubevirt.fields.preference kubevirt.expand.apply kubevirt.expand.defaults kubevirt.expand.requirements kubevirt.expand
    pipeline.analysis kubevirt.catalogue_names kubevirt.removed_fields rules.needs pipeline.facts yamlio.order pipeline.stages
    pipeline.modes.expand yamlio.plain.lines yamlio.plain.changes yamlio.plain.split yamlio.layout yamlio.texts
    yamlio.plain.text yamlio.writing
""".split()  # noqa: SIM905  a list would have a line for each


def install() -> None:
    """Load the other modules of the package in this way. Does nothing if compiled files have other names or places."""
    if not sys.pycache_prefix and not sys.flags.optimize:
        sys.meta_path.insert(0, ModuleFinder())


class ModuleFinder:
    """Finds modules in the packages of this one; see `importlib.abc.MetaPathFinder`."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        if not path or not name.startswith(PACKAGE):
            return None
        folder, stem = path[0], name.rpartition(".")[2]
        return self.spec(name, folder, stem) or self.spec(name, f"{folder}/{stem}", "__init__")

    def spec(self, name: str, folder: str, stem: str) -> ModuleSpec | None:
        """The spec of a module by its file in a folder; None if it can't be loaded in this way."""
        source, cached = f"{folder}/{stem}.py", f"{folder}/__pycache__/{stem}{SUFFIX}"
        try:
            data = _content(cached)
            made_from = b"" if data.startswith(UNCHECKED) else _stamp(source)
        except OSError:
            return None
        if len(data) == LARGEST or (made_from and data[:HEAD] != BY_TIME + made_from):
            return None
        code = marshal.loads(memoryview(data)[HEAD:])  # noqa: S302  as Python itself does
        return _spec(name, source, made_from, code, cached)


def _stamp(source: str) -> bytes:
    """The source's time and size, as a compiled file holds them."""
    about = stat(source)  # noqa: PTH116  pathlib is too heavy here
    return int(about.st_mtime).to_bytes(8, "little")[:4] + about.st_size.to_bytes(8, "little")[:4]


def _spec(name: str, source: str, made_from: bytes, code: CodeType, cached: str) -> ModuleSpec:
    """The spec of the module with this source and this compiled code.

    `made_from` is the stamp of the source that the code is made from. It is empty if the source is never compared.
    """
    folder, _, file = source.rpartition("/")
    spec = ModuleSpec(name, Ready(name, source, made_from, code), origin=source, is_package=file == "__init__.py")
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(folder)
    spec.has_location, spec.cached = True, cached
    return spec


def load() -> None:
    """Load the modules of MODULES, if none of them is loaded.

    Does nothing if one of them is missing or out of date; then `import` loads them.
    """
    if not any(isinstance(finder, ModuleFinder) for finder in sys.meta_path):
        return
    specs = _joined_specs()
    if not specs:
        specs = _specs()
        if specs and not sys.dont_write_bytecode:
            _write_joined(specs)
    if not specs or any(spec.name in sys.modules for spec in specs):
        return
    modules = [(_empty(spec), spec.loader.code) for spec in specs]  # type: ignore[union-attr]  # it is `Ready`
    for module, _ in modules:
        sys.modules[module.__name__] = module
    for module, _ in modules:
        parent, _, stem = module.__name__.rpartition(".")
        setattr(sys.modules[parent], stem, module)
    for module, code in modules:
        exec(code, module.__dict__)  # noqa: S102  as Python itself does


def _specs() -> list[ModuleSpec]:
    """The specs of the modules of MODULES; empty if one of them is missing or out of date."""
    home, finder = _home(), ModuleFinder()
    specs = []
    for name in MODULES:
        below, _, _ = name.rpartition(".")
        spec = finder.find_spec(f"{PACKAGE}.{name}", (f"{home}/{below.replace('.', '/')}" if below else home,))
        if spec is None:
            return []
        specs.append(spec)
    return specs


def _joined_specs() -> list[ModuleSpec]:
    """The specs of MODULES from the file that holds all of them; empty if there is no such file, or if a source has changed."""
    home = _home()
    try:
        data = _content(f"{home}/{JOINED}", LARGEST_JOINED)
        if not data.startswith(UNCHECKED) or len(data) == LARGEST_JOINED:
            return []
        found = marshal.loads(memoryview(data)[HEAD:])  # noqa: S302  as Python itself does
        if any(made_from and made_from != _stamp(f"{home}/{source}") for _, source, made_from, _, _ in found):
            return []
    except (OSError, EOFError, ValueError, TypeError):  # the file is missing, damaged, or of another form
        return []
    return [
        _spec(name, f"{home}/{source}", made_from, code, f"{home}/{cached}") for name, source, made_from, code, cached in found
    ]


def _write_joined(specs: Sequence[ModuleSpec]) -> bool:
    """Write the file that holds the code of these modules. False if that fails, for example in a folder of another user."""
    home = _home()
    below, file = len(home) + 1, f"{home}/{JOINED}"
    found = [
        (spec.name, spec.origin[below:], spec.loader.made_from, spec.loader.code, spec.cached[below:])  # type: ignore[index,union-attr]
        for spec in specs
    ]
    data = UNCHECKED + bytes(HEAD - len(UNCHECKED)) + marshal.dumps(found)
    part = f"{file}.{getpid()}"  # renamed when it is complete: another run never reads half of it
    try:
        number = opened(part, O_WRONLY | O_CREAT | O_EXCL | O_BINARY, 0o644)
    except OSError:
        return False
    try:
        complete = write(number, data) == len(data)
        close(number)
        if complete:
            replace(part, file)  # noqa: PTH105  pathlib is too heavy here
            return True
    except OSError:  # the disk is full
        pass
    unlink(part)  # noqa: PTH108  pathlib is too heavy here
    return False


def join() -> None:
    """Write the file that holds the code of MODULES, as the first run of the function does."""
    home, specs = _home(), _specs()
    if not specs:
        sys.exit(f"{home}: the modules are not compiled; run python -m compileall {home}")
    if not _write_joined(specs):
        sys.exit(f"{home}/{JOINED}: can't be written; make the folder writable")


def _home() -> str:
    """The folder of the package."""
    return sys.modules[PACKAGE].__path__[0]


def _empty(spec: ModuleSpec) -> ModuleType:
    """The module before its code runs."""
    module = type(sys)(spec.name)
    attributes = {"spec": spec, "loader": spec.loader, "package": spec.parent, "file": spec.origin, "cached": spec.cached}
    module.__dict__.update({f"__{name}__": value for name, value in attributes.items()})
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    return module


def _content(file: str, most: int = LARGEST) -> bytes:
    """The first bytes of a file."""
    number = opened(file, O_RDONLY | O_BINARY)
    try:
        return read(number, most)
    finally:
        close(number)


class Ready(SourceFileLoader):
    """The usual loader, with the compiled code."""

    def __init__(self, name: str, source: str, made_from: bytes, code: CodeType) -> None:
        super().__init__(name, source)
        self.made_from, self.code = made_from, code

    def get_code(self, _: str) -> CodeType:
        return self.code


if __name__ == "__main__":
    join()
