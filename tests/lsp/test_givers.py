"""What a file has at a path is found in the machine that is built of it."""

from __future__ import annotations

import pytest

from krm_fn.lsp.givers import path_in

BUILT = {"spec": {"disks": [{"name": "a", "bus": "sata"}, {"name": "b"}], "tolerations": [{"key": "x"}]}}
PATCH = {"spec": {"disks": [{"name": "b", "bus": "scsi"}, {"bus": "usb"}, {"name": "c"}], "tolerations": [{"key": "y"}]}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("spec", "disks", 0, "bus"), ("spec", "disks", 1, "bus")),
        (("spec", "disks", 1, "bus"), None),  # without a name
        (("spec", "disks", 2, "name"), None),  # not there
        (("spec", "tolerations", 0, "key"), None),
        (("spec", "runStrategy"), ("spec", "runStrategy")),
    ],
)
def test_elements_of_lists_are_found_by_their_names(path: tuple[str | int, ...], found: tuple[str | int, ...] | None) -> None:
    assert path_in(BUILT, PATCH, path) == found
