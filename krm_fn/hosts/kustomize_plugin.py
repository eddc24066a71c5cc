"""kustomize's older kind of plugin, an executable: the config's file is the first argument, it reads and writes YAML documents.

It is the only way to render inside kubectl without a container. kustomize sets KUSTOMIZE_PLUGIN_CONFIG_STRING and
KUSTOMIZE_PLUGIN_CONFIG_ROOT when it calls a plugin. More arguments, which a config may give, have no effect here.
"""

from __future__ import annotations

from krm_fn import config, yamlio
from krm_fn.base.annotations import BinaryIO, TextIO
from krm_fn.base.errors import ConfigError
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.hosts.function import warn_of_release
from krm_fn.pipeline import stages


def run(file: str, data: bytes, out: BinaryIO, err: TextIO) -> int:
    """The exit code. `out` gets all rendered documents, or nothing if kustomize must stop; `err` gets the findings.

    Raises: ConfigError if the config in `file` is wrong; InputError if `data` is not YAML.
    """
    settings = _settings(file)
    warn_of_release(settings, err)
    stream = yamlio.read_stream(data)
    outcome = stages.render(stream.items, settings)
    report(outcome.findings, err)
    code = results.exit_code(outcome.findings, settings.fail_on)
    if not code:
        out.write(yamlio.write_stream(stream, outcome.items, outcome.before))
    return code


def _settings(file: str) -> config.Config:
    with open(file, encoding="utf-8-sig") as source:  # noqa: PTH123
        given = yamlio.read_value(source.read())
    try:
        return config.read(given)
    except ConfigError as error:
        place = (
            f"functionConfig {error.path}" if error.path else "functionConfig"
        )  # the file is kustomize's own, and gone by now
        raise ConfigError(error.message, path=place) from None
