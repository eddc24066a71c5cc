"""What `check` of a repository costs, against `kustomize build` of the same targets.

    python bench/repositories.py                    100 overlays of 20 VMs each
    python bench/repositories.py --overlays 1000    the same of a large repository: a quarter of an hour
    python bench/repositories.py --make DIR         only write the repository

All overlays have one base with VMs of about 80 lines, four instancetypes and a preference. Each sets a namespace and patches a
VM. Time is that of whole processes with all that they start, memory that of the largest of these. The figures are those of one
run each: compare them only where the machine does nothing else, which the load at the start and at the end shows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import generate
from run import ENVIRONMENT, LAUNCHER, PYTHON, Cost, function

SIZES = 4
OVERLAY = "resources: [../../base]\nnamespace: {name}\npatches: [{{path: vm.yaml}}]\n"
PATCH = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: vm-000000
  namespace: bench
  labels:
    example.com/site: {name}
spec:
  runStrategy: {strategy}
"""
BUILDS = 'for folder in overlays/*; do "$0" build "$folder" >/dev/null || exit 1; done'


def make(folder: Path, overlays: int, vms: int) -> None:
    """Write the repository."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = [*(_size(number) for number in range(SIZES)), _bare(generate.PREFERENCE, number=0)]
    objects += [_vm(number) for number in range(vms)]
    _write(folder / "base/kustomization.yaml", "resources: [all.yaml]\n")
    _write(folder / "base/all.yaml", "---\n".join(objects))
    (folder / ".git").mkdir(exist_ok=True)
    for number in range(overlays):
        name = f"site-{number:05}"
        _write(folder / f"overlays/{name}/kustomization.yaml", OVERLAY.format(name=name))
        _write(folder / f"overlays/{name}/vm.yaml", PATCH.format(name=name, strategy="Always"))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _size(number: int) -> str:
    return _bare(generate.INSTANCETYPE, number=number, cpus=2**number, memory=2 ** (number + 2))


def _vm(number: int) -> str:
    references = generate.REFERENCES.format(size=number % SIZES, revision="", preference=0)
    mac = f"00:{number >> 8 & 255:02x}:{number & 255:02x}"
    return _bare(generate.VM, number=number, team=number % 12, mac=mac, references=references, **generate.fields_of(0, number))


def _bare(text: str, **values: object) -> str:
    """An item of a list as a document, without the annotations that kustomize gives to functions."""
    filled = text.replace("{wire}\n", "").format(**values)
    return "".join(line[2:] for line in filled.splitlines(keepends=True))


def cost(command: list[str], folder: Path) -> Cost:
    """What a command cost in a folder."""
    launched = subprocess.run(
        [PYTHON, "-I", "-S", "-c", LAUNCHER, *command], capture_output=True, env=ENVIRONMENT, cwd=folder, check=True
    )
    wall, cpu, peak, code = launched.stdout.split()
    if int(code):
        sys.exit(f"{' '.join(command)} failed with exit code {int(code)}")
    return Cost(wall=float(wall), cpu=float(cpu), peak=int(peak) / 1024)


def compare(folder: Path, cache: Path) -> None:
    """Print what each run costs, and its ratio to another one."""
    builds = cost(["/bin/sh", "-c", BUILDS, _kustomize()], folder)
    show("kustomize build, one after the other", builds)
    check = [*function(), "check", "."]
    one = cost([*check, "--jobs", "1", "--no-cache"], folder)
    show(
        "check --jobs 1 --no-cache",
        one,
        f"{one.cpu / builds.cpu:.2f} of the builds ({one.wall / builds.wall:.2f} of their wall time)",
    )
    two = cost([*check, "--jobs", "2", "--no-cache"], folder)
    show("check --jobs 2 --no-cache", two, f"{one.wall / two.wall:.2f} times as fast as --jobs 1")
    kept = [*check, "--jobs", "1", "--cache", str(cache)]
    first = cost(kept, folder)
    show("check --jobs 1, the cache empty", first, f"{first.wall / one.wall:.2f} of --no-cache")
    name = "site-00000"
    _write(folder / f"overlays/{name}/vm.yaml", PATCH.format(name=name, strategy="Halted"))
    second = cost(kept, folder)
    show("check --jobs 1, one overlay changed", second, f"{second.wall / first.wall:.1%} of the first")


def show(what: str, cost: Cost, ratio: str = "") -> None:
    """Print a line of the table."""
    print(f"{what:<38}{cost.wall:>9.1f} s{cost.cpu:>9.1f} s{cost.peak:>7.0f} MiB  {ratio}", flush=True)


def _kustomize() -> str:
    return shutil.which("kustomize") or sys.exit("kustomize is not on the PATH")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overlays", type=int, default=100)
    parser.add_argument("--vms", type=int, default=20, help="of each overlay")
    parser.add_argument("--make", type=Path, metavar="DIR", help="write the repository to this folder, and measure nothing")
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.make, arguments.overlays, arguments.vms)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch) / "repository", Path(scratch) / "cache"
        make(folder, arguments.overlays, arguments.vms)
        print(f"{arguments.overlays} overlays of {arguments.vms} VMs; load {_load()}")
        print(f"{'':<38}{'wall':>11}{'processor':>11}{'memory':>11}")
        compare(folder, cache)
        print(f"load {_load()}")


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    main()
