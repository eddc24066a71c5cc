"""The files of `capacity --nodes`, `capacity --prices` and `--variables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.sources.files import read_named

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")


def read(file: str | None, form: Callable[[Any], T]) -> T | None:
    """What a file has in a form, None without a file. Raises: InputError, ConfigError that name the file and the place."""
    if file is None:
        return None
    try:
        data, _ = read_named(file)
        return form(yamlio.read_value(data.decode()))
    except OSError as error:
        raise InputError(f"cannot read {file_name(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the file is not in UTF-8", file=file) from None
    except ConfigError as error:
        raise ConfigError(error.message, path=error.path, file=file) from None
    except InputError as error:
        raise InputError(error.message, file=file, line=error.line, column=error.column) from None
