"""Whatever stands behind an option or an argument: an answer or one clear line, never a bug."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import typer
from tests.console.named_options import leaves
from tests.console.seeding import NOW, Seed

from kusanya_console.cli.command_line import command_line

Kusanya = Callable[..., tuple[int, str, str]]
SERVING: Final = ("demo", "console", "talk", "receive", "service", "watch", "forward", "gateway",
                  "notebooks", "tail")  # fmt: skip
"""What runs until it is stopped."""
ASKING: Final = ("collect", "rule", "catch-up", "whoami", "intents resume", "init")
"""What asks the service, of which there is none here, or a person."""
VALUES: Final = (
    "", " ", "-1", "0", "NaN", "inf", "1e9", "9" * 25, "\u0663", "\u00b2", "1_000", "1,000", "0x10",
    "2026-02-30", "2026-13-01T00:00:00Z", "0001-01-01", "9999-12-31", "9999-12-31T23:59:59+14:00",
    "0001-01-01T00:00:00-14:00", "today 25:00", "99999h", "99999d", "x" * 5000, "\udcff\udcfe",
    "\x1b[31mred", "a\nb", "\u202eabc", "[red]x", "%s%s", "'", '"', "\\", "*", "=", "{}", "null",
    "\ufeff", "\uff21", ".", "@file", "a:b:c", "a=b",
    "live,test", "col_x", "sqlite:///", "http://[::1", "http://x:99999/", "+255754000001",
    "postgresql://u:geheim@127.0.0.1:1/x", "s3://bucket/x", "folder", "bytes", "empty", "marked",
    "open", "deep", "header", "books.csv",
)  # fmt: skip
"""Numbers, days, addresses, names and files as nobody should give them; the last eight are there.

None is outside the folder of the test: some commands write where they are told to.
"""
FITTING: Final[dict[str, dict[str, str]]] = {
    "reconcile": {"--period": "2026-03", "--ledger": "books.csv", "--out": "packs"},
    "gap": {"amount": "5000", "--file": "books.csv"},
    "mapping try": {"file": "books.csv"},
    "store copy": {"target": "copy.sqlite", "--as-of": "today 00:00"},
    "store export": {"target": "export"},
    "store restore": {"backup": "saved.sqlite", "--to": "again.sqlite"},
    "store resolve-restore": {"--collections": "header", "--why": "counted"},
    "store expect-backups": {"--within": "36h"},
    "store purge": {"--personal-after": "400d"},
    "store erase": {"--phone": "0754000001"},
    "store forget-bodies": {"--before": "2026-01-01"},
    "verify": {"--body": "books.csv", "--header": "t=1,v1=a", "--secret": "whsec_aaaa"},
    "deploy": {"--to": "files", "--base-url": "https://pay.example", "--mode": "live"},
    "handover": {"--since": "2h"},
    "mute": {"--for": "2h", "--why": "known"},
}
"""What else a command needs before it comes to a value; of all others any text."""


def taken(command: Any) -> dict[str, bool]:
    """Return the names of what a command takes a value of, and whether it needs one."""
    takes = [one for one in command.get_params(typer.Context(command)) if not one.is_eager]
    return {one.opts[0]: one.required for one in takes if not getattr(one, "is_flag", False)}


TAKING: Final = {
    name: named
    for name, command in leaves(command_line())
    if name not in ASKING and name.split()[0] not in SERVING and (named := taken(command))
}


@pytest.fixture
def careless(
    kusanya: Kusanya, seed: Seed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kusanya:
    """Return the command line in a folder with files of each kind; the store has one payment."""
    monkeypatch.setenv("KUSANYA_STORE", str(tmp_path / "kusanya.db"))
    seed.collection(1, at=NOW - timedelta(minutes=3), status="succeeded", completed_at=NOW)
    monkeypatch.chdir(tmp_path)
    booked = "reference,amount,currency,booked_at\nINV-1,5000,TZS,2026-03-04T10:00:00Z\n"
    (tmp_path / "folder").mkdir()
    for name, data in {
        "bytes": b"\xff\xfe\x00\x95",
        "empty": b"",
        "marked": b"\xef\xbb\xbfx = 1\n",
        "open": b"x = [1, 2",
        "deep": b"x = " + b"[" * 3000 + b"]" * 3000,
        "header": b"id\n",
        "books.csv": booked.encode(),
    }.items():
        (tmp_path / name).write_bytes(data)
    return kusanya


@pytest.mark.scale(1, 8, len(VALUES))
@pytest.mark.parametrize("name", TAKING)
def test_no_value_makes_a_command_fail_but_with_a_clear_line(
    careless: Kusanya, name: str, rounds: int
) -> None:
    if name == "store restore":
        assert careless("store", "backup", "saved.sqlite")[0] == 0
    needed = dict.fromkeys((one for one, is_needed in TAKING[name].items() if is_needed), "x")
    needed |= FITTING.get(name, {})
    for option in TAKING[name]:
        for value in Random(f"{name} {option}").sample(VALUES, rounds):  # noqa: S311 - repeatable
            given = needed | {option: value}
            options = [f"{one}={text}" for one, text in given.items() if one.startswith("-")]
            plain = [text for one, text in given.items() if not one.startswith("-")]
            code, out, err = careless(*name.split(), *options, *(("--", *plain) if plain else ()))
            told = (option, value[:40], code, err[-300:])
            assert code in {0, 1, 2}, told
            assert "unexpected " not in err, told
            assert code == 0 or (out + err).strip(), told
            assert code != 2 or (err.startswith("kusanya: ") and err.count("\n") == 1), told
            assert not {"\x1b", "\u202e"} & set(out + err), told
            assert "geheim" not in out + err, told


def test_an_empty_value_is_not_taken_for_an_option_that_was_left_out(careless: Kusanya) -> None:
    # A script makes one of a variable that is not set: another store, or nothing to compare.
    faults = []
    for name, command in leaves(command_line()):
        needed = [one for one, is_needed in taken(command).items() if is_needed]
        besides = {one: f"{one}=1" for one in needed if one.startswith("-")}
        plain = ["x"] * (len(needed) - len(besides))
        for option in command.get_params(typer.Context(command)):
            said = option.opts[0]
            if said not in taken(command) or not said.startswith("-") or option.default == "":
                continue
            given = {**besides, said: f"{said}= "}
            code, _, err = careless(*name.split(), *given.values(), "--", *plain)
            if code != 2 or said not in err:
                faults.append((name, said, code, err[-200:]))
    assert not faults
