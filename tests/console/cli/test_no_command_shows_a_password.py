"""A password in any address that any command takes is shown, logged and written nowhere."""

import json
import logging
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.console.cli.conftest import ActionResult
from tests.console.cli.deploying import Kusanya
from tests.console.named_options import leaves
from tests.kusanya.store.test_store_backups import programs_of_postgresql

from kusanya.store import Store
from kusanya_console.cli.command_line import command_line

PASSWORD = "Gx7qGeheim"
OF_STORES = (
    f"postgresql://u:{PASSWORD}@127.0.0.1:port/db",
    f"postgresql://u:p/{PASSWORD}@127.0.0.1:port/db",
    f"postgresql://u:p@{PASSWORD}@127.0.0.1:1/db",
    f"mysql://u:{PASSWORD}@127.0.0.1/db",
    f"host=127.0.0.1 user=u password={PASSWORD}",
    f"u:{PASSWORD}@127.0.0.1/db",
)
AWAY = (
    f"postgresql://u:{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://u:p/{PASSWORD}@127.0.0.1:1/db",
    f"postgresql://u@127.0.0.1:1/db?password={PASSWORD}",
)
CLOCK = f"http://u:{PASSWORD}@127.0.0.1:1/dashboard/clock"
TAKEN: dict[str, tuple[str, ...]] = {
    "--store": OF_STORES,
    "--endpoint": (f"http://u:{PASSWORD}@127.0.0.1:1/", f"https://{PASSWORD}@127.0.0.1:1/"),
    "--clock": (CLOCK,),
    "--scratch": (*OF_STORES, *AWAY),
    "--to": (*OF_STORES, *AWAY),
    "--base-url": (f"https://u:{PASSWORD}@pay.example", f"https://{PASSWORD}@pay.example"),
    "--notify": (f"slack://{PASSWORD}", f"nothing://u:{PASSWORD}@h", f"https://:{PASSWORD}@"),
    "--engine": (f"sc://u:{PASSWORD}@127.0.0.1:1", f"sc://127.0.0.1:1/;token={PASSWORD}"),
}
"""What is tried in each option of that name."""
WAIT_FOR_THEIR_STORE = {"watch", "receive"}
"""They try again until a database answers."""
NEEDED: dict[str, tuple[str, ...]] = {
    "demo-traffic": ("--rate", "1", "--seed", "1", "--seconds", "0"),
    "find": ("x",),
    "show": ("col_1",),
    "verify": ("--body", "FILE", "--header", "t=1,v1=a"),
    "tail": ("--no-follow",),
    "deliveries resend": ("evt_1",),
    "collect": ("5000", "0754123456", "order-1"),
    "handover": ("--since", "00:00"),
    "receive": ("--port", "0", "--secret", "whsec_aaaa"),
    "service": ("--port", "0", "--data", "FOLDER"),
    "deploy": ("--to", "FOLDER", "--mode", "test", "--base-url", "https://pay.example"),
    "reconcile": ("--out", "FOLDER", "--period", "yesterday"),
    "gap": ("1",),
    "journals": ("--pack", "FOLDER", "--accounts", "FILE", "--format", "xero", "--out", "FOLDER"),
    "mute": ("stuck", "--for", "2h", "--why", "seen"),
    "intents decide": ("int_1", "--why", "seen", "--nothing-created"),
    "keys create": ("test",),
    "keys revoke": ("key_1",),
    "endpoints add": ("https://shop.example/hooks",),
    "endpoints remove": ("we_1",),
    "endpoints enable": ("we_1",),
    "endpoints rotate-secret": ("we_1",),
    "clock advance": ("1",),
    "faults set": ("none",),
    "store copy": ("FOLDER/copy.sqlite", "--as-of", "2026-01-01T00:00:00Z"),
    "store forget-bodies": ("--before", "2026-01-01"),
    "store export": ("FOLDER/export",),
    "store backup": ("FOLDER/backup.sqlite",),
    "store verify-backup": ("FILE",),
    "store mark-backed-up": ("--backup", "pg_dump"),
    "store expect-backups": ("--within", "36h"),
    "store restore": ("FILE", "--to", "FOLDER/restored.sqlite"),
    "store mark-restored": ("--backup", "pg_dump"),
    "store resolve-restore": ("--why", "seen", "--nothing-created"),
    "store move": ("--to", "postgresql://u@127.0.0.1:1/db"),
    "store purge": ("--deliveries-after", "400d"),
    "store erase": ("--phone", "0754123456"),
    "store roles": ("--sql",),
    "breaks note": ("brk_1", "text"),
    "breaks resolve": ("brk_1", "--as", "accepted", "--reason", "seen"),
    "outcomes add": ("shipping", "--begin", "now"),
    "outcomes retry": ("shipping", "out_1"),
    "outcomes skip": ("shipping", "out_1", "--why", "seen"),
    "outcomes replay": ("shipping", "--since", "2h"),
    "outcomes rejoin": ("shipping",),
    "outcomes ddl": ("sqlite",),
    "rule": ("col_1", "--why", "seen"),
    "gateway": ("--print-token",),
    "forward": ("--to", "http://127.0.0.1:1/", "--drain"),
    "mapping show": ("mpesa",),
    "mapping try": ("FILE", "--as", "mpesa"),
}
"""What a command cannot do without."""


COMMANDS = dict(leaves(command_line()))
CASES = [
    (name, option, value)
    for name, command in COMMANDS.items()
    for option, values in TAKEN.items()
    if option in {each for one in command.params for each in one.opts}
    for value in (
        *values,
        *(AWAY if option == "--store" and name not in WAIT_FOR_THEIR_STORE else ()),
    )
]


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of files, and let no command leave this process."""

    def never(_file: str, arguments: list[str], _environ: dict[str, str]) -> None:
        assert PASSWORD not in " ".join(arguments)
        raise SystemExit(0)

    begin = subprocess.Popen.__init__

    def seen_by_all(self: Any, arguments: Any, *more: Any, **said: Any) -> None:
        assert PASSWORD not in str(arguments), "everybody on the machine sees it in ps"
        begin(self, arguments, *more, **said)

    monkeypatch.setattr(subprocess.Popen, "__init__", seen_by_all)
    monkeypatch.setattr(os, "execvpe", never)
    monkeypatch.setenv("KUSANYA_API_KEY", "svc_test_sk_aaaa")
    monkeypatch.setenv("KUSANYA_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("KUSANYA_LOG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.csv").write_text("id\ncol_1\n")
    (tmp_path / "folder").mkdir()
    return tmp_path


def words_of(name: str, folder: Path, *more: str) -> list[str]:
    given = [
        word.replace("FILE", str(folder / "file.csv")).replace("FOLDER", str(folder / "folder"))
        for word in NEEDED.get(name, ())
    ]
    for option in more[::2]:
        if option in given:
            place = given.index(option)
            del given[place : place + 2]
    return [*name.split(), *given, *more]


def hides(folder: Path, ended: ActionResult, caplog: pytest.LogCaptureFixture) -> None:
    _, out, err = ended
    assert "Missing " not in err, "the command was not tried: add what it needs"
    assert "No such option" not in err
    assert PASSWORD not in out
    assert PASSWORD not in err
    assert PASSWORD not in caplog.text
    for path in folder.rglob("*"):
        assert PASSWORD not in path.name
        if path.is_file() and path.name != "config.toml":
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_every_command_is_tried() -> None:
    needy = {
        name for name, command in COMMANDS.items() if any(one.required for one in command.params)
    }
    assert needy <= NEEDED.keys()
    assert NEEDED.keys() <= COMMANDS.keys()
    words = ("address", "http", "postgresql", "://")
    for name, command in COMMANDS.items():
        for one in command.params:
            said = (getattr(one, "help", "") or "").lower()
            if one.opts[0].startswith("--") and any(word in said for word in words):
                is_tried = one.opts[0] in TAKEN
                assert is_tried or one.opts[0] in SAYS_ADDRESS, (name, one.opts[0], said)


SAYS_ADDRESS = {
    "--trusted-proxy",
    "--listen",
    "--host",
    "--metrics-host",
    "--domain",
    "--metrics",
    "--connections-per-peer",
}
"""Options whose help speaks of addresses that hold no password: of machines and networks."""


@pytest.mark.parametrize("tried", CASES, ids=" ".join)
def test_no_option_shows_its_password(
    kusanya: Kusanya,
    surroundings: Path,
    caplog: pytest.LogCaptureFixture,
    tried: tuple[str, str, str],
) -> None:
    name, option, value = tried
    caplog.set_level(logging.DEBUG, logger="kusanya")
    ended = kusanya(*words_of(name, surroundings, option, value))
    hides(surroundings, ended, caplog)


@pytest.mark.parametrize(
    "tried",
    [
        (name, source)
        for name, one in COMMANDS.items()
        if any("--store" in each.opts for each in one.params)
        for source in ("variable", "file", "config")
    ],
    ids=" ".join,
)
def test_no_other_source_of_a_store_shows_its_password(
    kusanya: Kusanya,
    surroundings: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tried: tuple[str, str],
) -> None:
    name, source = tried
    address = OF_STORES[1]
    if source == "variable":
        monkeypatch.setenv("KUSANYA_STORE", address)
    elif source == "file":
        (surroundings / "config.toml").write_text(address)  # by its name left out of the search
        (surroundings / "config.toml").chmod(0o600)
        monkeypatch.setenv("KUSANYA_STORE_FILE", str(surroundings / "config.toml"))
    else:
        (surroundings / "config.toml").write_text(f'[profiles.main]\nstore = "{address}"\n')
        monkeypatch.setenv("KUSANYA_CONFIG", str(surroundings / "config.toml"))
    monkeypatch.setenv("KUSANYA_LOG", "json")
    ended = kusanya(*words_of(name, surroundings))
    hides(surroundings, ended, caplog)
    for line in ended[2].splitlines():
        assert json.loads(line)["level"], "a program reads each line of standard error"


@pytest.mark.parametrize(
    "words", [["nothing"], ["find"], ["find", "x", "--nothing"], ["--nothing"]]
)
def test_a_slip_in_the_words_is_json_too_where_the_log_is(
    kusanya: Kusanya, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("KUSANYA_LOG", "json")
    code, _, err = kusanya(*words)
    assert code == 2
    [line] = err.splitlines()
    assert json.loads(line)["level"] == "error"


SUCCEED = (
    *("store migrate", "store check", "store mark-backed-up", "store expect-backups"),
    *("store mark-restored", "store rebuild", "health", "audit", "find", "breaks list"),
    "store backup",
)


@pytest.mark.postgres
def test_what_succeeds_shows_no_password_either(
    kusanya: Kusanya,
    surroundings: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
) -> None:
    Store.open(postgres_url).close()
    monkeypatch.setenv("PATH", f"{programs_of_postgresql()}{os.pathsep}{os.environ['PATH']}")
    # The server of the tests trusts whoever comes: it asks for no password, and gets one.
    address = f"{postgres_url}{'&' if '?' in postgres_url else '?'}password={PASSWORD}"
    for name in SUCCEED:
        ended = kusanya(*words_of(name, surroundings, "--store", address))
        hides(surroundings, ended, caplog)
        if name.startswith("store "):
            assert ended[0] == 0, ended
