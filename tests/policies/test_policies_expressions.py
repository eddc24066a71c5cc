"""What single expressions give on the API server: the pitfalls of the language, and functions of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.base.regex import matches, searching
from krm_fn.base.work import WORK
from krm_fn.policies.compiled import check_literals
from krm_fn.policies.errors import EvaluationError, RefusedError, Unknown, Unsupported
from krm_fn.policies.evaluation import planned
from krm_fn.policies.running import evaluated
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked
from krm_fn.policies.values import UInt, normalized

OBJECT = {
    "name": "shop",
    "number": 5,
    "share": 1.5,
    "nothing": None,
    "list": [3, 1, 2],
    "labels": {"in": "a", "a.b/c": "d"},
}
ERROR, REFUSED, UNKNOWN = "an error", "refused", "not known"


def value_of(expression: str) -> Any:
    WORK.begin(0)
    names = {"object": "dyn", "request": "request"}
    try:
        found = checked(parse(expression), names)
        check_literals(found)
        step = planned(found, names).step
    except RefusedError:
        return REFUSED
    value, _ = evaluated(step, {"object": OBJECT, "request": {"userInfo": Unknown("who asks")}})
    return ERROR if isinstance(value, EvaluationError) else UNKNOWN if isinstance(value, Unknown) else value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # even numbers of signs are none
        ("!!object.nothing", None),
        ("!!!true", False),
        ("--5 == 5", True),
        # Go has no possessive repetition
        ("'aab'.matches('a*+b')", REFUSED),
        ("'aab'.matches('a{2}+b')", REFUSED),
        ("'a*+'.matches('^a[*+]+$')", True),
        ("'a**'.matches('^a\\\\*+$')", True),
        # raw texts have no escapes; only `0x` and plain digits are numbers
        (r"r'\'.size()", 1),
        (r"br'\d'.size()", 2),
        (r"rb'\d'.size()", REFUSED),
        ("0x10", 16),
        ("0X10", REFUSED),
        ("\u0665", REFUSED),
        ("1e400 > 1.0", REFUSED),
        ("size('a',)", REFUSED),
        ("[1,].size()", 1),
        ("object. ?list[ ?7].orValue(9)", 9),
        # addresses
        ("isIP('0064:ff9b::1')", True),
        ("cidr('2001:0db8::/32').containsIP('2001:0db8::01')", True),
        ("isIP('10.0.0.01')", False),
        ("isIP('::10.0.0.01')", False),
        ("isCIDR('10.0.0.0/08')", False),
        # times
        ("timestamp('2026-01-01T1:00:00Z') == timestamp('2026-01-01T01:00:00Z')", True),
        ("timestamp('2026-01-01T00:00:00,5Z').getMilliseconds()", 500),
        ("timestamp('2026-01-01T00:00:00.1234567899Z') == timestamp('2026-01-01T00:00:00.123456789Z')", True),
        ("timestamp('2026-01-01T00:00:00+24:60') == timestamp('2025-12-30T23:00:00Z')", True),
        ("timestamp('2026-01-01T00:00:00+25:00')", REFUSED),
        ("timestamp('2026-01-01T00:00:00+01:61')", REFUSED),
        ("timestamp('202\u0666-01-01T00:00:00Z')", REFUSED),
        ("timestamp(dyn([5u][0]))", ERROR),
        ("duration('\u0665s')", REFUSED),
        ("string(duration('2000000h0.000000001s'))", "7200000000s"),
        ("string(duration('-1.5s'))", "-1.5s"),
        # versions, quantities, texts
        ("isSemver(' 1.0', true)", False),
        ("isSemver('v01.0', true)", True),
        ("quantity('1').add(dyn(1u)) == quantity('2')", ERROR),
        ("''.split('', 1)", []),
        ("'abc'.split('', 1)", ["abc"]),
    ],
)
def test_rare_forms_are_read_as_go_reads_them(expression: str, value: Any) -> None:
    found = value_of(expression)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        # refused before a policy is stored
        ("[object.name, 'x'] == []", REFUSED),
        ("object.name in ['shop', 'b']", True),
        ("1 == 'a'", REFUSED),
        ("dyn(1) == 'a'", False),
        ("true ? 1 : 1.0", REFUSED),
        ("int('0x10')", REFUSED),
        ("duration('1d')", REFUSED),
        ("'%d'.format(['x'])", REFUSED),
        ("'%d %s'.format([1, 'a'])", "1 a"),
        ("'a'.matches('[')", REFUSED),
        ("object.labels.in", REFUSED),
        ("1/0", ERROR),
        # selection
        ("object.labels['in']", "a"),
        ("object.labels.`a.b/c`", "d"),
        ("has(object.nothing)", True),
        ("has(object.nothing.x)", False),
        ("has(object.missing.x)", ERROR),
        ("object.nothing.x", ERROR),
        ("object.?missing.x.orValue(1)", 1),
        ("object.?nothing.orValue(1)", None),
        ("object.name.orValue('x')", ERROR),
        # errors and what is not known
        ("object.missing == 1 || true", True),
        ("object.missing == 1 && false", False),
        ("[0, 1].exists(x, 1 / x > 0)", True),
        ("[0, 1].exists_one(x, 1 / x > 0)", ERROR),
        ("[1/0].distinct() == [] || true", ERROR),
        ("object.missing in []", False),
        ("request.userInfo.username == 'a' || true", True),
        ("request.userInfo.groups.all(g, g == 'a') || object.missing", UNKNOWN),
        # numbers
        ("5u == object.number", True),
        ("object.number + 1.0 > 1.0", ERROR),
        ("5 in [dyn(5.0)]", True),
        ("9007199254740993 == dyn(9007199254740992.0)", True),
        ("-9223372036854775808 % -1", ERROR),
        ("string(1000000.0)", "1e+06"),
        ("'%.2f %e'.format([1234.5, 1052.032911275])", "1,234.50 1.052033\u202f\u00d7\u202f10⁰³"),
        ("'%s'.format([[1.0, 2.5]])", "[1.000000, 2.500000]"),
        ("'%s'.format([{'b': 'x', 'a': 'y\\n'}])", '{"a":"y\\n", "b":"x"}'),
        # bytes
        ("b'\\u00e9' == b''", REFUSED),
        ("string(bytes('é'))", "é"),
        ("bytes('é').size()", 2),
        ("string(b'\\xff')", REFUSED),
        ("b'a' + b'\\x62' == b'ab'", True),
        # lists
        ("object.list.sort()", [1, 2, 3]),
        ("[].sum()", 0),
        ("object.list.max()", 3),
        ("['b', 'a'].sortBy(x, x)", ["a", "b"]),
        ("[3, 1].isSorted()", False),
        # Kubernetes' types
        ("quantity('1Gi') == quantity('1024Mi')", True),
        ("quantity('1.5Gi').isInteger()", False),
        ("quantity('300m').asApproximateFloat()", 0.3),
        ("quantity('1').add(1) == quantity('2')", True),
        ("quantity('2') == quantity('1').add(1)", ERROR),
        ("quantity(object.number)", ERROR),
        ("url('https://user@example.com:80/a b?q=1&q=2#f').getHostname()", "example.com"),
        ("url('https://example.com/a b').getEscapedPath()", "/a%20b"),
        ("url('/path?q=a+b').getQuery()", {"q": ["a b"]}),
        ("isURL('../a')", False),
        ("ip('fd00::0').family()", 6),
        ("isIP('::ffff:1.2.3.4')", False),
        ("cidr('10.0.0.1/8').masked() == cidr('10.0.0.0/8')", True),
        ("semver('1.2.3-rc.2').isLessThan(semver('1.2.3'))", True),
        ("semver('v1.0', true).minor()", 0),
        ("format.dns1123Label().validate('a.b').value()", ["must not contain dots"]),
        ("format.dns1123LabelPrefix().validate('A-').hasValue()", False),
        ("format.date().validate('2026-02-30').value()", ["invalid date"]),
        ("format.uri().validate('x').value().size()", UNKNOWN),
        ("timestamp('2026-01-01T00:30:00Z').getHours('Europe/Berlin')", 1),
        ("timestamp('2026-01-01T00:30:00Z').getHours('-01:00')", 23),
        # regular expressions
        ("'VM'.matches('(?i)vm')", True),
        ("'a1b22'.findAll('[[:digit:]]+')", ["1", "22"]),
        ("'abab'.find('(ab)+?')", "ab"),
        ("'ab'.findAll('')", ["", "", ""]),
        ("'ab'.matches('(?=a)')", REFUSED),
    ],
)
def test_an_expression_has_the_value_of_the_server(expression: str, value: Any) -> None:
    found = value_of(expression)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("expression", ["object.labels.map(k, k)[0]", "object.labels.map(k, k) == ['in', 'a.b/c']"])
def test_the_order_of_a_map_is_never_guessed(expression: str) -> None:
    with pytest.raises(Unsupported, match="the order of the entries of a map"):
        value_of(expression)


PARTS = st.sampled_from(("a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab|a)", "^", "$", "a*", "b+?", "a{1,2}", r"\w", "(?:a|ab)"))


@given(st.lists(PARTS, max_size=4).map("".join), st.text(alphabet="abc\n", max_size=6))
def test_the_automaton_finds_what_python_finds_where_both_read_alike(pattern: str, text: str) -> None:
    WORK.begin(0)
    # A long text without the pattern's own characters takes the automaton, a short one Python's expressions.
    long = searching(pattern, text + "-" * 6_000, WORK.spend)(text, 0)
    assert long == searching(pattern, text, WORK.spend)(text, 0)
    assert all(start <= end for start, end in matches(pattern, text, WORK.spend))


TERMS = st.recursive(
    st.sampled_from(
        ("1", "-1", "0", "2u", "1.5", "'a'", "object.name", "object.list", "object.missing", "true", "null", "[]", "{}")
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("+", "-", "*", "/", "%", "==", "<", "in", "&&", "||")), inner).map(
            lambda each: f"(dyn({each[0]}) {each[1]} dyn({each[2]}))"
        ),
        inner.map(lambda each: f"dyn({each}).all(x, x == object.number)"),
        inner.map(lambda each: f"dyn({each}).map(x, [x])"),
        inner.map(lambda each: f"size(dyn({each}))"),
        st.tuples(inner, inner).map(lambda each: f"(dyn({each[0]}) ? dyn({each[1]}) : dyn({each[0]}))"),
    ),
    max_leaves=8,
)


@given(TERMS)
def test_and_and_or_do_without_what_fails(expression: str) -> None:
    try:
        value = value_of(expression)
    except Unsupported:
        return
    assert value_of(f"(dyn({expression}) == 1) || true") in {True, REFUSED} or value == REFUSED
    assert value_of(f"false && (dyn({expression}) == 1)") in {False, REFUSED} or value == REFUSED


@given(TERMS)
def test_a_value_is_equal_to_itself(expression: str) -> None:
    try:
        value = value_of(expression)
    except Unsupported:
        return
    if value not in (ERROR, REFUSED):
        assert value_of(f"dyn({expression}) == dyn({expression})") is True


def test_an_unsigned_number_stays_one() -> None:
    assert isinstance(value_of("2u + 3u"), UInt)


def test_half_of_a_surrogate_pair_is_the_replacement_character_in_an_object():
    found = normalized({"a\ud83d": ["x\ude00y", "\ud83d\ude00", "é"], "b": 1})
    assert found == {"a\ufffd": ["x\ufffdy", "\U0001f600", "é"], "b": 1}


def test_an_expression_with_half_of_a_surrogate_pair_is_not_evaluated():
    with pytest.raises(Unsupported, match="half of a surrogate pair"):
        parse("'\ud83d' == object.name")
