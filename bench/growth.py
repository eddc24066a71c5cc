"""How time and memory grow with the input: each shape that may grow faster, at a quarter of a megabyte and at one.

    python bench/growth.py [SHAPE|WAY…]

Prints a line for each shape, way through the program and reader: seconds of a processor at both sizes, their ratio, and the
memory of the larger run. A mark stands behind what is beyond the bounds. Takes hours for all shapes and ways.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from growing import EVERY, LINE_ENDS, ROWS, WAYS, files_of, run
from shapes import SHAPES

SMALL, LARGE = 250_000, 1_000_000  # bytes
MOST_TIMES, SECONDS, MEGABYTES = 5, 5, 400


def line(shape: str, way: str, reader: str) -> str:
    with tempfile.TemporaryDirectory() as parent:
        given = (files_of(shape, WAYS[way], size, LINE_ENDS[reader]) for size in (SMALL, LARGE))
        small, large = (run(files, WAYS[way], Path(parent, "run")) for files in given)
    ratio = large.seconds / small.seconds
    bounds = {
        "ratio": ratio <= MOST_TIMES,
        "time": large.seconds <= SECONDS,
        "memory": large.megabytes <= MEGABYTES,
        "error": large.code in (0, 1, 2) and "internal error" not in large.err,
    }
    beyond = ", ".join(name for name, kept in bounds.items() if not kept)
    figures = f"{small.seconds:6.2f} s {large.seconds:6.2f} s {ratio:5.2f} {large.megabytes:4} MB"
    return f"{shape:28} {way:9} {reader:8} {figures}  {beyond and '! ' + beyond}"


def main(names: list[str]) -> None:
    """Measure the rows of the shapes and of the ways that are named, of all where none is."""
    shapes, ways = ({*names} & {*known} or {*known} for known in (SHAPES, WAYS))
    rows = (row for row in ROWS if row[0] in shapes and row[1] in ways)
    chosen = [(*row, reader) for row in rows for reader in (["plain"] if row[1] in EVERY else LINE_ENDS)]
    print(f"{'shape':28} {'way':9} {'reader':8} {'0.25 MB':>8} {'1 MB':>8} ratio  memory")
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(lambda each: line(*each), chosen):
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
