"""The flags whose value is a file, a folder or YAML: nested keys of the config, policies, schemas, and files of a form."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from krm_fn import config, yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import Object, kind_of
from krm_fn.cli import completion
from krm_fn.config.checks import CHECKS
from krm_fn.config.keys import NAMES, Key
from krm_fn.config.places import located
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import config_files
from krm_fn.sources import reading
from krm_fn.sources.files import read_named, refuse_links_out

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


# The types of keys whose flags name a file or take YAML, with an example for messages.
EXAMPLES = {
    "configuration": "{cpuModel: host-model}",
    "patches": "[{target: {name: web}, patch: [...]}]",
    "schemaPolicies": "[{name: small, schema: {...}}]",
}


def flag_of(name: str) -> str:
    """The flag of a config key: `--fail-on` of `failOn`."""
    name = NAMES[name].flag or name if name in NAMES else name
    return "--" + "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


def laid_over(base: Config, key: Key, given: str | None) -> Config:
    """The config with what the flag of a key names laid over it, where that is a file."""
    if given is None or not names_file(key, given):
        return base
    text, value = config_files.read(given)
    flag = flag_of(key.name)
    try:
        checked = CHECKS[key.type](key, value, flag)
        return base.but(**{key.field: config.merged(getattr(base, key.field), checked)})
    except ConfigError as error:
        raise located(error, given, lambda path: text.place(0, path, key=True), below=flag) from None


def names_file(key: Key, given: str) -> bool:
    """True where the flag of a key names a file, a pipe included; False for YAML text.

    Raises: ConfigError for a word, which as YAML would be no map: the name of a file that is not there.
    """
    if os.path.exists(given):  # noqa: PTH110
        return True
    try:
        word = isinstance(yamlio.read_value(given), str)
    except InputError:
        return False
    if word:
        raise ConfigError(
            f"there is no file {file_name(given)}; expected a file, or YAML such as '{EXAMPLES[key.type]}'",
            path=flag_of(key.name),
        )
    return False


KIND = "CustomResourceDefinition"


schemas_option = click.option(
    "--schemas",
    multiple=True,
    metavar="DIR",
    shell_complete=completion.FOLDER,
    help=f"Check objects against the {KIND}s in this folder. Repeatable.",
)


def read_schemas(folders: Sequence[str]) -> tuple[Object, ...]:
    """The CustomResourceDefinitions below the folders (or in files). Raises: InputError where one holds none."""
    return tuple(definition for folder in folders for definition in _definitions(folder))


def _definitions(folder: str) -> list[Object]:
    read = reading.read((folder,))
    read.refuse_skipped()
    found = [item for item in read.items if kind_of(item) == KIND]
    if not found:
        raise InputError(f"no {KIND} found in {folder}")
    return found


def read_form(file: str | None, form: Callable[[Any], T]) -> T | None:
    """What a file has in a form, None without a file. Raises: InputError, ConfigError that name the file and the place."""
    if file is None:
        return None
    try:
        refuse_links_out([file])
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
