"""Bad input: one clear line on standard error, the right exit code, never a traceback."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.console.named_options import leaves

from kusanya.store import Store
from kusanya_console.cli.command_line import command_line

ActionResult = tuple[int, str, str]


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def is_one_clear_line(text: str) -> bool:
    return text.startswith("kusanya: ") and text.count("\n") == 1 and "Traceback" not in text


def test_an_unknown_command_is_a_usage_error(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("colect")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "colect" in err


def test_a_missing_option_is_named(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("service")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "--port" in err or "--data" in err


@pytest.mark.parametrize("port", ["70000", "-1", "web"])
def test_an_impossible_port_is_a_usage_error(
    kusanya: Callable[..., ActionResult], port: str
) -> None:
    code, _, err = kusanya("service", f"--port={port}", "--data=/nowhere")
    assert (code, is_one_clear_line(err)) == (2, True)


def test_a_mode_that_there_is_not_is_a_usage_error(
    kusanya: Callable[..., ActionResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_MODE", "both")
    code, _, err = kusanya("intents")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "'live' or 'test'" in err


@pytest.mark.parametrize("host", ["a" * 300, "\udcff"])
def test_a_host_that_no_name_server_could_know_is_named(
    kusanya: Callable[..., ActionResult], tmp_path: Path, host: str
) -> None:
    code, _, err = kusanya("service", "--port=0", f"--data={tmp_path}", f"--host={host}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert "no host has such a name" in err


def test_a_taken_port_is_reported_with_its_number(
    kusanya: Callable[..., ActionResult], taken_port: int, tmp_path: Path
) -> None:
    code, _, err = kusanya("service", f"--port={taken_port}", f"--data={tmp_path / 'service'}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert str(taken_port) in err


def test_a_receivers_taken_port_is_reported_with_its_number(
    kusanya: Callable[..., ActionResult],
    taken_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    store = tmp_path / "store.sqlite"
    code, _, err = kusanya("receive", "--mode=test", f"--port={taken_port}", f"--store={store}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert str(taken_port) in err
    assert "canary" not in err


def test_a_data_folder_that_cannot_be_made_is_reported(
    kusanya: Callable[..., ActionResult], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = kusanya("service", "--port=0", f"--data={tmp_path / 'file' / 'data'}")
    assert (code, is_one_clear_line(err)) == (1, True)


def test_a_demo_folder_that_cannot_be_made_is_reported(
    kusanya: Callable[..., ActionResult], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, _, err = kusanya("demo", "--headless", f"--data={tmp_path / 'file' / 'demo'}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert "--data" in err


def test_a_demo_without_a_terminal_points_to_headless(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("demo")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "--headless" in err


def test_without_an_api_key_the_variable_is_named(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("whoami")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert "KUSANYA_API_KEY" in err


def test_a_wrong_dashboard_is_reported_without_its_token(
    kusanya: Callable[..., ActionResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_DASHBOARD_URL", "http://127.0.0.1:9/dashboard")
    monkeypatch.setenv("KUSANYA_DASHBOARD_TOKEN", "dash_canary")
    code, _, err = kusanya("keys", "list")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert "canary" not in err


def test_a_store_that_is_not_there_is_reported(
    kusanya: Callable[..., ActionResult], tmp_path: Path
) -> None:
    code, _, err = kusanya("find", "INV-1", f"--store={tmp_path / 'none.sqlite'}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_file_that_is_no_store_is_reported_and_left_alone(
    kusanya: Callable[..., ActionResult], tmp_path: Path
) -> None:
    file = tmp_path / "shopping-list.txt"
    file.write_text("maize flour, beans\n" * 100, encoding="utf-8")
    code, _, err = kusanya("store", "check", f"--store={file}")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert file.read_text(encoding="utf-8").startswith("maize flour")


def test_a_console_without_a_terminal_is_refused(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("console")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "terminal" in err


def test_a_phone_in_a_wrong_place_is_not_repeated(kusanya: Callable[..., ActionResult]) -> None:
    code, _, err = kusanya("collect", "5000", "0754 000 001", "INV-2", "0754 000 002")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "000 002" not in err


@pytest.mark.parametrize(
    ("secrets", "complaint"),
    [
        ("shop=abc", "begins with whsec_"),
        ("shop=whsec_", "copy the whole signing secret"),
        ("shop=whsec_canary,billing=whsec_canary", "given twice"),
    ],
)
def test_what_cannot_be_a_signing_secret_is_a_usage_error(
    kusanya: Callable[..., ActionResult],
    monkeypatch: pytest.MonkeyPatch,
    secrets: str,
    complaint: str,
) -> None:
    for given in ([], [f"--secret={part}" for part in secrets.split(",")]):
        monkeypatch.setenv("KUSANYA_SECRETS", "" if given else secrets)
        code, _, err = kusanya("receive", "--port=0", "--mode=test", *given)
        assert (code, is_one_clear_line(err)) == (2, True)
        assert complaint in err
        assert "canary" not in err


@pytest.mark.parametrize(
    "option",
    ["--trusted-proxy=10.0.0.1/8", "--connections=0", "--connections-per-peer=0", "--mode=both"],
)
def test_limits_of_a_receiver_that_cannot_be_are_usage_errors(
    kusanya: Callable[..., ActionResult], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    code, _, err = kusanya("receive", "--port=0", "--mode=test", option)
    assert (code, is_one_clear_line(err)) == (2, True)


def test_a_receiver_does_not_guess_its_mode(
    kusanya: Callable[..., ActionResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    store = tmp_path / "store.sqlite"
    code, _, err = kusanya("receive", "--port=0", f"--store={store}")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "--mode test or --mode live" in err
    assert not store.exists()


@pytest.mark.parametrize("command", [["receive", "--port=0"], ["find", "x"], ["intents"]])
def test_a_named_configuration_that_is_not_there_is_a_usage_error(
    kusanya: Callable[..., ActionResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "slip.toml"))
    code, _, err = kusanya(*command)
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "KUSANYA_CONFIG" in err


def test_a_clock_that_cannot_be_followed_is_reported(
    kusanya: Callable[..., ActionResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_SECRETS", "shop=whsec_canary")
    store = tmp_path / "store.sqlite"
    code, _, err = kusanya("receive", "--mode=live", "--port=0", f"--store={store}", "--clock=60x")
    assert (code, is_one_clear_line(err)) == (1, True)
    assert "/dashboard/clock" in err


def test_an_id_that_is_none_is_a_usage_error(
    kusanya: Callable[..., ActionResult], tmp_path: Path
) -> None:
    store = tmp_path / "store.sqlite"
    assert kusanya("store", "migrate", f"--store={store}")[0] == 0
    code, _, err = kusanya("show", "INV-1", f"--store={store}")
    assert (code, is_one_clear_line(err)) == (2, True)
    assert "kusanya find" in err


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["demo"],
        ["service"],
        ["receive"],
        ["console"],
        ["find"],
        ["show"],
        ["whoami"],
        ["verify"],
        ["collect"],
        ["intents"],
        ["catch-up"],
        ["notebooks"],
        ["reconcile"],
        ["watch"],
        ["store", "export"],
        ["store", "check"],
        ["keys", "create"],
        ["endpoints", "add"],
        ["clock", "advance"],
        ["faults", "set"],
    ],
    ids=lambda words: " ".join(words) or "kusanya",
)
def test_every_command_explains_itself_with_an_example(
    kusanya: Callable[..., ActionResult], command: list[str]
) -> None:
    code, out, err = kusanya(*command, "--help")
    assert (code, err) == (0, "")
    assert "kusanya " + " ".join(command) in out
    assert "Example: " in out or "Begin with: " in out


PATHS = (
    *(
        (*name.split(), *([option] if option.startswith("-") else []))
        for name, command in leaves(command_line())
        for parameter in command.params
        if getattr(getattr(parameter, "type_descriptor", None), "annotation", None) is Path
        for option in parameter.opts[:1]
    ),
    ("store", "backup"),
    ("store", "restore", "x", "--to"),
)
"""How each file or folder that a command takes is named on the command line."""


@pytest.mark.parametrize("address", ["s3://bucket/x", "https://asha:geheim@shop.example/x"])
@pytest.mark.parametrize("named", PATHS, ids=" ".join)
def test_an_address_is_no_file_of_this_machine(
    kusanya: Callable[..., ActionResult], named: tuple[str, ...], address: str
) -> None:
    code, out, err = kusanya(*named, address)
    assert (code, out, is_one_clear_line(err)) == (2, "", True)
    assert "is an address: name a file or a folder of this machine" in err
    assert "geheim" not in err


def test_a_place_in_a_folder_that_is_missing_is_named_and_the_store_may_be_an_address(
    kusanya: Callable[..., ActionResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path / 'store.sqlite'}"
    Store.open(store).close()
    saved = tmp_path / "saved.sqlite"
    for place, missing in (
        (tmp_path / "gone" / "x.sqlite", tmp_path / "gone"),
        (f"{tmp_path / 'gone'}/", tmp_path / "gone"),
    ):
        code, _, err = kusanya("store", "backup", str(place), "--store", store)
        assert (code, f"there is no folder {missing}: make it, or mount its disk" in err) == (
            1,
            True,
        )
    assert kusanya("store", "backup", f"sqlite:///{saved}", "--store", store)[0] == 0
    assert saved.is_file()
    code, _, err = kusanya("store", "restore", str(saved), "--to", str(tmp_path / "gone" / "x"))
    assert (code, f"there is no folder {tmp_path / 'gone'}" in err) == (1, True)
    again = tmp_path / "postgres.sqlite"
    code, out, _ = kusanya("store", "restore", str(saved), "--to", f"sqlite:///{again}")
    assert (code, f"restored {again}" in out) == (0, True)
    monkeypatch.chdir(tmp_path)
    again.unlink()
    assert kusanya("store", "restore", str(saved), "--to", "postgres.sqlite")[0] == 0
    for place in ("/", "."):
        code, _, err = kusanya("store", "restore", str(saved), "--to", place)
        assert (code, "exists already, and a restore never overwrites" in err) == (1, True)
    code, _, err = kusanya("health", "--store", "/")
    assert (code, "a store lives in a file: / is none" in err) == (1, True)
    code, _, err = kusanya("store", "restore", str(saved), "--to", "postgresql://kus@db/kus")
    assert (code, "put a PostgreSQL database back with pg_restore" in err) == (2, True)
