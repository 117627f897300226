"""The dashboard's client: no answer holds it for ever or fills its memory."""

import pytest
from tests.kit.sinks import answering_endlessly

from kusanya.privacy.secret import Secret
from kusanya_console.sandbox.dashboard import client
from kusanya_console.sandbox.dashboard.errors import DashboardError


@pytest.mark.parametrize("piece", [b"a", b"a" * 65_536])
def test_an_answer_without_an_end_is_refused(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_TIMEOUT_S", 0.4)
    begin = b"HTTP/1.1 200 OK\r\n\r\n"
    with (
        answering_endlessly(begin, piece) as url,
        client.DashboardClient(url, Secret("dash_token")) as dashboard,
        pytest.raises(DashboardError, match="does not end"),
    ):
        dashboard.get("clock")
