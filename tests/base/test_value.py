"""Values are immutable, built with keywords and compared by their fields."""

import pytest

from krm_fn.base.value import Value


class Point(Value):
    x: int
    y: int = 0


class Named(Point):
    name: str = ""


def test_fields_with_defaults_may_be_left_out():
    assert (Point(x=1).x, Point(x=1).y) == (1, 0)


def test_equal_fields_make_equal_values_and_equal_hashes():
    assert Point(x=1, y=2) == Point(y=2, x=1)
    assert len({Point(x=1), Point(x=1, y=0), Point(x=2)}) == 2


def test_a_value_never_equals_one_of_another_type():
    assert Point(x=1) != Named(x=1)


def test_a_missing_field_is_an_error():
    with pytest.raises(TypeError, match="Point lacks x"):
        Point(y=1)


def test_an_unknown_field_is_an_error():
    with pytest.raises(TypeError, match="Point has no field z"):
        Point(x=1, z=2)


def test_values_do_not_change():
    point = Point(x=1)
    with pytest.raises(AttributeError, match="immutable"):
        point.x = 2
    with pytest.raises(AttributeError, match="immutable"):
        del point.x


def test_but_makes_a_changed_copy():
    assert Named(x=1, name="a").but(name="b") == Named(x=1, name="b")


def test_a_value_shows_its_fields():
    assert repr(Point(x=1)) == "Point(x=1, y=0)"
