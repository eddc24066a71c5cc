"""Errors that stop a run: the input is no ResourceList, the config is wrong, or the command is used wrongly.

Findings about the user's objects are not errors in this sense; see `findings`.
"""

from __future__ import annotations

from krm_fn.base.console import file_name


class RenderError(Exception):
    """Base of all errors that end a run with one line on stderr and an empty stdout."""

    exit_code = 1


class InputError(RenderError):
    """The input can't be read. `line` and `column` count from 1; 0 means that they are not known."""

    def __init__(self, message: str, *, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.file, self.line, self.column = message, file, line, column

    def __str__(self) -> str:
        return _place(self.file, self.line, self.column) + self.message


class ConfigError(RenderError):
    """The function config (or a flag) is wrong. `path` names the key; `message` says what is wrong and how to fix it.

    `file`, `line` and `column` are the place in a text. They are left out if the config was given as a value.
    """

    exit_code = 2

    def __init__(self, message: str, *, path: str = "", file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.path, self.file, self.line, self.column = message, path, file, line, column

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        return _place(self.file, self.line, self.column) + path + self.message


class UsageError(RenderError):
    """The command was called with arguments that it does not know."""

    exit_code = 2


def _place(file: str, line: int, column: int) -> str:
    return f"{file_name(file) or 'stdin'}:{line}:{column}: " if line else f"{file_name(file)}: " if file else ""
