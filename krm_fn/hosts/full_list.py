"""The KRM function for a list whose objects are all needed at once, or that libyaml must read."""

from __future__ import annotations

from krm_fn import config, yamlio
from krm_fn.base.annotations import BinaryIO, Callable, TextIO
from krm_fn.base.console import NAME, one_line, printable
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import LIST_VERSIONS, place_of
from krm_fn.base.paths import as_list
from krm_fn.base.wording import brief
from krm_fn.findings import results
from krm_fn.kubevirt.releases import not_measured
from krm_fn.pipeline import stages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio import ListText


def run(data: bytes, out: BinaryIO, err: TextIO, read: Callable[[bytes], ListText] = yamlio.read_resource_list) -> int:
    """The exit code, and the output of `krm_fn.hosts.function.run`. `read` is the reader for the list.

    Raises: InputError if `data` is no ResourceList; then nothing is written.
    """
    listing = read(data)
    _warn_of_version(listing.head.get("apiVersion"), err)
    earlier = listing.head.get("results")
    try:
        settings = config.read(listing.head.get("functionConfig"))
        warn_of_release(settings, err)
        outcome = stages.render(listing.items, settings)
    except ConfigError as error:
        found = _located(error, listing)
        out.write(yamlio.write_resource_list(listing, listing.items, [*as_list(earlier), _config_result(found)]))
        err.write(f"{NAME}: error: {printable(one_line(str(found)))}\n")
        return error.exit_code
    krm_results = results.merge(earlier, outcome.findings) if outcome.findings else []
    out.write(yamlio.write_resource_list(listing, outcome.items, krm_results, outcome.before))
    results.report(outcome.findings, err)
    return results.exit_code(outcome.findings, settings.fail_on)


def warn_of_release(settings: config.Config, err: TextIO) -> None:
    """Say that the release of a config is not measured, if that is so."""
    if settings.release and not settings.release.is_measured:
        err.write(f"{NAME}: note: {not_measured(settings.release)}\n")


def _warn_of_version(version: object, err: TextIO) -> None:
    if version not in LIST_VERSIONS:
        message = f"the apiVersion of the ResourceList is {brief(version)}, but it is read as {LIST_VERSIONS[0]}"
        err.write(f"{NAME}: warning: {printable(one_line(message))}; update {NAME} if the host is newer\n")


def _located(error: ConfigError, listing: ListText) -> ConfigError:
    """The error with the file if the host names it, otherwise with line and column in the list."""
    from krm_fn.config.places import located_in_list  # needed only for errors

    return located_in_list(error, listing, place_of(listing.head.get("functionConfig"))[0])


def _config_result(error: ConfigError) -> dict[str, object]:
    place = {"file": {"path": error.file, "index": 0}} if error.file else {}
    return {
        "message": one_line(f"{error.path}: {error.message}"),
        "severity": "error",
        **place,
        "tags": {"rule": "invalid-config"},
    }
