"""Rules of users' own: installed packages that declare an entry point in the group `kubevirt_render.rules`.

The name of the entry point is that of the family, and its value is a package, each of whose modules is a rule as in a family of
ours. Their ids are FAMILY/NAME. Loading a package runs its code. So a package is loaded only if its family is named, and
never from the current folder: that may be a repository under review.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from importlib import metadata

from krm_fn.base.annotations import Iterator
from krm_fn.base.errors import ConfigError
from krm_fn.rules.registry import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


GROUP = "kubevirt_render.rules"
PATH = "rulePackages"

_loaded: dict[str, tuple[Rule, ...]] = {}


def rules_of(family: str) -> tuple[Rule, ...]:
    """The rules of a family, sorted by id. Raises: ConfigError if no package has it, or the package is wrong."""
    if family not in _loaded:
        _loaded[family] = tuple(_rules(family))
    return _loaded[family]


def loaded(rule: str) -> Rule | None:
    """A rule by its id, if its package was loaded. `registry` finds this module only where it is loaded, too."""
    return next((each for each in _loaded.get(rule.partition("/")[0], ()) if each.id == rule), None)


def _path() -> list[str]:
    """Where packages are looked for: Python's path without the current folder."""
    here = os.path.realpath(os.curdir)
    return [folder for folder in sys.path if folder and os.path.realpath(folder) != here]


def _rules(family: str) -> Iterator[Rule]:
    package = _package(family)
    names = sorted(each.name for each in pkgutil.iter_modules(package.__path__) if not each.name.startswith("_"))
    for name in names:
        found = getattr(_imported(f"{package.__name__}.{name}", family), name, None)
        if not isinstance(found, Rule):
            raise ConfigError(
                f"the module {package.__name__}.{name} has no rule {name}; decorate a generator of that name", path=PATH
            )
        yield found.but(id=f"{family}/{found.id}", family=family)


def _package(family: str) -> ModuleType:
    """Raises: ConfigError."""
    points = metadata.distributions(path=_path())
    known = {point.name: point for each in points for point in each.entry_points if point.group == GROUP}
    if family not in known:
        installed = f"installed are {', '.join(sorted(known))}" if known else "none is installed"
        raise ConfigError(f"no installed package has rules named {family}; {installed}", path=PATH)
    found = _imported(known[family].value, family)
    if not hasattr(found, "__path__"):
        raise ConfigError(f"{known[family].value} is no package; expected one with a module for each rule", path=PATH)
    return found


def _imported(name: str, family: str) -> ModuleType:
    """The module. Raises: ConfigError if its code fails, whatever it raises."""
    before = list(sys.path)
    sys.path[:] = _path()
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  strangers' code
        raise ConfigError(
            f"the rules of {family} can't be loaded: {name}: {type(error).__name__}: {error}", path=PATH
        ) from None
    finally:
        sys.path[:] = before
