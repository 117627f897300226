"""What the library says of its work: silent by default, a line an event, nobody's number or key."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kusanya import Store
from kusanya.errors import StoreError
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.writer.batch import Transaction
from kusanya.telemetry import logs
from kusanya.wire import Mode

SECRETS = (
    "whsec_c4n4ry5ecretc4n4ry",
    "shop_live_sk_c4n4ryc4n4ry",
    "Bearer c4n4rytoken",
    "255754000013",
    "+255 754 000 013",
    "0754-000-013",
)
_log = logging.getLogger("kusanya.client")


@pytest.fixture(params=["text", "json"])
def stream(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    written = io.StringIO()
    logs.configure(request.param, stream=written)
    yield written
    logs.configure("off")


@pytest.fixture
def text() -> Iterator[io.StringIO]:
    written = io.StringIO()
    logs.configure("text", stream=written)
    yield written
    logs.configure("off")


@pytest.fixture
def records() -> Iterator[io.StringIO]:
    written = io.StringIO()
    logs.configure("json", stream=written)
    yield written
    logs.configure("off")


def test_the_library_is_silent_where_nobody_asks() -> None:
    script = (
        "import logging, kusanya\n"
        "logging.getLogger('kusanya.store').error('a person must look')\n"
        "logging.getLogger('kusanya.client').warning('again')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("", "")


def test_a_program_that_logs_gets_the_records_of_the_library(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _log.warning("request will be sent again", extra={"attempt": 1})
    assert [record.getMessage() for record in caplog.records] == ["request will be sent again"]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_line_holds_a_secret_or_a_phone(stream: io.StringIO, secret: str) -> None:
    class Odd:
        def __str__(self) -> str:
            return f"odd {secret}"

    try:
        int(f"cannot send to {secret}\nsecond line {secret}")
    except ValueError:
        _log.exception("failed for %s", secret, extra={"why": secret, "odd": Odd(), "l": [secret]})
    said = stream.getvalue()
    assert said.count("\n") == 1
    assert secret not in said
    assert "c4n4ry" not in said
    digits = "".join(character for character in said if character.isdigit())
    assert "754000013" not in digits
    assert "ValueError" in said


def test_an_event_is_one_line_whatever_stands_in_it(stream: io.StringIO) -> None:
    hostile = 'a"b\n\x1b[2J\u202e\u2028 =x'
    _log.warning("%s", hostile, extra={"why": hostile, "empty": "", "none": None})
    [line] = stream.getvalue().splitlines()
    assert "\x1b" not in line
    assert "\u202e" not in line


def test_a_json_line_holds_the_time_in_utc_and_every_field(records: io.StringIO) -> None:
    before = datetime.now(UTC)
    at = datetime(2026, 3, 2, 15, tzinfo=UTC)
    _log.info("intent opened", extra={"intent_id": "int_1", "n": 7, "took_s": 0.5, "at": at})
    record: dict[str, Any] = json.loads(records.getvalue())
    time = datetime.fromisoformat(record.pop("time"))
    assert time.utcoffset() is not None
    assert abs((time - before).total_seconds()) < 60
    assert record == {
        "level": "info",
        "logger": "kusanya.client",
        "message": "intent opened",
        "intent_id": "int_1",
        "n": 7,
        "took_s": 0.5,
        "at": "2026-03-02T15:00:00+00:00",
    }


def test_a_text_line_can_be_read_by_a_person(text: io.StringIO) -> None:
    _log.warning("slow commit", extra={"took_s": 1.5, "why": "the disk is slow", "rows": 3})
    _, _, line = text.getvalue().partition(" ")
    expected = 'warning kusanya.client: slow commit took_s=1.5 why="the disk is slow" rows=3\n'
    assert line == expected


def test_off_leaves_nothing_behind_and_a_second_choice_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.configure("text", stream=first)
    logs.configure("json", stream=second)
    _log.info("once")
    logs.configure("off")
    _log.info("never")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1
    assert logging.getLogger("kusanya").level == logging.NOTSET


def test_another_word_for_the_format_is_refused() -> None:
    with pytest.raises(ValueError, match="xml"):
        logs.configure("xml")


def test_a_stream_that_takes_no_lines_stops_nothing_and_shows_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    closed = io.StringIO()
    logs.configure("text", stream=closed)
    closed.close()
    _log.warning("lost for %s", SECRETS[0])
    logs.configure("off")
    assert capsys.readouterr().err == ""


def test_an_act_is_a_line_once_it_is_durable_and_without_a_persons_words(
    tmp_path: Path, records: io.StringIO
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        row = store.audit.add(
            actor="asha", act="resend", subject="evt_1", detail="she asked: 0754 000 013"
        )
        with pytest.raises(StoreError, match="no such collection"):
            store.audit.reveal_phone("col_none", Mode.LIVE, actor="asha", why="a call")
    first, second = map(json.loads, records.getvalue().splitlines())
    assert first["logger"] == "kusanya.audit"
    assert (first["audit_id"], first["act"], first["subject"]) == (row.id, "resend", "evt_1")
    assert (first["actor"], first["outcome"]) == (row.actor, "done")
    assert (second["act"], second["outcome"]) == ("reveal_phone", "unknown collection")
    assert "she asked" not in records.getvalue()


def test_an_act_that_is_taken_back_leaves_no_line(tmp_path: Path, records: io.StringIO) -> None:
    def act(writing: Transaction) -> None:
        audited(writing, actor="asha", act="resend", subject=None, detail="", outcome="done")
        raise LookupError("changed her mind")

    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(LookupError):
            store.audit._act(act)
        store.audit.add(actor="asha", act="note")
    assert [json.loads(line)["act"] for line in records.getvalue().splitlines()] == ["note"]
