"""Following a service's clock: what it says, and an address that never stops answering."""

import pytest
from tests.kit.sinks import answering_endlessly

from kusanya.errors import ConfigurationError
from kusanya_console.sandbox import service_clock
from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]


def test_the_clock_of_a_service_is_followed(payment_service: PaymentService) -> None:
    clock = service_clock.parse_clock(f"{payment_service.base_url}/dashboard/clock")
    before = clock.now()
    payment_service.advance(3600)
    assert (clock.now() - before).total_seconds() == 3600


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"HTTP/1.1 200 O", b"K"),
        (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65_536),
    ],
)
def test_an_answer_without_an_end_is_no_clock(
    begin: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_clock, "_TIMEOUT_S", 0.4)
    with (
        answering_endlessly(begin, piece) as url,
        pytest.raises(ConfigurationError, match="no service clock at"),
    ):
        service_clock.parse_clock(f"{url}dashboard/clock")
