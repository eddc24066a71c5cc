"""Compare `krm_fn/kubevirt/api_versions.py`, which is written by hand, with the API versions that KubeVirt's releases serve.

    python scripts/check_served.py --source CLONE [--release 1.6.6]

`upstream.py` tells what the arguments mean. Exit code 1, and a line for each kind and release, where they differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubevirt_api import kinds
from upstream import Source, Version, order, package_releases, run_script, text_of

from krm_fn.kubevirt.api_versions import KINDS, RELEASES
from krm_fn.kubevirt.releases import Release


def differences(source: Source, version: Version) -> Iterator[str]:
    """A line for each kind of the table whose API versions are others in the release."""
    major, minor, patch = version
    release, known = Release(version=(major, minor, patch)), kinds(source, version)
    if version[:2] not in RELEASES:
        yield f"KubeVirt {major}.{minor} is not in RELEASES of krm_fn/kubevirt/api_versions.py; add it there"
    for (_, kind), rows in KINDS.items():
        ours = {row.version for row in rows if release.within(since=row.since, until=row.until)}
        theirs = known[kind]["versions"] if kind in known else set()
        if ours != theirs:
            upstream, here = (", ".join(sorted(versions)) or "nothing" for versions in (theirs, ours))
            yield f"{kind}: KubeVirt {text_of(version)} serves {upstream}, krm_fn/kubevirt/api_versions.py says {here}"


def main() -> None:
    given = order("Compare the table of served API versions.", package_releases(), only_known=True)
    found = [line for version in given.versions for line in differences(given.source, version)]
    print("\n".join(found) if found else "krm_fn/kubevirt/api_versions.py: as KubeVirt serves")
    if found:
        raise SystemExit(1)


if __name__ == "__main__":
    run_script(main)
