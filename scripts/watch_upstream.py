"""What changed in KubeVirt below the places that krm_fn names, between two commits of a clone.

    python scripts/watch_upstream.py --source CLONE v1.9.0 main
    python scripts/watch_upstream.py --source CLONE --record [1.9.1] [--ref release-1.9]
    python scripts/watch_upstream.py --source CLONE
    python scripts/watch_upstream.py --source CLONE --pairs
    python scripts/watch_upstream.py --source CLONE --coverage

Every `upstream:` of a docstring or comment, and every text `pkg/…/file.go:function`, is a pointer. It stands for the function
and what that uses of its own package: functions, methods, constants, types. The lines say

    CHANGED  a declaration that differs, and the places in krm_fn whose pointers lead to it: read it, mend or keep the rows
    STALE    a pointer whose file or function is gone, and where a function of that name is now
    NEW      exported functions, new or changed, of packages that we point into, to which no pointer leads: nobody models them
    GATE     feature gates that differ
    API      fields of the API that differ

`--record` writes what a release has into fixtures/upstream.lock; alone it records all releases of the lock again, as a new
pointer needs it. What differs from the release before is `measured` there if the release's own code has answered, else
`unreviewed`, until somebody writes `same` or the files whose rows changed; a test fails until then. Without commits, every
pointer is resolved at its own release. `--pairs` prints the pairs of commits that a nightly run compares: what the lock has and
main, each release branch, and each tag of a candidate. `--coverage` prints how many rows the watch would have found: those of
whose line, or else module, a pointer leads to a change between the row's first release and the one before. Go is read as text,
as gofmt leaves it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import kubevirt_api
import make_gates
from schema_lines import lines as api_lines
from upstream import NOT_READ, ROOT, Source, Version, package_releases, run_script, text_of, version_of

from krm_fn.kubevirt.releases import NEWEST, NEWEST_PATCH, UNMEASURED

LOCK = ROOT / "fixtures" / "upstream.lock"
HEAD = "# Pointer, release, hash of what it leads to, review. Made by scripts/watch_upstream.py, the reviews by hand."
API = "staging/src/kubevirt.io/api"
UNREVIEWED, SAME, MEASURED, GONE = "unreviewed", "same", "measured", "-"
# Tables that other scripts make or compare, and one of another project: their rows need no pointer.
UNPOINTED = ("gates.py", "api_versions.py", "hyperconverged.py")
# With more places than these, a line names their files alone.
MOST_PLACES = 3
# Packages that speak of KubeVirt's own code; the pointers of the others lead to other projects.
SPOKEN = ("kubevirt", "rules", "sizing", "pipeline", "migrate", "changes")

NAMES = r"[A-Za-z_]\w*(?:\.\w+)?(?:,\s+[A-Za-z_]\w*(?=,|;|\.?\s*$| until))*"
FILE = r"(?:pkg|staging|tools|cmd)/[\w./-]+\.go"
WHOLE = re.compile(rf"({FILE}):({NAMES})")
WITH_FILE = re.compile(rf"({FILE}|(?<![\w/.-])[\w-]+\.go)(?::({NAMES}))?")
BARE = re.compile(rf"^(?:([\w-]+\.go):)?({NAMES})(?=\s*;|\.?\s*$| until)")
CLAUSE = re.compile(r"upstream: (?!str\b)((?:.|\n(?! *(?:\n|\"\"\"|[A-Z@\w]+:|from|def|class|[A-Z_]+(?:: Version)? = )))*)")
ERA = re.compile(r"\buntil (\d+\.\d+(?:\.\d+)?)\b")
# A clause with one of these leads to another project.
ELSEWHERE = re.compile(
    r"k8s\.io|containerized-data|kubernetes |hyperconverged|virt-template|application-aware|github\.com|^Go "
)
# Functions that call everything. They stand for their own text alone; what they call has pointers of its own.
UMBRELLAS = re.compile(
    "Admit|[eE]xecute|Mutate|[rR]enderLaunchManifest|[sS]ync|Validate|ValidateVirtualMachine(Instance)?Spec|admitHotplugCPU"
    "|updateStatus"
)


class Pointer(NamedTuple):
    """A function of a file; `until` is the first release that lacks it, () where the newest has it."""

    path: str
    name: str
    until: Version = ()

    @property
    def folder(self) -> str:
        return str(Path(self.path).parent)

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"


# Pointers of krm_fn


def pointers(package: Path = ROOT / "krm_fn") -> dict[Pointer, list[str]]:
    """The places of each pointer, as `kubevirt/pods/overhead.py:12`."""
    found: dict[Pointer, list[str]] = defaultdict(list)
    for file in sorted(file for folder in SPOKEN for file in (package / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for line, pointer in sorted({*_in_code(ast.parse(text), text.splitlines()), *_in_words(text)}):
            found[pointer].append(f"{file.relative_to(package)}:{line}")
    return dict(found)


def _in_words(text: str) -> Iterator[tuple[int, Pointer]]:
    """Pointers of docstrings and comments.

    A name without a file is of the first file in the module's own docstring, a file without a folder of the folder before it.
    """
    home = ""
    for clause in CLAUSE.finditer(text):
        line = text.count("\n", 0, clause.start()) + 1
        words = " ".join(part.strip().lstrip("# ") for part in clause[1].split('"""')[0].split("\n"))
        for part in words.replace(".go: ", ".go:").split("; "):
            era, folder = ERA.search(part), ""
            if ELSEWHERE.search(part):
                continue
            bare = BARE.match(part) if home else None
            for path, names in [(bare[1] or home, bare[2])] if bare else WITH_FILE.findall(part):
                folder = str(Path(path if "/" in path else folder or home).parent) if "/" in path or not folder else folder
                at = path if "/" in path else f"{folder}/{path}"
                if folder == ".":
                    continue
                home = home or (at if clause.start() < text.find("\nfrom __future__") else "")
                for name in re.split(r",\s+", names):
                    yield line, Pointer(at, name, version_of(era[1]) if era else ())


def _in_code(tree: ast.Module, lines: list[str]) -> Iterator[tuple[int, Pointer]]:
    """Pointers that are texts, put together from the constants of the module; `until` is that of the same row."""
    known: dict[str, str] = {}
    until: dict[object, Version] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and (value := _folded(node.value, known)):
            era = ERA.search(lines[node.lineno - 1])
            known[node.targets[0].id] = value
            until[value] = version_of(era[1]) if era else ()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {word.arg: word.value for word in node.keywords}
            ends = _version(given["until"]) if "until" in given else ()
            until |= {below: ends for each in (*node.args, *given.values()) for below in ast.walk(each) if ends}
        value = _folded(node, known) if isinstance(node, ast.Constant | ast.BinOp | ast.Name) else None
        match = WHOLE.fullmatch(value or "")
        if match:
            yield node.lineno, Pointer(match[1], match[2], until.get(node) or until.get(value, ()))  # type: ignore[attr-defined]


def _folded(node: ast.AST, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _folded(node.left, known), _folded(node.right, known)
        return left + right if left and right else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _version(node: ast.AST) -> Version:
    found = ast.literal_eval(node) if isinstance(node, ast.Tuple) else ()
    return found[-1] if found and isinstance(found[0], tuple) else found


# Go as text

DECLARATION = re.compile(
    r"^(?:func (?:\((?:\w+ )?\*?(\w+)[^)]*\) )?(\w+)|(?:type|const|var) (\w+)|(?:const|var|type) \()", re.MULTILINE
)
IMPORTED = re.compile(r'^\s+(?:(\w+) )?"[^"\n]*?([\w-]+)"$', re.MULTILINE)
COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|`[^`]*`)|//[^\n]*|/\*.*?\*/", re.DOTALL)
USED = re.compile(r"(?:\b(\w+)\.)?\b([A-Za-z_]\w*)")


# Exported, and neither a constructor nor the question for one gate.
EXPORTED = re.compile(r"(?!New[A-Z])[A-Z](?!\w*Enabled$)")


class Declared(NamedTuple):
    path: str
    text: str
    is_function: bool


class Package:
    """The declarations of a folder, by name; a method has two names, with its type and alone."""

    def __init__(self, files: dict[str, str]) -> None:
        self.named: dict[str, Declared] = {}
        self.alone: dict[str, list[str]] = defaultdict(list)
        self.imports: dict[str, set[str]] = {}
        self._uses: dict[str, list[str]] = {}
        for path, text in sorted(files.items()):
            bare = COMMENT.sub(lambda each: each[1] or "", text)
            self.imports[path] = {alias or name for alias, name in IMPORTED.findall(bare)}
            for name, declared in _declarations(path, bare):
                self.named[name] = declared
                self.alone[name.rpartition(".")[2]].append(name)

    def find(self, pointer: Pointer) -> list[str]:
        """The full names that a pointer names, of several types too; [] where it is gone."""
        names = {pointer.name, *self.alone.get(pointer.name, ())}
        return sorted(name for name in names if name in self.named and self.named[name].path == pointer.path)

    def closure(self, names: Iterable[str], named: frozenset[str]) -> dict[str, str]:
        """{name: text} of declarations and what they use. `named` have pointers of their own; they are not followed."""
        todo, found = list(names), {}
        for name in todo:
            if name not in found:
                found[name] = self.named[name].text
                if not UMBRELLAS.fullmatch(name.rpartition(".")[2]):
                    todo += [each for each in self.uses(name) if each not in named]
        return found

    def uses(self, name: str) -> list[str]:
        """What a declaration uses, without the type of a method and the types of the API, which has lines of its own."""
        if name not in self._uses:
            declared = self.named[name]
            found = set(USED.findall(declared.text)) - {("", name.partition(".")[0])}
            named = [
                each
                for before, word in found
                if before not in self.imports[declared.path]
                for each in self.alone.get(word, ())
                if bool(before) == ("." in each) and not (API in declared.path and self.named[each].text.startswith("type "))
            ]
            self._uses[name] = sorted({*named} - {name})
        return self._uses[name]


def _declarations(path: str, text: str) -> Iterator[tuple[str, Declared]]:
    starts = list(DECLARATION.finditer(text))
    ends = [each.start() for each in starts[1:]] + [len(text)] * bool(starts)
    for match, after in zip(starts, ends, strict=True):
        whole = " ".join(text[match.start() : after].split())
        receiver, function, single = match.groups()
        if function:
            yield f"{receiver}.{function}" if receiver else function, Declared(path, whole, is_function=True)
        elif single:
            yield single, Declared(path, whole, is_function=False)
        else:
            yield from _grouped(path, text[match.start() : after])


def _grouped(path: str, text: str) -> Iterator[tuple[str, Declared]]:
    """The declarations in brackets, such as `const ( … )`; one with `iota` stands for all."""
    parts = re.split(r"^\t(?=\w)", text, flags=re.MULTILINE)[1:]
    for part in parts:
        for name in re.match(r"\w+(?:, \w+)*", part)[0].split(", "):  # type: ignore[index]
            yield name, Declared(path, " ".join((text if "iota" in text else part).rstrip(")\n ").split()), is_function=False)


# A commit


class Commit:
    """What the pointers find in one commit of a clone."""

    def __init__(self, source: Source, ref: str, wanted: Iterable[Pointer]) -> None:
        self.source, self.ref, self.wanted = source, ref, sorted(wanted)
        folders = sorted({pointer.folder for pointer in wanted})
        files: dict[str, dict[str, str]] = defaultdict(dict)
        for path, text in source.go_files(ref, *folders, generated=True).items():
            files[str(Path(path).parent)][path] = text
        self.packages = {folder: Package(files[folder]) for folder in folders if folder in files}
        self.found = {pointer: self._find(pointer) for pointer in self.wanted}

    def _find(self, pointer: Pointer) -> list[str]:
        return self.packages[pointer.folder].find(pointer) if pointer.folder in self.packages else []

    @cache  # noqa: B019  # a run has two of them
    def leads(self, pointer: Pointer) -> dict[str, str]:
        """{`folder:name`: text} of what a pointer leads to."""
        folder, names = pointer.folder, self.found[pointer]
        named = frozenset(name for other, found in self.found.items() if other.folder == folder for name in found)
        closure = self.packages[folder].closure(names, named - {*names}) if names else {}
        return {f"{folder}:{name}": text for name, text in closure.items()}

    def hash(self, pointer: Pointer) -> str:
        """Eight digits for what a pointer leads to, "-" where it is gone."""
        leads = "\n".join(f"{name} {text}" for name, text in sorted(self.leads(pointer).items()))
        return hashlib.sha256(leads.encode()).hexdigest()[:8] if leads else GONE

    def exported(self) -> dict[str, str]:
        """{`folder:name`: text} of the exported functions of all packages that pointers name."""
        return {
            f"{folder}:{name}": each.text
            for folder, package in self.packages.items()
            for name, each in package.named.items()
            if each.is_function and EXPORTED.match(name.rpartition(".")[2]) and not NOT_READ.search(each.path)
        }


# What differs


def differences(source: Source, before: str, after: str, ours: dict[Pointer, list[str]]) -> Iterator[str]:
    """The lines about the Go code of two commits."""
    old, new = (Commit(source, ref, ours) for ref in (before, after))
    yield from _stale(old, new, ours)
    touched = set(old.exported()) | set(new.exported())
    places: dict[str, set[str]] = defaultdict(set)
    for pointer, at in ours.items():
        leads = old.leads(pointer), new.leads(pointer)
        touched -= {*leads[0], *leads[1]}
        for name in leads[0].keys() | leads[1].keys():
            if leads[0].get(name) != leads[1].get(name):
                places[name] |= set(at)
    yield from _changed(places)
    fresh = defaultdict(list)
    for key in sorted(touched):
        if key in new.exported() and old.exported().get(key) != new.exported()[key]:
            folder, name = key.split(":")
            fresh[folder].append(name)
    yield from (f"NEW {folder}: {', '.join(names)}" for folder, names in fresh.items())


def _stale(old: Commit, new: Commit, ours: dict[Pointer, list[str]]) -> Iterator[str]:
    for pointer, at in sorted(ours.items()):
        if not pointer.until and old.found[pointer] and not new.found[pointer]:
            yield f"STALE {pointer} ({', '.join(at)}): gone{_now_in(new, pointer)}"


def _now_in(commit: Commit, pointer: Pointer) -> str:
    """Where a function of the name is declared in a commit."""
    name = pointer.name.rpartition(".")[2]
    found = commit.source.grep(commit.ref, rf"^func (\([^)]*\) )?{name}\(") if name else []
    return f"; a function of that name is in {', '.join(found)}" if found else ""


def _changed(places: dict[str, set[str]]) -> Iterator[str]:
    """A line for the declarations of a package that the same places lead to."""
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, at in sorted(places.items()):
        folder, name = key.split(":")
        files = sorted({place.partition(":")[0] for place in at})
        together[folder, ", ".join(files if len(at) > MOST_PLACES else sorted(at))].append(name)
    yield from (f"CHANGED {folder}: {', '.join(names)} <- {at}" for (folder, at), names in together.items())


def tables(source: Source, before: str, after: str) -> Iterator[str]:
    """The lines about the gates and the fields of the API."""
    gates = [make_gates.read(source, ref) for ref in (before, after)]
    for word, names in _differing(*gates):
        yield f"GATE {word}: {', '.join(names)}"
    fields = [
        {
            f"{name}.{field}": words
            for name, of in api_lines(kubevirt_api.read(source, ref)["types"]).items()
            for field, words in of.items()
        }
        for ref in (before, after)
    ]
    for word, names in _differing(*fields):
        yield f"API {word}: {', '.join(names)}"


def _differing(old: dict[str, str], new: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    for word, names in (
        ("new", new.keys() - old.keys()),
        ("gone", old.keys() - new.keys()),
        ("changed", {name for name in old.keys() & new.keys() if old[name] != new[name]}),
    ):
        if names:
            yield word, sorted(names)


# The lock

# {release: {pointer: (hash, review)}}; the review is "" where the hash is that of the release before.
Lock = dict[Version, dict[str, tuple[str, str]]]


def read_lock(text: str) -> Lock:
    """What the lock says. A line stands for its release and the later ones, until the next line of its pointer."""
    _, releases, *lines = text.splitlines()
    found: Lock = {version_of(release): {} for release in releases.split()[1:]}
    for line in lines:
        pointer, release, digest, review = line.split(" ", 3)
        found[version_of(release)][pointer] = digest, review
    for before, after in pairwise(sorted(found)):
        found[after] = {pointer: (digest, "") for pointer, (digest, _) in found[before].items()} | found[after]
    return found


def write_lock(lock: Lock) -> str:
    lines, before = [], {}
    for release, rows in sorted(lock.items()):
        changed = {pointer: row for pointer, row in rows.items() if row[0] != before.get(pointer, ("",))[0]}
        lines += [f"{pointer} {text_of(release)} {digest} {review or SAME}" for pointer, (digest, review) in changed.items()]
        before = rows
    in_order = sorted(lines, key=lambda line: (line.split(" ")[0], version_of(line.split(" ")[1])))
    return "\n".join([HEAD, " ".join(["releases", *map(text_of, sorted(lock))]), *in_order]) + "\n"


def recorded(lock: Lock, release: Version, hashes: dict[str, str]) -> Lock:
    """The lock with a release, and with the pointers that krm_fn has now. A review is kept where its hash is the same."""
    before = lock.get(max((each for each in lock if each < release), default=()), {})
    known, rows = lock.get(release, {}), {}
    for pointer, digest in hashes.items():
        fresh = "" if before.get(pointer, ("",))[0] == digest else UNREVIEWED if release in UNMEASURED else MEASURED
        rows[pointer] = known[pointer] if known.get(pointer, ("",))[0] == digest and known[pointer][1] else (digest, fresh)
    kept = {each: {pointer: row for pointer, row in of.items() if pointer in hashes} for each, of in lock.items()}
    return kept | {release: rows}


def record(source: Source, releases: Iterable[Version], ref: str | None) -> None:
    """Write releases into the lock, all of it again if none is named."""
    lock = read_lock(LOCK.read_text(encoding="utf-8")) if LOCK.exists() else {}
    ours = pointers()
    for release in sorted(releases or lock):
        commit = Commit(source, ref or source.ref(release), ours)
        lock = recorded(lock, release, {str(pointer): commit.hash(pointer) for pointer in commit.wanted})
    text = write_lock(lock)
    LOCK.write_text(text, encoding="utf-8")
    open_ = [line for line in text.splitlines() if line.endswith(f" {UNREVIEWED}")]
    print(f"fixtures/upstream.lock: {', '.join(map(text_of, sorted(lock)))}; {len(open_)} lines are {UNREVIEWED}")
    for line in open_:
        pointer, release, digest, _ = line.split(" ", 3)
        print(
            f"UNREVIEWED {pointer} at {release}: write {SAME} for {UNREVIEWED} behind {digest}, or the files whose rows changed"
        )


def resolve(source: Source) -> None:
    """Print each pointer that leads nowhere at its own release, which is the newest one, or the last before its `until`."""
    ours, stale = pointers(), 0
    by_release: dict[Version, list[Pointer]] = defaultdict(list)
    for pointer in ours:
        before = [version for version in source.versions if version < pointer.until]
        by_release[before[-1] if before else NEWEST.version].append(pointer)
    for release, wanted in sorted(by_release.items()):
        commit = Commit(source, source.ref(release), wanted)
        gone = [pointer for pointer in wanted if not commit.found[pointer]]
        stale += len(gone)
        for pointer in gone:
            print(f"STALE {pointer} at {text_of(release)} ({', '.join(ours[pointer])}){_now_in(commit, pointer)}")
    print(f"{len(ours)} pointers, {stale} stale")
    if stale:
        raise SystemExit(1)


def coverage(source: Source, rows: dict[Version, list[Row]], ours: dict[Pointer, list[str]]) -> Iterator[str]:
    """A line for each release with rows: how many the watch would have found. Below it are the places of the others."""
    for release, of_release in sorted(rows.items()):
        old, new = (Commit(source, source.ref(each), ours) for each in (_before(release), release))
        leads_to_change = {place for pointer, at in ours.items() if old.hash(pointer) != new.hash(pointer) for place in at}
        missed = [row for row in of_release if not leads_to_change & row.places(ours)]
        yield f"{text_of(release)}: {len(of_release) - len(missed)} of {len(of_release)} rows"
        yield from (f"    {row.file}:{row.first}" for row in missed)


def _before(release: Version) -> Version:
    """The patch release before, or the newest measured one of the series before."""
    major, minor, patch = release
    return (major, minor, patch - 1) if patch else (major, minor - 1, NEWEST_PATCH[major, minor - 1])


class Row(NamedTuple):
    """A row that begins with a release: the lines of a file."""

    file: str
    first: int
    last: int

    def places(self, ours: dict[Pointer, list[str]]) -> set[str]:
        """The places of the pointers in the row, or, where it has none, of all in its module."""
        of_file = {place for at in ours.values() for place in at if place.partition(":")[0] == self.file}
        return {place for place in of_file if self.first <= int(place.partition(":")[2]) <= self.last} or of_file


def dated(after: Version, package: Path = ROOT / "krm_fn") -> dict[Version, list[Row]]:
    """The rows that begin with a later release of the package, by that release: `since=` of calls, and `…SINCE = `."""
    found: dict[Version, list[Row]] = defaultdict(list)
    known = package_releases()
    for file in sorted(file for folder in SPOKEN for file in (package / folder).rglob("*.py") if file.name not in UNPOINTED):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for version in _begins(node):
                release = (*version, 0, 0)[:3]
                if release > after and release in known:
                    found[release].append(Row(str(file.relative_to(package)), node.lineno, node.end_lineno))  # type: ignore[attr-defined]
    return found


def _begins(node: ast.AST) -> list[Version]:
    bound: ast.AST | None = None
    if isinstance(node, ast.Call):
        bound = next((word.value for word in node.keywords if word.arg == "since"), None)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        bound = node.value if isinstance(target, ast.Name) and target.id.endswith("SINCE") else None
    value = ast.literal_eval(bound) if isinstance(bound, ast.Tuple) and bound.elts else ()
    return list(value) if value and isinstance(value[0], tuple) else [value] * bool(value)


def pairs(source: Source) -> Iterator[tuple[str, str]]:
    """The newest recorded release of each series with its branch, the newest of all with main and later candidates."""
    recorded_ones = sorted(read_lock(LOCK.read_text(encoding="utf-8")))
    of_series = {release[:2]: source.ref(release) for release in recorded_ones}
    *_, newest = recorded_ones
    yield source.ref(newest), "main"
    yield from ((ref, branch) for series, ref in of_series.items() if source.names(branch := f"release-{text_of(series)}"))
    for tag in source.tags("v*-rc.*"):
        series = version_of(tag[1:].partition("-")[0])
        if series > NEWEST.version and series not in source.versions:
            yield of_series.get(series[:2], source.ref(newest)), tag


def main() -> None:
    parser = argparse.ArgumentParser(description="What changed in KubeVirt below the places that krm_fn names.")
    parser.add_argument(
        "--source", type=Path, required=True, metavar="CLONE", help="a clone of kubevirt/kubevirt with its tags"
    )
    parser.add_argument("--record", nargs="*", metavar="X.Y.Z", help="write these releases, or all again, into the lock")
    parser.add_argument("--ref", help="the branch, tag or commit to read the recorded release from")
    parser.add_argument("--pairs", action="store_true", help="print the pairs of commits that a nightly run compares")
    parser.add_argument("--coverage", action="store_true", help="print how many rows of each release the watch finds")
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="two tags, branches or commits to compare")
    given = parser.parse_args()
    source = Source(given.source)
    if given.record is not None:
        record(source, list(map(version_of, given.record)), given.ref)
    elif given.pairs:
        print("\n".join(map(" ".join, pairs(source))))
    elif given.coverage:
        recorded_ones = read_lock(LOCK.read_text(encoding="utf-8"))
        print("\n".join(coverage(source, dated(min(recorded_ones)), pointers())))
    elif len(given.commits) == 2:
        before, after = given.commits
        lines = [*differences(source, before, after, pointers()), *tables(source, before, after)]
        print("\n".join(lines) or f"nothing that krm_fn names differs between {before} and {after}")
    elif given.commits:
        parser.error("give two commits to compare, or none to resolve the pointers")
    else:
        resolve(source)


if __name__ == "__main__":
    run_script(main)
