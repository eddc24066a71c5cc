"""KubeVirt's sources by release, read from one clone, and the command line of the scripts that make tables from them.

    git clone --bare https://github.com/kubevirt/kubevirt CLONE
    python scripts/make_schema.py --source CLONE [--release 1.6.6] [--ref release-1.6] [--check]

`--release 1.6.6` makes 1.6.0 to 1.6.6, because patch releases also bring fields and constraints; without it every release of
the table is made. What the table says of the releases that are made doesn't count, what it says of the others is kept. A
release is read at its tag, one of `UNMEASURED` in `krm_fn/kubevirt/releases.py` at the commit there, and with `--ref` at that.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import krm_fn
from krm_fn.kubevirt.releases import NEWEST_PATCH, UNMEASURED

Version = tuple[int, ...]

ROOT = Path(__file__).resolve().parents[1]
RELEASE = r"\d+\.\d+\.\d+"
RELEASE_HELP = "make the patch releases of X.Y up to this one; may be given several times; default: all releases of the table"
TEST, NOT_READ = re.compile(r"_test\.go$"), re.compile(r"_test\.go$|generated")


class Source:
    """A clone of kubevirt/kubevirt, bare or not. What is read is a release, or a branch, tag or commit by its name.

    Every method raises SystemExit, with git's own words, for what the clone doesn't have.
    """

    def __init__(self, clone: Path, refs: Mapping[Version, str] = UNMEASURED) -> None:
        self.clone, self.refs = clone, refs
        self.versions = sorted(version_of(tag[1:]) for tag in self.tags("v*") if re.fullmatch(RELEASE, tag[1:]))

    def tags(self, pattern: str) -> list[str]:
        """The tags of a form, such as `v*`."""
        return self._git("tag", "--list", pattern).decode().split()

    def names(self, branch: str) -> bool:
        """True where the clone has a branch of that name."""
        return bool(self._git("branch", "--list", branch))

    def patches(self, newest: Version) -> list[Version]:
        """The patch releases of a minor release, oldest first, up to `newest`."""
        known = sorted({*self.versions, *self.refs})
        if newest not in known:
            raise SystemExit(f"{self.clone} has no tag v{text_of(newest)}; run git -C {self.clone} fetch --tags")
        return [version for version in known if version[:2] == newest[:2] and version <= newest]

    def ref(self, at: Version | str) -> str:
        """The name by which git knows a release."""
        return at if isinstance(at, str) else self.refs.get(at, f"v{text_of(at)}")

    def has(self, at: Version | str, path: str) -> bool:
        """True where the release has a file or folder of that path."""
        return bool(self._git("ls-tree", "--name-only", self.ref(at), path))

    def text(self, at: Version | str, path: str) -> str:
        """The text of a file."""
        return self._git("show", f"{self.ref(at)}:{path}").decode()

    def go_files(self, at: Version | str, *folders: str, generated: bool = False) -> dict[str, str]:
        """{path: text} of the Go files below some folders, without tests; generated files only where they are asked for."""
        here = self._git("ls-tree", "--name-only", self.ref(at), *folders).decode().split() if folders else []
        found: dict[str, str] = {}
        if not here:
            return found
        with tarfile.open(fileobj=io.BytesIO(self._git("archive", self.ref(at), *here))) as files:
            for file in files:
                content = files.extractfile(file)
                if content and file.name.endswith(".go") and not (TEST if generated else NOT_READ).search(file.name):
                    found[file.name] = content.read().decode()
        return found

    def grep(self, at: Version | str, pattern: str) -> list[str]:
        """The Go files below `pkg` and the API with a line of this form, without tests."""
        where = ("-E", pattern, self.ref(at), "--", "pkg", "staging/src/kubevirt.io/api")
        lines = self._git("grep", "--name-only", *where, fails=(1,)).decode().splitlines()
        return [
            path for _, _, path in (line.partition(":") for line in lines) if path.endswith(".go") and not TEST.search(path)
        ]

    def _git(self, *arguments: str, fails: tuple[int, ...] = ()) -> bytes:
        done = subprocess.run(["git", "-C", str(self.clone), *arguments], capture_output=True, check=False)  # noqa: S607
        if done.returncode and done.returncode not in fails:
            raise SystemExit(f"git can't read {self.clone}: {done.stderr.decode().strip()}")
        return done.stdout


class Order(NamedTuple):
    """What a script is to make: which releases, from which clone. `check`: write nothing."""

    source: Source
    versions: list[Version]
    check: bool


def order(description: str, known: Sequence[Version], *, only_known: bool = False) -> Order:
    """The order on the command line; `known` are the releases that the table has.

    Raises: SystemExit for wrong arguments; with `only_known`, for releases that are not among the known ones.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--source", type=Path, required=True, metavar="CLONE", help="a clone of kubevirt/kubevirt with its tags"
    )
    parser.add_argument("--release", type=_release, action="append", metavar="X.Y.Z", help=RELEASE_HELP)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; print the differences and exit with 1 if there are any"
    )
    parser.add_argument("--ref", metavar="REF", help="read the one release that is named at this branch, tag or commit")
    given = parser.parse_args()
    if given.ref and len(given.release or ()) != 1:
        parser.error("--ref needs one --release, whose tables are made of it")
    source = Source(given.source, {**UNMEASURED, **({given.release[0]: given.ref} if given.ref else {})})
    newest = {version[:2]: version for version in sorted(known)}
    versions = [version for last in given.release or newest.values() for version in source.patches(last)]
    missing = [version for version in versions if version not in known] if only_known else []
    if missing:
        raise SystemExit(f"KubeVirt {text_of(missing[-1])} is not in krm_fn/kubevirt/releases.py; enter it there first")
    return Order(source, versions, given.check)


def package_releases() -> list[Version]:
    """All patch releases that the package knows, oldest first."""
    return sorted([*((*minor, patch) for minor, newest in NEWEST_PATCH.items() for patch in range(newest + 1)), *UNMEASURED])


def put(files: Mapping[Path, str], *, check: bool) -> None:
    """Write the texts into the files.

    With `check` nothing is written. Raises: SystemExit with code 1, after the differences are printed, where a file differs.
    """
    different = False
    for file, text in files.items():
        before = file.read_text(encoding="utf-8")
        if not check:
            file.write_text(text, encoding="utf-8")
        name = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else file.name
        print(f"{name}: {'as before' if before == text else 'differs' if check else 'written'}")
        if check and before != text:
            different = True
            print(*difflib.unified_diff(before.splitlines(), text.splitlines(), name, "made", n=0, lineterm=""), sep="\n")
    if different:
        raise SystemExit(1)


def run_script(main: Callable[[], None]) -> None:
    """Run a script. What it can't make of the sources ends it with one line, as does the package of another clone."""
    package = Path(krm_fn.__file__).resolve().parents[1]
    if package != ROOT:
        fix = f"run {ROOT}/.venv/bin/pip install -e {ROOT}, or set PYTHONPATH={ROOT}"
        raise SystemExit(f"krm_fn was imported from {package}, and this script is of {ROOT}; {fix}")
    try:
        main()
    except ValueError as error:
        raise SystemExit(str(error)) from None


def _release(text: str) -> Version:
    if not re.fullmatch(RELEASE, text):
        raise argparse.ArgumentTypeError(f"{text!r} is no release; expected one with its patch, such as 1.6.6")
    return version_of(text)


def version_of(text: str) -> Version:
    """`(1, 6, 6)` of `1.6.6`. Raises: ValueError for text of another form."""
    return tuple(map(int, text.split(".")))


def text_of(version: Version) -> str:
    """`1.6.6` of `(1, 6, 6)`."""
    return ".".join(map(str, version))
