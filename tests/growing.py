"""Texts of shapes that grow, and the ways through the program that read them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from measuring import Run, measure
from shapes import SHAPES
from shapes.pieces import Documents, Files, indented

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
CONFIG = (
    "functionConfig:\n  apiVersion: kubevirt-render.dev/v1alpha1\n  kind: RenderVirtualMachines\n  metadata:\n    name: r\n"
)

BUNDLE = "bundle.yaml"

# libyaml reads what has these line ends; the plain reader refuses it.
LINE_ENDS = {"plain": "\n", "libyaml": "\r\n"}


LIVE = "live/live.yaml"
METADATA = re.compile("^metadata:\n", re.MULTILINE)


class Way(NamedTuple):
    """A way through the program: the arguments of a command, which a path follows; or the spec of a function config."""

    arguments: tuple[str, ...] = ()
    spec: str = ""
    path: str = BUNDLE

    @property
    def is_live(self) -> bool:
        """True where a dump of the same objects is wanted."""
        return LIVE in (*self.arguments, self.path)


WAYS = {
    "function": Way(),
    "validate": Way(spec="mode: validate\n"),
    "annotate": Way(spec="mode: annotate\n"),
    "snapshot": Way(spec="mode: snapshot\n"),
    "fold": Way(spec="presets: fold\n"),
    "include": Way(spec="instances: include\n"),
    "pinned": Way(spec="defaults: pinned\n"),
    "check": Way(("check",)),
    "oldest": Way(("check", "--kubevirt-version", "1.4")),
    "json": Way(("check", "-o", "json")),
    "sarif": Way(("check", "-o", "sarif")),
    "junit": Way(("check", "-o", "junit")),
    "tap": Way(("check", "-o", "tap")),
    "github": Way(("check", "-o", "github")),
    "gitlab": Way(("check", "-o", "gitlab")),
    "markdown": Way(("check", "-o", "markdown")),
    "baseline": Way(("check", "--update-baseline", "--baseline", "known.yaml")),
    "patch": Way(("render", "-o", "patch")),
    "in-place": Way(("render", "--in-place")),
    "migrate": Way(("migrate",)),
    "capacity": Way(("capacity",)),
    "folder": Way(("check",), path="."),
    "diff": Way(("diff", "base"), path="head"),
    "deliveries": Way(("deliveries",), path="."),
    "test": Way(("test",), path="."),
    "explain": Way(("explain",), path="."),
    "report": Way(("report", "-o", "page.html"), path="."),
    "nodes": Way(("capacity", "--nodes", "nodes.yaml")),
    "matrix": Way(("capacity", "--matrix", "--catalogue", "none")),
    "drift": Way(("drift", LIVE), path="."),
    "plan": Way(("plan", LIVE), path="."),
    "upgrade": Way(("plan", "--to-kubevirt-version", "1.9"), path=LIVE),
    "adopt": Way(("adopt", "--output-dir", "adopted"), path=LIVE),
    "suggest": Way(("suggest",), path="."),
    "own": Way(("suggest", "--own"), path="."),
    "convert": Way(("convert", "--diff"), path="."),
    "summary": Way(("check", "--summary"), path="."),
    "fix": Way(("check", "--fix"), path="."),
    "render": Way(("render",), path="."),
    "init": Way(("init", "--stdout"), path=""),
    "generate": Way(("argocd", "generate"), path=""),
}
# The ways of every shape: a way for each command.
EVERY = (
    *("folder", "summary", "fix", "render", "migrate", "capacity", "explain", "report", "deliveries", "init", "generate"),
    *("drift", "plan", "upgrade", "adopt", "suggest", "own", "convert"),
)
ROWS = [(shape, way) for shape, (_, ways) in SHAPES.items() for way in dict.fromkeys((*ways.split(), *EVERY))]


def files_of(shape: str, way: Way, size: int, line_end: str = "\n") -> Files:
    """So much of the shape that the files have about `size` bytes."""
    make = SHAPES[shape][0]
    few, more = (sum(map(len, _files(make(n), way).values())) for n in (100, 200))
    made = _files(make(max(size * 100 // (more - few), 2)), way)
    return {name: text.replace("\n", line_end) for name, text in made.items()}


def _files(given: Documents | Files, way: Way) -> Files:
    if isinstance(given, dict) or way.arguments:
        made = given if isinstance(given, dict) else {BUNDLE: "---\n".join(given)}
        return {**made, LIVE: _dumped(made)} if way.is_live else made
    items = "".join("- " + indented(one, 2)[2:] for one in given)
    return {BUNDLE: HEAD + items + CONFIG + ("  spec:\n" + indented(way.spec, 4) if way.spec else "")}


def _dumped(files: Files) -> str:
    """The objects of files as a cluster has them."""
    objects = (one for name, text in files.items() if name.endswith(".yaml") for one in text.split("---\n") if "kind:" in one)
    known = (METADATA.sub(f"metadata:\n  uid: u{number}\n", each, count=1) for number, each in enumerate(objects))
    return "---\n".join(known)


def prepare(files: Files, way: Way, folder: Path) -> tuple[list[str], bytes]:
    """The arguments of a run whose files are now alone in the folder, where it has to take place, and its stdin."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if not way.arguments:
        return [], files[BUNDLE].encode()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return [*way.arguments, *filter(None, [way.path])], b""


def run(files: Files, way: Way, folder: Path) -> Run:
    """A run of the program in a separate process."""
    arguments, stdin = prepare(files, way, folder)
    return measure(stdin, folder, arguments)
