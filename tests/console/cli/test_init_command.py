"""`kusanya init`: a profile that works at once, and secrets that nobody else reads or sees."""

import io
import os
import pty
import subprocess
import sys
import types
from pathlib import Path

import pytest
from tests.console.cli.conftest import ActionResult
from tests.console.cli.deploying import Kusanya

from kusanya.privacy.secret import Secret
from kusanya.profiles import load
from kusanya.wire import Mode

KEY, SIGNING = "svc_test_sk_aaaa1111bbbb", "whsec_cccc2222dddd"
ANSWERS = ("main", "test", "https://pay.example", KEY, "shop", SIGNING, "")
KUSANYA = "from kusanya_console.cli import main; main()"


@pytest.fixture
def config(kusanya: Kusanya, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "new" / "config.toml"
    monkeypatch.setenv("KUSANYA_CONFIG", str(path))
    monkeypatch.delenv("KUSANYA_MODE", raising=False)
    return path


def answer(
    kusanya: Kusanya, monkeypatch: pytest.MonkeyPatch, *answers: str, profile: str = ""
) -> ActionResult:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{one}\n" for one in answers)))
    return kusanya("init", *(("--profile", profile) if profile else ()))


def test_the_answers_make_a_profile_that_can_be_used(
    kusanya: Kusanya, config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, out, err = answer(kusanya, monkeypatch, *ANSWERS)
    assert (code, out.splitlines()[-1]) == (0, "now run: kusanya doctor --profile main")
    made = load()
    assert (made.name, made.need_mode(), made.base_url) == ("main", Mode.TEST, ANSWERS[2])
    assert made.api_key == Secret(KEY)
    assert [(one.name, one.secrets) for one in made.endpoints] == [("shop", (Secret(SIGNING),))]
    assert str(made.store) == f"sqlite:///{tmp_path / 'data' / 'main.sqlite'}"
    assert made.secrets_from_files
    for hidden in (KEY, SIGNING):
        assert hidden not in out + err + config.read_text()
    files = sorted(config.parent.iterdir())
    assert [file.name for file in files] == ["config.toml", "main.api_key", "main.secrets"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert config.parent.stat().st_mode & 0o777 == 0o700


def test_with_a_keyring_no_file_holds_a_secret(
    kusanya: Kusanya, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[tuple[str, str], str] = {}
    ring, errors = types.ModuleType("keyring"), types.ModuleType("keyring.errors")
    vars(errors)["KeyringError"] = type("KeyringError", (Exception,), {})
    vars(ring)["set_password"] = lambda of, name, text: held.__setitem__((of, name), text)
    vars(ring)["get_password"] = lambda of, name: held.get((of, name))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    assert answer(kusanya, monkeypatch, *ANSWERS)[0] == 0
    assert held == {
        ("kusanya", "main:api_key"): KEY,
        ("kusanya", "main:endpoint:shop"): SIGNING,
    }
    assert [file.name for file in config.parent.iterdir()] == ["config.toml"]
    assert load().api_key == Secret(KEY)
    assert [one.name for one in load().endpoints] == ["shop"]


def test_what_cannot_be_used_is_asked_again_and_never_repeated(
    kusanya: Kusanya, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ("a b", "main", "prod", "test", "pay.example", "https://u:hidden@pay.example")
    keys = ("svc_live_sk_wrongwrong", "hidden hidden", KEY, "shop", "hidden", SIGNING)
    stores = ("postgresql://u:hidden@db/k", "")
    code, out, err = answer(kusanya, monkeypatch, *wrong, "https://pay.example", *keys, *stores)
    assert code == 0
    assert "that is a key of live mode, and the profile is of test mode" in err
    assert "a signing secret begins with whsec_" in err
    assert "no password belongs into config.toml" in err
    assert "hidden" not in out + err
    assert "wrongwrong" not in out + err
    assert load().base_url == "https://pay.example"


def test_a_profile_is_added_to_a_file_and_one_that_is_there_is_not_touched(
    kusanya: Kusanya, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.parent.mkdir()
    config.write_text('[keys]\n"go.live" = "f9"\n\n[profiles.main]\nmode = "live"\n')
    before = config.read_text()
    code, _, err = answer(kusanya, monkeypatch, *ANSWERS)
    assert (code, config.read_text()) == (2, before)
    assert "profile main is in" in err
    assert answer(kusanya, monkeypatch, *ANSWERS[1:], profile="shop-b")[0] == 0
    assert config.read_text().startswith(before)
    assert (load("main").mode, load("shop-b").mode) == (Mode.LIVE, Mode.TEST)


def test_answers_that_end_too_early_write_nothing(
    kusanya: Kusanya, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given in range(len(ANSWERS)):
        code, _, err = answer(kusanya, monkeypatch, *ANSWERS[:given])
        assert (code, "the answers ended: nothing was written" in err) == (2, True)
    assert not config.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_does_not_echo_what_is_typed_of_a_secret(config: Path, tmp_path: Path) -> None:
    ours, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", KUSANYA, "init"],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env={**os.environ, "KUSANYA_DATA": str(tmp_path)},
    )  # fmt: skip
    os.close(terminal)
    seen = b""
    for asked, text in enumerate(ANSWERS, start=1):
        while seen.count(b": ") < asked:
            seen += os.read(ours, 4096)
        os.write(ours, text.encode() + b"\n")
    while chunk := _read(ours):
        seen += chunk
    assert process.wait() == 0
    os.close(ours)
    assert b"https://pay.example" in seen
    assert KEY.encode() not in seen
    assert SIGNING.encode() not in seen
    assert load().api_key == Secret(KEY)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""  # the other end is closed
