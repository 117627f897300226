"""The specification's numbers, written out once more."""

from datetime import timedelta

import pytest

from kusanya.domain import limits


@pytest.mark.spec("limits-key-length")
def test_an_idempotency_key_has_1_to_255_characters() -> None:
    assert limits.IDEMPOTENCY_KEY_MIN_LENGTH == 1
    assert limits.IDEMPOTENCY_KEY_MAX_LENGTH == 255


@pytest.mark.spec("limits-key-retention")
def test_a_key_is_kept_for_24_hours() -> None:
    assert timedelta(hours=24) == limits.IDEMPOTENCY_RETENTION


@pytest.mark.spec("delivery-1")
def test_an_endpoint_has_10_seconds() -> None:
    assert timedelta(seconds=10) == limits.ACKNOWLEDGEMENT_TIME


@pytest.mark.spec("signature-4")
def test_a_timestamp_may_differ_by_300_seconds() -> None:
    assert limits.SIGNATURE_TOLERANCE_S == 300


@pytest.mark.spec("limits-retry-schedule")
def test_retries_come_after_1m_5m_30m_2h_6h_12h() -> None:
    minutes = [gap / timedelta(minutes=1) for gap in limits.RETRY_GAPS]
    assert minutes == [1, 5, 30, 120, 360, 720]


@pytest.mark.spec("limits-endpoint-disabling")
def test_an_endpoint_is_disabled_after_three_days() -> None:
    assert timedelta(days=3) == limits.DISABLE_AFTER


@pytest.mark.spec("limits-test-completion")
def test_a_test_collection_completes_in_10_to_20_seconds() -> None:
    assert timedelta(seconds=10) == limits.TEST_COMPLETION_MIN
    assert timedelta(seconds=20) == limits.TEST_COMPLETION_MAX


def test_our_own_bounds_hold_what_both_engines_hold() -> None:
    assert limits.INTEGER_MAX == 9_223_372_036_854_775_807
    assert limits.EVENT_BODY_MAX_BYTES == 262_144
    assert limits.ANSWER_MAX_BYTES == 1_048_576
