"""What may have been meant by a misspelt word, and that nobody waits for it."""

from __future__ import annotations

from random import Random

import pytest

from krm_fn.base.suggestions import COMPARED, LONGEST, PAIRS, Suggestions, meant, nearest
from tests.measuring import calls


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("disk", ("disks", "filesystems", "interfaces"), ("disks",)),
        ("disks", ("disk", "diskette", "dsks", "discs", "risks"), ("discs", "disk", "dsks")),
        ("VIRTIO", ("sata", "virtio"), ("virtio",)),
        ("virtio", ("VirtIO", "virtiO"), ("VirtIO",)),
        ("cpu", ("memory", "devices"), ()),
        ("legacy-root", ("pg-root", "root"), ()),
        ("site-east", ("site-west",), ()),
        ("disk-1", ("disk-2", "disk-10"), ()),
        ("u1.xlarge", ("u1.large", "u1.2xlarge"), ()),
        ("lan", ("wan", "lab", "a-lan", "dev-lan"), ()),
        ("u1.meduim", ("u1.medium", "u2.medium", "m1.medium"), ("u1.medium",)),
        ("pvc-web", ("pcv-web",), ("pcv-web",)),
        ("web_root", ("web-root",), ("web-root",)),
        ("webroot", ("web-root",), ("web-root",)),
        ("customer-database", ("custmer-databse", "custmr-databse"), ("custmer-databse",)),
        ("", ("a", ""), ("",)),
        ("x", (), ()),
        ("x" * LONGEST, ("x" * LONGEST + "y",), ("x" * LONGEST + "y",)),
        ("x" * (LONGEST + 1), ("x" * LONGEST,), ()),
    ],
)
def test_only_the_nearest_words_within_a_misspelling_are_found_whatever_their_case(
    word: str, known: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert nearest(word, known) == expected
    if len(word) <= LONGEST:
        assert Suggestions().nearest(word, known) == expected


def test_the_order_of_the_known_names_does_not_matter() -> None:
    known = [f"size-{number}" for number in range(50)]
    assert (
        Suggestions().nearest("size", known)
        == Suggestions().nearest("size", set(known))
        == Suggestions().nearest("size", known[::-1])
    )


def test_of_several_words_that_are_equally_near_none_was_meant() -> None:
    assert nearest("rooot", ("root", "roots", "boot")) == ("root",)
    assert meant("rooot", ("root", "boot")) == "root"
    assert nearest("disks", ("disk", "dsks")) == ("disk", "dsks")
    assert meant("disks", ("disk", "dsks")) == ""


def test_nothing_is_like_once_the_budget_is_spent() -> None:
    likest = Suggestions()
    assert likest.of("web-rot", {"web-root", "db"}) == "web-root"
    long = [f"{'x' * 198}{letter}" for letter in map(chr, range(ord("ぁ"), ord("ぁ") + COMPARED))]
    for _ in range(PAIRS // (200 * 199 * COMPARED) + 1):
        likest.of("x" * 200, long)
    assert likest.of("web-rot", {"web-root", "db"}) == ""


def test_long_names_of_the_same_letters_take_no_more_work_than_others() -> None:
    rng, likest = Random(1), Suggestions()
    names = ["".join(rng.choices("ab", k=190)) for _ in range(300)]
    assert (
        calls(lambda: [likest.of(name + "a", names[:40]) for name in names]) < 15_000_000
    )  # of pairs of letters; where only names were counted, it were a hundred times as many
