"""The place of a value that an alias or a merge brings is that of its text."""

from __future__ import annotations

import pytest

from krm_fn import yamlio

TEXT = """\
a: &a {x: 1, w: &y two}
b: *a
c:
  <<: *a
  w: own
d:
  <<: [{z: 3}, *a]
e: &e
  - !!str text
  - *y
f: *e
g: &a {x: 5}
h: *a
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("a", "x"), (1, 11)),
        (("a", "w"), (1, 20)),
        (("b", "x"), (1, 11)),
        (("b",), (1, 7)),
        (("c", "x"), (1, 11)),
        (("c", "w"), (5, 6)),
        (("d", "x"), (1, 11)),
        (("d", "z"), (7, 12)),
        (("e", 0), (9, 11)),
        (("f", 1), (1, 20)),
        (("h", "x"), (12, 11)),
        (("h", "missing"), (12, 7)),
    ],
)
def test_the_place_of_a_value_is_that_of_its_text(path: tuple[str | int, ...], place: tuple[int, int]) -> None:
    assert yamlio.read_stream(TEXT.encode()).place(0, path, follow=True) == place
