"""What orders came to is posted to a shop in any language, signed, until the shop took it."""

import os
import shutil
import socket
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.sinks import answering_endlessly
from tests.kusanya.outcomes.http_shop import DONE, Answer, HttpShop, http_shop
from tests.kusanya.outcomes.shop import Facts

from kusanya.errors import ConfigurationError, StoreError
from kusanya.outcomes import Forwarder, ddl, forwarder
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.store.records.outcomes import Work
from kusanya.wire import Mode

HERE = Path(__file__).parent
NEW = "whsec_" + "bmV3" * 10
OLD = "whsec_" + "b2xk" * 10


@pytest.fixture(autouse=True)
def added(store: Store) -> None:
    store.outcomes.add("forward", mode=Mode.TEST, begin=None, all_=True, actor="asha")


@pytest.fixture
def shop() -> Iterator[HttpShop]:
    with http_shop(NEW) as running:
        yield running


@contextmanager
def forwarding(facts: Facts, url: str, *secrets: str) -> Iterator[Forwarder]:
    with Forwarder(
        facts.store,
        "forward",
        mode=Mode.TEST,
        url=url,
        secrets=[Secret(one) for one in secrets or (NEW,)],
        clock=facts.service.clock,
    ) as made:
        yield made


def paid(facts: Facts, *numbers: int) -> None:
    for number in numbers:
        facts.pay(f"order-{number}")
        facts.ends(number, "succeeded")


def left(facts: Facts) -> list[Work]:
    return list(facts.store.outcomes.work("forward"))


def test_an_outcome_is_a_cloud_event_with_the_headers_of_standard_webhooks(
    facts: Facts, shop: HttpShop
) -> None:
    paid(facts, 1)
    with forwarding(facts, shop.url) as forwarder:
        assert forwarder.drain() == 1
        assert forwarder.drain() == 0
    [event], [headers] = shop.events, shop.headers
    [outcome] = facts.store.outcomes.of(Mode.TEST, "order-1")
    assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert headers["user-agent"] == "kusanya-forward"
    assert headers["webhook-id"] == event["id"] == outcome.id
    assert {name: event[name] for name in ("specversion", "type", "subject", "source")} == {
        "specversion": "1.0",
        "type": "kusanya.order.paid",
        "subject": "order-1",
        "source": "urn:kusanya:test",
    }
    assert event["time"].startswith(outcome.at.isoformat()[:19])
    data = event["data"]
    assert (data["amount"], data["currency"], data["is_paid"]) == (5000, "TZS", True)
    assert (data["kind"], data["ordinal"], data["collection_id"]) == ("paid", 1, "col_1")
    assert left(facts) == []


def test_the_id_stays_the_same_in_every_try_and_both_secrets_sign_while_they_change(
    facts: Facts,
) -> None:
    paid(facts, 1)
    answers = [(500, {}, b""), DONE]
    with http_shop(OLD, NEW) as shop, forwarding(facts, shop.url, OLD, NEW) as forwarder:
        shop.answer = lambda _event: answers.pop(0)
        assert forwarder.drain() == 0
        facts.service.clock.sleep(2)
        assert forwarder.drain() == 1
    first, second = shop.headers
    assert first["webhook-id"] == second["webhook-id"]
    assert first["webhook-timestamp"] < second["webhook-timestamp"]


@pytest.mark.parametrize(
    ("answer", "tries", "parked", "why"),
    [
        ((500, {}, b""), 1, False, "answered 500"),
        ((400, {}, b""), 1, False, "answered 400"),
        ((404, {}, b""), 1, False, "answered 404"),
        ((300, {}, b""), 1, False, "the address that it redirects to"),
        ((401, {}, b""), 1, False, "answered 401"),
        ((302, {"Location": "/login"}, b""), 1, False, "the address that it redirects to"),
        ((200, {}, b"\n<!DOCTYPE html><form>"), 1, False, "with a web page"),
        ((200, {"Content-Type": "text/html"}, b"<html><body>"), 1, False, "with a web page"),
        ((410, {}, b""), 1, True, "answered 410"),
        ((422, {}, b"no such order"), 1, True, "answered 422"),
        ((503, {"Retry-After": "30"}, b""), 0, False, "answered 503"),
        ((429, {"Retry-After": "30"}, b""), 0, False, "answered 429"),
        ((502, {}, b""), 0, False, "answered 502"),
        ((504, {}, b""), 0, False, "answered 504"),
    ],
)
def test_what_is_no_success_is_said_in_words_and_the_outcome_is_kept(
    facts: Facts, shop: HttpShop, answer: Answer, tries: int, *, parked: bool, why: str
) -> None:
    paid(facts, 1)
    shop.answer = lambda _event: answer
    with forwarding(facts, shop.url) as forwarder:
        assert forwarder.drain() == 0
        [work] = left(facts)
        assert (work.tries, work.parked) == (tries, parked)
        assert why in work.why
        if "Retry-After" in answer[1]:
            assert work.due_at == facts.service.clock.now() + timedelta(seconds=30)
        if answer[0] == 400:
            assert "redirects" not in work.why
        if not parked:
            shop.answer = lambda _event: DONE
            facts.service.clock.sleep(60)
            assert forwarder.drain() == 1


@pytest.mark.parametrize("status", [200, 201, 204, 409])
def test_a_success_and_what_was_done_before_are_done(
    facts: Facts, shop: HttpShop, status: int
) -> None:
    paid(facts, 1)
    shop.answer = lambda _event: (status, {"Content-Type": "text/html"}, b"ok" * (status != 204))
    with forwarding(facts, shop.url) as forwarder:
        assert forwarder.drain() == 1


@pytest.mark.merge
def test_a_shop_that_fails_ten_times_is_left_to_a_person_and_one_behind_a_proxy_never(
    facts: Facts, shop: HttpShop
) -> None:
    paid(facts, 1, 2)
    shop.answer = lambda event: (500 if event["subject"] == "order-1" else 502, {}, b"")
    with forwarding(facts, shop.url) as forwarder:
        for _ in range(30):
            forwarder.drain()
            facts.service.clock.pass_by(timedelta(hours=1))
        [gone, waits] = left(facts)
        assert (gone.parked, gone.tries) == (True, 10)
        assert (waits.parked, waits.tries) == (False, 0)
        shop.answer = lambda _event: DONE
        assert forwarder.drain() == 1


@pytest.mark.merge
def test_without_a_connection_nothing_is_tried_and_all_is_caught_up(facts: Facts) -> None:
    paid(facts, 1, 2, 3)
    facts.pay("order-4")
    with forwarding(facts, "http://127.0.0.1:9/") as forwarder:
        for _ in range(30):
            assert forwarder.drain() == 0
            facts.service.clock.sleep(60)
    assert [work.tries for work in left(facts)] == [0, 0, 0]
    facts.ends(4, "failed")
    with http_shop(NEW) as shop, forwarding(facts, shop.url) as forwarder:
        assert forwarder.drain() == 4
    assert Counter(event["type"] for event in shop.events) == {
        "kusanya.order.paid": 3,
        "kusanya.order.not_paid": 1,
    }


@pytest.mark.merge
def test_a_shop_that_is_away_is_not_tried_for_every_order(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid(facts, *range(1, 31))
    tried = []

    def refuse(*_: Any, **__: Any) -> None:
        tried.append(1)
        raise ConnectionError("no connection")

    with forwarding(facts, "http://127.0.0.1:9/") as made:
        monkeypatch.setattr(made._poster, "post", refuse)
        assert made.drain() == 0
    assert 1 <= len(tried) <= 8, "as many as are posted beside each other"
    assert {work.tries for work in left(facts)} == {0}


def test_what_a_proxy_refuses_waits_a_quarter_of_the_time_that_it_has_waited(
    facts: Facts, shop: HttpShop
) -> None:
    paid(facts, 1)
    shop.answer = lambda _event: (502, {}, b"")
    with forwarding(facts, shop.url) as made:
        for waited, pause in ((0, 5), (400, 100), (40_000, 900)):
            outcome = facts.store.outcomes.of(Mode.TEST, "order-1")
            if outcome:
                facts.service.clock.pass_by(
                    outcome[0].at + timedelta(seconds=waited) - facts.service.clock.now()
                )
            assert made.drain() == 0
            [work] = left(facts)
            assert work.due_at - facts.service.clock.now() == timedelta(seconds=pause)


def test_a_slow_order_holds_up_its_own_later_outcomes_and_no_other(
    facts: Facts, shop: HttpShop
) -> None:
    paid(facts, 1, 2)
    facts.store.outcomes.tell()
    facts.ends(1, "failed")
    others = threading.Event()

    def answer(event: dict[str, Any]) -> Answer:
        if event["subject"] == "order-2":
            others.set()
        elif event["type"] == "kusanya.order.paid":
            assert others.wait(60), "order 2 waits for order 1"
        return DONE

    shop.answer = answer
    with forwarding(facts, shop.url) as forwarder:
        assert forwarder.drain() == 3
    of_one = [event["type"] for event in shop.events if event["subject"] == "order-1"]
    assert of_one == ["kusanya.order.paid", "kusanya.order.disputed"]


def test_an_answer_that_never_ends_is_a_failure_after_its_time(
    facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid(facts, 1)
    monkeypatch.setattr(forwarder, "_WITHIN_S", 0.4)
    with answering_endlessly(b"HTTP/1.1 200 O", b"K") as url, forwarding(facts, url) as made:
        assert made.drain() == 0
    [work] = left(facts)
    assert (work.tries, work.why) == (1, "no answer within 0 s")


@pytest.mark.parametrize(
    "secret",
    ["whsec_aaaa", "whsec_" + "!" * 40, "whsec_" + "aaaa" * 30, "whsec_" + "aaaa" * 10 + "!"],
)
def test_a_secret_that_no_library_could_verify_with_is_refused_and_not_repeated(
    facts: Facts, secret: str
) -> None:
    with (
        pytest.raises(ConfigurationError, match="24 to 64 bytes") as refused,
        forwarding(facts, "http://127.0.0.1:1/", secret),
    ):
        raise AssertionError
    assert secret not in str(refused.value)


@pytest.mark.parametrize("url", ["", "shop.example", "ftp://shop.example/", "http:///orders"])
def test_what_is_no_address_is_refused(facts: Facts, url: str) -> None:
    with pytest.raises(ConfigurationError, match="address"), forwarding(facts, url):
        raise AssertionError


def test_an_unknown_consumer_forwards_nothing(facts: Facts, shop: HttpShop) -> None:
    with (
        Forwarder(
            facts.store, "nobody", mode=Mode.TEST, url=shop.url, secrets=[Secret(NEW)]
        ) as made,
        pytest.raises(StoreError, match="no consumer nobody"),
    ):
        made.drain()


class NodeShop:
    """A shop in Node whose database is a file of lines."""

    program = "node"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "shipped"

    @contextmanager
    def running(self) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        """Run it, and yield its address and its process."""
        command = ["node", str(HERE / "node_shop.js"), str(self._path), NEW]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shop:
            assert shop.stdout is not None
            try:
                yield f"http://127.0.0.1:{int(shop.stdout.readline())}/", shop
            finally:
                shop.kill()

    def shipped(self) -> list[tuple[str, str]]:
        """Return type and reference of each effect that is durable."""
        if not self._path.exists():
            return []
        lines = self._path.read_text().split("\n")[:-1]
        return [(kind, reference) for _id, kind, reference in (line.split(" ") for line in lines)]


class PhpShop:
    """A shop in PHP whose database is one of SQLite."""

    program = "php"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "shop.db"
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute("CREATE TABLE effect (kind, reference)")
            connection.execute(ddl("sqlite"))

    @contextmanager
    def running(self) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
        """Run it, and yield its address and its process."""
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        known = {"SHOP_DB": str(self._path), "SHOP_SECRET": NEW}
        command = ["php", "-S", address, str(HERE / "php_shop.php")]
        with subprocess.Popen(
            command, env=os.environ | known, stderr=subprocess.PIPE, text=True
        ) as shop:
            assert shop.stderr is not None
            try:
                assert "started" in shop.stderr.readline()
                # It writes a line for each request, and must never wait for a reader.
                threading.Thread(target=shop.stderr.read, daemon=True).start()
                yield f"http://{address}/", shop
            finally:
                shop.kill()

    def shipped(self) -> list[tuple[str, str]]:
        """Return type and reference of each effect that is durable."""
        with closing(sqlite3.connect(self._path, timeout=60)) as connection:
            return connection.execute("SELECT kind, reference FROM effect").fetchall()


@pytest.mark.merge
@pytest.mark.parametrize(
    "language",
    [
        pytest.param(shop, marks=pytest.mark.skipif(not shutil.which(shop.program), reason=why))
        for shop, why in ((NodeShop, "needs Node"), (PhpShop, "needs PHP"))
    ],
)
@pytest.mark.scale(30, 300, 5_000)
def test_a_shop_in_another_language_that_is_killed_again_and_again_ships_each_order_once(
    facts: Facts, tmp_path: Path, language: type[NodeShop | PhpShop], rounds: int
) -> None:
    foreign = language(tmp_path)
    facts.store.outcomes.add("forward", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    for number in range(1, rounds + 1):
        paid(facts, number)
    while (shipped := len(foreign.shipped())) < rounds:
        with ExitStack() as stack:
            url, shop = stack.enter_context(foreign.running())
            forwarder = stack.enter_context(forwarding(facts, url))
            # It dies somewhere in the midst of what is posted to it, eight at once.
            many = shipped + rounds // 4
            bound = threading.Thread(target=kill_at, args=(foreign, many, shop))
            bound.start()
            forwarder.drain()
            shop.kill()
            bound.join()
        facts.service.clock.pass_by(timedelta(minutes=30))
    found = Counter(foreign.shipped())
    assert found == {("kusanya.order.paid", f"order-{n}"): 1 for n in range(1, rounds + 1)}


def kill_at(foreign: NodeShop | PhpShop, many: int, shop: "subprocess.Popen[str]") -> None:
    """Kill a shop as soon as it has shipped so much."""
    while shop.poll() is None:
        if len(foreign.shipped()) >= many:
            shop.kill()
