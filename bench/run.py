"""What rendering costs, as ratios: every figure is the median of pairs that ran one after the other.

    python bench/run.py               all sizes: a quarter of an hour, most of it PyYAML's
    python bench/run.py --short       20 and 1,000 resources, 3 pairs of each: a minute
    python bench/run.py --write       and write docs/benchmarks.md with its plot (needs matplotlib)

All are whole processes that read the same bytes on stdin. Beside the function stands a YAML round trip alone: PyYAML's C loader
and C dumper. Beyond `--most` resources, where that takes minutes, the function runs by itself.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROUND_TRIP = (
    "import sys, yaml; yaml.dump(yaml.load(sys.stdin.buffer, Loader=yaml.CSafeLoader), sys.stdout, Dumper=yaml.CSafeDumper)"
)
# Starts a command and says its wall and CPU time in seconds, its peak memory in KiB and its exit code. A process of its own, as
# small as Python gets: Linux counts the memory of the parent it was forked from into a child's peak.
LAUNCHER = """
import posix, sys, time
began = time.perf_counter()
child = posix.fork()
if not child:
    posix.dup2(posix.open("/dev/null", posix.O_WRONLY), 1)
    posix.dup2(1, 2)
    posix.execve(sys.argv[1], sys.argv[1:], posix.environ)
_, status, used = posix.wait4(child, 0)
wall = time.perf_counter() - began
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss, posix.waitstatus_to_exitcode(status))
"""
PYTHON = sys.executable
COMMANDS = {
    "round trip": [PYTHON, "-c", ROUND_TRIP],
    "python -c pass": [PYTHON, "-c", "pass"],
}
SIZES = (20, 1000, 10_000, 100_000)
# How many VMs refer to something: one in so many.
TOUCHED = {"all": 1, "one in ten": 10, "no": 0}
# What is not in the form that kustomize and kpt write, as an expression of a bundle's bytes.
LIBYAML = {
    "CRLF": r"data.replace(b'\n', b'\r\n')",
    "comments, anchors and flow style in every VM": (
        r"__import__('re').sub(rb'domain: (vm-\d+)\n', rb'domain: &\1 \1 # its own\n', data)"
        r".replace(b'        networks:\n', b'        tolerations: [{key: a, operator: Exists}]\n        networks:\n')"
    ),
}
VALIDATE = "  spec:\n    mode: validate\n"
# The policies of the library that find nothing in the bundles, and as many resources as have 1,000 VMs.
HOLDING = (
    "instancetype-and-preference",
    "live-migratable",
    "no-flat-vms",
    "secure-boot",
    "sizes-by-namespace",
    "windows-licensing-hosts",
)
RESOURCES = 1429
# How many shapes the VMs of a list of 1,000 have. The last one gives each of the 700 VMs other fields.
SHAPES = {"1 shape": 1, "12 shapes": 12, "30 shapes": 30, "as many shapes as VMs": 700}
SEEDS = (1, 2, 3)  # of lists in the manner of public manifests

# pip compiles what it installs; an editable install is compiled by its first run, unless the environment forbids it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Cost(NamedTuple):
    """One process: wall and CPU in seconds, peak memory in MiB."""

    wall: float
    cpu: float
    peak: float


class Row(NamedTuple):
    """A line of the table: the medians of both sides, and of the ratios of their pairs."""

    what: str
    resources: int
    own: Cost
    other: Cost | None
    ratio: Cost | None


def function() -> list[str]:
    """The console script beside this interpreter, else the one on the PATH."""
    beside = Path(PYTHON).with_name("kubevirt-render")
    found = str(beside) if beside.exists() else shutil.which("kubevirt-render")
    if not found:
        sys.exit("kubevirt-render is not installed here: pip install -e .")
    return [found]


def measure(command: list[str], source: Path) -> Cost:
    """What the command cost, reading `source`. Findings are no failure: `validate` has some."""
    with source.open("rb") as stdin:
        launched = subprocess.run(
            [PYTHON, "-I", "-S", "-c", LAUNCHER, *command],
            stdin=stdin,
            capture_output=True,
            env=ENVIRONMENT,
            cwd=ROOT,
            check=True,
        )
    wall, cpu, peak, code = launched.stdout.split()
    if int(code) not in (0, 1):
        sys.exit(f"{' '.join(command)} failed with exit code {int(code)}")
    return Cost(wall=float(wall), cpu=float(cpu), peak=int(peak) / 1024)


def middle(costs: list[Cost]) -> Cost:
    return Cost(*(median(values) for values in zip(*costs, strict=True)))


def compare(
    owns: dict[str, list[str]], resources: int, source: Path, other: tuple[list[str], Path] | None, rounds: int
) -> list[Row]:
    """Each command on `source`, and what stands beside them, in turn. Where runs are short, one of each isn't counted."""
    sides = [(command, source) for command in owns.values()] + ([other] if other else [])
    if resources <= 1000:
        for side in sides:
            measure(*side)
    taken = [[measure(*side) for side in sides] for _ in range(rounds)]
    rows = []
    for number, what in enumerate(owns):
        mine = middle([costs[number] for costs in taken])
        row = Row(what, resources, mine, None, None)
        if other:
            ratios = [Cost(*(a / b for a, b in zip(costs[number], costs[-1], strict=True))) for costs in taken]
            row = Row(what, resources, mine, middle([costs[-1] for costs in taken]), middle(ratios))
        print(line(row), flush=True)
        rows.append(row)
    return rows


def line(row: Row) -> str:
    """The row as Markdown."""

    def shown(cost: Cost | None) -> str:
        return "| | " if cost is None else f"| {cost.cpu * 1000:,.0f} ms | {cost.peak:,.0f} MiB "

    ratio = "| | |" if row.ratio is None else f"| {row.ratio.cpu:.3f} | {row.ratio.peak:.3f} |"
    return f"| {row.what} | {row.resources:,} {shown(row.own)}{shown(row.other)}{ratio}"


class Files:
    """The bundles, made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, count: int, every: int = 1, config: str = "", change: str = "", shapes: int = 1) -> Path:
        """A bundle; `change` is an expression of its bytes, `data`."""
        path = self.folder / f"{count}-{every}-{len(config)}-{len(change)}-{shapes}.yaml"
        if not path.exists():
            code = (
                f"import sys; sys.path.insert(0, {str(ROOT / 'bench')!r}); from generate import bundle; "
                f"data = bundle({count}, {every}, {config!r}, {shapes}); sys.stdout.buffer.write({change or 'data'})"
            )
            with path.open("wb") as out:
                subprocess.run([PYTHON, "-c", code], stdout=out, check=True)
        return path

    def hands(self, count: int, seed: int) -> Path:
        """A list in the manner of public manifests."""
        path = self.folder / f"hands-{count}-{seed}.yaml"
        if not path.exists():
            with path.open("wb") as out:
                subprocess.run([PYTHON, str(ROOT / "bench" / "hands.py"), str(count), str(seed)], stdout=out, check=True)
        return path

    def image(self) -> list[str]:
        """The entry point as the image has it: compiled once, nothing compared at start."""
        home = self.folder / "image"
        if not home.exists():
            shutil.copytree(ROOT / "krm_fn", home / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
            compiled = ["compileall", "-q", "--invalidation-mode", "unchecked-hash", str(home)]
            subprocess.run([PYTHON, "-m", *compiled], check=True, env=ENVIRONMENT)
            subprocess.run([PYTHON, "-m", "krm_fn.startup"], check=True, env={**ENVIRONMENT, "PYTHONPATH": str(home)}, cwd=home)
            entry = (ROOT / "image" / "kubevirt-render").read_text()
            (home / "run.py").write_text(entry.replace("/opt/kubevirt-render", str(home)))
        return [PYTHON, "-I", "-S", "-B", str(home / "run.py")]


def starts(files: Files, rounds: int) -> list[Row]:
    """What starting up costs, against `python -c pass`."""
    source = files.make(20)
    owns = {"console script": function(), "as in the image": files.image()}
    return [*compare(owns, 20, source, (COMMANDS["python -c pass"], source), rounds), *_builtin(files, rounds)]


def _builtin(files: Files, rounds: int) -> list[Row]:
    """What one VM of builtin names costs, against one whose instancetype and preference stand beside it."""
    from krm_fn.kubevirt.catalogue.view import release_of, show
    from krm_fn.yamlio import dump

    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm"},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": "u1.medium"},
            "preference": {"name": "fedora"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }
    beside = [show(name, release_of("1.9")) for name in ("u1.medium", "fedora")]
    paths = []
    for name, items in (("builtin", [vm]), ("beside", [*beside, vm])):
        paths.append(files.folder / f"{name}.yaml")
        head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
        paths[-1].write_text(dump(head))
    own = {"builtin names against names in the bundle": function()}
    return compare(own, 1, paths[0], (function(), paths[1]), rounds)


def renders(files: Files, arguments: argparse.Namespace) -> list[Row]:
    """What rendering costs, against the round trip."""
    found = []
    for seed in SEEDS:
        source = files.hands(1000, seed)
        own = {f"as people publish, seed {seed}": function()}
        found += compare(own, 1000, source, (COMMANDS["round trip"], source), arguments.rounds)
    for count in (size for size in arguments.sizes if size > 20):
        rounds = arguments.rounds if count <= 1000 else max(1, arguments.rounds // (count // 3000))
        for touched, every in TOUCHED.items():
            source = files.make(count, every)
            trip = (COMMANDS["round trip"], source) if count <= arguments.most else None
            found += compare({f"{touched} VMs rendered": function()}, count, source, trip, rounds)
    return found


def shapes(files: Files, rounds: int) -> list[Row]:
    """What lists of several shapes cost, against the round trip; and `validate` of them against `expand`."""
    found = []
    for what, number in SHAPES.items():
        source = files.make(1000, shapes=number)
        found += compare({f"expand, {what}": function()}, 1000, source, (COMMANDS["round trip"], source), rounds)
    for what, number in SHAPES.items():
        source = files.make(1000, shapes=number)
        validated = files.make(1000, config=VALIDATE, shapes=number)
        found += compare({f"validate, {what}": function()}, 1000, validated, (function(), source), rounds)
    return found


def with_policies(files: Files, rounds: int) -> list[Row]:
    """What 20 policies on 1,000 VMs cost, against `validate` without them: on objects as written, rendered and started."""
    from krm_fn.yamlio import dump

    lines = dump({"policies": twenty_policies()}).splitlines(keepends=True)
    given = VALIDATE + "".join("    " + line for line in lines)  # in block style, as kustomize sends it
    found = []
    for shapes, number in (("1 shape", 1), ("30 shapes", 30)):
        judged, validated = (files.make(RESOURCES, config=config, shapes=number) for config in (given, VALIDATE))
        own = {f"validate with 20 policies against without, {shapes}": function()}
        found += compare(own, RESOURCES, judged, (function(), validated), rounds)
    return found


def twenty_policies() -> list[object]:
    """Policies of the library that find nothing in the VMs, under 20 names."""
    from krm_fn.yamlio import read_stream

    texts = [(ROOT / "policies" / name / "policy.yaml").read_bytes() for name in HOLDING]
    found: list[object] = []
    for number in range(20):
        policy, binding, *_ = read_stream(texts[number % len(texts)]).items
        name = {"name": f"{policy['metadata']['name']}-{number}"}
        bound = {**binding["spec"], "policyName": name["name"]}
        found += [{**policy, "metadata": {**policy["metadata"], **name}}, {**binding, "metadata": name, "spec": bound}]
    return found


def others(files: Files, rounds: int) -> list[Row]:
    """What reading with libyaml costs against the round trip, and `validate` against `expand`."""
    found = []
    for what, change in LIBYAML.items():
        source = files.make(1000, change=change)
        found += compare({what: function()}, 1000, source, (COMMANDS["round trip"], source), rounds)
    validated, expanded = files.make(1000, config=VALIDATE), files.make(1000)
    own = {"validate against expand": function()}
    against = compare(own, 1000, validated, (function(), expanded), rounds)
    return [*found, *against, *with_policies(files, rounds)]


PAGE = """\
# Benchmarks

This page compares the time and memory of the function with those of a YAML round trip. The figures are medians. Each is
measured on whole processes that read the same bytes and run in turn. A ratio is the median of the ratios of the pairs.
Ratios hold on other machines too, times do not. Run the benchmarks with `python bench/run.py`; `--write` writes this page.

The bundles have the form in which kustomize sends them. 7 of 10 resources are VMs of about 80 lines that refer to an
instancetype and a preference. The rest are instancetypes, preferences, ControllerRevisions and DataVolumes. 1,000 resources
are 1.9 MB. The round trip is PyYAML's C loader and C dumper, `yaml.dump(yaml.load(…))`, without any work between them. All VMs
of such a bundle have the same fields. [Shapes](#shapes) has others. Rows "as people publish" are of lists that
[bench/hands.py](../bench/hands.py) makes in the manner of public manifests: many authors with their own quotes, comments, flow
style, Windows line ends and long user data, and unknown kinds around a half of VMs. Time is the time of the processor, user and
system: it depends less on other work of the machine.

Measured with {machine}.

{plot}## Starting

The first two rows are compared with `python -c pass`. The third row compares names of the builtin catalogue with names in
the bundle.

{head}
{starts}

## Rendering

Compared with the round trip.

{head}
{renders}

## Shapes

Here stand lists of VMs that were made from 1, 12 and 30 templates, each with other optional fields, and a list in which every
VM has other fields than all others. `expand` is compared with the round trip, `validate` with `expand`.

{head}
{shapes}

## Other forms

libyaml reads input that does not have the form that kustomize and kpt write; these rows are compared with the round trip.
`validate` evaluates all rules and is compared with `expand`. The last rows have 1,000 VMs and 20
[policies](policies.md), of which some need the instance of each VM, and are compared with `validate` without them.

{head}
{others}
"""
HEAD = "| what | resources | time | memory | compared with: time | memory | ratio of times | of memory |\n" + "|---" * 8 + "|"


def write(found: dict[str, list[Row]]) -> None:
    """Write the page and its plot."""
    plot = draw(found["renders"], ROOT / "docs" / "benchmarks.svg")
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    texts = {name: "\n".join(map(line, rows)) for name, rows in found.items()}
    page = PAGE.format(
        machine=machine, head=HEAD, plot="![Time and memory by size](benchmarks.svg)\n\n" if plot else "", **texts
    )
    (ROOT / "docs" / "benchmarks.md").write_text(page)


def draw(rows: list[Row], path: Path) -> bool:
    """True where the plot of time and memory against size was drawn."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)
        return False
    plt.rcParams["svg.hashsalt"] = "kubevirt-render"
    figure, (times, peaks) = plt.subplots(1, 2, figsize=(9, 3.6))
    curves: dict[str, list[tuple[int, Cost]]] = {}
    for row in rows:
        if row.what.endswith("rendered"):
            curves.setdefault(row.what, []).append((row.resources, row.own))
            if row.other and row.what.startswith("all"):
                curves.setdefault("YAML round trip", []).append((row.resources, row.other))
    for label, points in curves.items():
        style = "--" if label.startswith("YAML") else "-"
        times.plot([size for size, _ in points], [cost.cpu for _, cost in points], style, marker="o", label=label)
        peaks.plot([size for size, _ in points], [cost.peak for _, cost in points], style, marker="o", label=label)
    for axes, title in ((times, "seconds of a processor"), (peaks, "MiB at most")):
        axes.set(xscale="log", yscale="log", xlabel="resources", title=title)
        axes.grid(alpha=0.3)
    times.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N", help="numbers of resources")
    parser.add_argument("--rounds", type=int, default=9, help="pairs of a size; 9 unless given, fewer of large ones")
    parser.add_argument(
        "--most", type=int, default=10_000, metavar="N", help="beyond, no round trip stands beside the function"
    )
    parser.add_argument("--short", action="store_true", help="20 and 1,000 resources, 3 pairs, for a quick look")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.sizes, arguments.rounds = [20, 1000], 3
    print(HEAD)
    with tempfile.TemporaryDirectory() as name:
        files = Files(Path(name))
        found = {
            "starts": starts(files, arguments.rounds * 5),
            "renders": renders(files, arguments),
            "shapes": shapes(files, arguments.rounds),
            "others": others(files, arguments.rounds),
        }
    if arguments.write:
        write(found)


if __name__ == "__main__":
    main()
