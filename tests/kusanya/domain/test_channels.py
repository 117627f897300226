"""The table of channels beside the embedded service's own."""

import pytest

from kusanya.domain.channels import CHANNELS
from kusanya_service.simulation.tariff import DEFAULT_TARIFF, channel_of


def test_the_table_and_the_service_know_the_same_channels() -> None:
    assert {*CHANNELS} == {*DEFAULT_TARIFF}


def test_the_sample_months_shares_make_a_whole_and_its_prices_are_the_services() -> None:
    assert sum(known.sample_share for known in CHANNELS.values()) == pytest.approx(1)
    assert {code: (known.basis_points, known.least_fee) for code, known in CHANNELS.items()} == {
        code: (rate.basis_points, rate.least) for code, rate in DEFAULT_TARIFF.items()
    }
    for code, known in CHANNELS.items():
        assert channel_of(known.sample_prefix + "1234567") == code
