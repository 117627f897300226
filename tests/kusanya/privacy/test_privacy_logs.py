"""A log record without a traceback is redacted all the same."""

import logging

from kusanya.privacy import RedactingFilter


def test_a_record_without_a_traceback_is_redacted() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "called %s", ("255754000002",), None)
    assert RedactingFilter().filter(record)
    assert "255754000002" not in record.getMessage()
    assert record.exc_info is None
