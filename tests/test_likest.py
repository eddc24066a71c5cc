"""What may have been meant by a misspelt word, and that nobody waits for it."""

from __future__ import annotations

import time
from random import Random

import pytest

from krm_fn.likest import COMPARED, LONGEST, PAIRS, Likest, nearest


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("disk", ("disks", "filesystems", "interfaces"), ("disks",)),
        ("disks", ("disk", "diskette", "dsks", "discs", "risks"), ("dsks", "disk", "risks")),
        ("VIRTIO", ("sata", "virtio"), ("virtio",)),
        ("virtio", ("VirtIO", "virtiO"), ("VirtIO",)),
        ("cpu", ("memory", "devices"), ()),
        ("", ("a", ""), ("",)),
        ("x", (), ()),
        ("x" * LONGEST, ("x" * LONGEST + "y",), ("x" * LONGEST + "y",)),
        ("x" * (LONGEST + 1), ("x" * LONGEST,), ()),
    ],
)
def test_the_likest_three_come_first_to_last_whatever_their_case(
    word: str, known: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert nearest(word, known) == expected
    if len(word) <= LONGEST:
        assert Likest().nearest(word, known) == expected


def test_the_order_of_the_known_names_does_not_matter() -> None:
    known = [f"size-{number}" for number in range(50)]
    assert Likest().nearest("size", known) == Likest().nearest("size", set(known)) == Likest().nearest("size", known[::-1])


def test_nothing_is_like_once_the_budget_is_spent() -> None:
    likest = Likest()
    assert likest.of("web-1", {"web-2", "db"}) == "web-2"
    long = [f"{'x' * 200}-{number}" for number in range(COMPARED)]
    for _ in range(PAIRS // (200 * 200 * COMPARED) + 1):
        likest.of("x" * 200, long)
    assert likest.of("web-1", {"web-2", "db"}) == ""


def test_long_names_of_the_same_letters_take_no_longer_than_others() -> None:
    rng, likest = Random(1), Likest()
    names = ["".join(rng.choices("ab", k=190)) for _ in range(300)]
    start = time.process_time()
    for name in names:
        likest.of(name + "a", names[:40])
    assert time.process_time() - start < 5  # where only names were counted, it took minutes
