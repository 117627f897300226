"""Times as people name them."""

from datetime import UTC, datetime

import pytest

from kusanya.domain.business_day import read_instant

NOW = datetime(2026, 3, 4, 22, 30, tzinfo=UTC)
"""Half past one on Thursday the 5th in East Africa."""


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("02:13", datetime(2026, 3, 4, 23, 13, tzinfo=UTC)),
        ("today 02:13", datetime(2026, 3, 4, 23, 13, tzinfo=UTC)),
        ("today 0:00:07", datetime(2026, 3, 4, 21, 0, 7, tzinfo=UTC)),
        ("yesterday 18:00", datetime(2026, 3, 4, 15, tzinfo=UTC)),
        ("2026-02-28 23:59:59", datetime(2026, 2, 28, 20, 59, 59, tzinfo=UTC)),
        ("2026-03-04T10:00:00Z", datetime(2026, 3, 4, 10, tzinfo=UTC)),
        ("2026-03-04T10:00:00.5+03:00", datetime(2026, 3, 4, 7, 0, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_as_it_is_said_in_east_africa(text: str, instant: datetime) -> None:
    assert read_instant(text, now=NOW) == instant


@pytest.mark.parametrize(
    "text",
    ["", "now", "24:00", "02:61", "tomorrow 02:13", "2026-02-30 02:13", "2026-03-04T10:00:00"],
)
def test_what_names_no_one_instant_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="in East Africa"):
        read_instant(text, now=NOW)
