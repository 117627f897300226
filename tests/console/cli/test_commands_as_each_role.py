"""What people look at on PostgreSQL is read as each role, and what is hidden is said to be so."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.console.cli.deploying import Kusanya
from tests.kit.payments import by_event, polled
from tests.kit.roles import ROLES, logins_of

from kusanya.store import Store
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.postgres


@pytest.fixture
def logins(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Return the address, by role, of a store with payments, one of which is contradictory."""
    monkeypatch.setenv("KUSANYA_MODE", "live")
    made = datetime.now(UTC) - timedelta(hours=1)
    with Store.open(postgres_url) as store:
        store.record(by_event("a", made))
        store.record(polled("a", made, status="expired"))
        store.record(polled(7, made))
    with logins_of(postgres_url) as login:
        yield login


_COMMANDS = {
    "find": (3, "find", "col_a"),
    "find a part of a reference": (0, "find", "R-7"),
    "find a phone": (3, "find", "0754123456"),
    "find an end of a phone": (3, "find", "phone:123456"),
    "find a message": (0, "find", "paid 1,000 for R-7 by M-Pesa"),
    "show": (3, "show", "col_a"),
    "health": (1, "health"),
    "intents": (0, "intents"),
    "audit": (0, "audit"),
    "handover": (0, "handover", "--since", "00:00"),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("command", _COMMANDS.values(), ids=list(_COMMANDS))
def test_what_people_look_at_is_read_as_each_role(
    logins: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    role: str,
    command: tuple[int, str],
) -> None:
    code, *words = command
    monkeypatch.setattr(sys, "argv", ["kusanya", *words, "--store", logins(role)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    if role == "look" and words[-1] in {"0754123456", "phone:123456"}:
        assert ended.value.code == 1
        assert "phones are hidden from this login" in said.err, "no word that nobody paid"
        return
    assert said.err == ""
    assert ended.value.code == code
    if words[0] == "health":
        assert "contradiction" in said.out, "no all-clear for who only looks"
    if (role, words[0]) == ("look", "show"):
        assert "hidden from this login" in said.out


@pytest.mark.merge
@pytest.mark.parametrize(
    ("role", "refusal"), [("look", "sees masked"), ("ask", ""), ("decide", "")]
)
def test_a_month_is_closed_by_who_sees_the_facts_and_never_on_masked_views(
    logins: Callable[[str], str], kusanya: Kusanya, tmp_path: Path, *, role: str, refusal: str
) -> None:
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    (tmp_path / "books.csv").write_text(f"Date,Reference,Amount,Currency\n{day},R-7,1000,TZS\n")
    code, out, err = kusanya(
        *("reconcile", "--ledger", str(tmp_path / "books.csv"), "--mode", "live"),
        *("--period", day, "--out", str(tmp_path / "packs"), "--store", logins(role)),
    )
    assert refusal in err, (code, out, err)
    assert code == 1, (code, out, err)  # it has breaks
    assert bool(list(tmp_path.glob("packs/*"))) is not bool(refusal)


@pytest.mark.parametrize("role", ROLES)
def test_a_store_is_exported_by_who_can_tell_customers_apart(
    logins: Callable[[str], str], kusanya: Kusanya, tmp_path: Path, *, role: str
) -> None:
    out = tmp_path / "out"
    code, said, err = kusanya("store", "export", str(out), "--store", logins(role))
    if role == "look":
        assert (code, said) == (1, "")
        assert "export with a login of the role kusanya_ask" in err
        assert not list(tmp_path.rglob("*.parquet"))
        return
    assert (code, err) == (0, "")
    assert kusanya("store", "export", str(tmp_path / "all"), "--store", logins("admin"))[0] == 0
    mine, every = (pq.read_table(folder).to_pylist() for folder in (out, tmp_path / "all"))
    assert len(mine) == 2
    assert mine == every
