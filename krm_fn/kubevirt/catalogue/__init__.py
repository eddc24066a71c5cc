"""The builtin catalogue: the cluster instancetypes and preferences that each KubeVirt release deploys.

All of it stands in `builtin.txt`, made by `scripts/make_catalogue.py`. A lookup reads that file once and decodes the one
spec it asks for. The file's sections are `[releases]`, `[parts]` and one for each kind; their lines:

    1.9.0 1.7.0                        a KubeVirt release, and the version of common-instancetypes in it
    cpu.2 cpu:guest=2 cpu:realtime={}  a part: leaves that recur together
    n 1.4.0 1.4.1 deprecated LEAVES    a run of releases in which the name had one spec, of leaves and parts; `-` for the last
                                       release is the newest

A leaf is `key:key:…=value`; a key of digits is the index in a list; a value is read as YAML reads it, quotes mark a string.
"""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.releases import Release

    Version = tuple[int, ...]
    Span = tuple[Version, Version]

INSTANCETYPE = "VirtualMachineClusterInstancetype"
PREFERENCE = "VirtualMachineClusterPreference"
KINDS = (INSTANCETYPE, PREFERENCE)

_FILE = f"{__path__[0]}/builtin.txt"


class Run(Value):
    """Releases, one after the other, in which a name had one spec: `first` to `last`, both included.

    Equal forms are equal specs, whatever the name and the release.
    """

    first: Version
    last: Version
    form: tuple[str, ...]
    deprecated: bool = False


class Catalogue:
    """What one release deploys. `version` is that release, () where the table begins later: then nothing is found.

    Kinds are given in the API's spelling; any kind but the two cluster kinds has no names.
    """

    def __init__(self, version: Version) -> None:
        self.version = version

    def find(self, kind: str, name: str) -> Object | None:
        """The spec of that name. It is shared by all who ask: callers must not change it."""
        run = self.run(kind, name)
        return spec_of(run) if run else None

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of a kind, sorted."""
        return tuple(name for name in names(kind) if self.run(kind, name))

    def deprecated(self, kind: str, name: str) -> bool:
        """True where the release marks the name as one that will go."""
        run = self.run(kind, name)
        return bool(run and run.deprecated)

    def removed_in(self, kind: str, name: str) -> Version:
        """The first later release that lacks the name; () where all have it, or this one lacks it already."""
        last = next((last for first, last in spans(kind, name) if first <= self.version <= last), None)
        return next((version for version in releases() if last and version > last), ())

    def elsewhere(self, kind: str, name: str) -> tuple[Span, ...]:
        """The stretches of releases whose catalogue has the name, (first, last) each; for a name that this one lacks."""
        return spans(kind, name)

    def run(self, kind: str, name: str) -> Run | None:
        """The run of releases, this one among them, in which the name has the spec it has here."""
        return next((run for run in history(kind, name) if run.first <= self.version <= run.last), None)


def of(release: Release) -> Catalogue:
    """The catalogue of a release; a patch release newer than the table has that of the newest one before it."""
    return Catalogue(max((version for version in releases() if version <= release.version), default=()))


def releases() -> tuple[Version, ...]:
    """The KubeVirt releases of the table, oldest first."""
    return _table().releases


def names(kind: str) -> tuple[str, ...]:
    """The names that any release of the table has, sorted."""
    return _table().names(kind)


def history(kind: str, name: str) -> tuple[Run, ...]:
    """All that the name ever was, oldest first; a gap between two runs is releases without it. Empty: no release has it."""
    return _table().history(kind, name)


def spans(kind: str, name: str, form: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """The releases that have the name, whatever it is there or in one form: (first, last) of each unbroken stretch."""
    found: list[Span] = []
    order = releases()
    for run in history(kind, name):
        if form and run.form != form:
            continue
        if found and order.index(run.first) == order.index(found[-1][1]) + 1:
            found[-1] = (found[-1][0], run.last)
        else:
            found.append((run.first, run.last))
    return tuple(found)


def spec_of(run: Run) -> Object:
    """The spec that a name has in a run of releases; shared, callers must not change it."""
    return _table().spec(run.form)


class _Table:
    """The file, its lines by section and first word; a line is decoded when it is first asked for."""

    def __init__(self, text: str) -> None:
        self.sections = _split(text)
        self.releases = tuple(_version(release) for release in self.sections["releases"])
        self._runs: dict[tuple[str, str], tuple[Run, ...]] = {}
        self._specs: dict[tuple[str, ...], Object] = {}

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(self.sections[kind]) if kind in KINDS else ()

    def history(self, kind: str, name: str) -> tuple[Run, ...]:
        if kind not in KINDS or name not in self.sections[kind]:
            return ()
        if (kind, name) not in self._runs:
            self._runs[kind, name] = tuple(self._run(line) for line in self.sections[kind][name])
        return self._runs[kind, name]

    def spec(self, form: tuple[str, ...]) -> Object:
        if form not in self._specs:
            spec: Object = {}
            for token in form:
                for leaf in (token,) if "=" in token else self.sections["parts"][token][0].split(" "):
                    _plant(spec, leaf)
            self._specs[form] = spec
        return self._specs[form]

    def _run(self, line: str) -> Run:
        first, last, *form = line.split(" ")
        deprecated = form[0] == "deprecated"
        return Run(
            first=_version(first),
            last=self.releases[-1] if last == "-" else _version(last),
            form=tuple(form[deprecated:]),
            deprecated=deprecated,
        )


_read: list[_Table] = []


def _table() -> _Table:
    if not _read:
        with open(_FILE, encoding="utf-8") as file:  # noqa: PTH123  pathlib is too heavy here
            _read.append(_Table(file.read()))
    return _read[0]


def _split(text: str) -> dict[str, dict[str, list[str]]]:
    """{section: {first word: [the rest of each of its lines]}}."""
    found: dict[str, dict[str, list[str]]] = {}
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            lines = found[line[1:-1]] = {}
        elif not line.startswith("#"):
            word, _, rest = line.partition(" ")
            lines.setdefault(word, []).append(rest)
    return found


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def _plant(spec: Object, leaf: str) -> None:
    """Add a leaf to a spec under construction."""
    path, _, text = leaf.partition("=")
    steps = path.split(":")
    node: Any = spec
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        node = _enter(node, step, _value(text) if after is None else [] if after.isdigit() else {})


def _enter(node: Any, step: str, new: Any) -> Any:
    """What stands at a key of a map or list; `new`, put there, where nothing does."""
    if not isinstance(node, list):
        return node.setdefault(step, new)
    if int(step) == len(node):
        node.append(new)
    return node[int(step)]


def _value(text: str) -> Any:
    if text.isdigit():
        return int(text)
    if text == "{}":
        return {}
    return text == "true" if text in ("true", "false") else text.strip('"')
