"""The flags whose value is a file or YAML: those of the config's keys with nested values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn import config, yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.config.checks import CHECKS
from krm_fn.config.keys import NAMES
from krm_fn.config.places import located
from krm_fn.repositories import config_files

if TYPE_CHECKING:
    from krm_fn.config.keys import Key
    from krm_fn.kubevirt.settings import Config

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
