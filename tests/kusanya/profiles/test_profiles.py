"""Profiles: the file, the environment that wins over it, and secrets that are never echoed."""

from pathlib import Path

import pytest

from kusanya.errors import ConfigurationError
from kusanya.profiles import Profile, key_map, load, parse_endpoint_secrets
from kusanya.wire import Mode

FILE = """
default_profile = "shop"

[profiles.shop]
mode = "live"
base_url = "https://pay.example"
store = "postgresql://team@db/kusanya"

[profiles.rehearsal]
mode = "test"
base_url = "http://127.0.0.1:8080"

[keys]
refresh = "ctrl+r"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    config = tmp_path / "config.toml"
    config.write_text(FILE, encoding="utf-8")
    return {"KUSANYA_CONFIG": str(config), "KUSANYA_DATA": str(tmp_path / "data")}


def test_the_file_names_the_profile_that_is_used_by_default(environ: dict[str, str]) -> None:
    profile = load(environ=environ)
    assert (profile.name, profile.mode) == ("shop", Mode.LIVE)
    assert profile.base_url == "https://pay.example"
    assert profile.store.reveal() == "postgresql://team@db/kusanya"


def test_a_file_is_text_in_utf_8_and_may_say_so_first(environ: dict[str, str]) -> None:
    config = Path(environ["KUSANYA_CONFIG"])
    config.write_text(FILE, encoding="utf-8-sig")
    assert load(environ=environ).name == "shop"
    config.write_text(FILE, encoding="utf-16")
    with pytest.raises(ConfigurationError, match=r"config.toml is no text in UTF-8: save it as"):
        load(environ=environ)


def test_a_profile_without_a_store_gets_a_file_of_its_own(environ: dict[str, str]) -> None:
    profile = load("rehearsal", environ=environ)
    assert profile.store.reveal() == f"sqlite:///{environ['KUSANYA_DATA']}/rehearsal.sqlite"


def test_the_environment_wins_over_the_file(environ: dict[str, str]) -> None:
    environ |= {"KUSANYA_MODE": "test", "KUSANYA_BASE_URL": "http://127.0.0.1:9"}
    profile = load(environ=environ)
    assert (profile.mode, profile.base_url) == (Mode.TEST, "http://127.0.0.1:9")


@pytest.fixture
def no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an environment in which no configuration is found where it is looked for."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    return {}


def test_without_any_file_the_defaults_are_a_test_profile(no_file: dict[str, str]) -> None:
    profile = load(environ=no_file)
    assert (profile.name, profile.mode, profile.base_url) == ("main", Mode.TEST, None)


def test_a_mode_that_nobody_said_is_not_taken_for_one(
    no_file: dict[str, str], environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError, match="no mode: set KUSANYA_MODE to test or live"):
        load(environ=no_file).need_mode()
    with pytest.raises(ConfigurationError, match="--mode test or --mode live, set KUSANYA_MODE"):
        load(environ=no_file).need_mode(has_option=True)
    assert load(environ={"KUSANYA_MODE": "live"}).need_mode() is Mode.LIVE
    assert load("rehearsal", environ=environ).need_mode() is Mode.TEST


def test_a_configuration_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"KUSANYA_CONFIG names .*slip\.toml") as caught:
        load(environ={"KUSANYA_CONFIG": str(tmp_path / "slip.toml")})
    assert "not there" in str(caught.value)
    with pytest.raises(ConfigurationError, match="KUSANYA_CONFIG"):
        key_map(environ={"KUSANYA_CONFIG": str(tmp_path / "slip.toml")})


@pytest.mark.parametrize("chosen", ['default_profile = "shoop"', ""])
def test_a_file_whose_default_profile_is_not_in_it_is_refused(tmp_path: Path, chosen: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"{chosen}\n[profiles.shop]\nmode = 'live'\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="there: shop"):
        load(environ={"KUSANYA_CONFIG": str(config)})


def test_a_profile_that_is_asked_for_by_name_must_exist(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"no profile 'shoop'.*rehearsal, shop"):
        load("shoop", environ=environ)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("profiles = 3", "not a usable configuration"),
        ("[profiles.main]\nbase = 'x'", "unknown field `base`"),
        ("[profiles.main]\nmode = 'production'", "production"),
        ("not toml at all", "not a usable configuration"),
        # Another store than was meant, or a header that no signature comes in.
        ("[profiles.main]\nstore = ''", "store is empty: give it a value, or leave the line out"),
        ("[profiles.main]\nbase_url = ''", "base_url is empty"),
        ("[profiles.main]\nsignature_header = ' '", "signature_header is empty"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_fault(
    tmp_path: Path, text: str, complaint: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        load(environ={"KUSANYA_CONFIG": str(config)})
    assert str(config) in str(caught.value)


def test_an_unknown_mode_in_the_environment_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="'live' or 'test'"):
        load(environ=environ | {"KUSANYA_MODE": "prod"})


def test_what_is_missing_is_said_with_the_name_of_the_variable(no_file: dict[str, str]) -> None:
    profile = load(environ=no_file)
    for need, variable in (
        (profile.need_api_key, "KUSANYA_API_KEY"),
        (profile.need_base_url, "KUSANYA_BASE_URL"),
        (profile.need_dashboard, "KUSANYA_DASHBOARD_TOKEN"),
    ):
        with pytest.raises(ConfigurationError, match=variable):
            need()


def test_no_secret_appears_in_a_profiles_repr(environ: dict[str, str]) -> None:
    profile: Profile = load(
        environ=environ
        | {"KUSANYA_API_KEY": "svc_live_sk_canary", "KUSANYA_SECRETS": "shop=whsec_canary"}
    )
    assert "canary" not in repr(profile)
    assert profile.need_api_key().reveal() == "svc_live_sk_canary"


def test_signing_secrets_carry_the_name_of_their_endpoint() -> None:
    endpoints = parse_endpoint_secrets(
        "shop=whsec_aaaa,billing=whsec_bbbb,shop=whsec_cccc,whsec_dddd"
    )
    assert [(e.name, [s.reveal() for s in e.secrets]) for e in endpoints] == [
        ("shop", ["whsec_aaaa", "whsec_cccc"]),
        ("billing", ["whsec_bbbb"]),
        ("default", ["whsec_dddd"]),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "shop=",
        ",",
        "sh op=whsec_canary",
        "=whsec_canary",
        "shop=canary",
        "shop=whsec_",
        "canary",
        "shop=whsec_canary,shop=whsec_canary",
        "shop=whsec_canary,billing=whsec_canary",
    ],
)
def test_unfit_signing_secrets_are_refused_without_repeating_them(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_endpoint_secrets(text)
    assert "canary" not in str(caught.value)


def test_the_console_reads_its_remapped_keys_from_the_file(environ: dict[str, str]) -> None:
    assert key_map(environ=environ) == {"refresh": "ctrl+r"}
