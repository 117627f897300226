"""The dashboard's client: no answer holds it for ever or fills its memory, no page is left out."""

import tempfile
from pathlib import Path

import pytest
from tests.kit.sinks import answering_endlessly

from kusanya.privacy.secret import Secret
from kusanya_console.sandbox.dashboard import client
from kusanya_console.sandbox.dashboard.errors import DashboardError
from kusanya_service.options import Options
from kusanya_service.testing import running_service


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


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_each_object_of_a_list_is_read_once_however_many_pages_it_has(count: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running_service(Options(data=Path(folder), clock="virtual", seed=1)) as service,
        client.DashboardClient(service.dashboard_url, Secret(service.dashboard_token)) as dashboard,
    ):
        for number in range(count):
            service.create({"amount": 5000, "phone": "255754000001", "reference": f"r-{number}"})
        listed = list(dashboard.every("collections", page=2, mode="test"))
    assert [one["reference"] for one in listed] == [f"r-{number}" for number in range(count)]
