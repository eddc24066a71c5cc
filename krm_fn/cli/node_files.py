"""The file of `capacity --nodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.sizing import nodes
from krm_fn.sources.files import read_named

if TYPE_CHECKING:
    from krm_fn.sizing.nodes import Shape


def read(file: str) -> list[Shape]:
    """The nodes in a file. Raises: InputError that names the file and the place."""
    try:
        data, _ = read_named(file)
        return nodes.read(yamlio.read_value(data.decode()))
    except OSError as error:
        raise InputError(f"cannot read {file_name(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the file is not in UTF-8", file=file) from None
    except InputError as error:
        raise InputError(error.message, file=file, line=error.line, column=error.column) from None
