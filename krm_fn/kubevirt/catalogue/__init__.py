"""The builtin catalogue: the cluster instancetypes and preferences that each KubeVirt release deploys.

`builtin.txt` has all of it; `scripts/make_catalogue.py` makes it. A lookup reads that file once, and decodes only the spec that
it needs. The file has the sections `[releases]`, `[parts]` and one for each kind, with these lines:

    1.9.0 1.7.0                        a KubeVirt release, and the version of common-instancetypes in it
        cpu.2 cpu:guest=2 cpu:realtime={}  a part: leaves that often occur together
        n 1.4.0 1.4.1 deprecated LEAVES    consecutive releases in which the name has one spec, of leaves and parts; `-` for the
                                           last release is the newest

A leaf is `key:key:…=value`; a key of digits is the index in a list; a value is read as YAML reads it, quotes mark a string.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, lacks

Version = tuple[int, ...]
Span = tuple[Version, Version]


INSTANCETYPE = "VirtualMachineClusterInstancetype"
PREFERENCE = "VirtualMachineClusterPreference"
KINDS = (INSTANCETYPE, PREFERENCE)

_FILE = f"{__path__[0]}/builtin.txt"


class Run(Value):
    """Consecutive releases in which a name has one spec: `first` to `last`, both included.

    Equal forms are equal specs, for all names and releases.
    """

    first: Version
    last: Version
    form: tuple[str, ...]
    deprecated: bool = False


class Catalogue:
    """The catalogue of one release. `version` is that release, or () for a release before the table: then nothing is found.

    Kinds are spelled as in the API. Only the two cluster kinds have names.
    """

    def __init__(self, version: Version) -> None:
        self.version = version

    def find(self, kind: str, name: str) -> Object | None:
        """The spec of that name. It is shared: callers must not change it."""
        run = self.run(kind, name)
        return spec_of(run) if run else None

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of a kind, sorted."""
        return tuple(name for name in names(kind) if self.run(kind, name))

    def deprecated(self, kind: str, name: str) -> bool:
        """True if the release marks the name as deprecated."""
        run = self.run(kind, name)
        return bool(run and run.deprecated)

    def removed_in(self, kind: str, name: str) -> Version:
        """The first later release without the name; () if there is none, or if this one does not have it."""
        last = next((last for first, last in spans(kind, name) if first <= self.version <= last), None)
        return next((version for version in releases() if last and version > last), ())

    def elsewhere(self, kind: str, name: str) -> tuple[Span, ...]:
        """The (first, last) releases whose catalogue has the name; for a name that this catalogue does not have."""
        return spans(kind, name)

    def run(self, kind: str, name: str) -> Run | None:
        """The run of releases that contains this one, and in which the name has the same spec as here."""
        return next((run for run in history(kind, name) if run.first <= self.version <= run.last), None)


def of(release: Release) -> Catalogue:
    """The catalogue of a release. A patch release newer than the table has the catalogue of the newest one before it.

    Raises: ConfigError if the table has its first release, and no patch release of this one.
    """
    newest = max((version for version in releases() if version <= release.version), default=())
    if newest and newest[:2] != release.version[:2]:
        raise lacks("instancetypes", release)
    return Catalogue(newest)


def releases() -> tuple[Version, ...]:
    """The KubeVirt releases of the table, oldest first."""
    return _table().releases


def names(kind: str) -> tuple[str, ...]:
    """The names in any release of the table, sorted."""
    return _table().names(kind)


def history(kind: str, name: str) -> tuple[Run, ...]:
    """All runs of the name, oldest first. Releases in a gap between two runs do not have it. Empty: no release has it."""
    return _table().history(kind, name)


def spans(kind: str, name: str, form: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """The releases that have the name, in any form or in one: (first, last) of each run without a gap."""
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
    """The spec of a name in a run of releases. It is shared: callers must not change it."""
    return _table().spec(run.form)


class _Table:
    """The file: its lines by section and first word. A line is decoded when it is first needed."""

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
    """The value at a key of a map or list; `new` is put there if there is none."""
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
