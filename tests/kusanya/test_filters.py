"""One grammar: what it reads, what it refuses, and that it can say what it has read."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.domain.collection_columns import FieldType
from kusanya.filters import (
    KEYS,
    Filter,
    FilterError,
    Range,
    Term,
    TimeRange,
    describe,
    parse,
)

NOW = datetime(2026, 3, 4, 12, 24, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("failed", Term("status", ("failed",))),
        ("failed,expired", Term("status", ("failed", "expired"))),
        ("-expired", Term("status", ("expired",), negated=True)),
        ("airtel", Term("channel", ("AIRTEL_TZ",))),
        ("MPESA_TZ", Term("channel", ("MPESA_TZ",))),
        ("insufficient_funds", Term("code", ("insufficient_funds",))),
        ("INV-48", Term("ref", ("INV-48",))),
        ("ref=INV-48", Term("ref", ("INV-48",), exact=True)),
        ("meta:order_id=A-1", Term("meta", ("order_id=A-1",))),
        ("-meta:a=1,b=2", Term("meta", ("a=1", "b=2"), negated=True)),
        ('description:"school fees"', Term("description", ("school fees",))),
        ("channel:airtel,mixx", Term("channel", ("AIRTEL_TZ", "TIGO_TZ"))),
        ("channel:NEW_TZ", Term("channel", ("NEW_TZ",))),
        ("channel=foo", Term("channel", ("foo",))),
        ("status=succeded", Term("status", ("succeded",))),
        ("status:on_hold", Term("status", ("on_hold",))),
        ("amount:40,500", Term("amount", (Range(40_500, 40_500),))),
        ("amount>=1,250,000", Term("amount", (Range(1_250_000, None),))),
        ("amount:5,000..20,000", Term("amount", (Range(5_000, 20_000),))),
        ("amount:40,5000", Term("amount", (Range(40, 40), Range(5_000, 5_000)))),
        ("phone:0754123456", Term("phone", ("255754123456",))),
        ('"phone:+255 754-123-456"', Term("phone", ("255754123456",))),
        ("phone:011", Term("phone", ("011",))),
        ("phone:+255•••••412", Term("phone", ("412",))),
        ("amount:5000", Term("amount", (Range(5000, 5000),))),
        ("amount:5000..20000", Term("amount", (Range(5000, 20000),))),
        ("amount:1,3..4", Term("amount", (Range(1, 1), Range(3, 4)))),
        ("fee>150", Term("fee", (Range(151, None),))),
        ("fee<150", Term("fee", (Range(None, 149),))),
        ("try>=3", Term("try", (Range(3, None),))),
        ("age<=15m", Term("age", (Range(None, 900),))),
        ("age:2h..3d", Term("age", (Range(7_200, 259_200),))),
        ("at:15:00..15:30", Term("at", (TimeRange(time(15), time(15, 30)),))),
        ("at:2025-11-19", Term("at", (TimeRange(date(2025, 11, 19), date(2025, 11, 19)),))),
        ("at:1970-01-01", Term("at", (TimeRange(date(1970, 1, 1), date(1970, 1, 1)),))),
        ("at>=2025-11-19", Term("at", (TimeRange(date(2025, 11, 19), None),))),
        ("STATUS:on_hold", Term("status", ("on_hold",))),
    ],
)  # fmt: skip
def test_a_word_is_read_as_one_condition(text: str, term: Term) -> None:
    assert parse(text) == Filter((term,))


def test_conditions_stand_side_by_side_and_all_must_hold() -> None:
    found = parse('  ! failed  "ref:INV 7" -airtel ')
    assert found.unwell
    assert [term.key for term in found.terms] == ["status", "ref", "channel"]
    assert found.terms[1].values == ("INV 7",)
    assert not parse("   ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("status:succeded", "unknown, you may mean succeeded; status=succeded looks"),
        ("channel:foo", "channel 'foo' is unknown: there are airtel, halopesa"),
        ("channel:airtle", "there are airtel; channel=airtle looks for it all the same"),
        ("colour:red", "'colour' is no key; there are status, channel"),
        ("amount:lots", "amount takes whole numbers"),
        ("amount:5.5", "amount takes whole numbers"),
        ("amount:-5", "amount takes whole numbers"),
        ("amount:9..5", "9 is above 5"),
        ("amount>1..2", "takes one value"),
        ("amount:", "needs a value"),
        ("amount:,", "needs a value"),
        ("status>failed", "status takes : or =, not >"),
        ("age<15", "age takes a span"),
        ("at:25:00", "at takes a time"),
        ("at:2025-02-30", "at takes a time"),
        ("at:9999-12-31", "at takes a time"),
        ("at>=0001-01-01", "at takes a time"),
        ("at<15:00", "at takes <= or >="),
        ("phone:0454123456", "begins with 6 or 7"),
        ('ref:"INV', "a quote is open"),
        ("meta:A-1", "meta takes a name and its value, as in meta:order_id=A-1"),
        ("meta:order_id=", "meta takes a name and its value"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(FilterError, match=says):
        parse(f"failed {text}")


def test_an_eat_day_begins_at_21_utc_and_a_time_is_one_of_today() -> None:
    day = TimeRange(date(2026, 3, 4), date(2026, 3, 4)).between(NOW)
    assert day == (
        datetime(2026, 3, 3, 21, tzinfo=UTC),
        datetime(2026, 3, 4, 21, tzinfo=UTC),
    )
    minutes = TimeRange(time(15), time(15, 30)).between(NOW)
    assert minutes == (
        datetime(2026, 3, 4, 12, tzinfo=UTC),
        datetime(2026, 3, 4, 12, 31, tzinfo=UTC),
    )
    assert TimeRange(None, None).between(NOW) == (None, None)


def test_a_range_holds_its_ends() -> None:
    assert Range(5, 7).contains(5)
    assert Range(5, 7).contains(7)
    assert not Range(5, 7).contains(8)
    assert Range(None, 7).contains(-timedelta(days=1).total_seconds())


_words = st.text(
    st.characters(codec="utf-8", exclude_characters='",', exclude_categories=["Cs"]), min_size=1
)
_ends = st.none() | st.integers(0, 10**12)


@st.composite
def _terms(draw: st.DrawFn) -> Term:
    key = draw(st.sampled_from(sorted(KEYS)))
    kind = KEYS[key]
    negated = draw(st.booleans())
    if kind is FieldType.ENTRY:
        pairs = st.tuples(_words, _words).map(lambda pair: [text.strip() for text in pair])
        name, value = draw(pairs.filter(lambda pair: all(pair) and "=" not in pair[0]))
        return Term(key, (f"{name}={value}",), negated)
    if kind in {FieldType.WORD, FieldType.PART}:
        values = draw(st.lists(_words, min_size=1, max_size=3))
        if key == "channel":
            values = [f"{value}_TZ" for value in values]
        exact = kind is FieldType.PART and draw(st.booleans())
        return Term(key, tuple(values), negated, exact)
    if kind is FieldType.PHONE:
        digits = draw(st.integers(600_000_000, 799_999_999))
        return Term(key, (f"255{digits}",), negated)
    if kind is FieldType.TIME:
        times = st.times().map(lambda at: at.replace(second=0, microsecond=0))
        begin = draw(times | st.dates(date(1970, 1, 1), date(2999, 12, 31)))
        return Term(key, (TimeRange(begin, draw(st.sampled_from([begin, None]))),), negated)
    low, high = sorted(draw(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
    return Term(key, (draw(st.sampled_from([Range(low, high), Range(low, None)])),), negated)


@given(st.builds(Filter, st.lists(_terms(), max_size=4).map(tuple), st.booleans()))
def test_what_is_described_is_read_as_the_same_filter(found: Filter) -> None:
    assert parse(describe(found)) == found


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except FilterError:
        return
    assert parse(describe(found)) == found


@pytest.mark.parametrize("term", [Term("channel", ("foo",)), Term("status", ("succeded", "x"))])
def test_a_word_that_looks_like_a_slip_is_described_so_that_it_is_read_again(term: Term) -> None:
    found = Filter((term,))
    assert parse(describe(found)) == found
