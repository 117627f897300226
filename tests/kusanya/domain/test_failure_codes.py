"""The table of failure codes beside the embedded service's own."""

import pytest

from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya_service.simulation.networks import FAILURES


def test_the_table_and_the_service_know_the_same_codes() -> None:
    assert {*FAILURE_CODES, "unknown"} == {*FAILURES}


def test_the_sample_months_shares_of_failures_make_a_whole() -> None:
    assert sum(known.sample_share for known in FAILURE_CODES.values()) == pytest.approx(1)
