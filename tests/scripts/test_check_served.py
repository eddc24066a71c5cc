"""The table of served API versions, compared with the sources."""

from __future__ import annotations

from pathlib import Path

import check_served
import pytest
from cloning import clone
from test_kubevirt_api import RELEASE, sources

from krm_fn.kubevirt.api_versions import CORE_VERSIONS, Served


def test_kinds_whose_versions_differ_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = (Served(version="v1beta1", since=(1, 6)), Served(version="v1alpha1"))
    table = {("kubevirt.io", "VirtualMachine"): CORE_VERSIONS, ("example.com", "Pool"): pool, ("example.com", "Gone"): pool}
    monkeypatch.setattr(check_served, "KINDS", table)
    assert list(check_served.differences(clone(tmp_path, {"v1.5.0": sources()}), RELEASE)) == [
        "Pool: KubeVirt 1.5.0 serves v1beta1, v1beta2, krm_fn/kubevirt/api_versions.py says v1alpha1",
        "Gone: KubeVirt 1.5.0 serves nothing, krm_fn/kubevirt/api_versions.py says v1alpha1",
    ]
