"""Secrets from files: where they are looked for, and what is refused in one clear line."""

import os
from pathlib import Path

import pytest

from kusanya.errors import ConfigurationError
from kusanya.profiles import find_secret, load

KEY = "svc_test_sk_abcdefgh"


def secret_file(path: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640])
def test_a_key_and_signing_secrets_are_read_from_files(tmp_path: Path, mode: int) -> None:
    key = secret_file(tmp_path / "key", f"{KEY}\n", mode)
    signing = secret_file(
        tmp_path / "signing",
        "# till, rotated\nshop=whsec_one\nshop=whsec_two,\r\nbilling=whsec_three,web=whsec_four\n",
    )
    found = load(environ={"KUSANYA_API_KEY_FILE": str(key), "KUSANYA_SECRETS_FILE": str(signing)})
    assert found.need_api_key().reveal() == KEY
    held = {one.name: [secret.reveal() for secret in one.secrets] for one in found.endpoints}
    assert held == {
        "shop": ["whsec_one", "whsec_two"],
        "billing": ["whsec_three"],
        "web": ["whsec_four"],
    }
    assert found.secrets_from_files
    assert not load(environ={"KUSANYA_API_KEY": KEY}).secrets_from_files


def test_systemd_credentials_are_read_where_nothing_else_is_given(tmp_path: Path) -> None:
    secret_file(tmp_path / "kusanya-api-key", KEY, 0o444)
    secret_file(tmp_path / "kusanya-notify", "https://hooks.example/T1 mailto://x\n")
    folder = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert load(environ=folder).need_api_key().reveal() == KEY
    assert load(environ=folder).endpoints == ()
    assert find_secret("NOTIFY", folder).text.split() == ["https://hooks.example/T1", "mailto://x"]
    assert load(environ={**folder, "KUSANYA_API_KEY": "svc_test_sk_other"}).need_api_key() != KEY


def test_an_orchestrators_link_is_followed(tmp_path: Path) -> None:
    data = tmp_path / "..data"
    data.mkdir()
    secret_file(data / "key", KEY, 0o440)
    (tmp_path / "key").symlink_to(data / "key")
    assert find_secret("API_KEY", {"KUSANYA_API_KEY_FILE": str(tmp_path / "key")}).text == KEY


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("whsec_hidden", 0o644, "every user of this machine may use"),
        ("whsec_hidden", 0o602, "every user of this machine may use"),
        ("whsec_hidden", 0o660, "its group may write"),
        ("", 0o600, "is empty"),
        (" \n\n", 0o600, "is empty"),
        (b"whsec_hidden\xff", 0o600, "is no text in UTF-8"),
        ("whsec_hidden" * 10_000, 0o600, "is too large to hold secrets"),
        ("shop=hidden", 0o600, "begins with whsec_"),
        ("shop=whsec_hidden\nshop=whsec_hidden", 0o600, "given twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_that_names_it_and_no_secret(
    tmp_path: Path, text: str | bytes, mode: int, said: str
) -> None:
    path = secret_file(tmp_path / "signing", text, mode)
    with pytest.raises(ConfigurationError, match=said) as raised:
        load(environ={"KUSANYA_SECRETS_FILE": str(path)})
    assert str(path) in str(raised.value)
    assert "hidden" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    for path, said in (
        (pipe, "is no file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "x", "No such"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            find_secret("API_KEY", {"KUSANYA_API_KEY_FILE": str(path)})
    with pytest.raises(ConfigurationError, match="leave one out"):
        find_secret("API_KEY", {"KUSANYA_API_KEY_FILE": str(pipe), "KUSANYA_API_KEY": KEY})
