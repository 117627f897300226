"""A reconciliation that runs by itself: its period, its tolerances, what it sends, how it ends."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.kit.payments import polled, watch

from kusanya.alarms import notify
from kusanya.errors import InputRefused, NotificationError
from kusanya.store import Store
from kusanya_books.read import tolerance_file
from kusanya_books.request.tolerance import Tolerance
from kusanya_console.cli.command_line import main
from kusanya_console.cli.finance import reconcile

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
Ended = tuple[int, str, str]
Kusanya = Callable[..., Ended]
Sent = list[tuple[str, notify.Message]]


@pytest.fixture
def kusanya(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    empty_store: Path,
) -> Kusanya:
    """Return the command at noon of 6 March on a store of three payments of the day before."""
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reconcile, "now", lambda *_: NOON + timedelta(days=1))
    with Store.open(copy(empty_store, tmp_path / "shop.db")) as store:
        for number in range(1, 4):
            store.record(polled(number, NOON + timedelta(hours=number), completed_at=None))
    watch(tmp_path / "shop.db")
    rows = "".join(
        f"R-{number},{amount},TZS,2026-03-05\n"
        for number, amount in ((1, 1000), (2, 1000), (3, 997))
    )
    (tmp_path / "books.csv").write_text("reference,amount,currency,booked_at\n" + rows)

    def run(*arguments: str, out: str = "packs", ledger: str = "books.csv") -> Ended:
        given = ("--store", "shop.db", "--mode", "live", "--ledger", ledger, "--out", out)
        monkeypatch.setattr(sys, "argv", ["kusanya", "reconcile", *given, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return what is sent; an address with `down` in it takes nothing."""
    taken: Sent = []

    def deliver(url: str, message: notify.Message) -> None:
        if "down" in url:
            raise NotificationError("answered 500")
        taken.append((url, message))

    monkeypatch.setattr(notify, "send_one", deliver)
    return taken


@pytest.mark.merge
def test_a_named_period_is_closed_and_a_second_run_gives_the_same_bytes(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    code, out, _ = kusanya("--period", "yesterday")
    assert code == 1
    assert "business days 2026-03-05 to 2026-03-05" in out
    kusanya("--period", "yesterday", out="again")
    (one,), (other,) = ((tmp_path / name).iterdir() for name in ("packs", "again"))
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert len(files) > 10
    for path in files:
        assert (one / path).read_bytes() == (other / path).read_bytes(), path
    code, out, _ = kusanya("--period", "2026-03")
    assert "business days 2026-03-01 to 2026-03-31" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--from and --to, or with --period alone"),
        (("--from", "2026-03-05"), "--from and --to, or with --period alone"),
        (("--period", "yesterday", "--to", "2026-03-05"), "or with --period alone"),
        (("--period", "soon"), "--period is yesterday, last-week, last-month or a month"),
        (("--period", "yesterday", "--notify", "https://"), "address 1 has no host"),
        (("--period", "yesterday", "--grace-days", "-1"), "grace-days"),
        (("--period", "yesterday", "--grace-days", "400"), "grace_days is at most 31"),
        (("--period", "yesterday", "--amount-tolerance", "5000000"), "amount is at most 1,000"),
    ],
)
def test_what_was_asked_wrongly_ends_with_two(
    kusanya: Kusanya, arguments: tuple[str, ...], says: str
) -> None:
    code, out, err = kusanya(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_notification_holds_verdict_counts_and_sums_and_no_reference_or_phone(
    kusanya: Kusanya, sent: Sent, tmp_path: Path
) -> None:
    code, _, err = kusanya("--period", "yesterday", "--notify", "https://chat.example/secret")
    assert (code, err) == (1, "")
    [(url, message)] = sent
    assert url == "https://chat.example/secret"
    assert message.title == "Reconciliation 2026-03-05 to 2026-03-05, live: breaks"
    assert message.body.splitlines()[0] == "breaks of the books: 1, TZS 3"
    data: Any = message.data
    assert data["by_code"] == {"amount_mismatch": 1}
    text = json.dumps(data) + message.title + message.body
    for word in ("R-1", "R-3", "col_", "255754", "books.csv", str(tmp_path)):
        assert word not in text


@pytest.mark.merge
def test_a_run_of_a_named_period_notifies_those_whom_the_environment_names(
    kusanya: Kusanya, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_NOTIFY", "https://one.example/x https://two.example/y")
    kusanya("--period", "yesterday")
    assert [url for url, _ in sent] == ["https://one.example/x", "https://two.example/y"]
    kusanya("--from", "2026-03-05", "--to", "2026-03-05")
    assert len(sent) == 2, "who names the days sits before it"


def test_a_notification_that_was_not_sent_is_said_and_ends_with_three(
    kusanya: Kusanya, sent: Sent
) -> None:
    given = ("--period", "yesterday", "--amount-tolerance", "3")
    assert kusanya(*given)[0] == 0
    code, out, err = kusanya(
        *given, "--notify", "https://down.example/x", "--notify", "https://up.example/x"
    )
    assert code == 3
    assert "the notification to https://down.example/… was not sent: answered 500" in err
    assert "The books agree" in out
    assert len(sent) == 1
    assert sent[0][1].body.startswith("Nothing needs a person.")


def test_a_run_that_could_not_begin_is_sent_as_failed(kusanya: Kusanya, sent: Sent) -> None:
    code, _, err = kusanya(
        "--period", "yesterday", "--notify", "https://up.example/x", ledger="missing.csv"
    )
    assert (code, "there is no file missing.csv" in err) == (2, True)
    [(_, message)] = sent
    assert message.title.endswith(": failed")
    assert "missing" not in message.body


@pytest.mark.merge
def test_tolerances_come_from_a_file_and_single_options_win(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    (tmp_path / "loose.toml").write_text("amount = 2\nfee = 9\nsmall_n = 5\n")
    loose = ("--period", "yesterday", "--tolerance", "loose.toml")
    assert kusanya(*loose)[0] == 1
    code, out, _ = kusanya(*loose, "--amount-tolerance", "3", "--json")
    assert code == 0
    manifest = json.loads((Path(json.loads(out)["folder"]) / "manifest.json").read_text())
    used = manifest["made_from"]["tolerance"]
    assert (used["amount"], used["fee"], used["small_n"]) == (3, 9, 5)
    path = str(tmp_path / "loose.toml")
    assert tolerance_file.read(path, fee=None, widen_days=2) == Tolerance(
        amount=2, fee=9, small_n=5, widen_days=2
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("amount = -1\n", "amount is not negative"),
        ("amounts = 1\n", "amounts"),
        ("fee = 5000\n", "fee is at most 1,000"),
        ("[settle_days_of]\nMPESA_TZ = 90\n", "settle_days_of MPESA_TZ is at most 62"),
        ('amount = "5%"\n', "amount"),
        ("amount", "is not TOML"),
    ],
)
def test_tolerances_that_cannot_be_meant_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "loose.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputRefused, match=says):
        tolerance_file.read(str(path))
