"""Whom a proxied delivery came from: believed of our own proxies alone, and bounded by it."""

import logging
from collections.abc import Callable

import pytest
from tests.kusanya.receiver.peers import SignHeaders, connect, read_answer, request
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.platform.http_limits import ConnectionLimits
from kusanya.platform.http_limits.forwarded import origin_of
from kusanya.receiver import app
from kusanya.receiver.serve import RunningReceiver
from kusanya.store import Store
from kusanya.store.records import DeliveryCommit, Verdict

SECRET = "whsec_" + "a" * 32
OURS = ("10.0.0.0/8", "fd00::/8")

Body = Callable[..., bytes]
Serve = Callable[..., RunningReceiver]

CASES = {
    "nobody in between": ("203.0.113.9", [b"198.51.100.1"], "203.0.113.9"),
    "one proxy": ("10.0.0.1", [b"198.51.100.1"], "198.51.100.1"),
    "two proxies of ours": ("10.0.0.1", [b"198.51.100.1, 10.0.0.2"], "198.51.100.1"),
    "the sender's own claim": ("10.0.0.1", [b"1.1.1.1, 198.51.100.1"], "198.51.100.1"),
    "a claim to be ours": ("10.0.0.1", [b"10.9.9.9, 198.51.100.1"], "198.51.100.1"),
    "a line of his before": ("10.0.0.1", [b"1.1.1.1", b"198.51.100.1"], "198.51.100.1"),
    "ours alone": ("10.0.0.1", [b"10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    "no line": ("10.0.0.1", [], "10.0.0.1"),
    "an empty line": ("10.0.0.1", [b""], "10.0.0.1"),
    "no address": ("10.0.0.1", [b"198.51.100.1, unknown"], "10.0.0.1"),
    "no address behind ours": ("10.0.0.1", [b"<script>, 10.0.0.2"], "10.0.0.2"),
    "a port": ("10.0.0.1", [b"198.51.100.1:4711"], "198.51.100.1"),
    "six": ("fd00::1", [b"2001:DB8:0::7"], "2001:db8::7"),
    "six with a port": ("fd00::1", [b"[2001:db8::7]:443"], "2001:db8::7"),
    "four in six": ("::ffff:10.0.0.1", [b"::ffff:198.51.100.1"], "198.51.100.1"),
    "a zone": ("10.0.0.1", [b"fe80::1%eth0"], "10.0.0.1"),
    "octal": ("10.0.0.1", [b"0198.051.100.1"], "10.0.0.1"),
    "a number": ("10.0.0.1", [b"3325256705"], "10.0.0.1"),
    "bytes": ("10.0.0.1", [b"\xff\x00\x1b[31m"], "10.0.0.1"),
    "thousands of entries": ("10.0.0.1", [b"1.1.1.1," * 2_000 + b"198.51.100.1"], "198.51.100.1"),
}


@pytest.mark.parametrize(("peer", "lines", "origin"), CASES.values(), ids=CASES.keys())
def test_the_header_is_read_from_its_end_back_to_the_first_address_that_is_not_ours(
    peer: str, lines: list[bytes], origin: str
) -> None:
    assert origin_of(peer, lines, OURS) == origin


def test_without_trusted_proxies_the_header_means_nothing() -> None:
    assert origin_of("127.0.0.1", [b"198.51.100.1"], ()) == "127.0.0.1"


def test_a_sender_behind_a_proxy_has_so_many_requests_at_once_and_others_have_theirs(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    journal, payload = SlowJournal(), body()
    limits = ConnectionLimits(per_peer=2, trusted_proxies=("127.0.0.0/8",))
    serving = serve_app(app(journal, SECRET, mode="test", clock=clock), limits)

    def sent(origin: bytes) -> bytes:
        return request(payload, [*sign_headers(payload), (b"x-forwarded-for", origin)])

    with connect(serving) as one, connect(serving) as two, connect(serving) as three:
        for peer in (one, two):
            peer.sendall(sent(b"198.51.100.1"))
        waiting = [journal.submitted.get(timeout=10) for _ in range(2)]
        three.sendall(sent(b"1.1.1.1, 198.51.100.1"))
        assert read_answer(three) == b"503 Service Unavailable"
        with connect(serving) as four:
            four.sendall(sent(b"198.51.100.2"))
            waiting.append(journal.submitted.get(timeout=10))
            for number, future in enumerate(waiting):
                future.set_result(
                    DeliveryCommit(delivery_id=f"{number}", verdict=Verdict.VERIFIED, seq=1)
                )
            assert [read_answer(peer) for peer in (one, two, four)] == [b"200 OK"] * 3
        # What has ended counts no more.
        one.sendall(sent(b"198.51.100.1"))
        last = journal.submitted.get(timeout=10)
        last.set_result(DeliveryCommit(delivery_id="5", verdict=Verdict.REPEAT, seq=2))
        assert read_answer(one) == b"200 OK"


@pytest.mark.parametrize(
    ("proxies", "peer"), [(("127.0.0.0/8",), "198.51.100.1"), ((), "127.0.0.1")]
)
def test_lines_of_the_log_name_the_sender_behind_a_trusted_proxy_alone(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    serve_app: Serve,
    caplog: pytest.LogCaptureFixture,
    *,
    proxies: tuple[str, ...],
    peer: str,
) -> None:
    serving = serve_app(
        app(store, SECRET, mode="test", clock=clock), ConnectionLimits(trusted_proxies=proxies)
    )
    payload = body()
    with connect(serving) as sender:
        sender.sendall(
            request(
                payload,
                [
                    (b"host", b"x"),
                    (b"x-forwarded-for", b"198.51.100.1"),
                    (b"content-length", b"%d" % len(payload)),
                ],
            )
        )
        assert read_answer(sender) == b"400 Bad Request"
        sender.sendall(request(payload, [*sign_headers(payload)]))
        assert read_answer(sender) == b"200 OK"
    [line] = [one for one in caplog.records if one.message == "delivery refused"]
    assert (vars(line)["peer"], line.levelno) == (peer, logging.WARNING)
