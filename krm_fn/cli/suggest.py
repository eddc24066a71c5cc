"""`kubevirt-render suggest`: the nearest instancetype for each flat VM, and those that a fleet could have of its own."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import click

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.console import file_name, one_line, printable, write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.markdown import code
from krm_fn.base.objects import Object, name_of
from krm_fn.base.quantity import NANO, of_int
from krm_fn.base.value import Value
from krm_fn.cli import conversions, options, progress
from krm_fn.cli.bundles import read_bundles
from krm_fn.cli.conversions import Suggested, suggested, wish_of
from krm_fn.cli.formats import counted
from krm_fn.cli.output_files import is_terminal
from krm_fn.cli.sizes.as_csv import text as csv_text
from krm_fn.cli.sizes.as_markdown import table
from krm_fn.cli.sizes.as_table import aligned
from krm_fn.cli.units import CommandRequest
from krm_fn.converting import suggesting
from krm_fn.converting.conversion import CLASSES, POD, TOPOLOGY, InstanceChange, Proof
from krm_fn.converting.instancetypes import BUNDLE, CATALOGUE, OWN, Fit, Peak, PeakKey, read_peaks
from krm_fn.converting.suggesting import ShapeGroup
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.conversions import facts_of_material
from krm_fn.sizing.rows import in_bytes
from krm_fn.sizing.schema import COUNT, TEXT, closed
from krm_fn.sources.files import read_named, refuse_links_out

HEADS = ("NAMESPACE", "NAME", "CLASS", "INSTANCETYPE", "PREFERENCE", "CHANGES", "IF IT RUNS")
GROUP_HEADS = ("OWN INSTANCETYPE", "VMS", "CLASS", "VCPUS", "MEMORY", "NEAREST", "MORE VCPUS", "MORE MEMORY")
FIT_HEADS = ("NAMESPACE", "NAME", "VCPUS", "PEAK", "MEMORY", "PEAK", "SMALLER", "SAVES VCPUS", "SAVES MEMORY")
OVERHEAD = f"{POD}memoryOverhead"
WORDS = {"exact": "exact", "headroom": "headroom only", "differs": "different", "none": "without a suggestion"}


class SuggestReport(Value):
    """The suggestions in order, the groups of VMs of one shape, and the smaller instancetypes by usage."""

    found: tuple[Suggested, ...]
    groups: tuple[ShapeGroup, ...] = ()
    fits: tuple[Fit, ...] = ()
    width: int = 0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """A row for each VM."""
        return [_row(each) for each in self.found]

    @property
    def answer(self) -> Object:
        """All of it as plain data."""
        counts = Counter(each.suggestion.sort for each in self.found)
        made: Object = {
            "vms": [each.answer for each in self.found],
            "groups": [_group(each) for each in self.groups],
            "summary": {sort: counts[sort] for sort in CLASSES},
        }
        return {**made, "usage": [each.answer for each in self.fits]} if self.fits else made

    @property
    def summary(self) -> str:
        """How many VMs are of each class."""
        counts = Counter(each.suggestion.sort for each in self.found)
        parts = ", ".join(f"{counts[sort]} {WORDS[sort]}" for sort in CLASSES if counts[sort])
        return f"{counted(len(self.found), 'flat VM')}: {parts}" if parts else "no flat VMs"


def _row(each: Suggested) -> tuple[str, ...]:
    found, obj = each.suggestion, each.suggestion.facts.entry.obj
    name = found.instancetype.name if found.instancetype else ""
    told = ", ".join(filter(None, (changes(found.proof), found.warning))) if found.instancetype else found.reason
    return _cells(effective_namespace(obj), name_of(obj), found.sort, name, found.preference, told, each.effect)


def _cells(*texts: str) -> tuple[str, ...]:
    return tuple(printable(one_line(text)) for text in texts)


def changes(proof: Proof) -> str:
    """What a conversion changes, in short."""
    return ", ".join(map(_shown, _short(proof.changes)))


def _short(changes: Sequence[InstanceChange]) -> list[InstanceChange]:
    """The changes without KubeVirt's own overhead, and without a 1 of a topology beside others: that is what unset means."""
    told = [each for each in changes if each.path != OVERHEAD]
    return [each for each in told if each.path not in TOPOLOGY or (each.old or 1) != (each.new or 1)] or told


def _shown(change: InstanceChange) -> str:
    path = change.path.removeprefix("/spec/domain/").strip("/").replace("/", ".")
    return f"{path} {_value(change.old)} → {_value(change.new)}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {below}" for key, below in value.items()) + "}"
    return "-" if value is None else str(value)


def _group(group: ShapeGroup) -> Object:
    found: Object = {"name": group.own.name, "vms": len(group.members), "class": group.proof.sort, "spec": group.own.spec}
    if group.own.topology:
        found["preference"] = group.own.topology
    if group.nearest:
        vcpus, nanos = _more(group)
        found["nearest"] = {**group.nearest.matcher, "moreVcpus": vcpus, "moreMemoryBytes": nanos // NANO}
    return found


def _more(group: ShapeGroup) -> tuple[int, int]:
    """The vCPUs and the memory that all VMs of a group get more with the nearest instancetype that exists."""
    nearest = group.nearest
    if nearest is None:
        return 0, 0
    count, own = len(group.members), group.own.size
    return count * (nearest.size.vcpus - own.vcpus), count * (nearest.size.nanos - own.nanos)


def _group_row(group: ShapeGroup) -> tuple[str, ...]:
    vcpus, nanos = _more(group)
    nearest = (group.nearest.name, str(vcpus), _bytes(nanos)) if group.nearest else ("-", "-", "-")
    own = group.own
    return _cells(own.name, str(len(group.members)), group.proof.sort, str(own.size.vcpus), _bytes(own.size.nanos), *nearest)


def _bytes(nanos: int) -> str:
    return in_bytes(of_int(nanos // NANO, "BinarySI")) if nanos else "0"


def _fit_row(fit: Fit) -> tuple[str, ...]:
    size, smaller = fit.size, fit.smaller
    saved = (str(size.vcpus - smaller.size.vcpus), _bytes(size.nanos - smaller.size.nanos)) if smaller else ("-", "-")
    peak = fit.peak_vcpus, _bytes(size.nanos), _bytes(fit.peak.nanos)
    return _cells(fit.namespace, fit.name, str(size.vcpus), *peak, smaller.name if smaller else "-", *saved)


def _tables(report: SuggestReport) -> list[tuple[tuple[str, ...], list[tuple[str, ...]], frozenset[int]]]:
    """The heads and the rows of each table, and which of its columns hold numbers."""
    found = [
        (HEADS, report.rows, frozenset[int]()),
        (GROUP_HEADS, [_group_row(each) for each in report.groups], frozenset((1, 3, 4, 6, 7))),
        (FIT_HEADS, [_fit_row(each) for each in report.fits], frozenset((2, 3, 4, 5, 7, 8))),
    ]
    return [each for each in found if each[1]]


def as_text(report: SuggestReport) -> str:
    """Tables for a terminal."""
    parts = [aligned([heads, *rows], numbers, report.width) for heads, rows, numbers in _tables(report)]
    return "\n\n".join([*parts, report.summary]) + "\n"


def as_json(report: SuggestReport) -> str:
    """All details."""
    return json.dumps(report.answer, indent=2, ensure_ascii=False) + "\n"


def as_csv(report: SuggestReport) -> str:
    """A row for each VM."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("target", "file", *(head.lower().replace(" ", "_") for head in HEADS)))
    for each, row in zip(report.found, report.rows, strict=True):
        writer.writerow(map(csv_text, (each.target, each.file, *row)))
    return out.getvalue()


def as_markdown(report: SuggestReport) -> str:
    """Tables for a comment."""
    parts = [table(heads, 0, 0, [[*map(code, row)] for row in rows]) for heads, rows, _ in _tables(report)]
    return "\n\n".join([*parts, report.summary]) + "\n"


FORMATS: dict[str, Callable[[SuggestReport], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
}


def schema() -> Object:
    """The JSON Schema of what `-o json` prints."""
    texts = dict.fromkeys(("kind", "namespace", "name", "reason", "target", "template", "file", "preference"), TEXT)
    matcher: Object = {"kind": TEXT, "name": TEXT}
    change = {"path": TEXT, "old": {}, "new": {}}
    vm = {
        **texts,
        "line": COUNT,
        "class": {"enum": list(CLASSES)},
        "instancetype": closed({**matcher, "origin": {"enum": [CATALOGUE, BUNDLE, OWN]}}, required=("kind", "name", "origin")),
        "changes": _list(closed(change, required=tuple(change))),
        "fewer": {**_list(TEXT), "description": "What the guest or its pod has less of."},
        "refused": {**_list(TEXT), "description": "Why KubeVirt starts no instance of it, before and after the conversion."},
        "effect": {**_list(TEXT), "description": "What the conversion does to a VM that runs, as in the answer of diff."},
    }
    number: Object = {"type": "integer"}
    more: Object = {"moreVcpus": number, "moreMemoryBytes": number}
    group = {
        "name": TEXT,
        "vms": COUNT,
        "class": vm["class"],
        "spec": {"type": "object"},
        "preference": {"type": "object"},
        "nearest": closed({**matcher, **more}, required=(*matcher, *more)),
    }
    size: Object = {"vcpus": COUNT, "memory": COUNT}
    saves: Object = {"vcpus": number, "memory": number}
    fit = {
        **dict.fromkeys(("namespace", "name"), TEXT),
        **size,
        "peak": closed({"vcpus": TEXT, "memory": COUNT}, required=("vcpus", "memory")),
        "smaller": closed({**matcher, "saves": closed(saves, required=tuple(saves))}, required=(*matcher, "saves")),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kubevirt-render:schema:v1alpha1:suggest",
        "title": "What `kubevirt-render suggest -o json` prints",
        **closed(
            {
                "vms": _list(closed(vm, required=("kind", "namespace", "name", "class"))),
                "groups": _list(closed(group, required=("name", "vms", "class", "spec"))),
                "summary": closed(dict.fromkeys(CLASSES, COUNT), required=CLASSES),
                "usage": _list(closed(fit, required=("namespace", "name", *size, "peak"))),
            },
            required=("vms", "groups", "summary"),
        ),
    }


def _list(items: Object) -> Object:
    return {"type": "array", "items": items}


@click.command()
@options.input_options
@options.output_option(FORMATS, text="The output format. json: all details.")
@click.option("--own", is_flag=True, help="Also make instancetypes for VMs that share a shape, and compare them with others.")
@conversions.wish_options
@click.option(
    "--usage",
    "usage_file",
    metavar="FILE",
    help="Name smaller instancetypes for VMs that use less than they have. FILE is a CSV with the columns namespace, name, "
    "vcpus and memory: the peaks of each VM.",
)
@click.option(
    "--spare", default=25, show_default=True, metavar="PERCENT", help="What a smaller instancetype has beyond the peaks."
)
@options.config_options
def suggest(*, output: str, own: bool, usage_file: str | None, spare: int, **flags: Any) -> int:
    """Suggest instancetypes for VMs without one.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The kustomizations in a folder are built, offline.

    Instancetypes come from the release's catalogue and from the input. For each VM, the output names what differs of its
    instance and its pod, and what the conversion does to a VM that runs. The classes are exact, headroom (only the layout
    of vCPUs, what a guest may grow to, or how the same requests are written), differs, and none. Nothing is written:
    convert does that.

    The exit code is 1 if a kustomization can't be built or a document can't be read.
    """
    if spare < 0:
        raise UsageError(f"--spare is {spare}; expected 0 or more")
    peaks = _peaks(usage_file) if usage_file else {}
    bar = progress.shown(quiet=flags["verbose"])
    read, code = read_bundles(CommandRequest(flags=flags), bar)
    wish = wish_of(flags, own=own)
    with bar.at("Comparing"):
        found = conversions.in_order(each for one in read for each in suggested(one, wish))
        fits = [fit for one in read if peaks for fit in Conversions(facts_of_material(one.material), wish).fits(peaks, spare)]
    report = SuggestReport(
        found=tuple(found),
        groups=tuple(suggesting.groups(each.suggestion for each in found)) if own else (),
        fits=tuple(fits),
        width=shutil.get_terminal_size().columns if is_terminal() else 0,
    )
    write_out(FORMATS[output](report).encode(errors="replace"))
    return code


def _peaks(file: str) -> dict[PeakKey, Peak]:
    """The peaks of a file. Raises: InputError."""
    try:
        refuse_links_out([file])
        text = read_named(file)[0].decode("utf-8-sig")
        rows = csv.DictReader(text.splitlines())
        return read_peaks(rows, rows.fieldnames or ())
    except OSError as error:
        raise InputError(f"cannot read {file_name(file)}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError("the file is not in UTF-8", file=file) from None
    except csv.Error as error:
        raise InputError(f"{error}; correct the file", file=file, line=rows.line_num + 1, column=1) from None
    except InputError as error:
        raise InputError(error.message, file=file, line=error.line, column=error.column) from None
