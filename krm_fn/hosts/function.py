"""The KRM function: a ResourceList's bytes in, a ResourceList's bytes out, findings on stderr as well."""

from __future__ import annotations

from krm_fn import config, yamlio
from krm_fn.base.annotations import Any, BinaryIO, Callable, TextIO
from krm_fn.base.bundle import LateEntry
from krm_fn.base.console import NAME, one_line, printable
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import IGNORE, LIST_VERSIONS, kind_of, place_of
from krm_fn.base.paths import as_list, as_map
from krm_fn.kubevirt.releases import not_measured
from krm_fn.kubevirt.settings import Config
from krm_fn.yamlio.plain.characters import NotPlain

# The kinds for which all objects are needed at once: presets and policies.
FOR_ALL = frozenset(
    ("VirtualMachineInstancePreset", "VirtualMachinePreset", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
)
VM_TYPE = "kubevirt.io", "VirtualMachine"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio import ListText


def run(data: bytes, out: BinaryIO, err: TextIO) -> int:
    """The exit code. `out` gets one complete document, `err` the findings, most important first, or nothing if there are none.

    VMs are most of a large list, and no object refers to them. So each is read, rendered and forgotten in turn, unless the
    config or an object needs all of them at once.

    If the config is wrong, the items do not change, and one result names the key.
    Raises: InputError if `data` is no ResourceList; then nothing is written.
    """
    listing = yamlio.read_late(data, *VM_TYPE)
    if listing is not None:
        try:
            return _rendered(listing, out, err, listing.write)
        except NotPlain:  # a VM must be read by libyaml, together with the others
            pass
    return run_all(data, out, err)


def run_all(data: bytes, out: BinaryIO, err: TextIO, read: Callable[[bytes], ListText] = yamlio.read_resource_list) -> int:
    """What `run` does, with all items read at once by `read`."""
    return _rendered(read(data), out, err)


def _rendered(listing: ListText, out: BinaryIO, err: TextIO, write: Callable[[int, Any], None] | None = None) -> int:
    """The exit code, and the output of `run`. With `write`, VMs of the listing are late. Raises: NotPlain for one of them."""
    earlier = listing.head.get("results")
    try:
        settings = config.read(listing.head.get("functionConfig"))
        if not listing.items and _reads_each_alone(settings):
            return _without_items(listing, settings, out, err)
        from krm_fn.pipeline import stages  # the larger part of the program

        if write and not _may_forget(listing, settings):
            write = None
            listing.read_late()
        outcome = stages.render(listing.items, settings, write=write)
    except ConfigError as error:
        if write:
            listing.read_late()
        _warn_of_version(listing.head.get("apiVersion"), err)
        found = _located(error, listing)
        out.write(yamlio.write_resource_list(listing, listing.items, [*as_list(earlier), _config_result(found)]))
        err.write(f"{NAME}: error: {printable(one_line(str(found)))}\n")
        return error.exit_code
    krm_results = []
    if outcome.findings:
        from krm_fn.findings import results  # most runs find nothing

        krm_results = results.merge(earlier, outcome.findings)
    pieces = yamlio.pieces_of_list(listing, outcome.items, krm_results, outcome.before)
    _warn_of_version(listing.head.get("apiVersion"), err)
    warn_of_release(settings, err)
    out.writelines(pieces)
    if not outcome.findings:
        return 0
    results.report(outcome.findings, err)
    return results.exit_code(outcome.findings, settings.fail_on)


def _without_items(listing: ListText, settings: Config, out: BinaryIO, err: TextIO) -> int:
    """The exit code of a list without items, which leaves as it came."""
    _warn_of_version(listing.head.get("apiVersion"), err)
    warn_of_release(settings, err)
    out.write(yamlio.write_resource_list(listing, ()))
    return 0


def _may_forget(listing: ListText, settings: Config) -> bool:
    """True if nothing needs a VM without findings once it is rendered, and the list's lines show all that changes."""
    kinds = {item.type[1] if isinstance(item, LateEntry) else kind_of(as_map(item)) for item in listing.items}
    simple = "results" not in listing.head and None not in listing.items and IGNORE.encode() not in listing.data
    return simple and FOR_ALL.isdisjoint(kinds) and _reads_each_alone(settings)


def _reads_each_alone(settings: Config) -> bool:
    """True if nothing in the config needs all objects at once."""
    if settings.patches or settings.policies or settings.schema_policies or settings.rule_packages:
        return False
    if "unexpanded-vm" in settings.severity or settings.instances == "include" or settings.pod_size:
        return False
    return settings.mode in ("expand", "annotate")


def warn_of_release(settings: Config, err: TextIO) -> None:
    """Say that the release of a config is not measured, if that is so."""
    if settings.release and not settings.release.is_measured:
        err.write(f"{NAME}: note: {not_measured(settings.release)}\n")


def _warn_of_version(version: object, err: TextIO) -> None:
    if version not in LIST_VERSIONS:
        from krm_fn.base.wording import brief

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
