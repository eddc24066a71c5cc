"""Make the table of feature gates in `krm_fn/kubevirt/admission/gates.py` from what KubeVirt's releases register.

    python scripts/make_gates.py --source CLONE [--release 1.6.6] [--check]

`upstream.py` tells what the arguments mean. A release has to be in `krm_fn/kubevirt/releases.py` first.
"""

from __future__ import annotations

import re

from upstream import ROOT, Source, Version, order, package_releases, put, run_script, text_of

from krm_fn.kubevirt.admission.gates import ALPHA, BETA, DEPRECATED, DISCONTINUED, GA, GATES, RELEASES

States = dict[str, str]

FILE = ROOT / "krm_fn" / "kubevirt" / "admission" / "gates.py"
START, END = "RELEASES = (", "\n}\n"
HEAD = "GATES: dict[str, tuple[tuple[str, Version], ...]] = {"

CONFIG = "pkg/virt-config"
# Until 1.4 this file names the gates, and those that are registered nowhere are alpha.
NAMED = f"{CONFIG}/feature-gates.go"
FOLDERS = (NAMED, f"{CONFIG}/deprecation", f"{CONFIG}/featuregate")
NAME = re.compile(r'^\t(\w+)\s*=\s*"(\w+)"', re.MULTILINE)
REGISTERED = re.compile(r"\{Name: (\w+), State: (\w+)")
# Until 1.1 a list of names, all of them what is called GA now.
ALWAYS_ON = re.compile(r"deprecatedFeatureGates = \[\.\.\.\]string\{(.*?)\}", re.DOTALL)
STATES = {"Alpha": ALPHA, "Beta": BETA, "GA": GA, "Deprecated": DEPRECATED, "Discontinued": DISCONTINUED}
WORDS = {ALPHA: "ALPHA", BETA: "BETA", GA: "GA", DEPRECATED: "DEPRECATED", DISCONTINUED: "DISCONTINUED", "": '""'}


def read(source: Source, version: Version) -> States:
    """The state of each gate in a release. Raises: ValueError where it registers one in a way that is not known here."""
    files = source.go_files(version, *(path for path in FOLDERS if source.has(version, path)))
    text = "\n".join(files.values())
    names = dict(NAME.findall(text))
    found = {name: ALPHA for _, name in NAME.findall(files[NAMED])}
    for listed in ALWAYS_ON.findall(text):
        found |= {names[constant]: GA for constant in re.findall(r"\w+", listed)}
    for constant, state in REGISTERED.findall(text):
        if constant not in names or state not in STATES:
            known = ", ".join(STATES)
            raise ValueError(
                f"KubeVirt {text_of(version)} registers {constant} as {state}; expected a constant as one of {known}"
            )
        found[names[constant]] = STATES[state]
    return found


def of_table(version: Version) -> States:
    """The state of each gate in a release, as the table has it."""
    found = {name: [word for word, since in steps if since <= version] for name, steps in GATES.items()}
    return {name: words[-1] for name, words in found.items() if words and words[-1]}


def make(text: str, releases: dict[Version, States]) -> str:
    """The text of the module with the gates of these releases."""
    names = sorted({name for states in releases.values() for name in states}, key=str.lower)
    before, _, rest = text.partition(START)
    minors = ", ".join(str(minor) for minor in sorted({version[:2] for version in releases}))
    rows = (row(name, releases) for name in names)
    return before + "\n".join((f"{START}{minors})", HEAD, *rows)) + END + rest.partition(END)[2]


def row(name: str, releases: dict[Version, States]) -> str:
    """The gate's states, each with the release that brought it: a minor release, or a patch of it."""
    before, steps = "", []
    for version in sorted(releases):
        state = releases[version].get(name, "")
        if state != before:
            steps.append(f"({WORDS[state]}, {version if version[2] else version[:2]})")
        before = state
    return f'    "{name}": ({", ".join(steps)}{"," * (len(steps) == 1)}),'


def main() -> None:
    given = order("Make the table of feature gates.", package_releases(), only_known=True)
    releases = {version: of_table(version) for version in package_releases() if version[:2] in RELEASES}
    releases |= {version: read(given.source, version) for version in given.versions}
    put({FILE: make(FILE.read_text(encoding="utf-8"), releases)}, check=given.check)


if __name__ == "__main__":
    run_script(main)
