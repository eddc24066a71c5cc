"""Make `krm_fn/kubevirt/schema/api.txt` from the API of KubeVirt's releases.

    python scripts/make_schema.py --source CLONE [--release 1.6.6] [--check]

`upstream.py` tells what the arguments mean, `kubevirt_api.py` what is read, `schema_lines.py` words it, `api_table.py` puts the
releases together. A release has to be in `krm_fn/kubevirt/releases.py` first.
"""

from __future__ import annotations

import api_table
import kubevirt_api
from kubevirt_api import Api
from schema_lines import lines
from upstream import ROOT, Version, order, package_releases, put, run_script

FILE = ROOT / "krm_fn" / "kubevirt" / "schema" / "api.txt"


def make(text: str, fresh: dict[Version, Api]) -> str:
    """The text of the table with the releases of `fresh` made from what is read of them, and the others as they were."""
    releases = api_table.decode(text, package_releases())
    return api_table.encode(releases | {version: lines(api["types"]) for version, api in fresh.items()})


def main() -> None:
    given = order("Make the table of the API's types.", package_releases(), only_known=True)
    fresh = {version: kubevirt_api.read(given.source, version) for version in given.versions}
    put({FILE: make(FILE.read_text(encoding="utf-8"), fresh)}, check=given.check)


if __name__ == "__main__":
    run_script(main)
