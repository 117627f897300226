"""`kusanya find` with an operator's message: its payment, its receipt, and what it proves."""

import io
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from tests.console.seeding import NOW, Seed
from tests.kit.messages import CHANNELS, message

from kusanya.say import Language
from kusanya.wire import Mode

Kusanya = Callable[..., tuple[int, str, str]]


def _message(seed: Seed, *, more: int = 0, payee: str = "DUKA") -> str:
    """Return the operator's message of the payment INV-482003, or of `more` shillings."""
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    sender = {channel: name for name, channel in CHANNELS.items()}[row.channel]
    made = message(
        sender,
        Language.ENGLISH,
        amount=row.amount + more,
        at=row.completed_at or row.created_at,
        payee=payee,
        random=Random(1),  # noqa: S311 - a seed
    )
    return made.text


def test_a_pasted_message_finds_its_payment_and_its_receipt_is_kept_once_asked(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    code, out, _ = kusanya("find", _message(seed))
    assert code == 0
    assert "Amount, channel and time fit this payment alone. It names DUKA" in out
    assert "give --keep-receipt" in out
    assert "(by the customer's message)" in out
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    assert seed.store.receipts.of(row.id, Mode.LIVE) == ()
    code, out, _ = kusanya("find", _message(seed), "--keep-receipt", "--json")
    (said,) = json.loads(out)["messages"]
    assert (code, said["collection_id"], said["doubtful"]) == (0, row.id, False)
    assert "is known: this payment." in said["sentence"], "what is kept is not asked for again"
    (fact,) = seed.store.receipts.of(row.id, Mode.LIVE)
    assert fact.receipt == said["receipt"]
    assert seed.store.audit.page(limit=1).rows[0].act == "record_receipt"
    code, out, _ = kusanya("find", _message(seed))
    assert "is known: this payment." in out


def test_find_says_of_no_failed_payment_that_a_message_fits_that_a_new_request_is_safe(
    kusanya: Kusanya, seed: Seed
) -> None:
    fate: dict[str, Any] = {"failure_code": "insufficient_funds", "failure_message": "Too low."}
    at = NOW - timedelta(minutes=9)
    same: dict[str, Any] = {"channel": "MPESA_TZ", "amount": 5_000}
    for n in (3, 11):
        done: dict[str, Any] = {"completed_at": at + timedelta(seconds=17)}
        seed.life(n, at=at, status="failed", **same, **fate, **done)
    assert "a new request is safe" in kusanya("find", "INV-482003")[1]
    code, out, _ = kusanya("find", _message(seed))
    assert (code, out.count("(by the customer's message)")) == (0, 2)
    assert "a new request is safe" not in out
    assert "Shall we send a new request?" not in out
    assert out.count("EN   Please tell me your order number and the phone number that paid.") == 2
    assert out.count("no new request: the customer holds a confirmation that may be of") == 2
    said = json.loads(kusanya("find", _message(seed), "--json")[1])["data"]
    assert [one["new_request"]["reason"] for one in said] == ["claimed", "claimed"]


def test_a_kept_receipt_is_read_by_whoever_finds_or_shows_the_payment_later(
    kusanya: Kusanya, seed: Seed
) -> None:
    at = NOW - timedelta(minutes=9)
    fate: dict[str, Any] = {"status": "failed", "failure_code": "insufficient_funds"}
    seed.life(3, at=at, completed_at=at + timedelta(seconds=17), **fate)
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    code, _, err = kusanya("find", _message(seed), "--keep-receipt")
    assert (code, "the receipt is only a claim" in err) == (1, True)
    assert seed.store.receipts.of(row.id, Mode.LIVE) == ()
    assert kusanya("find", _message(seed), "--keep-receipt", "--as-claim")[0] == 0
    for asked in (("find", "INV-482003"), ("show", row.id)):
        out = kusanya(*asked)[1]
        assert "claims that this was paid, the service says failed: ask the service first." in out
        assert "no new request: the customer holds a confirmation that may be of this one" in out
        assert "a new request is safe" not in out
    said = json.loads(kusanya("show", row.id, "--json")[1])
    assert said["new_request"]["safe"] is False
    assert any("claims that this was paid" in one for one in said["anomalies"])


UNREAD = "Umelipa TSh 5,000 kwa DUKA LA VITABU tarehe 4/3/2026. Salio lako TSh 3."


def test_a_message_that_cannot_be_read_is_a_claim_on_the_payments_of_its_amount(
    kusanya: Kusanya, seed: Seed
) -> None:
    at = NOW - timedelta(minutes=9)
    seed.life(
        3, at=at, status="failed", amount=5_000, completed_at=at + timedelta(seconds=17),
        failure_code="insufficient_funds", failure_message="Too low.",
    )  # fmt: skip
    code, out, err = kusanya("find", UNREAD)
    assert (code, err) == (1, ""), "it may be forged"
    assert out.startswith("! It is written like a confirmation, in a form that we do not know")
    assert "(by amount)" in out
    assert "EN   Please tell me your order number and the phone number that paid." in out
    assert "no new request: the customer holds a confirmation that may be of" in out
    said = json.loads(kusanya("find", UNREAD, "--json")[1])
    assert said["trouble"].startswith("It is written like a confirmation")
    assert [one["new_request"]["reason"] for one in said["data"]] == ["claimed"]
    code, out, _ = kusanya("find", "Habari, nimelipa 5,000 tarehe 4/3/2026 lakini sijapata kitu")
    assert (code, "!" in out) == (0, False)
    assert json.loads(kusanya("find", "INV-482003", "--json")[1])["trouble"] is None


def test_a_message_that_fits_no_payment_says_why_and_keeps_nothing(
    kusanya: Kusanya, seed: Seed
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    code, out, err = kusanya("find", _message(seed, more=7, payee="\x1b[31mDUKA"))
    assert code == 1
    assert "\x1b" not in out + err
    assert "no payment of ours fits the message" in err
    code, _, err = kusanya("find", _message(seed, more=7), "--keep-receipt")
    assert code == 1
    assert "no receipt was kept" in err
    code, _, err = kusanya("find", "Muamala wa TZS 5,000 umeshindwa, salio halitoshi.")
    assert code == 1
    assert "The message says that nothing was paid" in err


def test_a_message_of_many_lines_is_one_and_a_list_with_messages_is_a_list(
    kusanya: Kusanya, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.life(3, at=NOW - timedelta(minutes=9))
    said = _message(seed)
    monkeypatch.setattr(sys, "stdin", io.StringIO(said.replace(". ", ".\n", 1) + "\nAsante"))
    code, out, _ = kusanya("find", "-")
    assert (code, "Amount, channel and time fit this payment alone" in out) == (0, True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"INV-482003\n{said}\nINV-7\n"))
    code, out, _ = kusanya("find", "-")
    assert (code, out.count("INV-482003  TZS"), "\nINV-7:\n" in out) == (1, 2, True)
