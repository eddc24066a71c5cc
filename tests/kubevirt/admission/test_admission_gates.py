"""Feature gates: their states by release, and what opens them."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt import releases
from krm_fn.kubevirt.admission.gates import enabled, state
from krm_fn.kubevirt.configuration import Cluster


def _open(name: str, release: str, **developer: list[str]) -> bool:
    return enabled(Cluster(configuration={"developerConfiguration": developer}), name, releases.parse(release))


@pytest.mark.parametrize(
    ("name", "release", "expected"),
    [
        ("NUMA", "1.4", "GA"),
        ("DeclarativeHotplugVolumes", "1.5", ""),
        ("DeclarativeHotplugVolumes", "1.8", "alpha"),
        ("DeclarativeHotplugVolumes", "1.9", "beta"),
        ("ExpandDisks", "1.9", "GA"),
        ("HotplugVolumes", "1.9", "deprecated"),
        ("Passt", "1.6", "discontinued"),
        ("NoSuchGate", "1.9", ""),
        ("EnableVirtioFsStorageVolumes", "1.4", ""),
        ("EnableVirtioFsStorageVolumes", "1.5", "alpha"),
    ],
)
def test_a_gate_has_a_state_in_each_release(name: str, release: str, expected: str) -> None:
    assert state(name, releases.parse(release)) == expected


def test_a_ga_gate_is_open_whatever_the_cluster_says() -> None:
    assert _open("NUMA", "1.9", disabledFeatureGates=["NUMA"])


def test_an_alpha_gate_is_open_where_it_is_listed() -> None:
    assert not _open("VSOCK", "1.9")
    assert _open("VSOCK", "1.9", featureGates=["VSOCK"])


def test_a_beta_gate_is_open_from_1_9_on_unless_disabled() -> None:
    assert not _open("PasstBinding", "1.8")
    assert _open("PasstBinding", "1.9")
    assert not _open("PasstBinding", "1.9", disabledFeatureGates=["PasstBinding"])
    assert _open("PasstBinding", "1.9", featureGates=["PasstBinding"], disabledFeatureGates=["PasstBinding"])


def test_a_gate_the_release_does_not_know_stays_shut_from_1_9_on() -> None:
    assert _open("NoSuchGate", "1.8", featureGates=["NoSuchGate"])
    assert not _open("NoSuchGate", "1.9", featureGates=["NoSuchGate"])
