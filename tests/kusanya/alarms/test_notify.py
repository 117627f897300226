"""Sending a message to people: what arrives, what a failure says, and what is never shown."""

import logging
import sys
from base64 import b64encode
from collections.abc import Iterator

import pytest
from tests.kit.sinks import HttpSink, MailSink, answering_endlessly, http_sink, mail_sink

from kusanya.alarms import notify
from kusanya.errors import ConfigurationError, NotificationError


@pytest.fixture
def http() -> Iterator[HttpSink]:
    with http_sink() as sink:
        yield sink


@pytest.fixture
def mail() -> Iterator[MailSink]:
    pytest.importorskip("apprise", reason="needs the extra notify")
    with mail_sink() as sink:
        yield sink


def test_a_plain_address_gets_one_json_post(http: HttpSink) -> None:
    failures = notify.send([http.url], "2 alarms", "first\nsecond", data={"count": 2})
    assert failures == []
    assert http.received == [
        {
            "title": "2 alarms",
            "body": "first\nsecond",
            "text": "2 alarms\nfirst\nsecond",
            "data": {"count": 2},
        }
    ]


@pytest.mark.parametrize("answer", [302, 404, 500])
def test_any_other_answer_than_a_2xx_is_a_failure(http: HttpSink, answer: int) -> None:
    http.answer = answer
    [failure] = notify.send([http.url], "title", "body")
    assert failure.reason == f"answered {answer}"
    assert failure.target == f"http://127.0.0.1:{http.server_address[1]}/…"


@pytest.mark.parametrize(
    ("begin", "piece", "reason"),
    [
        (b"HTTP/1.1 200 O", b"K", "no answer within 0 s"),
        (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"a", "no answer within 0 s"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 65_536, None),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 999999999999\r\n\r\n", b"a" * 65_536, "answered 500"),
    ],
)
def test_an_answer_without_an_end_neither_holds_the_sender_nor_fills_its_memory(
    begin: bytes, piece: bytes, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(piece) == 1:  # what drips is waited for to the end; a busy machine may need longer
        monkeypatch.setattr(notify, "_TIMEOUT_S", 0.4)
    with answering_endlessly(begin, piece) as url:
        failures = notify.send([url], "title", "body")
    assert [failure.reason for failure in failures] == ([] if reason is None else [reason])


def test_a_name_and_password_in_the_address_are_sent_as_such_and_a_proxy_is_used(
    http: HttpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = http.server_address[1]
    assert notify.send([f"http://us%20er:p%40w@127.0.0.1:{port}/hook"], "title", "body") == []
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("no_proxy", "other.example")
    assert notify.send(["http://chat.example/hook"], "title", "body") == []
    basic = b64encode(b"us er:p@w").decode()
    assert [request.get("Authorization") for request in http.headers] == [f"Basic {basic}", None]
    assert http.paths == ["/hook", "http://chat.example/hook"]


@pytest.mark.merge
def test_mail_reaches_a_mail_server(mail: MailSink) -> None:
    notify.check([mail.url])
    assert notify.send([mail.url], "2 alarms", "first\nsecond") == []
    [message] = mail.received
    assert (message["Subject"], message["To"]) == ("2 alarms", "night-duty@shop.example")
    assert str(message.get_payload()).splitlines() == ["first", "second"]


def test_one_address_that_fails_keeps_no_message_from_the_others(
    http: HttpSink, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("apprise", reason="needs the extra notify")
    caplog.set_level(logging.DEBUG)
    refused = "http://user:very-secret-password@127.0.0.1:9/very-secret-path"
    away = "mailto://someone:very-secret-password@127.0.0.1:9?to=ops@shop.example"
    unknown = "very-secret-scheme"
    failures = notify.send([refused, away, unknown, http.url], "title", "body")
    assert [one.target for one in failures] == [
        "http://127.0.0.1:9/…",
        "mailto://…",
        "(no address)",
    ]
    assert len(http.received) == 1
    assert "very-secret" not in repr(failures) + caplog.text


def test_a_mail_server_that_never_comes_to_an_end_keeps_no_message_from_the_others(
    http: HttpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("apprise", reason="needs the extra notify")
    monkeypatch.setattr(notify, "_APPRISE_S", 0.2)
    with answering_endlessly(b"220", b"-") as there:
        place = there.removeprefix("http://").rstrip("/")
        away = f"mailto://someone:secret@{place}?from=a@b.example&to=ops@shop.example"
        [failure] = notify.send([away, http.url], "title", "body")
    assert failure == notify.SendFailure(target="mailto://…", reason="no answer within 0 s")
    assert len(http.received) == 1


def test_phones_secrets_and_control_characters_leave_the_texts(http: HttpSink) -> None:
    body = "0754 000 001 paid\x1b[31m\nwhsec_c2VjcmV0 and acme_live_sk_abc123"
    assert notify.send([http.url], "for 255754000001\nnow", body) == []
    [sent] = http.received
    assert sent["title"] == "for +255•••••001⏎now"
    assert sent["body"] == "•••••001 paid␛[31m\nwhsec_(secret) and live key (secret)"


def test_a_transport_is_handed_each_address_and_the_cleaned_message() -> None:
    sent: list[tuple[str, notify.Message]] = []

    def transport(url: str, message: notify.Message) -> None:
        sent.append((url, message))
        if url == "second://":
            raise NotificationError("it is full")

    failures = notify.send(["first://", "second://"], "title", "0754000001", transport=transport)
    assert [(url, message.body) for url, message in sent] == [
        ("first://", "•••••001"),
        ("second://", "•••••001"),
    ]
    assert failures == [notify.SendFailure(target="second://…", reason="it is full")]


def test_an_address_that_cannot_be_used_is_refused_before_anything_happens() -> None:
    pytest.importorskip("apprise", reason="needs the extra notify")
    notify.check(
        ["https://hooks.example/x", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"]
    )
    with pytest.raises(ConfigurationError, match=r"address 2 \(tgarm://…\) is not one"):
        notify.check(["https://hooks.example/x", "tgarm://very-secret/1"])
    with pytest.raises(ConfigurationError, match="address 1 has no host"):
        notify.check(["https:///x"])


def test_a_missing_extra_is_named_in_one_line(
    http: HttpSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kusanya\[notify\]'$"):
        notify.check([http.url, "slack://a/b/c"])
    [failure] = notify.send(["slack://a/b/c", http.url], "title", "body")
    assert failure.reason == "slack://… needs apprise: pip install 'kusanya[notify]'"
    assert len(http.received) == 1
