"""Where in a text stands what is wrong with a config."""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.base.errors import ConfigError
from krm_fn.base.paths import Path, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio import ListText
Locate = Callable[[Path], tuple[int, int]]


FUNCTION_CONFIG = "functionConfig"


def located(error: ConfigError, file: str, place: Locate, *, below: str = "") -> ConfigError:
    """The error with the file, and with line and column of the key that it names: what `place` gives of its path.

    `below` is the start of the error's path that is no part of the text, such as a flag's name.
    """
    line, column = place(steps(error.path.removeprefix(below)))
    return ConfigError(error.message, path=error.path, file=file, line=line, column=column)


def located_in_list(error: ConfigError, listing: ListText, file: str = "") -> ConfigError:
    """The error of a list's functionConfig; `file` is that of the functionConfig where it isn't the list's."""
    line, column = (0, 0) if file else listing.place_in_head((FUNCTION_CONFIG, *steps(error.path)))
    path = f"{FUNCTION_CONFIG} {error.path}".rstrip()
    return ConfigError(error.message, path=path, file=file or listing.file, line=line, column=column)
