"""What an earlier period had to compare, in one line."""

from typing import Any

from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import Compared


def compared(span: Period, *, books: bool = True, **given: Any) -> tuple[Compared, ...]:
    """Return what was given to the close of one period, the first of a chain."""
    return (Compared(first=span.first, last=span.last, books=books, **given),)
