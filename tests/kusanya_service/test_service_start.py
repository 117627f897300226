"""Starting: clear refusals, restarts that go on where they stopped, the process itself."""

import json
import signal
import socket
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.kusanya_service.helpers import Order, process, wait_for

from kusanya.clock import ManualClock
from kusanya_service.errors import (
    BadOption,
    ClockBehind,
    DataDamaged,
    DataFolderInUse,
    DataFolderUnusable,
    DataTooNew,
    PortTaken,
)
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_in_order(
    tmp_path: Path, endpoint: CapturingEndpoint, number: int
) -> None:
    with process(tmp_path, "real", endpoint.place) as service:
        assert set(service.facts) == {
            "base_url",
            "dashboard_url",
            "dashboard_token",
            "test_key",
            "live_key",
        }
        assert service.end(number) == 0
        assert [one.name for one in tmp_path.glob("*-wal")] == []


@pytest.mark.merge
@pytest.mark.scale(6, 60, 500)
def test_killed_at_any_moment_nothing_answered_is_lost_and_nothing_is_doubled(
    tmp_path: Path, endpoint: CapturingEndpoint, order: Order, rounds: int
) -> None:
    answered: dict[str, bytes] = {}
    keys: list[str] = []
    for number in range(rounds):
        with process(tmp_path, "virtual", endpoint.place) as service:
            if number == 0:
                body = {"url": endpoint.url, "mode": "test"}
                service.post("/dashboard/endpoints", body).raise_for_status()
            for key in keys:
                replay = service.post("/v1/collections", order, **{"Idempotency-Key": key})
                assert answered.setdefault(key, replay.content) == replay.content
            child = service.child
            pause = 0.005 * number
            killer = subprocess.Popen(["sh", "-c", f"sleep {pause}; kill -9 {child.pid}"])  # noqa: S607 - fixed words
            for fresh in range(100):
                keys.append(f"{number}-{fresh}")
                try:
                    first = service.post("/v1/collections", order, **{"Idempotency-Key": keys[-1]})
                except httpx.HTTPError:
                    break
                answered[keys[-1]] = first.content
            killer.wait()
    with process(tmp_path, "virtual", endpoint.place) as service:
        for key in keys:
            replay = service.post("/v1/collections", order, **{"Idempotency-Key": key})
            assert answered.setdefault(key, replay.content) == replay.content
        service.post("/dashboard/clock/advance", {"seconds": 20}).raise_for_status()
        listed = service.get("/dashboard/collections?mode=test&limit=1000")["data"]
    made = {json.loads(body)["id"] for body in answered.values()}
    assert {one["id"] for one in listed} == made
    assert len(made) == len(keys)
    assert sorted(one.event["data"]["id"] for one in endpoint.deliveries) == sorted(made)


@pytest.mark.merge
def test_open_outcomes_retries_and_a_disabled_endpoint_outlive_a_kill(
    tmp_path: Path, endpoint: CapturingEndpoint, order: Order
) -> None:
    endpoint.answer_with(500)
    with process(tmp_path, "virtual", endpoint.place) as service:
        service.post("/dashboard/endpoints", {"url": endpoint.url, "mode": "test"})
        for hours in (0, 60, 12):
            service.post("/dashboard/clock/advance", {"seconds": hours * 3600})
            service.post("/v1/collections", order, **{"Idempotency-Key": str(hours)})
        service.post("/dashboard/clock/advance", {"seconds": 5})
        before = [service.get("/dashboard/clock"), service.get("/dashboard/deliveries")]
        service.end(signal.SIGKILL)
    with process(tmp_path, "virtual", endpoint.place) as service:
        assert [service.get("/dashboard/clock"), service.get("/dashboard/deliveries")] == before
        service.post("/dashboard/clock/advance", {"seconds": 6 * 3600})
        [listed] = service.get("/dashboard/endpoints")["data"]
        assert listed["status"] == "disabled"
        sent = len(endpoint.deliveries)
        service.end(signal.SIGKILL)
    with process(tmp_path, "virtual", endpoint.place) as service:
        service.post("/dashboard/clock/advance", {"seconds": 48 * 3600})
        assert len(endpoint.deliveries) == sent
        endpoint.answer_with(200)
        service.post(f"/dashboard/endpoints/{listed['id']}/enable", {}).raise_for_status()
        assert len(endpoint.deliveries) > sent
        assert service.get("/dashboard/deliveries?status=held")["data"] == []


def test_a_phone_whose_first_post_fails_does_not_fail_again_after_a_restart(
    start: Any, order: Order
) -> None:
    failing = order | {"phone": "255754000015"}
    with start() as service:
        answers = [service.create(failing, idempotency_key="k") for _ in range(2)]
        assert [answer.status for answer in answers] == [500, 202]
    with start() as service:
        replayed = service.create(failing, idempotency_key="k")
        assert (replayed.status, replayed.json) == (202, answers[1].json)
        other = service.create(failing | {"amount": 1}, idempotency_key="k")
        assert other.status == 409


@pytest.mark.merge
def test_overdue_attempts_run_once_each_and_not_all_at_once(
    tmp_path: Path, endpoint: CapturingEndpoint, order: Order
) -> None:
    endpoint.answer_with(500)
    count = 30
    with process(tmp_path, "60x", endpoint.place) as service:
        service.post("/dashboard/endpoints", {"url": endpoint.url, "mode": "test"})
        for number in range(count):
            instant = order | {"phone": "255754000012"}
            service.post("/v1/collections", instant, **{"Idempotency-Key": str(number)})
        service.end(signal.SIGTERM)
    endpoint.answer_with(200)
    sent = len(endpoint.deliveries)
    endpoint.deliveries.clear()
    time.sleep(1.2)  # a pause of the service, more than a minute of its own time
    with process(tmp_path, "60x", endpoint.place) as service:
        wait_for(lambda: len(endpoint.deliveries) >= count)
        time.sleep(0.2)  # long enough for a second attempt, had there been one
        listed = service.get("/dashboard/deliveries")["data"]
    assert sent >= count
    assert [one["status"] for one in listed] == ["succeeded"] * count
    assert len({one["attempts"][-1]["started_at"] for one in listed}) > count // 4
    assert len({one.event["id"] for one in endpoint.deliveries}) == len(endpoint.deliveries)


def test_the_clock_of_a_folder_never_runs_backwards(start: Any) -> None:
    def now(service: PaymentService) -> datetime:
        return datetime.fromisoformat(service.dashboard("GET", "clock")["now"])

    with start(clock="3600x", registered=False) as service:
        shown = service.dashboard("GET", "clock")
        assert (shown["kind"], shown["speed"]) == ("scaled", 3600)
        time.sleep(0.2)  # twelve minutes of its time
        first = now(service)
    with start(clock="3600x", registered=False) as service:
        assert service.dashboard("GET", "clock")["origin"] == shown["origin"]
        second = now(service)
        assert second > first
    with start(clock="2x", registered=False) as service:
        third = now(service)
        assert third >= second
    with start(clock="virtual", registered=False) as service:
        assert now(service) >= third
        service.advance(3600)
    with pytest.raises(ClockBehind, match="ahead of the real clock"), start(clock="real"):
        pass


def test_the_clock_can_be_read_without_a_token_and_moved_only_where_it_is_virtual(
    start: Any, service: PaymentService, tmp_path: Path
) -> None:
    clock = service.request("GET", "/dashboard/clock").json
    assert clock == {
        "now": "2026-03-02T12:00:00.000Z",
        "kind": "virtual",
        "speed": None,
        "origin": None,
    }
    with start(clock="real", data=tmp_path / "real", registered=False) as real:
        assert real.request("GET", "/dashboard/clock").json["kind"] == "real"
        refused = real.request(
            "POST", "/dashboard/clock/advance", {"seconds": 1}, key=real.dashboard_token
        )
        assert (refused.status, refused.json["error"]["code"]) == (409, "clock_not_virtual")


@pytest.mark.parametrize("clock", ["", "fast", "0x", "-1x", "nanx", "60"])
def test_a_clock_that_is_none_is_refused(start: Any, clock: str) -> None:
    with pytest.raises(BadOption, match="a clock is"), start(clock=clock):
        pass


def test_a_taken_port_is_refused_in_one_line(start: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} on 127.0.0.1 is taken"):
            start(port=port).__enter__()
    with pytest.raises(PortTaken), start(host="203.0.113.1"):
        pass


def test_a_second_service_on_one_folder_is_refused(start: Any, service: PaymentService) -> None:
    with pytest.raises(DataFolderInUse, match="another service process"), start():
        pass


def test_an_unusable_folder_is_refused(start: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(DataFolderUnusable, match="cannot be used"), start(data=file):
        pass
    with pytest.raises(DataFolderUnusable), start(data=Path("/proc/nowhere")):
        pass


def test_a_newer_folder_is_refused_and_left_untouched(start: Any, tmp_path: Path) -> None:
    with start(registered=False):
        pass
    path = tmp_path / "data" / "service.sqlite"
    content = bytearray(path.read_bytes())
    content[60:64] = (99).to_bytes(4)  # the header's user_version
    path.write_bytes(content)
    with pytest.raises(DataTooNew, match="newer version"), start():
        pass
    assert path.read_bytes() == bytes(content)


@pytest.mark.parametrize("content", [b"this is not a database" * 100, b"SQLite format 3\x00"])
def test_a_damaged_folder_is_refused(start: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "service.sqlite").write_bytes(content)
    with pytest.raises(DataDamaged, match="damaged"), start():
        pass


class BrokenClock(ManualClock):
    """A clock with a bug."""

    async def asleep(self, seconds: float) -> None:
        """Fail."""
        raise ArithmeticError(f"a bug in waiting {seconds:.0f} s")


def test_a_bug_in_the_course_of_events_ends_the_service_and_says_so(
    start: Any, order: Order
) -> None:
    def live() -> None:
        with start(clock=BrokenClock(), registered=False) as service:
            service.create(order)
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                try:
                    service.get("whoami")
                except OSError:
                    break  # it no longer listens

    with pytest.raises(ArithmeticError):
        live()


def test_neither_keys_nor_phones_are_logged(
    start: Any, order: Order, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    with start() as service:
        service.create(order)
        service.create(b"{")
        service.advance(60)
        secrets = [service.test_key, service.dashboard_token, service.signing_secret]
    out = caplog.text + "".join(capfd.readouterr())
    assert [one for one in [*secrets, "255754000001"] if one in out] == []
